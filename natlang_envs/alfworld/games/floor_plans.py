"""ALFWorld's floor plans and statistics about them, read on first use from `floor_plans.json.gz`.

`python -m tools.alfworld.make_floor_plans` writes that file from the alfworld package and the official games.
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from typing import Any, NamedTuple, cast

from natlang_envs.alfworld.games.splits import UNSEEN_PLANS
from natlang_envs.errors import UsageError

_FILE = "floor_plans.json.gz"
_BY_KIND = {0: "kitchen", 2: "living room", 3: "bedroom", 4: "bathroom"}  # by the hundreds of a floor plan's number


class Spot(NamedTuple):
    """A place in a room: millimetres from its origin, up being `y`."""

    x: int
    y: int
    z: int


class Location(NamedTuple):
    """An agent's position in quarters of a metre, its rotation in quarter turns, and its view in degrees down."""

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
    """A thing that never moves, such as a lamp."""

    type: str
    spot: Spot
    location: int
    receptacle: int  # an index of `Room.receptacles`, or -1
    also: tuple[int, ...] = ()  # further ones that it lies in


class Room(NamedTuple):
    """A floor plan, such as `FloorPlan10`, whose number is 10."""

    number: int
    locations: tuple[Location, ...]  # where its receptacles and fixtures are reached from; receptacles can share one
    receptacles: tuple[FloorPlanReceptacle, ...]  # sorted by their ids
    fixtures: tuple[Fixture, ...]  # the things that never move
    movable: tuple[str, ...]  # the types of objects in it, sorted; there is at least one of each

    @property
    def seen(self) -> bool:
        """Whether the official training games are played in it."""
        return self.number not in UNSEEN_PLANS

    @property
    def kind(self) -> str:
        """Return "kitchen", "living room", "bedroom" or "bathroom"."""
        return _BY_KIND[self.number // 100]


class TaskAim(NamedTuple):
    """A task: what kind, about which type of object, and which type of receptacle (or lamp) it ends at."""

    task_type: str
    object_type: str
    target_type: str

    @property
    def goal(self) -> str:
        """The argument `goal` that asks for it, such as "Tomato-Microwave"."""
        return f"{self.object_type}-{self.target_type}"


class FloorPlans(NamedTuple):
    """Facts about all rooms. Counts are of the official training games; probabilities are in proportion to them."""

    fits: Mapping[str, frozenset[str]]  # type of receptacle to the types of objects it takes
    actions: Mapping[str, frozenset[str]]  # "cleanable", "heatable" and so on to types of objects
    holders: frozenset[str]  # types of objects that count as receptacles themselves
    aims: Mapping[str, tuple[tuple[TaskAim, int], ...]]  # by task type
    kinds: Mapping[str, Mapping[str, int]]  # task type to kinds of rooms
    numbers: Mapping[str, tuple[int, ...]]  # type of object, when no task is about it, to how often there are 1, 2, …
    goal_numbers: Mapping[str, tuple[int, ...]]  # task type to the same for what the task is about
    loose: Mapping[str, int]  # type of object to how many in 1,000 lie out of reach, in no receptacle
    places: Mapping[str, Mapping[str, int]]  # type of object to types of receptacles, each of which counts so much
    single: frozenset[str]  # types of receptacles that hold no more than one object


@cache
def content_of(name: str) -> dict[str, Any]:
    """Return the content of a compressed JSON file of this package."""
    return json.loads(gzip.decompress(files("natlang_envs.alfworld.games").joinpath(name).read_bytes()))


@cache
def floor_plans() -> FloorPlans:
    content = content_of(_FILE)
    aims = cast("dict[str, dict[str, int]]", content["aims"])
    kinds = cast("dict[str, dict[str, int]]", content["kinds"])
    return FloorPlans(
        fits={kind: frozenset(things) for kind, things in content["fits"].items()},
        actions={action: frozenset(things) for action, things in content["actions"].items()},
        holders=frozenset(content["holders"]),
        aims={
            task: tuple((TaskAim(task, *name.split("-")), times) for name, times in row.items())
            for task, row in aims.items()
        },
        kinds={task: {_BY_KIND[int(key)]: times for key, times in row.items()} for task, row in kinds.items()},
        numbers={kind: tuple(row) for kind, row in content["numbers"].items()},
        goal_numbers={task: tuple(row) for task, row in content["goal_numbers"].items()},
        loose=content["loose"],
        places=content["places"],
        single=frozenset(content["single"]),
    )


@cache
def room_numbers() -> tuple[int, ...]:
    """Return the numbers of the 112 floor plans, in order."""
    return tuple(int(number) for number in content_of(_FILE)["rooms"])


@cache
def room(number: int) -> Room:
    content = cast("dict[str, Any] | None", content_of(_FILE)["rooms"].get(str(number)))
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
