"""AutoExplore's own teachers. One reads a file or two in vain, then one on until what answers is shown, and says why.

The way is found with full knowledge. The reasons are true of what p(s) shows: words of a span that a person marked as
evidence, words of the question that stand in a name or are missing from a text, what a person wrote about a file that
does not answer, and in which file or folder other questions of the split with the same word are answered.
The other one, `SearchTeacher`, searches.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from zlib import crc32

import numpy as np

from natlang_envs.autoexplore.env import AutoExploreEnv
from natlang_envs.autoexplore.searching.env import AutoExploreSearchEnv
from natlang_envs.autoexplore.searching.line_index import Hit, line_index_of
from natlang_envs.autoexplore.tasks import ExploreTasks
from natlang_envs.env import NatLangEnv
from natlang_envs.errors import check_count
from natlang_envs.prompt import CUT, DONE
from natlang_envs.repository.hits import asked_words, general_rarity, matches
from natlang_envs.repository.texts import NEXT, PREVIOUS, UP
from natlang_envs.repository.words import content_words, question_words, stem, words_of
from reference_agent.families.autoexplore.visits import FilePart, Visits, evidence_in, next_command, part_of, visits_of
from reference_agent.teachers.base import FORBIDDEN, Lesson, Moment, Sayings, agrees, listing, unseen_names

FAMILY = "autoexplore"
_WORD = re.compile(r"(?<![^\W_])[^\W_]{2,}(?![^\W_]|['\u2019]t\b)")  # not what stands before "n't"
_LAST = "\n# Last result\n"
_QUOTED = 80  # characters of a span that are quoted, at most
_SAID = 2  # words of the question that are said to be in a text, or not in it
_SAID_OF_LIST = 3  # words of the question that are said to be in a list
_ASKED = 2  # other questions with a word, at least, that tell where it is answered
_MORE = 0.25  # share of them, at least, by which a place answers more of them than of all questions


class AutoExploreTeacher:
    """Speaks for AutoExplore; in a game it reads up to `vain` files that do not answer."""

    restarts = False  # which files were read is told by the commands alone
    idles = True  # a file that does not answer is a mistake to read, however near it lies

    def __init__(self, rng: np.random.Generator, vain: int = 2) -> None:
        self._say = Sayings(FAMILY, rng)
        self._seed, self._most = int(rng.integers(2**32)), check_count("teacher.vain", vain, 0)
        self._visits: dict[str, Visits] = {}
        self._answers: dict[str, list[tuple[str, frozenset[str], tuple[str, ...]]]] | None = None

    def __call__(self, moment: Moment) -> Lesson:
        """Return a reflection that names the next command and no other, and that command.

        Nothing is said where nothing shows why: after a wrong command that read no file, and at an `id` of a file of
        which no evidence is shown.
        """
        env = moment.env
        assert isinstance(env, AutoExploreEnv)
        name = moment.info["task_id"]
        if name not in self._visits:
            rng = np.random.default_rng([self._seed, crc32(name.encode())])
            self._visits[name] = visits_of(env, rng, self._most)
        visits, here = self._visits[name], _shown(moment)
        action = next_command(env, visits, here)
        path = _path(env, here.name) if here else ""
        evidence = evidence_in(visits, path, here.text) if here else []
        answers = here is not None and path in env.goal.targets
        unseen = moment.wrong is not None and (here is None or answers)
        if unseen or (action.startswith("id ") and not evidence and (env.goal.label or not answers)):
            return Lesson(None, action)
        # Names and lines are a repository's own words: they may hold commands, which no reflection may name.
        for reflection in self._attempts(env, moment, action, here, evidence):
            if agrees(reflection, action, moment.commands):
                return Lesson(reflection, action)
        return Lesson(None if evidence else f"I {action}.", action)

    def _attempts(
        self, env: AutoExploreEnv, moment: Moment, action: str, here: FilePart | None, evidence: Sequence[str]
    ) -> Iterator[str]:
        """Yield reflections that are true, the one that says most first."""

        def say(kind: str, **gaps: object) -> str:
            return self._say.draw(kind).format(action=action, **gaps)

        if action.startswith("id "):
            yield from (say("evidence", line=line) for line in _quotes(env.question, evidence))
            if not env.goal.label:  # nobody marked what answers, and no line has a word of the question
                yield say("told")
            return
        if here is not None and action == f"cat {here.name}":
            has, lacks = _compared(env.question, here.text)
            kind = "read_on" if has and lacks else "read_on_none" if lacks else "read_on_all"
            yield say(kind, has=listing(has[:_SAID]), lacks=listing(lacks[:_SAID]))
            return
        moves = [say(kind, **gaps) for kind, gaps in self._moves(env, moment, action)]
        if here is not None and _path(env, here.name) not in env.goal.targets:
            for vain in self._in_vain(env, moment.state, here):
                yield from (f"{vain} {move}" for move in moves)
        yield from moves

    def _in_vain(self, env: AutoExploreEnv, state: str, here: FilePart) -> Iterator[str]:
        label, path = env.goal.label, _path(env, here.name)
        why = next((each.why for each in label.bm25 if each.path == path), "") if label else ""
        if why and not unseen_names(why, state) and content_words(why).keys() & content_words(here.text).keys():
            yield self._say.draw("vain_why").format(name=here.name, why=why)
        if lacks := _compared(env.question, here.text)[1]:
            yield self._say.draw("vain_lacks").format(name=here.name, lacks=listing(lacks[:_SAID]))
        yield self._say.draw("vain").format(name=here.name)
        yield self._say.draw("vain_here")

    def _moves(self, env: AutoExploreEnv, moment: Moment, action: str) -> Iterator[tuple[str, dict[str, object]]]:
        (verb, _, name), folder = action.partition(" "), env.snapshot().state[0]
        remembers = f"\n{DONE}" in moment.state
        names = {each.partition(" ")[2] for each in moment.commands if each.startswith(("cd ", "cat "))} - {".."}
        left = [each for each in names if _shared(env.question, each)]
        if action == UP:
            yield "back" if left else "back_none", {"folder": folder}
        elif action in (NEXT, PREVIOUS):
            yield "turn" if left else "turn_none", {}
        else:
            yield from self._known(env, f"{folder}/{name}".removeprefix("/"), name)
            if word := _shared(env.question, name):
                yield "match", {"word": word, "name": name}
            new = remembers and not any(step.action == action for step in moment.path)
            yield f"{'enter' if verb == 'cd' else 'show'}{'_new' if new else ''}", {"name": name}

    def _known(self, env: AutoExploreEnv, path: str, name: str) -> Iterator[tuple[str, dict[str, object]]]:
        """Yield in how far other questions with a word of this one are answered in a file or folder.

        Only words say it whose questions are answered there more often than the repository's others.
        """
        tasks = env.tasks
        if self._answers is None:
            self._answers = {}
            for each in map(tasks.load, tasks.ids()) if isinstance(tasks, ExploreTasks) else ():
                if each.label is not None:
                    row = (each.id, frozenset(question_words(each.question)), each.targets)
                    self._answers.setdefault(each.label.repository, []).append(row)
        rows = self._answers.get(env.goal.label.repository, []) if env.goal.label else []
        inside = {key: any(f"{each}/".startswith(f"{path}/") for each in targets) for key, _, targets in rows}
        most: list[str] = []
        for word in sought_words(env.question):
            found = [inside[key] for key, words, _ in rows if key != env.goal.id and stem(word.lower()) in words]
            share = sum(found) / max(len(found), 1)
            if len(found) >= _ASKED and share > 0.5 and share >= sum(inside.values()) / len(rows) + _MORE:
                if share == 1.0:
                    yield "known", {"word": word, "name": name}
                    return
                most.append(word)
        if most:
            yield "known_most", {"word": most[0], "name": name}


class SearchTeacher:
    """Speaks for AutoExplore-Search, where lists are sorted by lines.

    It searches for a word whose list has the file, and names the file there. The plan is made with full knowledge and
    has the fewest commands; the reasons use the question and the present list. It reads a file only for the words in
    it, and says nothing of one that was read in vain: a text is three times as long as a list.
    """

    idles = True  # a search costs no other one, so a list that lacks the file leaves the plan as long as it was

    def __init__(self, rng: np.random.Generator) -> None:
        self._say = Sayings(FAMILY, rng)

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
                yield say("fits", *shared[:_SAID_OF_LIST])
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


def make(env: NatLangEnv, rng: np.random.Generator, vain: int = 2) -> AutoExploreTeacher | SearchTeacher:
    """Return the teacher of AutoExplore, with or without a search command; `vain` is of the one without."""
    return SearchTeacher(rng) if isinstance(env, AutoExploreSearchEnv) else AutoExploreTeacher(rng, vain)


def sought_words(question: str) -> list[str]:
    """Return the words of a question that say something, as they stand there, the rarest first."""
    telling = question_words(question)
    found = [word for word in _WORD.findall(question) if stem(word.lower()) in telling and not FORBIDDEN.search(word)]
    return sorted(dict.fromkeys(found), key=lambda word: -general_rarity(word.lower()))


def _shared(question: str, name: str) -> str:
    """Return a word of a question that stands in a name too; empty if none does."""
    in_name = set(words_of(name))
    return next((word for word in sought_words(question) if stem(word.lower()) in in_name), "")


def _compared(question: str, text: str) -> tuple[list[str], list[str]]:
    words = set(words_of(text))
    sought = sought_words(question)
    has = [word for word in sought if stem(word.lower()) in words]
    return has, [word for word in sought if word not in has]


def _shown(moment: Moment) -> FilePart | None:
    """Return the part of a file that the last command showed, as far as p(s) shows it."""
    result = moment.observation.partition(_LAST)[2]
    if not moment.state.endswith(result):  # it was cut
        result = moment.state.rpartition(_LAST)[2].removesuffix(CUT)
    return part_of(result)


def _path(env: AutoExploreEnv, name: str) -> str:
    return f"{env.snapshot().state[0]}/{name}".removeprefix("/")


def _quotes(question: str, evidence: Sequence[str]) -> list[str]:
    """Return lines of evidence, those with most words of the question first, each cut to its first words."""
    telling = set(question_words(question))
    lines = [line.strip() for span in evidence for line in span.split("\n") if line.strip()]
    cut = [line if len(line) <= _QUOTED else line[: _QUOTED + 1].rpartition(" ")[0] or line[:_QUOTED] for line in lines]
    return sorted(dict.fromkeys(cut), key=lambda line: -len(telling & set(words_of(line))))
