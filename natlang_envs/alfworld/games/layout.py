"""Laying out the objects of a room anew: how many of each type there are, and where each one lies."""

from __future__ import annotations

from functools import cache, lru_cache
from typing import NamedTuple

from natlang_envs.alfworld.engine.goals import PLACE, TWO
from natlang_envs.alfworld.games.floor_plans import Aim, Location, Room, Spot, facts
from natlang_envs.alfworld.games.weighted_choice import Chances
from natlang_envs.tasks import TaskRandom

_CENTIMETRE = 10  # millimetres; ids tell no less apart
_SPREAD = 30  # centimetres from the middle of a receptacle, to each side, at which things lie
_RISE = 25  # and above it
_LEVEL, _DOWN = 30, 60  # degrees
_KEPT = 50_000  # rooms times types of objects whose places are kept in mind; made-up rooms have no end


class Object(NamedTuple):
    """An object where a game begins; `receptacle` counts in `Room.receptacles`, -1 for one that is in none."""

    type: str
    spot: Spot
    location: Location
    receptacle: int


class Layout(NamedTuple):
    """The objects of a game, sorted by type, and where the player starts: at no receptacle."""

    objects: tuple[Object, ...]
    start: Location


def lay_out(here: Room, aim: Aim, random: TaskRandom) -> Layout:
    """Return a layout that is drawn anew; the objects that the task is about are all within reach."""
    taken = {(thing.type, thing.spot) for thing in here.fixtures}
    objects: list[Object] = []
    full: set[int] = set()
    for kind in here.movable:
        for _ in range(_number(kind, aim).draw(random)):
            chosen = _place(kind, here, aim, full, random)
            if chosen >= 0 and here.receptacles[chosen].type in facts().single:
                full.add(chosen)
            while True:
                spot = _spot(here, chosen, random)
                if (kind, spot) not in taken:
                    break
            taken.add((kind, spot))
            location = here.locations[here.receptacles[chosen].location] if chosen >= 0 else _stand(here, _DOWN, random)
            objects.append(Object(kind, spot, location, chosen))
    while (start := _stand(here, _LEVEL, random)) in here.locations or any(start == each.location for each in objects):
        pass
    return Layout(tuple(objects), start)


def places_for(kind: str, here: Room, aim: Aim) -> Chances[int]:
    """Return the receptacles of a room that objects of a type can lie in when a game begins.

    What is to be brought somewhere lies elsewhere, as in the official games, unless it has to be cleaned, heated or
    cooled before.
    """
    sought = kind == aim.object_type and aim.task_type in (PLACE, TWO)
    return _places(kind, tuple(each.type for each in here.receptacles), aim.target_type if sought else None)


@lru_cache(maxsize=_KEPT)
def _places(kind: str, receptacle_types: tuple[str, ...], barred: str | None) -> Chances[int]:
    weights = facts().places.get(kind, {})
    return Chances(
        (index, weights.get(each, 0) if each != barred else 0) for index, each in enumerate(receptacle_types)
    )


def _number(kind: str, aim: Aim) -> Chances[int]:
    return _numbers(aim.task_type, None) if kind == aim.object_type else _numbers(None, kind)


@cache
def _numbers(task_type: str | None, kind: str | None) -> Chances[int]:
    known = facts().numbers[kind] if kind else facts().goal_numbers[str(task_type)]
    return Chances(enumerate(known, 1))


def _place(kind: str, here: Room, aim: Aim, full: set[int], random: TaskRandom) -> int:
    """Return the receptacle for an object, -1 for none: officially too, some objects lie where nobody can take them."""
    chances = places_for(kind, here, aim)
    sought = kind == aim.object_type
    if not sought and random.below(1000) < facts().loose.get(kind, 0):
        return -1
    if all(place in full for place in chances.outcomes):
        return chances.draw(random) if sought else -1
    while (chosen := chances.draw(random)) in full:
        pass
    return chosen


def _spot(here: Room, receptacle: int, random: TaskRandom) -> Spot:
    middle = here.receptacles[receptacle if receptacle >= 0 else random.below(len(here.receptacles))].spot
    return Spot(
        _CENTIMETRE * (middle.x // _CENTIMETRE + random.below(2 * _SPREAD + 1) - _SPREAD),
        _CENTIMETRE * (middle.y // _CENTIMETRE + random.below(_RISE)),
        _CENTIMETRE * (middle.z // _CENTIMETRE + random.below(2 * _SPREAD + 1) - _SPREAD),
    )


def _stand(here: Room, horizon: int, random: TaskRandom) -> Location:
    """Return a place to stand somewhere among those of the room's receptacles."""
    xs, zs = [each.x for each in here.locations], [each.z for each in here.locations]
    x, z = (min(each) + random.below(max(each) - min(each) + 1) for each in (xs, zs))
    return Location(x, z, random.below(4), horizon)
