"""Tasks of a chosen difficulty: distractors, depth of the search, and length of the plan."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import NamedTuple, Protocol

from natlang_envs.alfworld.engine.game import Game, bits
from natlang_envs.alfworld.engine.game_file import GameText
from natlang_envs.alfworld.engine.world import World
from natlang_envs.alfworld.plans import reference
from natlang_envs.alfworld.usual_locations import usual_locations
from natlang_envs.errors import UsageError, is_count, require_choice, require_type
from natlang_envs.tasks import Tasks

Difficulty = Mapping[str, Sequence[int]]
_TRIES = 1_000


class AlfredTasks(Tasks, Protocol):
    """Tasks that are games."""

    def text(self, task_id: str) -> GameText: ...

    def game(self, task_id: str) -> Game: ...


class GameDifficulty(NamedTuple):
    """Three measures of a game."""

    distractors: int  # things within reach that are not of the type that the task is about
    search_depth: int  # receptacles that a search looks into, the likeliest first, until it finds what is sought
    plan_length: int  # steps of the reference plan, which knows where everything is


def measure(game: Game) -> GameDifficulty:
    reach = game.lying() & game.pickupable
    known, sought = usual_locations(), game.goal.object_type
    order = sorted(range(len(game.receptacles)), key=lambda n: (-known.weight(sought, game.receptacles[n].type), n))
    depth = next(
        (depth for depth, place in enumerate(order, 1) if game.contents[place] & game.wanted & reach), len(order)
    )
    others = sum(game.things[thing].type != sought for thing in bits(reach))
    return GameDifficulty(others, depth, len(reference(World(game))))


class TasksOfDifficulty:
    """The tasks in given ranges of `GameDifficulty`, such as `{"plan_length": (1, 8)}`."""

    def __init__(self, tasks: AlfredTasks, difficulty: Difficulty) -> None:
        require_type(difficulty, Mapping, "no difficulty: give a dict such as {'plan_length': (1, 8)}")
        self._tasks = tasks
        self.split: str | None = getattr(tasks, "split", None)
        self._ranges = {name: _range(name, given) for name, given in difficulty.items()}

    def draw(self, uniform: Callable[[], float]) -> str:
        """Return the id of a sampled task; tasks outside the ranges are skipped."""
        for _ in range(_TRIES):
            task_id = self._tasks.draw(uniform)
            if not self._wrong(task_id):
                return task_id
        raise UsageError(f"none of {_TRIES} games had {self._asked()}: widen the difficulty")

    def check(self, task_id: str) -> None:
        """Raise `UsageError` unless the task exists and is as difficult as asked."""
        self._tasks.check(task_id)
        wrong = self._wrong(task_id)
        if wrong:
            raise UsageError(f"task {task_id!r} has {wrong}, not {self._asked()}: leave difficulty out")

    def ids(self) -> Iterator[str]:
        """Yield every task id; every game of the source is made for it."""
        return (task_id for task_id in self._tasks.ids() if not self._wrong(task_id))

    def text(self, task_id: str) -> GameText:
        return self._tasks.text(task_id)

    def game(self, task_id: str) -> Game:
        return self._tasks.game(task_id)

    def _wrong(self, task_id: str) -> str:
        """Return the measures outside the ranges, in words; empty if there are none."""
        found = measure(self._tasks.game(task_id))._asdict()
        wrong = [name for name, (low, high) in self._ranges.items() if not low <= found[name] <= high]
        return ", ".join(f"{name} {found[name]}" for name in wrong)

    def _asked(self) -> str:
        return ", ".join(f"{name} from {low} to {high}" for name, (low, high) in self._ranges.items())


def _range(name: str, given: Sequence[int]) -> tuple[int, int]:
    require_choice("difficulty", name, GameDifficulty._fields)
    is_range = isinstance(given, Sequence) and len(given) == 2 and all(is_count(each, 0) for each in given)  # pyright: ignore[reportUnnecessaryIsInstance]
    if not is_range or given[0] > given[1]:
        raise UsageError(f"the difficulty {name} must be a lowest and a highest number, such as (1, 8), not {given!r}")
    return int(given[0]), int(given[1])
