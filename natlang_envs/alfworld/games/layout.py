"""Draws a layout of a room's objects: how many of each type there are, and where each one lies."""

from __future__ import annotations

from functools import cache, lru_cache
from typing import NamedTuple

from natlang_envs.alfworld.engine.goals import PLACE, TWO
from natlang_envs.alfworld.games.floor_plans import Aim, Fixture, Location, Room, Spot, floor_plans
from natlang_envs.alfworld.games.weighted_choice import WeightedChoice
from natlang_envs.tasks import TaskRandom

_CENTIMETRE = 10  # millimetres; ids tell no less apart
_SPREAD = 30  # centimetres from the middle of a receptacle, to each side, at which things lie
_RISE = 25  # and above it
LEVEL, DOWN = 30, 60  # degrees
_KEPT = 50_000  # rooms times types of objects whose places are kept in mind; made-up rooms have no end


class Object(NamedTuple):
    """An object where a game begins.

    Attributes:
        type: What it is.
        spot: Where its middle is.
        location: Where it is reached from.
        receptacle: Where it lies, counted in `Room.receptacles`; -1 for one that lies nowhere.
        also: The other receptacles it lies in.
        holder: The object that it lies in, counted in `Layout.objects`; -1 for none.
        cool: Whether it is cold.
    """

    type: str
    spot: Spot
    location: Location
    receptacle: int
    also: tuple[int, ...] = ()
    holder: int = -1
    cool: bool = False


def receptacles_of(each: Fixture | Object) -> tuple[int, ...]:
    """Return all receptacles that something lies in."""
    return (each.receptacle, *each.also) if each.receptacle >= 0 else ()


class Layout(NamedTuple):
    """The objects of a game, sorted by type, and where the player starts: at no receptacle."""

    objects: tuple[Object, ...]
    start: Location


def lay_out(here: Room, aim: Aim, random: TaskRandom) -> Layout:
    """Return a layout that is drawn anew; the objects that the task is about are all within reach."""
    known, receptacles = floor_plans(), here.receptacles
    types = tuple(each.type for each in receptacles)
    within = area(here)
    taken = {(thing.type, thing.spot) for thing in here.fixtures}
    objects: list[Object] = []
    full: set[int] = set()
    for kind in here.movable:
        sought = kind == aim.object_type
        loose = known.loose.get(kind, 0)
        places = _places(kind, types, _barred(kind, aim))
        for _ in range(_number(kind, aim).draw(random)):
            # Officially too, some objects lie where nobody can take them.
            chosen = -1 if not sought and random.below(1000) < loose else _place(places, full, sought, random)
            if chosen >= 0 and types[chosen] in known.single:
                full.add(chosen)
            while (kind, (at := spot(here, chosen, random))) in taken:
                pass
            taken.add((kind, at))
            location = here.locations[receptacles[chosen].location] if chosen >= 0 else stand(within, DOWN, random)
            objects.append(Object(kind, at, location, chosen))
    reached = {each.location for each in objects}.union(here.locations)
    while (start := stand(within, LEVEL, random)) in reached:
        pass
    return Layout(tuple(objects), start)


def places_for(kind: str, here: Room, aim: Aim) -> WeightedChoice[int]:
    """Return the receptacles of a room that objects of a type can lie in when a game begins.

    What is to be brought somewhere lies elsewhere, as in the official games, unless it has to be cleaned, heated or
    cooled before.
    """
    return _places(kind, tuple(each.type for each in here.receptacles), _barred(kind, aim))


def _barred(kind: str, aim: Aim) -> str | None:
    return aim.target_type if kind == aim.object_type and aim.task_type in (PLACE, TWO) else None


@lru_cache(maxsize=_KEPT)
def _places(kind: str, receptacle_types: tuple[str, ...], barred: str | None) -> WeightedChoice[int]:
    weights = floor_plans().places.get(kind, {})
    return WeightedChoice(
        (index, weights.get(each, 0) if each != barred else 0) for index, each in enumerate(receptacle_types)
    )


def _number(kind: str, aim: Aim) -> WeightedChoice[int]:
    return goal_number(aim) if kind == aim.object_type else _numbers(None, kind)


def goal_number(aim: Aim) -> WeightedChoice[int]:
    """Return how many objects there are of the type that a task is about."""
    return _numbers(aim.task_type, None)


@cache
def _numbers(task_type: str | None, kind: str | None) -> WeightedChoice[int]:
    known = floor_plans().numbers[kind] if kind else floor_plans().goal_numbers[str(task_type)]
    return WeightedChoice(enumerate(known, 1))


def _place(places: WeightedChoice[int], full: set[int], sought: bool, random: TaskRandom) -> int:
    """Return the receptacle for an object; without room in any, -1, or for what is sought one that is full."""
    if all(place in full for place in places.outcomes):
        return places.draw(random) if sought else -1
    while (chosen := places.draw(random)) in full:
        pass
    return chosen


def spot(here: Room, receptacle: int, random: TaskRandom) -> Spot:
    """Return where an object is that lies in a receptacle, or near any for -1."""
    middle = here.receptacles[receptacle if receptacle >= 0 else random.below(len(here.receptacles))].spot
    return Spot(
        _CENTIMETRE * (middle.x // _CENTIMETRE + random.below(2 * _SPREAD + 1) - _SPREAD),
        _CENTIMETRE * (middle.y // _CENTIMETRE + random.below(_RISE)),
        _CENTIMETRE * (middle.z // _CENTIMETRE + random.below(2 * _SPREAD + 1) - _SPREAD),
    )


def area(here: Room) -> tuple[int, int, int, int]:
    """Return the lowest x of a room's locations and the number of xs, and the same of z."""
    xs, zs = [each.x for each in here.locations], [each.z for each in here.locations]
    return min(xs), max(xs) - min(xs) + 1, min(zs), max(zs) - min(zs) + 1


def stand(within: tuple[int, int, int, int], horizon: int, random: TaskRandom) -> Location:
    """Return a place to stand somewhere among those of the room's receptacles."""
    x, width, z, depth = within
    return Location(x + random.below(width), z + random.below(depth), random.below(4), horizon)
