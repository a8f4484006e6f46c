"""AutoExplore's own teacher: it takes the shortest way to the file, reads it, then names it, with reasons.

The plan is made with full knowledge; the reasons use only p(s): listed names, and lines that were shown.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

import numpy as np

from natlang_envs.autoexplore.env import AutoExploreEnv
from natlang_envs.autoexplore.searching.env import AutoExploreSearchEnv
from natlang_envs.env import NatLangEnv
from natlang_envs.prompt import PathStep
from natlang_envs.repository.texts import NEXT, PREVIOUS, UP, steps_left
from natlang_envs.repository.words import question_words, stem, words_of
from reference_agent.families.autoexplore.search_teacher import SearchTeacher
from reference_agent.teachers.base import FORBIDDEN, Lesson, Moment, Sayings, agrees, listing

FAMILY = "autoexplore"
_WORD = re.compile(r"[^\W_]+")
_LONGEST_LINE = 100  # characters of a file that are quoted
_SOUGHT = 5  # words of the question that are repeated
_LISTED = 3  # files that are named as read in vain, the last ones


class AutoExploreTeacher:
    """Speaks for AutoExplore."""

    restarts = False  # which files were read is told by the path alone
    idles = True  # a reader who never saw a file that does not tell names whatever was read

    def __init__(self, rng: np.random.Generator) -> None:
        self._say = Sayings(FAMILY, rng)

    def __call__(self, moment: Moment) -> Lesson:
        """Return a reflection that names the next command of the demonstration and no other, and that command."""
        env = moment.env
        assert isinstance(env, AutoExploreEnv)
        plan = env.demonstration()
        action, target = plan[0], plan[-1].removeprefix("id ")
        again = f"cat {target}"  # of what it read before, a student sees only what p(s) shows
        if action == plan[-1] and target not in _read(_seen(moment)) and again in moment.commands:
            action = again if steps_left(moment.observation, FAMILY) > 1 else action
        regret = ""
        if moment.wrong is not None:
            verb, _, name = moment.wrong.partition(" ")
            kind = "regret" if verb != "cat" else "regret_again" if name == target else "regret_read"
            regret = " " + self._say.draw(kind).format(target=target)
        # Names and lines are a repository's own words: they may hold commands, which no reflection may name.
        for reflection in self._attempts(env, moment, action, target):
            if agrees(reflection + regret, action, moment.commands):
                return Lesson(reflection + regret, action)
        return Lesson(f"I {action}.{regret}", action)

    def _attempts(self, env: AutoExploreEnv, moment: Moment, action: str, target: str) -> Iterator[str]:
        """Yield reflections that are true, the one that says most first."""
        sought = self._say.draw("sought").format(sought=", ".join(sought_words(env.question)[:_SOUGHT]))
        read_files = _read(_seen(moment))
        vain = [name for name in read_files if name != target]
        read = [self._say.draw("read").format(files=listing(vain[-_LISTED:]))] if vain else []
        if target in read_files and action != f"id {target}":
            read.append(self._say.draw("told").format(target=target))
        for kind in self._kinds(env, moment, action):
            yield " ".join([sought, *read, kind])
            yield " ".join([sought, kind])

    def _kinds(self, env: AutoExploreEnv, moment: Moment, action: str) -> Iterator[str]:
        verb, _, name = action.partition(" ")
        folder = env.snapshot().state[0] or "the top folder"
        shared = _shared(env.question, name)
        line = _evidence(env.question, name, _seen(moment)) if verb == "id" else ""

        def say(kind: str) -> str:
            return self._say.draw(kind).format(action=action, name=name, folder=folder, shared=shared, line=line)

        if action == UP:
            yield say("back")
        elif action in (NEXT, PREVIOUS):
            yield say("turn")
        elif verb == "id":
            if line:
                yield say("evidence")
            yield say("name" if name in _read(_seen(moment)) else "guess")
        else:
            kind = "enter" if verb == "cd" else "show"
            if shared:
                yield say(f"{kind}_match")
            yield say(kind)


def make(env: NatLangEnv, rng: np.random.Generator) -> AutoExploreTeacher | SearchTeacher:
    """Return the teacher of AutoExplore, with or without a search command; it has no options."""
    return SearchTeacher(rng, FAMILY) if isinstance(env, AutoExploreSearchEnv) else AutoExploreTeacher(rng)


def sought_words(question: str) -> list[str]:
    """Return the words of a question that say something, as they stand there; all of them where none does."""
    telling = question_words(question)
    found = [word for word in _WORD.findall(question) if stem(word.lower()) in telling and not FORBIDDEN.search(word)]
    return list(dict.fromkeys(found)) or ["an answer"]


def _shared(question: str, name: str) -> str:
    """Return a word of a question that stands in a name too; empty if none does."""
    in_name = set(words_of(name))
    return next((word for word in sought_words(question) if stem(word.lower()) in in_name), "")


def _seen(moment: Moment) -> tuple[PathStep, ...]:
    """Return the steps whose results p(s) shows: without a path, the observation still holds that of the last one."""
    return moment.shown or moment.path[-1:]


def _read(shown: Sequence[PathStep]) -> list[str]:
    """Return the files that p(s) shows as read, by name, in order."""
    names = (step.action.removeprefix("cat ") for step in shown if step.action.startswith("cat "))
    return list(dict.fromkeys(names))


def _evidence(question: str, name: str, shown: Sequence[PathStep]) -> str:
    """Return the line of a file that p(s) shows which has most of the question's words; empty if none has any."""
    texts = [step.feedback for step in shown if step.action == f"cat {name}"]
    if not texts:
        return ""
    telling = set(question_words(question))
    lines = [line.strip() for line in texts[-1].split("\n")[1:] if len(line.strip()) <= _LONGEST_LINE]
    best = max(lines, key=lambda line: len(telling & set(words_of(line))), default="")
    return best if telling & set(words_of(best)) else ""
