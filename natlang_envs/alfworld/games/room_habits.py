"""What is usual in a room: how many objects of a type there are, and in which types of receptacles they lie.

Of the seen rooms it is read from `room_habits.json`, which `python -m tools.alfworld.make_room_habits` writes from the
official training games. A room that is held out borrows the habits of other rooms of its kind, one room for each type
of object, and always the same; of its own contents nothing is known.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping
from functools import cache, lru_cache
from importlib.resources import files
from typing import Any, NamedTuple

from natlang_envs.alfworld.games.floor_plans import Room, floor_plans, room
from natlang_envs.alfworld.games.layout import WeightedChoice
from natlang_envs.task_random import TaskRandom

_WHOLE = 1_000  # what one official object or game weighs; weights are whole numbers
_PRIOR = 2  # so many of them is the share of all rooms together
_LOOSE = ""  # where an object lies that is in no receptacle

Where = tuple[str, ...]  # types of receptacles, the rarest of the room first; an object can lie in more than one


class Habit(NamedTuple):
    """What is usual for a type of object in a room.

    Attributes:
        numbers: How many there are.
        lying: The types of receptacles that one lies in; none for an object out of reach.
    """

    numbers: WeightedChoice[int]
    lying: tuple[tuple[Where, int], ...]


@lru_cache(maxsize=1)
def _content() -> dict[str, Any]:
    return json.loads(files("natlang_envs.alfworld.games").joinpath("room_habits.json").read_text("utf-8"))


@lru_cache(maxsize=1)
def inside() -> Mapping[str, Mapping[str, int]]:
    """Return of how many in 1,000 objects of a type that lie beside one of another type lie in it."""
    return _content()["inside"]


def second_places(number: int) -> Mapping[int, tuple[int, ...]]:
    """Return the other receptacles that the fixtures of a room lie in."""
    found: dict[str, list[int]] = _content()["fixtures"].get(str(number), {})
    return {int(fixture): tuple(places) for fixture, places in found.items()}


@cache
def habit(number: int, kind: str) -> Habit:
    """Return what is usual for a type of object in a floor plan."""
    known, here = floor_plans(), room(number)
    there = Counter(each.type for each in here.receptacles)
    counts, lying = _observed(here, kind)
    pooled = known.numbers[kind]
    numbers = [_WHOLE * times for times in counts] + [0] * (len(pooled) - len(counts))
    for index, times in enumerate(pooled):
        numbers[index] += _share(times, sum(pooled))
    weights = {
        where: _WHOLE * times
        for where, times in ((_where(name), times) for name, times in lying.items())
        if not Counter(where) - there
    }
    loose = known.loose.get(kind, 0)
    places = {each: weight * there[each] for each, weight in known.places.get(kind, {}).items() if there[each]}
    for each, weight in places.items():
        weights[each,] = weights.get((each,), 0) + _share(weight * (1_000 - loose), sum(places.values()) * 1_000)
    weights[()] = weights.get((), 0) + _share(loose, 1_000)
    return Habit(WeightedChoice(enumerate(numbers, 1)), tuple(sorted(weights.items())))


def _share(part: int, whole: int) -> int:
    return _PRIOR * _WHOLE * part // whole if whole else 0


def _where(name: str) -> Where:
    return tuple(name.split("+")) if name != _LOOSE else ()


def _observed(here: Room, kind: str) -> tuple[list[int], dict[str, int]]:
    """Return how often there were 1, 2, and so on, and where they lay: here, or in the room that stands in for it."""
    rooms: dict[str, dict[str, tuple[list[int], dict[str, int]]]] = _content()["rooms"]
    if str(here.number) in rooms:
        return rooms[str(here.number)].get(kind, ([], {}))
    alike = [each for each in rooms if kind in rooms[each] and room(int(each)).kind == here.kind]
    if not alike:
        return [], {}
    return rooms[alike[TaskRandom(f"alfworld/habits/{here.number}/{kind}").below(len(alike))]][kind]
