"""Makes the game of a room and a layout directly: the same that parsing the problem of `pddl_writer` gives, but faster.

Objects, receptacles and locations are numbered in the order of the names that they have in the problem.
"""

from __future__ import annotations

from collections import defaultdict
from functools import cache
from sys import intern
from typing import NamedTuple

from natlang_envs.alfworld.engine.game import Game, Receptacle, Thing, assemble
from natlang_envs.alfworld.engine.goals import Goal
from natlang_envs.alfworld.engine.grammar import BY_NAME
from natlang_envs.alfworld.games.floor_plans import Aim, Fixture, Room, floor_plans, room
from natlang_envs.alfworld.games.layout import Layout, Object, receptacles_of
from natlang_envs.alfworld.games.pddl_writer import goal_of, location_id, receptacle_id, thing_id


class _Row(NamedTuple):
    """A thing: its name in the problem, type, name of the location, receptacles, and place in the layout or -1."""

    name: str
    type: str
    location: str
    receptacles: tuple[int, ...]
    place: int


class _Parts(NamedTuple):
    """What all games of a room share. Names of problems are in lower case.

    Attributes:
        receptacles: Name in the game, type, name of the location, and whether it has a door; in order.
        numbers: The number of each receptacle of the room.
        locations: The names of the locations that receptacles and fixtures are at.
        fixtures: The things that never move.
        can_contain: Which (type of receptacle, type of thing) fit.
        marks: The sets of things that each type is in.
    """

    receptacles: tuple[tuple[str, str, str, bool], ...]
    numbers: dict[int, int]
    locations: frozenset[str]
    fixtures: tuple[_Row, ...]
    can_contain: frozenset[tuple[str, str]]
    marks: dict[str, tuple[str, ...]]


def build_game(here: Room, layout: Layout, aim: Aim, task: str, grammar: str) -> Game:
    """Return the game that a room, the layout of its objects and what the task is about make.

    Args:
        here: The room.
        layout: Its objects.
        aim: What the task is about.
        task: The whole sentence that asks for it.
        grammar: One of `GRAMMARS`.
    """
    parts = _parts_of(here.number) if here is room(here.number) else _parts(here)
    start = location_id(layout.start)
    rows = list(parts.fixtures)
    names = {start, *parts.locations}
    for place, each in enumerate(layout.objects):
        at = location_id(each.location)
        names.add(at)
        kind = each.type.lower()
        rows.append(_Row(thing_id(kind, each.spot), kind, at, _numbered(each, parts.numbers), place))
    rows.sort()
    number_of = {row.place: number for number, row in enumerate(rows)}
    inside = [0] * len(rows)
    locations = {name: number for number, name in enumerate(sorted(names))}
    contents, things_at = [0] * len(parts.receptacles), [0] * len(locations)
    marks: dict[str, int] = defaultdict(int)
    left: dict[str, int] = defaultdict(int)
    for row in rows:
        left[row.type] += 1
    things: list[Thing] = []
    for number, (_, kind, at, receptacles, place) in enumerate(rows):
        one = 1 << number
        things.append(Thing(intern(f"{kind} {left[kind]}"), kind))
        left[kind] -= 1
        things_at[locations[at]] |= one
        for receptacle in receptacles:
            contents[receptacle] |= one
        if place >= 0:
            holder = layout.objects[place].holder
            if holder >= 0:
                inside[number_of[holder]] |= one
            if layout.objects[place].cool:
                marks["cool"] |= one
        for mark in parts.marks[kind]:
            marks[mark] |= one
    goal = goal_of(aim)
    return assemble(
        task=task,
        grammar=BY_NAME[grammar],
        goal=Goal(goal.task_type, *map(str.lower, (goal.object_type, goal.receptacle_type, goal.toggle_type))),
        receptacles=tuple(Receptacle(name, kind, locations[at], door) for name, kind, at, door in parts.receptacles),
        things=tuple(things),
        locations=tuple(f"loc {number}" for number in range(len(locations), 0, -1)),
        start=locations[start],
        can_contain=parts.can_contain,
        marks=marks,
        inside=tuple(inside),
        contents=tuple(contents),
        things_at=tuple(things_at),
    )


def _numbered(each: Fixture | Object, numbers: dict[int, int]) -> tuple[int, ...]:
    return tuple(numbers[place] for place in receptacles_of(each))


@cache
def _parts_of(number: int) -> _Parts:
    return _parts(room(number))


def _parts(here: Room) -> _Parts:
    known = floor_plans()
    locations = [location_id(each) for each in here.locations]
    ids = [receptacle_id(each).lower() for each in here.receptacles]
    order = sorted(range(len(ids)), key=ids.__getitem__)
    numbers = {place: number for number, place in enumerate(order)}
    kinds = [f"{each.partition('_bar_')[0]}{'basin' if 'basin' in each else ''}" for each in ids]
    left = {kind: kinds.count(kind) for kind in kinds}
    receptacles: list[tuple[str, str, str, bool]] = []
    for place in order:
        each, kind = here.receptacles[place], kinds[place]
        name = intern(f"{kind} {left[kind]}")
        left[kind] -= 1
        receptacles.append((name, intern(each.type.lower()), locations[each.location], each.openable))
    fixtures = tuple(
        _Row(
            thing_id(each.type.lower(), each.spot),
            intern(each.type.lower()),
            locations[each.location],
            _numbered(each, numbers),
            -1,
        )
        for each in here.fixtures
    )
    types = {*here.movable, *(each.type for each in here.fixtures)}
    movable = frozenset(here.movable)
    return _Parts(
        receptacles=tuple(receptacles),
        numbers=numbers,
        locations=frozenset((*(at for _, _, at, _ in receptacles), *(each.location for each in fixtures))),
        fixtures=fixtures,
        can_contain=frozenset(
            (intern(kind.lower()), intern(each.lower()))
            for kind in {each.type for each in here.receptacles}
            for each in known.fits.get(kind, frozenset()) & types
        ),
        marks={
            intern(kind.lower()): (
                *(("pickupable",) if kind in movable else ()),
                *(("receptacle_things",) if kind in known.holders else ()),
                *(action for action, able in known.actions.items() if kind in able),
            )
            for kind in types
        },
    )
