"""Realistic games: generated ones that a classifier can hardly distinguish from the official ones.

A task id reads `realistic/pick_heat_then_place_in_recep/Apple-Fridge/12/000345`: the task type, the goal, the floor
plan and the number of the game. The game depends on all of them. Unlike in the generated games, things
lie in two receptacles or in other things, what is sought is cold where it lies in the fridge, and how many objects of a
type there are, and where, follows the official games of the same room. Every game can be won, and none is won at the
start.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import cache, lru_cache
from typing import Literal, NamedTuple, get_args

from natlang_envs.alfworld.engine.goals import HEAT, LOOK, TASK_TYPES, TREATMENTS
from natlang_envs.alfworld.games.floor_plans import Room, TaskAim, floor_plans, room, room_numbers
from natlang_envs.alfworld.games.generated_tasks import Goals, MadeGames
from natlang_envs.alfworld.games.generator import GeneratedGame, game_in, is_possible, types_and_rooms
from natlang_envs.alfworld.games.layout import WeightedChoice
from natlang_envs.alfworld.games.realistic_layout import lay_out_realistically, possible, second_places
from natlang_envs.alfworld.games.splits import HELD_OUT_PLANS, UNSEEN_PLANS, VALIDATION_UNSEEN, generated_split
from natlang_envs.errors import UsageError, require_choice
from natlang_envs.task_random import TaskRandom

PREFIX = "realistic"
GAMES = 1_000_000  # for one goal in one room
EXAMPLE = f"{PREFIX}/{HEAT}/Apple-Fridge/12/000345"
_TASK_ID = re.compile(rf"{PREFIX}/(\w+)/([A-Za-z]+)-([A-Za-z]+)/([1-9][0-9]{{0,2}})/([0-9]{{6}})")
_Split = Literal["train", "validation", "validation_unseen", "test"] | None


class RealisticTaskId(NamedTuple):
    """The parts of a task id; `str` writes it."""

    aim: TaskAim
    room: int
    number: int

    def __str__(self) -> str:
        return f"{PREFIX}/{self.aim.task_type}/{self.aim.goal}/{self.room}/{self.number:06}"

    @property
    def split(self) -> _Split:
        if self.room in UNSEEN_PLANS:
            return "test"
        if self.room in HELD_OUT_PLANS:
            return VALIDATION_UNSEEN
        return "train" if self.number in _NUMBERS["train"] else "validation"


# The games of a goal and room, by number. The rooms of the two unseen splits are in no other one.
_NUMBERS: dict[_Split, range] = {
    "train": range(GAMES * 9 // 10),
    "validation": range(GAMES * 9 // 10, GAMES),
    VALIDATION_UNSEEN: range(GAMES),
    "test": range(GAMES),
    None: range(GAMES),
}


def parse_task_id(task_id: str) -> RealisticTaskId:
    parts = _TASK_ID.fullmatch(str(task_id))
    if parts is None:
        raise UsageError(f"unknown task {str(task_id)[:200]!a}: the id of a realistic game reads like {EXAMPLE!r}")
    task_type, thing, target, number, game = parts.groups()
    aim = TaskAim(require_choice("task type", task_type, TASK_TYPES), thing, target)
    if aim not in aims(task_type, room(int(number)).number, "all").outcomes:
        raise UsageError(f"unknown task {task_id!r}: floor plan {number} has no such task, choose another")
    return RealisticTaskId(aim, int(number), int(game))


@cache
def aims(task_type: str, number: int, goals: Goals) -> WeightedChoice[TaskAim]:
    """Return the aims of a task type in a floor plan.

    `"official"` goals are those of the official training games, as often as there; `"new"` ones all others that can be
    done; `"all"` has both, with half of the weight each.
    """
    here = room(number)
    official = dict(floor_plans().aims[task_type])
    new = [aim for aim in _doable(task_type, here) if aim not in official]
    known = [(aim, times) for aim, times in official.items() if _can_be(aim, here)]
    if goals == "official":
        return WeightedChoice(known)
    if goals == "new" or not known:
        return WeightedChoice((aim, 1) for aim in new)
    total = sum(times for _, times in known)
    return WeightedChoice([(aim, times * max(1, len(new))) for aim, times in known] + [(aim, total) for aim in new])


def _doable(task_type: str, here: Room) -> Iterator[TaskAim]:
    """Yield everything that a task type can be about in a room."""
    known = floor_plans()
    lamps = {each.type for each in here.fixtures if each.type in known.actions["toggleable"]}
    targets = lamps if task_type == LOOK else {each.type for each in here.receptacles}
    verb = TREATMENTS.get(task_type)
    able = known.actions[f"{verb}able"] if verb else frozenset(here.movable)
    for thing in here.movable:
        for target in sorted(targets):
            aim = TaskAim(task_type, thing, target)
            if thing in able and _can_be(aim, here):
                yield aim


def _can_be(aim: TaskAim, here: Room) -> bool:
    return is_possible(aim, here) and possible(here.number, aim)


@cache
def _with_second_places(number: int) -> Room:
    here, also = room(number), second_places(number)
    if not also:
        return here  # the room itself, of which everything is kept
    return here._replace(
        fixtures=tuple(each._replace(also=also.get(index, ())) for index, each in enumerate(here.fixtures))
    )


def realistic_game(task_id: str) -> GeneratedGame:
    task = parse_task_id(task_id)
    return game_in(_with_second_places(task.room), task.aim, TaskRandom(f"alfworld/{task}"), lay_out_realistically)


class RealisticTasks(MadeGames):
    """The realistic games of one split.

    There is also the split `"validation_unseen"`: eight of the seen rooms, two of each kind, of which neither train nor
    validation has a game. `aims` documents `goals`.
    """

    _made = staticmethod(realistic_game)

    def _choose(self, split: str) -> None:
        known: _Split = VALIDATION_UNSEEN if split == VALIDATION_UNSEEN else generated_split(split)
        require_choice("goals", self._goals, get_args(Goals))
        self._numbers = _NUMBERS[known]
        self._rooms = _rooms(known)
        self._mix = _mix(self._types, self._rooms, self._goals, self._goal)

    def draw(self, uniform: Callable[[], float]) -> str:
        """Return the id of a game: types and kinds of rooms as often as officially, then a room, a goal, a number."""
        task_type, places = self._mix.at(uniform())
        number = places[int(uniform() * len(places))]
        aim = _aims(task_type, number, self._goals, self._goal).at(uniform())
        return str(RealisticTaskId(aim, number, self._numbers[int(uniform() * len(self._numbers))]))

    def split_of(self, task_id: str) -> str:
        return str(parse_task_id(task_id).split)

    def _about(self, task_id: str) -> tuple[str, str | None]:
        aim = parse_task_id(task_id).aim
        return aim.task_type, aim.goal

    def check(self, task_id: str) -> None:
        super().check(task_id)
        task = parse_task_id(task_id)
        if task.aim not in aims(task.aim.task_type, task.room, self._goals).outcomes:
            raise UsageError(f"task {task_id!r} has a goal that is not {self._goals}: pass goals='all'")

    def ids(self) -> Iterator[str]:
        """Yield every task id: of each number, all rooms, types and goals."""
        for number in self._numbers:
            for place in self._rooms:
                for task_type in self._types:
                    for aim in _aims(task_type, place, self._goals, self._goal).outcomes:
                        yield str(RealisticTaskId(aim, place, number))


@cache
def _aims(task_type: str, number: int, goals: Goals, goal: str | None) -> WeightedChoice[TaskAim]:
    found = aims(task_type, number, goals)
    if goal is None:
        return found
    return WeightedChoice((aim, 1) for aim in found.outcomes if aim.goal == goal)


@cache
def _rooms(split: _Split) -> tuple[int, ...]:
    if split == "test":
        return UNSEEN_PLANS
    if split == VALIDATION_UNSEEN:
        return HELD_OUT_PLANS
    return tuple(number for number in room_numbers() if split is None or number not in UNSEEN_PLANS + HELD_OUT_PLANS)


@lru_cache(maxsize=64)
def _mix(
    types: tuple[str, ...], rooms: tuple[int, ...], goals: Goals, goal: str | None
) -> WeightedChoice[tuple[str, tuple[int, ...]]]:
    found = types_and_rooms(
        types, lambda task_type: [number for number in rooms if _aims(task_type, number, goals, goal).outcomes]
    )
    if not found.outcomes:
        asked = f"for {goal!r}" if goal else f"with goals={goals!r}"
        raise UsageError(
            f"no realistic game of the types {', '.join(types)} in these rooms is {asked}: write a goal as "
            "OBJECT-RECEPTACLE, for example 'Tomato-Microwave'"
        )
    return found
