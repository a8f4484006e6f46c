"""The teacher of AutoExplore-Search: it searches for a word whose list has the file, and names the file there.

The plan is made with full knowledge and has the fewest commands; the reasons use the question and the present list. It
reads a file only for the words in it, and says nothing of one that was read in vain: a text is three times as long as
a list.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from natlang_envs.autoexplore.searching.env import AutoExploreSearchEnv
from natlang_envs.autoexplore.searching.line_index import Hit, line_index_of
from natlang_envs.repository.hits import asked_words, matches
from natlang_envs.repository.words import content_words, stem
from reference_agent.teachers.base import Lesson, Moment, Sayings, agrees, listing

_SAID = 3  # words of the question that are repeated


class SearchTeacher:
    """Speaks for AutoExplore-Search, where lists are sorted by lines."""

    idles = True  # a search costs no other one, so a list that lacks the file leaves the plan as long as it was

    def __init__(self, rng: np.random.Generator, family: str) -> None:
        self._say = Sayings(family, rng)

    def __call__(self, moment: Moment) -> Lesson:
        env = moment.env
        assert isinstance(env, AutoExploreSearchEnv)
        words, shown = env.snapshot().state
        action = _first_command(env, words)
        if moment.wrong is not None and moment.wrong.startswith("cat "):
            return Lesson(None, action)
        regret = "" if moment.wrong is None else " " + self._say.draw("regret")
        hits = line_index_of(env.repository).search(words[0]).best if words else ()
        # Paths and words may hold commands, which no reflection may name.
        for said in self._attempts(action, env.question, words, shown, hits):
            if agrees(said + regret, action, moment.commands):
                return Lesson(said + regret, action)
        return Lesson(f"I {action}.{regret}", action)

    def _attempts(
        self, action: str, question: str, words: Sequence[str], shown: Sequence[str], hits: Sequence[Hit]
    ) -> Iterator[str]:
        """Yield reflections that are true, the one that says most first."""
        verb, _, value = action.partition(" ")

        def say(kind: str, *said: str) -> str:
            return self._say.draw(f"search_{kind}").format(action=action, said=listing(said), word=value)

        if verb == "id":
            shared = words_of_hit(question, next((hit for hit in hits if hit.path == value), None), words)
            if shared:
                yield say("fits", *shared[:_SAID])
            yield say("best")
        elif verb == "cat":
            yield say("read")
        elif value not in asked_words(question) and shown:
            yield say("near", shown[-1])
        elif words:
            yield say("next")
        yield say("word")


def words_of_hit(question: str, hit: Hit | None, beside: Sequence[str]) -> list[str]:
    """Return the words of a question that stand in the path or the line of a hit, but for those `beside`."""
    if hit is None:
        return []
    there = {*content_words(hit.path), *content_words(hit.first)}
    return [
        word
        for word in asked_words(question)
        if word not in beside and any(matches(stem(word), each) for each in there)
    ]


def _first_command(env: AutoExploreSearchEnv, words: Sequence[str]) -> str:
    """Return the first of the fewest commands to a target.

    Where one search is enough, several words may do. At first it is the one that fewest files have; after another word
    it is the next one in the question, from its end on to its beginning: a player without memory who takes that for a
    rule does not go back and forth between two words.
    """
    plan = env.oracle()
    if len(plan) != 2 or not plan[0].startswith("search "):
        return plan[0]
    path, index, asked = plan[1].removeprefix("id "), line_index_of(env.repository), asked_words(env.question)
    good = [word for word in asked if word not in words and path in [hit.path for hit in index.search(word).best]]
    if not good:  # a word of a text
        return plan[0]
    if words:
        now = asked.index(words[0]) if words[0] in asked else -1
        return "search " + min(good, key=lambda word: (asked.index(word) - now) % len(asked))
    return "search " + min(good, key=lambda word: index.search(word).files)
