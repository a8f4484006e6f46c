"""Makes the game of a room and a layout directly: the same that parsing the problem of `pddl_writer` gives, but faster.

Objects, receptacles and locations are numbered in the order of the names that they have in the problem.
"""

from __future__ import annotations

from collections import Counter
from functools import cache, lru_cache
from sys import intern

from natlang_envs.alfworld.engine.game import Game, Receptacle, Thing, assemble
from natlang_envs.alfworld.engine.goals import Goal
from natlang_envs.alfworld.engine.grammar import BY_NAME
from natlang_envs.alfworld.engine.pddl_facts import kind_of
from natlang_envs.alfworld.games.floor_plans import Room, TaskAim, floor_plans, room
from natlang_envs.alfworld.games.layout import Layout, Object, receptacles_of
from natlang_envs.alfworld.games.pddl_writer import beginning, goal_of, location_id, receptacle_id, thing_id

# A thing: its name in the problem, name of the location, receptacles, and place in the layout or -1. Of the name it has
# only as much as distinguishes the things of its type.
_Row = tuple[str, str, tuple[int, ...], int]


class _ThingType:
    """A type of thing in a room: its name in the game, the sets that it is in, and those that never move."""

    def __init__(self, type: str, movable: bool) -> None:
        known = floor_plans()
        self.name = intern(type.lower())
        self.marks = [action for action, able in known.actions.items() if type in able]
        if movable:
            self.marks.append("pickupable")
        if type in known.holders:
            self.marks.append("receptacle_things")
        self.fixtures: list[_Row] = []


class _Parts:
    """The parts that all games of a room share; `numbers` and `ats`, names of locations, are by receptacle."""

    def __init__(self, here: Room) -> None:
        known = floor_plans()
        locations = [location_id(each) for each in here.locations]
        ids = [receptacle_id(each).lower() for each in here.receptacles]
        order = sorted(range(len(ids)), key=ids.__getitem__)
        names = [kind_of(each) for each in ids]
        left = Counter(names)
        self.numbers = [0] * len(ids)
        self.ats = [locations[each.location] for each in here.receptacles]
        # Name in the game, type, name of the location, and whether it has a door; by number.
        self._receptacles: list[tuple[str, str, str, bool]] = []
        for number, place in enumerate(order):
            each, name = here.receptacles[place], names[place]
            self.numbers[place] = number
            self._receptacles.append(
                (intern(f"{name} {left[name]}"), intern(each.type.lower()), self.ats[place], each.openable)
            )
            left[name] -= 1
        self._made: list[dict[int, Receptacle]] = [{} for _ in order]
        types = {*here.movable, *(each.type for each in here.fixtures)}
        movable = frozenset(here.movable)
        # In the order of the problem's names, where a type is followed by "_", which is before all letters.
        in_order = sorted(types, key=lambda kind: f"{kind.lower()}_")
        self.kinds = {kind: _ThingType(kind, kind in movable) for kind in in_order}
        for each in here.fixtures:
            name = thing_id(each.type.lower(), each.spot)
            places = tuple([self.numbers[place] for place in receptacles_of(each)])
            self.kinds[each.type].fixtures.append((name, locations[each.location], places, -1))
        self.locations = frozenset([*self.ats, *[locations[each.location] for each in here.fixtures]])
        self.can_contain = frozenset(
            [
                (intern(kind.lower()), intern(each.lower()))
                for kind in {each.type for each in here.receptacles}
                for each in known.fits.get(kind, frozenset()) & types
            ]
        )

    def receptacles(self, locations: dict[str, int]) -> tuple[Receptacle, ...]:
        """Return the receptacles of a game that numbers locations so; games that agree share them."""
        found: list[Receptacle] = []
        for made, (name, kind, at, door) in zip(self._made, self._receptacles, strict=True):
            location = locations[at]
            if location not in made:
                made[location] = Receptacle(name, kind, location, door)
            found.append(made[location])
        return tuple(found)


def build_game(here: Room, layout: Layout, aim: TaskAim, task: str, grammar: str) -> Game:
    parts = _parts_of(here.number) if here is room(here.number) else _Parts(here)
    start = location_id(layout.start)
    names = {start, *parts.locations}
    objects = layout.objects
    by_kind: dict[str, list[int]] = {}
    for place, each in enumerate(objects):
        if each.receptacle < 0:
            names.add(location_id(each.location))
        by_kind.setdefault(each.type, []).append(place)
    locations = {name: number for number, name in enumerate(sorted(names))}
    things: list[Thing] = []
    number_of = [0] * len(objects)
    contents, things_at = [0] * len(parts.numbers), [0] * len(locations)
    marks: dict[str, int] = {}
    for name, kind in parts.kinds.items():
        rows = _rows(kind, by_kind.get(name, []), objects, parts)
        first = len(things)
        for number, (_, at, receptacles, place) in enumerate(rows, first):
            one = 1 << number
            things_at[locations[at]] |= one
            for receptacle in receptacles:
                contents[receptacle] |= one
            if place >= 0:
                number_of[place] = number
                if objects[place].cool:
                    marks["cool"] = marks.get("cool", 0) | one
        things.extend(_named(kind.name, len(rows)))
        members = (1 << len(things)) - (1 << first)
        for mark in kind.marks:
            marks[mark] = marks.get(mark, 0) | members
    inside = [0] * len(things)
    for place, each in enumerate(objects):
        if each.holder >= 0:
            inside[number_of[each.holder]] |= 1 << number_of[place]
    return assemble(
        task=task,
        grammar=BY_NAME[grammar],
        goal=_goal(aim),
        receptacles=parts.receptacles(locations),
        things=tuple(things),
        locations=_location_names(len(locations)),
        start=locations[start],
        can_contain=parts.can_contain,
        marks=marks,
        inside=tuple(inside),
        contents=tuple(contents),
        things_at=tuple(things_at),
    )


def _rows(kind: _ThingType, places: list[int], objects: tuple[Object, ...], parts: _Parts) -> list[_Row]:
    """Return the things of a type, in order; `places` are those of its objects in the layout, which has `objects`."""
    rows = kind.fixtures.copy()
    several = len(rows) + len(places) > 1
    # The beginnings of names distinguish most things; whole names are needed where they do not, or beside fixtures.
    whole = several and (len(rows) > 0 or len({objects[place].x for place in places}) < len(places))
    for place in places:
        each = objects[place]
        main = each.receptacle
        name = thing_id(kind.name, each.spot) if whole else beginning(kind.name, each.x) if several else ""
        if main < 0:
            rows.append((name, location_id(each.location), (), place))
        elif each.also:
            rows.append((name, parts.ats[main], tuple([parts.numbers[at] for at in receptacles_of(each)]), place))
        else:
            rows.append((name, parts.ats[main], (parts.numbers[main],), place))
    if several:
        rows.sort()
    return rows


@cache
def _parts_of(number: int) -> _Parts:
    return _Parts(room(number))


@lru_cache(maxsize=4_096)
def _named(kind: str, count: int) -> tuple[Thing, ...]:
    """Return `count` things of a type, the highest number first."""
    return tuple([Thing(intern(f"{kind} {number}"), kind) for number in range(count, 0, -1)])


@lru_cache(maxsize=256)
def _location_names(count: int) -> tuple[str, ...]:
    return tuple([f"loc {number}" for number in range(count, 0, -1)])


@lru_cache(maxsize=4_096)
def _goal(aim: TaskAim) -> Goal:
    return goal_of(TaskAim(*[each.lower() for each in aim]))
