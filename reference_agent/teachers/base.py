"""What every teacher M_R has in common: the moment it is asked about, what it answers, and its sentences as data.

What a teacher is told beyond p(s), that a plan is known (p_reflect) or that the last step was wrong (p_negative), is
never in the prompts that a student is trained on; the wrong step itself stands in p(s)'s path. It does not know any
environment: see teacher_taxi, teacher_alfworld, teacher_autoexplore, teacher_openai.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Sequence
from functools import cache
from importlib import resources
from typing import Any, NamedTuple, Protocol

import numpy as np

from natlang_envs.env import NatLangEnv
from natlang_envs.prompt import PathStep

FORBIDDEN = re.compile(r"optimal|spoiler", re.IGNORECASE)  # what no reflection says (the paper's C.1)


class Moment(NamedTuple):
    """What a teacher reflects on.

    Attributes:
        env: The environment, in the state to reflect on.
        state: p(s), which is all that a student will see.
        path: The steps so far, oldest first; more of them than p(s) shows if `history` is short.
        shown: Those that p(s) shows.
        observation: The current observation.
        info: The environment's info.
        wrong: The last action, when it is known to have been a mistake (p_negative).
        wording: Which of several answers about this state is asked for, from 0.
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
    """A reflection and the action that follows from it; without a reflection the lesson is left out of the data."""

    reflection: str | None
    action: str


class Teacher(Protocol):
    """Reflects on the state an environment is in.

    Attributes:
        restarts: Whether an observation of the family tells all that matters, so that a state makes sense without the
            path that led to it.
        idles: Whether a wrong action that leaves the plan as long as it was, such as reading another file, is a mistake
            to learn from; else only one after which it is longer.
    """

    restarts: bool
    idles: bool

    def teach(self, moment: Moment) -> Lesson:
        """Return a reflection and an action."""
        ...


class Sayings:
    """Sentences of a data file, drawn at random.

    Args:
        name: The file's name.
        rng: Draws the wording.
    """

    def __init__(self, name: str, rng: np.random.Generator) -> None:
        self._say = phrases(name)
        self._rng = rng

    def draw(self, kind: str) -> str:
        """Return a sentence of a kind, its gaps not yet filled."""
        sentences = self._say[kind]
        return sentences[int(self._rng.integers(len(sentences)))]


@cache
def phrases(name: str) -> dict[str, list[str]]:
    """Return what is said in an environment, by kind, and the words of the tiny tokenizer."""
    text = resources.files("reference_agent").joinpath(f"data/{name}.toml").read_text(encoding="utf-8")
    return tomllib.loads(text)


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


def listing(names: Sequence[str]) -> str:
    """Return names in words: `a`, `a and b`, `a, b and c`; empty for none."""
    if not names:
        return ""
    *first, last = names
    return f"{', '.join(first)} and {last}" if first else last
