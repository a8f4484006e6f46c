"""DangerousTaxi's own teacher: it drives, and says why.

Without `walls` it follows the shortest plan. With `walls` it drives by one local rule that carries over to unseen
cities: first to the column of the goal, one border between columns after the other, around the nearer end of a wall.
This is never illegal, and longer than the shortest plan by 0.1 steps a pickup and 0.3 a delivery on average.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from natlang_envs.dangerous_taxi.city import IN_TAXI, Cell, City
from natlang_envs.dangerous_taxi.env import DangerousTaxiEnv
from natlang_envs.env import NatLangEnv
from natlang_envs.errors import require_choice
from reference_agent.families import phrases
from reference_agent.teachers.base import Lesson, Moment, Sayings

FAMILY = "dangerous-taxi"


class TaxiTeacher:
    """Speaks for DangerousTaxi, in a wording that `rng` draws.

    The sentence on a mistake comes `"first"`, before the command, or `"last"` (`regret`): a student that regrets a
    right step before it chooses turns back; after the command it is too late for that. With `walls` it names those on
    the next border between columns, and drives by that alone; otherwise it follows the shortest plan, whose reasons
    may lie anywhere on the map.
    """

    restarts = True

    def __init__(self, rng: np.random.Generator, regret: str = "first", walls: bool = False) -> None:
        self._say = Sayings(FAMILY, rng)
        self._last = regret == "last"
        self._walls = walls

    def __call__(self, moment: Moment) -> Lesson:
        env = moment.env
        assert isinstance(env, DangerousTaxiEnv)
        city, (row, column, passenger, destination) = env.city, env.city.decode(env.state)
        riding = passenger == IN_TAXI
        here, there = (row, column), city.landmarks[destination if riding else passenger]
        action, seen = env.oracle()[0], ""
        if here == there:
            kind = "drop_off" if riding else "pick_up"
        elif not self._walls:
            kind = "do" if action.split()[-1] in bearings(here, there) else "around"
        else:
            way = look_ahead(city, here, there)
            kind, action, seen = way.kind, f"move {way.direction}", way.seen
        return Lesson(self.say(kind, here, there, action, moment.wrong, riding, seen), action)

    def say(
        self, kind: str, here: Cell, there: Cell, action: str, wrong: str | None, riding: bool, seen: str = ""
    ) -> str:
        """Return a reflection of the given kind in a wording drawn anew, whether it is true or not."""
        draw = self._say.draw
        words = {"goal": draw("goal_riding" if riding else "goal_waiting"), "action": action, "last": wrong}
        kinds = [kind] if not wrong else [kind, "regret_last"] if self._last else ["regret", kind]
        facts = [comparison(here, there), *filter(None, [seen])]
        return " ".join([*facts, *(draw(each).format(**words) for each in kinds)])


def make(env: NatLangEnv, rng: np.random.Generator, regret: str = "first", walls: bool = False) -> TaxiTeacher:
    require_choice("teacher.regret", regret, ("first", "last"))
    return TaxiTeacher(rng, regret, walls)


def bearings(here: Cell, there: Cell) -> tuple[str, str]:
    """Return south, north or level, and east, west or level: where one cell lies from another."""

    def compare(from_: int, to: int, further: str, nearer: str) -> str:
        return further if to > from_ else nearer if to < from_ else "level"

    return compare(here[0], there[0], "south", "north"), compare(here[1], there[1], "east", "west")


def comparison(here: Cell, there: Cell) -> str:
    """Return the sentence that compares two cells."""
    (row, column), (goal_row, goal_column), (down, right) = here, there, bearings(here, there)
    return sentence("way", row=row, column=column, goal_row=goal_row, goal_column=goal_column, down=down, right=right)


def sentence(kind: str, **words: object) -> str:
    (only,) = phrases(FAMILY)[kind]
    return only.format(**words)


def next_border(here: Cell, there: Cell) -> int | None:
    """Return the column west of the next border on the way from one cell to another; None where they share theirs."""
    if here[1] == there[1]:
        return None
    return here[1] if there[1] > here[1] else here[1] - 1


class Way(NamedTuple):
    """Where to drive by the rule above."""

    kind: str  # `"do"` or, around a wall, `"around"`
    direction: str  # such as `"north"`
    seen: str  # a sentence on the next border between columns; empty where none has to be crossed


def look_ahead(city: City, here: Cell, there: Cell) -> Way:
    """Return the way from one cell to another of the same city, as far as its next border."""
    row, (down, right), border = here[0], bearings(here, there), next_border(here, there)
    if border is None:
        return Way("do", down, "")
    walls = [each for each in range(city.rows) if (each, border) in city.walls]  # in a row: a border has one wall
    if not walls:
        return Way("do", right, sentence("no_wall", column=border, next=border + 1))
    first, last = walls[0], walls[-1]
    rows = f"rows {first} to {last}" if last > first else f"row {first}"  # as the observation says it
    facts = {"column": border, "next": border + 1, "rows": rows, "row": row}
    if row not in walls:
        return Way("do", right, sentence("open", **facts))
    ends = {"north": row + 1 - first if first else None, "south": last + 1 - row if last + 1 < city.rows else None}
    preferred = "south" if down == "south" else "north"
    direction = min((steps, each != preferred, each) for each, steps in ends.items() if steps)[2]
    told = {each: steps or "none" for each, steps in ends.items()}
    return Way("around", direction, sentence("closed", **facts, **told))
