"""ALFWorld's floor plans and statistics about them, read on first use from `floor_plans.json`.

`python -m tools.alfworld.make_floor_plans` writes that file from the alfworld package and the official games.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cache, lru_cache
from importlib.resources import files
from typing import Any, NamedTuple, cast

from natlang_envs.alfworld.games.splits import UNSEEN_PLANS
from natlang_envs.errors import UsageError

_BY_KIND = {0: "kitchen", 2: "living room", 3: "bedroom", 4: "bathroom"}  # by the hundreds of a floor plan's number


class Spot(NamedTuple):
    """A place in a room: millimetres from its origin, up being `y`."""

    x: int
    y: int
    z: int


class Location(NamedTuple):
    """Where an agent stands, in quarters of a metre, which way it faces (quarter turns) and looks (degrees down)."""

    x: int
    z: int
    rotation: int
    horizon: int


class FloorPlanReceptacle(NamedTuple):
    """A receptacle of a floor plan; `location` counts in `Room.locations`, `base` is what its id begins with."""

    type: str
    spot: Spot
    location: int
    openable: bool
    base: str


class Fixture(NamedTuple):
    """A thing that never moves, such as a lamp; `receptacle` counts in `Room.receptacles`, -1 beside them all.

    `also` counts the other receptacles that it lies in.
    """

    type: str
    spot: Spot
    location: int
    receptacle: int
    also: tuple[int, ...] = ()


class Room(NamedTuple):
    """A floor plan.

    Attributes:
        number: As in `FloorPlan10`.
        locations: Where its receptacles and fixtures are reached from; receptacles can share one.
        receptacles: Sorted by their ids.
        fixtures: The things that never move.
        movable: The types of objects in it, sorted; there is at least one of each.
    """

    number: int
    locations: tuple[Location, ...]
    receptacles: tuple[FloorPlanReceptacle, ...]
    fixtures: tuple[Fixture, ...]
    movable: tuple[str, ...]

    @property
    def seen(self) -> bool:
        """Whether the official training games are played in it."""
        return self.number not in UNSEEN_PLANS

    @property
    def kind(self) -> str:
        """Return "kitchen", "living room", "bedroom" or "bathroom"."""
        return _BY_KIND[self.number // 100]


class Aim(NamedTuple):
    """A task: what kind, about which type of object, and which type of receptacle (or lamp) it ends at."""

    task_type: str
    object_type: str
    target_type: str

    @property
    def goal(self) -> str:
        """What callers ask for a task by, such as "Tomato-Microwave"."""
        return f"{self.object_type}-{self.target_type}"


class FloorPlans(NamedTuple):
    """What holds in every room. All counts are of the official training games.

    Attributes:
        fits: Type of receptacle to the types of objects it takes.
        actions: "cleanable", "heatable", "coolable", "toggleable" and "sliceable" to types of objects.
        holders: Types of objects that count as receptacles themselves.
        aims: Task type to its aims and their weights: of those that are possible in a room, one is chosen with a chance
            proportional to its weight.
        kinds: Task type to kinds of rooms, and how often it is asked for there.
        numbers: Type of object to how often there are 1, 2, and so on, where it is not what the task is about.
        goal_numbers: Task type to the same for the type of object that the task is about.
        loose: Type of object to how many in 1,000 lie out of reach, in no receptacle.
        places: Type of object to types of receptacles and their weights: an object lies in a receptacle with a chance
            proportional to the weight of its type.
        single: Types of receptacles that hold no more than one object.
    """

    fits: Mapping[str, frozenset[str]]
    actions: Mapping[str, frozenset[str]]
    holders: frozenset[str]
    aims: Mapping[str, tuple[tuple[Aim, int], ...]]
    kinds: Mapping[str, Mapping[str, int]]
    numbers: Mapping[str, tuple[int, ...]]
    goal_numbers: Mapping[str, tuple[int, ...]]
    loose: Mapping[str, int]
    places: Mapping[str, Mapping[str, int]]
    single: frozenset[str]


@lru_cache(maxsize=1)
def _content() -> dict[str, Any]:
    return json.loads(files("natlang_envs.alfworld.games").joinpath("floor_plans.json").read_text("utf-8"))


@lru_cache(maxsize=1)
def floor_plans() -> FloorPlans:
    """Return what holds in every room."""
    content = _content()
    aims = cast("dict[str, dict[str, int]]", content["aims"])
    kinds = cast("dict[str, dict[str, int]]", content["kinds"])
    return FloorPlans(
        fits={kind: frozenset(things) for kind, things in content["fits"].items()},
        actions={action: frozenset(things) for action, things in content["actions"].items()},
        holders=frozenset(content["holders"]),
        aims={task: tuple((_aim(task, key), times) for key, times in row.items()) for task, row in aims.items()},
        kinds={task: {_BY_KIND[int(key)]: times for key, times in row.items()} for task, row in kinds.items()},
        numbers={kind: tuple(row) for kind, row in content["numbers"].items()},
        goal_numbers={task: tuple(row) for task, row in content["goal_numbers"].items()},
        loose=content["loose"],
        places=content["places"],
        single=frozenset(content["single"]),
    )


def _aim(task_type: str, key: str) -> Aim:
    thing, _, target = key.partition("-")
    return Aim(task_type, thing, target)


@lru_cache(maxsize=1)
def room_numbers() -> tuple[int, ...]:
    """Return the numbers of the 112 floor plans, in order."""
    return tuple(int(number) for number in _content()["rooms"])


@cache
def room(number: int) -> Room:
    """Return a floor plan."""
    content = cast("dict[str, Any] | None", _content()["rooms"].get(str(number)))
    if content is None:
        raise UsageError(f"there is no floor plan {number!r}: ALFWorld has 1 to 30, 201 to 230, 301 to 330, 401 to 430")
    return Room(
        number,
        tuple(Location(*each) for each in content["locations"]),
        tuple(_receptacle(*each) for each in content["receptacles"]),
        tuple(Fixture(kind, Spot(x, y, z), at, inside) for kind, x, y, z, at, inside in content["fixtures"]),
        tuple(content["movable"]),
    )


def _receptacle(kind: str, x: int, y: int, z: int, location: int, openable: int, base: str = "") -> FloorPlanReceptacle:
    return FloorPlanReceptacle(kind, Spot(x, y, z), location, bool(openable), base or kind)
