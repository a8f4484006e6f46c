"""The oracle teacher of DangerousTaxi (Algorithm 1, lines 7, 8, 15, 16): it follows the shortest plan and says why."""

from __future__ import annotations

import numpy as np

from natlang_envs.dangerous_taxi.city import IN_TAXI, Cell
from natlang_envs.dangerous_taxi.env import DangerousTaxiEnv
from reference_agent.lessons import Lesson, Moment, Sayings, phrases

SAYINGS = "dangerous_taxi"


class TaxiTeacher:
    """Speaks for DangerousTaxi.

    Args:
        rng: Draws the wording.
        regret: Whether the sentence on a mistake comes `"first"`, before the command, or `"last"`.
    """

    restarts = True

    def __init__(self, rng: np.random.Generator, regret: str = "first") -> None:
        self._say = Sayings(SAYINGS, rng)
        self._last = regret == "last"

    def teach(self, moment: Moment) -> Lesson:
        """Return a reflection whose last command is the first of the oracle's plan, and that command."""
        env = moment.env
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
        return Lesson(self.say(kind, (row, column), city.landmarks[target], action, moment.wrong, riding), action)

    def say(self, kind: str, here: Cell, there: Cell, action: str, wrong: str | None, riding: bool) -> str:
        """Return a reflection of the given kind in a wording drawn anew, whether it is true or not."""
        draw = self._say.draw
        words = {"goal": draw("goal_riding" if riding else "goal_waiting"), "action": action, "last": wrong}
        if wrong and self._last:
            sentences = [draw(kind), draw("regret_last")]
        else:
            sentences = [draw("regret"), draw(kind)] if wrong else [draw(kind)]
        return " ".join([comparison(here, there), *(each.format(**words) for each in sentences)])


def bearings(here: Cell, there: Cell) -> tuple[str, str]:
    """Return south, north or level, and east, west or level: where one cell lies from another."""

    def compare(from_: int, to: int, further: str, nearer: str) -> str:
        return further if to > from_ else nearer if to < from_ else "level"

    return compare(here[0], there[0], "south", "north"), compare(here[1], there[1], "east", "west")


def comparison(here: Cell, there: Cell) -> str:
    """Return the sentence that compares two cells."""
    (row, column), (goal_row, goal_column), (down, right) = here, there, bearings(here, there)
    (sentence,) = phrases(SAYINGS)["way"]
    return sentence.format(row=row, column=column, goal_row=goal_row, goal_column=goal_column, down=down, right=right)
