"""The oracle teacher M_R (Algorithm 1, lines 7, 8, 15, 16): it follows the environment's own plan and says why.

What it is told beyond the state, that a plan is known (p_reflect) or that the last step was wrong (p_negative), is
never in the prompts that a student is trained on; the wrong step itself stands in p(s)'s path. A teacher behind an
OpenAI-compatible endpoint would be another class with the same method. One teacher a family of environments.
"""

from __future__ import annotations

import tomllib
from importlib import resources
from typing import NamedTuple, Protocol

import numpy as np

from natlang_envs.dangerous_taxi.city import IN_TAXI, LANDMARKS
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
        text = resources.files("reference_agent").joinpath("data/dangerous_taxi.toml").read_text(encoding="utf-8")
        self._say: dict[str, list[str]] = tomllib.loads(text)
        self._rng = rng

    def teach(self, env: NatLangEnv, wrong: str | None = None) -> Lesson:
        """Return a reflection that ends in the first command of the oracle's plan, and that command."""
        assert isinstance(env, DangerousTaxiEnv)
        action = env.oracle()[0]
        city, (row, column, passenger, destination) = env.city, env.city.decode(env.state)
        riding = passenger == IN_TAXI
        target = destination if riding else passenger
        down, right = city.landmarks[target][0] - row, city.landmarks[target][1] - column
        heading = action.split()[-1]
        bearings = [
            word
            for word, far in zip(("south", "north", "east", "west"), (down, -down, right, -right), strict=True)
            if far > 0
        ]
        goal = self._draw("goal_riding" if riding else "goal_waiting").format(place=LANDMARKS[target])
        if action.startswith("move"):
            kind = "do" if heading in bearings else "around"
        else:
            kind = "drop_off" if riding else "pick_up"
        words = {
            "goal": goal,
            "Goal": goal[0].upper() + goal[1:],
            "bearing": " and ".join(bearings),
            "heading": heading,
            "action": action,
            "last": wrong,
        }
        sentences = [self._draw("regret")] if wrong else []
        return Lesson(" ".join([*sentences, self._draw(kind)]).format(**words), action)

    def _draw(self, kind: str) -> str:
        sentences = self._say[kind]
        return sentences[int(self._rng.integers(len(sentences)))]


def make_teacher(env: NatLangEnv, rng: np.random.Generator) -> Teacher:
    """Return the oracle teacher of an environment's family.

    Raises:
        UsageError: The family has none.
    """
    if isinstance(env, DangerousTaxiEnv):
        return TaxiTeacher(rng)
    raise UsageError(f"no oracle teacher knows the environments of {env.family!r}: use DangerousTaxi")
