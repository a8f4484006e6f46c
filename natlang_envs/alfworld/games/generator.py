"""Generates games without a download: a floor plan of AI2-THOR with a new layout of objects, and an official task.

A task id reads `generated/seen/pick_heat_then_place_in_recep/12/345`: the seen or the unseen rooms, the task type, the
floor plan and the number of the game. The game depends on the id alone. Every game can be won: what the task is about
is there in sufficient number and within reach, the receptacle takes it, and there is a sink, microwave, fridge or lamp
where the task needs one; and no game is won at the start.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from typing import NamedTuple

from natlang_envs.alfworld.engine.game import GRAMMARS, Game, GameText
from natlang_envs.alfworld.engine.goals import CLEAN, COOL, HEAT, LOOK, PLACE, STATIONS, TASK_TYPES, TWO
from natlang_envs.alfworld.engine.grammar import TASK_PREFIX
from natlang_envs.alfworld.games.floor_plans import Room, TaskAim, floor_plans, room, room_numbers
from natlang_envs.alfworld.games.game_builder import build_game
from natlang_envs.alfworld.games.layout import Layout, WeightedChoice, lay_out, places_for
from natlang_envs.alfworld.games.pddl_writer import problem_text
from natlang_envs.alfworld.games.size_limits import within_limits
from natlang_envs.errors import UsageError, require_choice
from natlang_envs.task_random import TaskRandom

PREFIX = "generated"
GAMES = 1_000  # of one task type in one room, numbered with three digits
NEW_GAMES = range(10**14, 10**15)  # numbers that no list holds: their games are for live rounds
EXAMPLE = f"{PREFIX}/seen/{HEAT}/12/345"
_TASK_ID = re.compile(
    rf"{PREFIX}/(?:un)?seen/(?P<task_type>\w+)/(?P<room>[0-9]{{1,3}})/(?P<number>[0-9]{{3}}|[1-9][0-9]{{14}})"
)
_ROOMS = {True: "seen", False: "unseen"}
# Facts of the official games: each task type has two sentences, and each is in half of its games.
_SENTENCES: dict[str, tuple[str, str]] = {
    PLACE: ("put a {thing} in {target}.", "put some {thing} on {target}."),
    LOOK: ("look at {thing} under the {target}.", "examine the {thing} with the {target}."),
    CLEAN: ("put a clean {thing} in {target}.", "clean some {thing} and put it in {target}."),
    HEAT: ("put a hot {thing} in {target}.", "heat some {thing} and put it in {target}."),
    COOL: ("put a cool {thing} in {target}.", "cool some {thing} and put it in {target}."),
    TWO: ("put two {thing} in {target}.", "find two {thing} and put them in {target}."),
}


class GeneratedTaskId(NamedTuple):
    """The parts of a task id; `str` writes it."""

    task_type: str
    room: int
    number: int

    def __str__(self) -> str:
        return f"{PREFIX}/{_ROOMS[room(self.room).seen]}/{self.task_type}/{self.room}/{self.number:03}"


def parse_task_id(task_id: str) -> GeneratedTaskId:
    parts = _TASK_ID.fullmatch(str(task_id))
    if parts is None:
        raise UsageError(f"unknown task {str(task_id)[:200]!a}: the id of a generated game reads like {EXAMPLE!r}")
    here = room(int(parts["room"]))
    found = GeneratedTaskId(
        require_choice("task type", parts["task_type"], TASK_TYPES), here.number, int(parts["number"])
    )
    if str(found) != task_id:
        raise UsageError(f"unknown task {task_id!r}: the game of these parts has the id {str(found)!r}")
    if found.number in NEW_GAMES and here.seen:
        raise UsageError(f"unknown task {task_id!r}: the games of seen rooms have the numbers 000 to {GAMES - 1}")
    if here.number not in rooms_for(found.task_type, here.seen):
        raise UsageError(f"unknown task {task_id!r}: floor plan {here.number} has no such task, choose another")
    return found


@cache
def rooms_for(task_type: str, seen: bool) -> tuple[int, ...]:
    """Return the floor plans, seen or unseen, in which games of a task type are played."""
    return tuple(number for number in room_numbers() if room(number).seen == seen and _aims(task_type, number).outcomes)


def task_ids(
    seen: bool, task_types: Sequence[str] = TASK_TYPES, numbers: range = range(GAMES), aim: str | None = None
) -> Iterator[str]:
    """Yield the ids of the games in the seen or the unseen rooms, in a fixed order; with `aim`, only those for it."""
    for task_type in task_types:
        for place in rooms_for(task_type, seen):
            aims = _aims(task_type, place)
            wanted = {each for each in aims.outcomes if aim in (None, each.goal)}
            before = str(GeneratedTaskId(task_type, place, 0))[: -len(f"{0:03}")]
            for number in numbers if wanted else ():
                task = f"{before}{number:03}"
                if aim is None or aims.draw(_aim_random(task)) in wanted:
                    yield task


def draw_task_id(
    uniform: Callable[[], float], seen: bool, task_types: Sequence[str] = TASK_TYPES, numbers: range = range(GAMES)
) -> str:
    """Return the id of a game: task types and kinds of rooms as often as officially, then any room and any number."""
    task_type, places = _mix(tuple(task_types), seen).at(uniform())
    return str(GeneratedTaskId(task_type, places[int(uniform() * len(places))], numbers[int(uniform() * len(numbers))]))


def aim_of(task: GeneratedTaskId) -> TaskAim:
    """Return the aim of a game, without making it."""
    return _aims(task.task_type, task.room).draw(_aim_random(str(task)))


def _aim_random(task_id: str) -> TaskRandom:
    return TaskRandom(f"alfworld/aim/{task_id}")


def generate(task_id: str, grammar: str = GRAMMARS[0]) -> GameText:
    return generated_game(task_id).text(require_choice("grammar", grammar, GRAMMARS))


class GeneratedGame(NamedTuple):
    """A game before it is written down or played."""

    room: Room
    layout: Layout
    aim: TaskAim
    task: str

    def text(self, grammar: str) -> GameText:
        return GameText(problem_text(self.room, self.layout, self.aim), self.task, grammar)

    def game(self, grammar: str) -> Game:
        return within_limits(build_game(self.room, self.layout, self.aim, self.task, grammar))


def generated_game(task_id: str) -> GeneratedGame:
    task = parse_task_id(task_id)
    return game_in(room(task.room), aim_of(task), TaskRandom(f"alfworld/game/{task_id}"))


def game_in(
    here: Room, aim: TaskAim, random: TaskRandom, layout: Callable[[Room, TaskAim, TaskRandom], Layout] = lay_out
) -> GeneratedGame:
    """Return a game in a room with a new layout of its objects."""
    task = sentence(aim, random.below(2))
    return GeneratedGame(here, layout(here, aim, random), aim, task)


def sentence(aim: TaskAim, variant: int) -> str:
    """Return the whole sentence, such as "Your task is to: put a hot apple in fridge."; `variant` is 0 or 1."""
    words = _SENTENCES[aim.task_type][variant]
    return TASK_PREFIX + words.format(thing=aim.object_type.lower(), target=aim.target_type.lower())


@cache
def _aims(task_type: str, number: int) -> WeightedChoice[TaskAim]:
    return weighted_aims(task_type, room(number))


def weighted_aims(task_type: str, here: Room) -> WeightedChoice[TaskAim]:
    """Return the aims of a task type in a room, weighted as in the official training games of all rooms."""
    return WeightedChoice((aim, times) for aim, times in floor_plans().aims[task_type] if is_possible(aim, here))


def is_possible(aim: TaskAim, here: Room) -> bool:
    """Return whether a room has what a task is about, and what it takes."""
    if aim.object_type not in here.movable:
        return False
    if aim.task_type != LOOK and aim.object_type not in floor_plans().fits.get(aim.target_type, ()):
        return False  # most aims end here, at little cost
    types = tuple([receptacle.type for receptacle in here.receptacles])
    if aim.task_type == LOOK:
        ends = any(fixture.type == aim.target_type and fixture.receptacle >= 0 for fixture in here.fixtures)
    else:
        ends = aim.target_type in types
    station = STATIONS.get(aim.task_type)
    if not ends or (station is not None and station not in types):
        return False
    return bool(places_for(aim.object_type, types, aim).reached)


@cache
def _mix(task_types: tuple[str, ...], seen: bool) -> WeightedChoice[tuple[str, tuple[int, ...]]]:
    return types_and_rooms(task_types, lambda task_type: rooms_for(task_type, seen))


def types_and_rooms(
    task_types: Sequence[str], rooms: Callable[[str], Sequence[int]]
) -> WeightedChoice[tuple[str, tuple[int, ...]]]:
    """Return the task types with their rooms of each kind, as often as in the official training games."""
    found = [
        (task_type, tuple(number for number in rooms(task_type) if room(number).kind == kind), times)
        for task_type in task_types
        for kind, times in floor_plans().kinds[task_type].items()
    ]
    return WeightedChoice(((task_type, places), times) for task_type, places, times in found if places)
