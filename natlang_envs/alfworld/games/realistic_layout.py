"""Samples a layout with what official games have: things in two receptacles, in other things, and cold ones.

The usual numbers of objects of each type in a room, and the types of receptacles that they lie in, are read for the
seen rooms from `room_habits.json.gz`, which `python -m tools.alfworld.make_room_habits` writes from the official
training games. A room that is held out borrows the habits of other rooms of its kind, one room for each type of object,
and always the same; of its own contents nothing is known.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from functools import cache, lru_cache
from typing import Any, NamedTuple

from natlang_envs.alfworld.engine.goals import COOL, PLACE, TWO
from natlang_envs.alfworld.games.floor_plans import Room, Spot, TaskAim, content_of, floor_plans, room
from natlang_envs.alfworld.games.layout import (
    Habit,
    Layout,
    Object,
    ObjectPlaces,
    WeightedChoice,
    goal_numbers,
    grounds,
    receptacles_of,
)
from natlang_envs.task_random import TaskRandom

_FILE = "room_habits.json.gz"
_FRIDGE = "Fridge"
_WHOLE = 1_000  # what one official object or game weighs; weights are whole numbers
_PRIOR = 2  # official games that the statistics of all rooms count as

Where = tuple[str, ...]  # types of receptacles, the rarest of the room first; an object can lie in more than one


def lay_out_realistically(here: Room, aim: TaskAim, random: TaskRandom) -> Layout:
    number, sought = here.number, aim.object_type
    known = grounds(room(number))
    habits = {kind: Habit(_usual(number, kind).numbers, lying(number, kind, None)) for kind in here.movable}
    habits[sought] = Habit(goal_numbers(aim.task_type), lying(number, sought, aim))
    cools = sought in floor_plans().actions["coolable"]
    fridges = frozenset([index for index, kind in enumerate(known.types) if cools and kind == _FRIDGE])
    objects = known.objects(habits, aim, random, cold=fridges)
    _put_inside(objects, aim, random)
    return Layout(tuple(objects), known.start(objects, random))


def possible(number: int, aim: TaskAim) -> bool:
    """Return whether what a task is about can lie somewhere when a game begins."""
    return bool(lying(number, aim.object_type, aim).reached)


def lying(number: int, kind: str, sought_for: TaskAim | None) -> ObjectPlaces:
    """Return where objects of a type can lie in a floor plan, of the type that a task is about if one is given.

    What is to be brought somewhere lies elsewhere, as in the official games, unless it has to be cleaned, heated or
    cooled before; what is to be cooled is not in the fridge.
    """
    barred = ""
    if sought_for is not None and sought_for.task_type in (PLACE, TWO):
        barred = sought_for.target_type
    elif sought_for is not None and sought_for.task_type == COOL:
        barred = _FRIDGE
    return _lying(number, kind, barred, sought_for is not None)


@lru_cache(maxsize=50_000)
def _lying(number: int, kind: str, barred: str, sought: bool) -> ObjectPlaces:
    here = room(number)
    weights: dict[tuple[int, ...], int] = {}
    for where, weight in _usual(number, kind).lying:
        if not where:
            weights[()] = 0 if sought else weight
        elif barred not in where:
            main = [index for index, each in enumerate(here.receptacles) if each.type == where[0]]
            for index in main:
                choice = _with_nearest(here, index, where[1:])
                weights[choice] = weights.get(choice, 0) + weight // len(main)
    return ObjectPlaces(sorted(weights.items()))


def _with_nearest(here: Room, main: int, others: tuple[str, ...]) -> tuple[int, ...]:
    """Return a receptacle with the nearest ones of other types."""
    chosen = [main]
    for kind in others:
        near = [index for index, each in enumerate(here.receptacles) if each.type == kind and index not in chosen]
        chosen.append(
            min(near, key=lambda index: (_apart(here.receptacles[main].spot, here.receptacles[index].spot), index))
        )
    return (main, *sorted(chosen[1:]))


def _apart(one: Spot, other: Spot) -> int:
    return sum((a - b) ** 2 for a, b in zip(one, other, strict=True))


def _put_inside(objects: list[Object], aim: TaskAim, random: TaskRandom) -> None:
    """Put some of the objects in others that lie in the same receptacle; never what the task is about."""
    # Of 1,000 objects that lie beside one of another type, the number that lie in it.
    found: Mapping[str, Mapping[str, int]] = content_of(_FILE)["inside"]
    holders = [(index, each) for index, each in enumerate(objects) if each.type in floor_plans().holders]
    held_by: dict[int, int] = {}
    for index, each in enumerate(objects):
        chances = found.get(each.type, {})
        if each.type == aim.object_type or not chances:
            continue
        for number, holder in holders:
            near = number != index and not {*receptacles_of(each)}.isdisjoint(receptacles_of(holder))
            free = near and number not in held_by and index not in held_by.values() and holder.type in chances
            if free and random.below(1_000) < chances[holder.type]:
                held_by[index] = each.holder = number
                break


class _Usual(NamedTuple):
    """The usual numbers and places of a type of object in a floor plan."""

    numbers: WeightedChoice[int]
    lying: tuple[tuple[Where, int], ...]  # the types of receptacles that one lies in; none for an object out of reach


def second_places(number: int) -> Mapping[int, tuple[int, ...]]:
    """Return the other receptacles that the fixtures of a room lie in."""
    found: dict[str, list[int]] = content_of(_FILE)["fixtures"].get(str(number), {})
    return {int(fixture): tuple(places) for fixture, places in found.items()}


@cache
def _usual(number: int, kind: str) -> _Usual:
    known, here = floor_plans(), room(number)
    there = Counter(each.type for each in here.receptacles)
    counts, lying = _observed(here, kind)
    pooled = known.numbers[kind]
    numbers = [_WHOLE * times for times in counts] + [0] * (len(pooled) - len(counts))
    for index, times in enumerate(pooled):
        numbers[index] += _share(times, sum(pooled))
    weights = {
        where: _WHOLE * times
        for where, times in ((tuple(name.split("+")) if name else (), times) for name, times in lying.items())
        if not Counter(where) - there
    }
    loose = known.loose.get(kind, 0)
    places = {each: weight * there[each] for each, weight in known.places.get(kind, {}).items() if there[each]}
    for each, weight in places.items():
        weights[each,] = weights.get((each,), 0) + _share(weight * (1_000 - loose), sum(places.values()) * 1_000)
    weights[()] = weights.get((), 0) + _share(loose, 1_000)
    return _Usual(WeightedChoice(enumerate(numbers, 1)), tuple(sorted(weights.items())))


def _share(part: int, whole: int) -> int:
    return _PRIOR * _WHOLE * part // whole if whole else 0


def _observed(here: Room, kind: str) -> tuple[list[int], dict[str, int]]:
    """Return how often there were 1, 2, and so on, and where they lay: here, or in the room that stands in for it."""
    rooms: dict[str, dict[str, Any]] = content_of(_FILE)["rooms"]
    number = str(here.number)
    if number not in rooms:
        alike = [each for each in rooms if kind in rooms[each] and room(int(each)).kind == here.kind]
        if not alike:
            return [], {}
        number = alike[TaskRandom(f"alfworld/habits/{here.number}/{kind}").below(len(alike))]
    counts, lying = rooms[number].get(kind, ([], {}))
    return counts, lying
