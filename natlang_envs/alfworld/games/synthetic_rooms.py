"""Synthetic rooms: a new room for every game, mixed from floor plans of one kind, so that none can be memorised.

There are only 27 seen rooms of each kind: an agent may memorise them instead of learning to search. A task id reads
`mixed/pick_heat_then_place_in_recep/12/345`: the task type, the floor plan that the room takes after, and the number of
the game, on which all else depends. Here too every game can be won, and none is won at the start.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import cache, lru_cache
from itertools import product
from typing import TypeVar

from natlang_envs.alfworld.engine.game import Game
from natlang_envs.alfworld.engine.grammar import GRAMMARS
from natlang_envs.alfworld.games import generator
from natlang_envs.alfworld.games.floor_plans import Fixture, FloorPlanReceptacle, Location, Room, room, room_numbers
from natlang_envs.alfworld.games.generated_tasks import GAMES_KEPT, MadeGames
from natlang_envs.alfworld.games.generator import GAMES, GeneratedGame, parse_task_id
from natlang_envs.alfworld.games.pddl_writer import receptacle_id
from natlang_envs.alfworld.games.splits import GeneratedSplit, generated_split
from natlang_envs.errors import UsageError
from natlang_envs.task_random import TaskRandom

Thing = TypeVar("Thing", FloorPlanReceptacle, Fixture)

PREFIX = "mixed"
EXAMPLE = f"{PREFIX}/pick_heat_then_place_in_recep/12/345"
_TASK_ID = re.compile(rf"{PREFIX}/(\w+/[0-9]{{1,3}}/[0-9]{{3}})")
_NUMBERS: dict[GeneratedSplit | None, range] = {
    "train": range(900),
    "validation": range(900, 950),
    "test": range(950, GAMES),
    None: range(GAMES),
}
_ASIDE = 100  # quarters of a metre by which the rooms that are mixed stand side by side, so that no two places meet
_MILLIMETRES = 250  # in a quarter
_TRIES = 20  # mixed rooms that are tried at most until the task is possible in one


class MixedTasks(MadeGames):
    """The games in synthetic rooms of one split, all mixed from seen rooms; without goals, which need the made room."""

    def _choose(self, split: str) -> None:
        if self._goal is not None:
            raise UsageError(f"made-up rooms take no goal ({self._goal!r}): leave goal out, or pass source='generated'")
        self._numbers = _NUMBERS[generated_split(split)]

    def draw(self, uniform: Callable[[], float]) -> str:
        """Return the id of a game: types and kinds of rooms as often as officially, then any room and any number."""
        task = parse_task_id(generator.draw_task_id(uniform, True, self._types, self._numbers))
        return f"{PREFIX}/{task.task_type}/{task.room}/{task.number:03}"

    def split_of(self, task_id: str) -> str:
        number = _parts(task_id)[2]
        return next(str(split) for split, numbers in _NUMBERS.items() if number in numbers)

    def _about(self, task_id: str) -> tuple[str, str | None]:
        return _parts(task_id)[0], None

    def ids(self) -> Iterator[str]:
        """Yield every task id, by type, room and number."""
        for task_type in self._types:
            for place, number in product(generator.rooms_for(task_type, True), self._numbers):
                yield f"{PREFIX}/{task_type}/{place}/{number:03}"

    @staticmethod
    def _made(task_id: str) -> GeneratedGame:
        return synthetic_game(task_id)

    @classmethod
    def _played(cls, task_id: str, grammar: str) -> Game:
        return _made(task_id, grammar)[1]


def synthetic_game(task_id: str) -> GeneratedGame:
    return _made(task_id, GRAMMARS[0])[0]


def _parts(task_id: str) -> tuple[str, int, int]:
    """Return the parts of a task id: those of the generated game of the same floor plan and number."""
    parts = _TASK_ID.fullmatch(str(task_id))
    with suppress(UsageError):
        if parts:
            return parse_task_id(f"generated/seen/{parts[1]}")
    raise UsageError(f"unknown task {str(task_id)[:200]!a}: the id of a game in a made-up room reads like {EXAMPLE!r}")


@lru_cache(maxsize=GAMES_KEPT)
def _made(task_id: str, grammar: str) -> tuple[GeneratedGame, Game]:
    """Return a game before and when it is played: only then is it known whether it is too large."""
    task_type, number, _ = _parts(task_id)
    random = TaskRandom(f"alfworld/{task_id}")
    for _ in range(_TRIES):
        here = mix(room(number), random)
        aims = generator.weighted_aims(task_type, here)
        if aims.outcomes:
            made = generator.game_in(here, aims.draw(random), random)
            with suppress(UsageError):
                return made, made.game(grammar)
    here = room(number)
    made = generator.game_in(here, generator.weighted_aims(task_type, here).draw(random), random)
    return made, made.game(grammar)


@cache
def _rooms(kind: str) -> tuple[Room, ...]:
    rooms = (room(number) for number in room_numbers())
    return tuple(each for each in rooms if each.seen and each.kind == kind)


@cache
def _receptacle_types(kind: str) -> tuple[str, ...]:
    return tuple(sorted({each.type for other in _rooms(kind) for each in other.receptacles}))


def mix(here: Room, random: TaskRandom) -> Room:
    """Return a room whose receptacles of each type, with what stands on them, are those of `here` or of another room.

    A type that the other room does not have is missing then. Its objects are of as many types as those of `here`.
    """
    others = _rooms(here.kind)
    # Rooms by their numbers.
    chosen = {
        kind: here.number if random.below(2) else others[random.below(len(others))].number
        for kind in _receptacle_types(here.kind)
    }
    rooms = [room(number) for number in dict.fromkeys((here.number, *chosen.values()))]
    aside = {other.number: place * _ASIDE for place, other in enumerate(rooms)}
    first: dict[int, int] = {}
    locations: list[Location] = []
    for other in rooms:
        first[other.number] = len(locations)
        locations += [each._replace(x=each.x + aside[other.number]) for each in other.locations]

    def moved(each: Thing, other: Room) -> Thing:
        spot = each.spot._replace(x=each.spot.x + aside[other.number] * _MILLIMETRES)
        return each._replace(spot=spot, location=first[other.number] + each.location)

    # By number of the room and place in it, in the order of ids.
    kept = sorted(
        (
            (receptacle_id(moved(each, other)), other.number, index)
            for other in rooms
            for index, each in enumerate(other.receptacles)
            if chosen[each.type] == other.number
        )
    )
    places = {(number, index): place for place, (_, number, index) in enumerate(kept)}
    receptacles = tuple(moved(room(number).receptacles[index], room(number)) for number, index in places)
    fixtures = tuple(
        moved(each, other)._replace(receptacle=places.get((other.number, each.receptacle), -1))
        for other in rooms
        for each in other.fixtures
        if (other.number, each.receptacle) in places or (each.receptacle < 0 and other.number == here.number)
    )
    movable = sorted({*here.movable, *others[random.below(len(others))].movable})
    while len(movable) > len(here.movable):
        movable.pop(random.below(len(movable)))
    return Room(here.number, tuple(locations), receptacles, fixtures, tuple(movable))
