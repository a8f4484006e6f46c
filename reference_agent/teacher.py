"""The oracle teacher M_R (Algorithm 1, lines 7, 8, 15, 16): it follows the environment's own plan and says why.

What it is told beyond the state, that a plan is known (p_reflect) or that the last step was wrong (p_negative), is
never in the prompts that a student is trained on; the wrong step itself stands in p(s)'s path. A teacher behind an
OpenAI-compatible endpoint would be another class with the same method. One teacher a family of environments.
"""

from __future__ import annotations

import tomllib
from functools import cache
from importlib import resources
from typing import NamedTuple, Protocol

import numpy as np

from natlang_envs.dangerous_taxi.city import IN_TAXI, Cell
from natlang_envs.dangerous_taxi.env import DangerousTaxiEnv
from natlang_envs.env import NatLangEnv
from natlang_envs.errors import UsageError


class Lesson(NamedTuple):
    """A reflection and the action that follows from it."""

    reflection: str
    action: str


class Teacher(Protocol):
    """Reflects on the state an environment is in."""

    def teach(self, env: NatLangEnv, wrong: str | None = None) -> Lesson:
        """Return a reflection and an action.

        Args:
            env: The environment, in the state to reflect on.
            wrong: The last action, when it is known to have been a mistake (p_negative).
        """
        ...


class TaxiTeacher:
    """Speaks for DangerousTaxi.

    Args:
        rng: Draws the wording.
    """

    def __init__(self, rng: np.random.Generator) -> None:
        self._say = phrases()
        self._rng = rng

    def teach(self, env: NatLangEnv, wrong: str | None = None) -> Lesson:
        """Return a reflection that names the first command of the oracle's plan and no other, and that command."""
        assert isinstance(env, DangerousTaxiEnv)
        action = env.oracle()[0]
        city, (row, column, passenger, destination) = env.city, env.city.decode(env.state)
        riding = passenger == IN_TAXI
        target = destination if riding else passenger
        directions = bearings((row, column), city.landmarks[target])
        if action.startswith("move"):
            kind = "do" if action.split()[-1] in directions else "around"
        else:
            kind = "drop_off" if riding else "pick_up"
        reflection = self.say(kind, (row, column), city.landmarks[target], action, wrong is not None, riding)
        return Lesson(reflection, action)

    def say(self, kind: str, here: Cell, there: Cell, action: str, mistaken: bool, riding: bool) -> str:
        """Return a reflection of the given kind in a wording drawn anew, whether it is true or not."""
        goal = self._draw("goal_riding" if riding else "goal_waiting")
        # Regret comes last and names no command. Before the command, a student that regrets a right step goes back.
        sentences = [self._draw(kind), self._draw("regret")] if mistaken else [self._draw(kind)]
        return " ".join([comparison(here, there), *(each.format(goal=goal, action=action) for each in sentences)])

    def _draw(self, kind: str) -> str:
        sentences = self._say[kind]
        return sentences[int(self._rng.integers(len(sentences)))]


@cache
def phrases() -> dict[str, list[str]]:
    """Return what is said about DangerousTaxi, by kind, and the words of the tiny tokenizer."""
    text = resources.files("reference_agent").joinpath("data/dangerous_taxi.toml").read_text(encoding="utf-8")
    return tomllib.loads(text)


def bearings(here: Cell, there: Cell) -> tuple[str, str]:
    """Return south, north or level, and east, west or level: where one cell lies from another."""

    def compare(from_: int, to: int, further: str, nearer: str) -> str:
        return further if to > from_ else nearer if to < from_ else "level"

    return compare(here[0], there[0], "south", "north"), compare(here[1], there[1], "east", "west")


def comparison(here: Cell, there: Cell) -> str:
    """Return the sentence that compares two cells."""
    (row, column), (goal_row, goal_column), (down, right) = here, there, bearings(here, there)
    (sentence,) = phrases()["way"]
    return sentence.format(row=row, column=column, goal_row=goal_row, goal_column=goal_column, down=down, right=right)


def make_teacher(env: NatLangEnv, rng: np.random.Generator) -> Teacher:
    """Return the oracle teacher of an environment's family.

    Raises:
        UsageError: The family has none.
    """
    if isinstance(env, DangerousTaxiEnv):
        return TaxiTeacher(rng)
    raise UsageError(f"no oracle teacher knows the environments of {env.family!r}: use DangerousTaxi")
