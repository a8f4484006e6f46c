"""The interface of a teacher M_R, and helpers shared by the built-in ones.

A teacher is told more than its students: that a plan is known (p_reflect), or that the last step was wrong
(p_negative). None of this enters the prompts that students are trained on. The wrong step itself is part of p(s).
"""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Future, wait
from typing import Any, NamedTuple, Protocol, TypeVar

import numpy as np

from natlang_envs.env import NatLangEnv
from natlang_envs.errors import UsageError
from natlang_envs.prompt import PathStep
from reference_agent.families import phrases

T = TypeVar("T")
FORBIDDEN = re.compile(r"optimal|spoiler", re.IGNORECASE)  # what no reflection says (the paper's C.1)


class Moment(NamedTuple):
    """A teacher's privileged view of one state.

    Attributes:
        env: The environment in this state, with its plan (`oracle`, `reference`); do not step it.
        state: p(s), which is all that a student will see.
        path: The steps so far, oldest first; p(s) may show fewer.
        shown: The steps that p(s) shows.
        observation: The current observation.
        info: The environment's info.
        wrong: The last action, when it is known to have been a mistake (p_negative).
        wording: Number of the answer, from 0, if several are requested about this state.
    """

    env: NatLangEnv
    state: str
    path: tuple[PathStep, ...]
    shown: tuple[PathStep, ...]
    observation: str
    info: dict[str, Any]
    wrong: str | None = None
    wording: int = 0

    @property
    def commands(self) -> tuple[str, ...]:
        """A(s), in the environment's order."""
        return self.info["admissible_commands"]


class Lesson(NamedTuple):
    """A reflection and its action; without a reflection it is left out of the data."""

    reflection: str | None
    action: str


class Teacher(Protocol):
    """A function from a moment to a reflection and an action.

    It may have two attributes, both False if missing: `restarts`, whether an observation alone describes the state,
    without its path; `idles`, whether an action that leaves the plan as long as it was, such as reading another file,
    is a mistake too.
    """

    def __call__(self, moment: Moment, /) -> Lesson | tuple[str | None, str]: ...


def ask(teacher: Teacher, moment: Moment, seconds: float = 0.0) -> Lesson:
    """Return a teacher's lesson, checked, within so many seconds; 0 for no limit."""
    where = f"on task {moment.info['task_id']!r} after {len(moment.path)} steps"
    try:
        if not seconds:
            told = teacher(moment)
        elif (answer := _within(seconds, lambda: teacher(moment))).done():
            told = answer.result()
        else:
            raise UsageError(  # noqa: TRY301
                f"the teacher gave no answer in {seconds:g} seconds {where}: mend the teacher, or raise collect.timeout"
            )
    except UsageError:
        raise
    except Exception as error:
        raise UsageError(f"the teacher failed {where} ({type(error).__name__}: {error}): mend the teacher") from error
    texts = isinstance(told, tuple) and len(told) == 2 and (told[0] is None or isinstance(told[0], str))
    if not texts or not isinstance(told[1], str):
        raise UsageError(f"the teacher returned {told!r} {where}: return a reflection (or None) and an action")
    if moment.commands and told[1] not in moment.commands:
        listed = ", ".join(map(repr, moment.commands[:6]))
        raise UsageError(f"the teacher chose {told[1]!r} {where}, which is not listed: choose one of {listed} …")
    return Lesson(*told)


def _within(seconds: float, call: Callable[[], T]) -> Future[T]:
    """Return a call that has ended, or that hangs: it is left behind in its thread after so many seconds."""
    future: Future[T] = Future()

    def work() -> None:
        try:
            future.set_result(call())
        except BaseException as error:
            future.set_exception(error)

    threading.Thread(target=work, daemon=True).start()
    wait([future], seconds)
    return future


def plan(env: NatLangEnv) -> list[str] | None:
    """Return the environment's reference plan from here; None if it has none."""
    try:
        return env.reference()
    except NotImplementedError:
        return None


class Sayings:
    """Sentences of a family, drawn at random."""

    def __init__(self, family: str, rng: np.random.Generator) -> None:
        self._say = phrases(family)
        self._rng = rng

    def draw(self, kind: str) -> str:
        sentences = self._say[kind]
        return sentences[int(self._rng.integers(len(sentences)))]


def named_commands(text: str, commands: Sequence[str]) -> list[str]:
    """Return the commands that stand in a text as whole words, in their order there, each once.

    Of commands that overlap ("go to desk 1" in "go to desk 12", "id a" in "id a.txt") the longest counts.
    """
    found = [
        (match.start(), match.end(), command)
        for command in commands
        if command in text
        for match in re.finditer(rf"(?<!\w){re.escape(command)}(?!\w)", text)
    ]
    whole = [
        each for each in found if not any(o[0] <= each[0] and each[1] <= o[1] and o[:2] != each[:2] for o in found)
    ]
    return list(dict.fromkeys(command for _, _, command in sorted(whole)))


def agrees(reflection: str, action: str, commands: Sequence[str]) -> bool:
    """Return whether a reflection names this command and no other, and none of the words it must not say."""
    return named_commands(reflection, commands) == [action] and not FORBIDDEN.search(reflection)


# Words of code, paths and numbers: with a digit, a line, a point or a stroke inside, or a capital after another letter.
_THING = re.compile(r"\b([a-z]{3,}) (\d+)\b")
_NAME = re.compile(r"(?<![\w./-])(?=[\w./-]*(?:\d|\w[_./]\w|_\w|[a-z][A-Z]))[\w./-]*\w")


def unseen_names(text: str, shown: str) -> list[str]:
    """Return the names and numbers in a text that do not stand in what is shown.

    With a number goes the word before it ("desk 1") where what is shown has others of its kind.
    """
    whole = r"(?<![^\W_]){}(?![^\W_])"  # not a part of a longer word; a line parts words
    names = [name for name in _NAME.findall(text) if not re.search(whole.format(re.escape(name)), shown)]
    things = set(_THING.findall(shown.lower()))
    kinds = {kind for kind, _ in things}
    unseen = [each for each in _THING.findall(text.lower()) if each[0] in kinds and each not in things]
    return [*dict.fromkeys(names), *map(" ".join, dict.fromkeys(unseen))]


def listing(names: Sequence[str]) -> str:
    """Return names in words: `a`, `a and b`, `a, b and c`; empty for none."""
    return " and ".join(filter(None, (", ".join(names[:-1]), *names[-1:])))
