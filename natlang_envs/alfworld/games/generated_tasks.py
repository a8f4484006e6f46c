"""Sources that make a game when it is asked for: their common base, and the generated games of a split."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from typing import Literal

from natlang_envs.alfworld.engine.game import Game
from natlang_envs.alfworld.engine.game_file import GameText
from natlang_envs.alfworld.engine.grammar import GRAMMARS
from natlang_envs.alfworld.games import generator
from natlang_envs.alfworld.games.generator import GAMES, NEW_GAMES, GeneratedGame, parse_task_id, task_ids
from natlang_envs.alfworld.games.splits import UNSEEN_PLANS, GeneratedSplit, check_task_types, generated_split
from natlang_envs.errors import UsageError, require_choice
from natlang_envs.tasks import DrawnTasks

Goals = Literal["official", "new", "all"]
GAMES_KEPT = 512  # parsed games of a source that one process keeps, the most recently used
# The games of a room, by number: those of one split are no others'. The unseen rooms are in one split only.
_NUMBERS: dict[GeneratedSplit | None, range] = {
    "train": range(900),
    "validation": range(900, GAMES),
    "test": range(GAMES),
    None: range(GAMES),
}


class MadeGames(DrawnTasks):
    """The games of one split of a source that makes them, of the first grammar by default.

    Only realistic games have other `goals`, pairs of an object and a receptacle, than the official ones.
    """

    def __init__(
        self,
        split: str,
        task_types: Sequence[str | int] | None = None,
        goal: str | None = None,
        grammar: str | None = None,
        goals: Goals = "official",
    ) -> None:
        self.split = split
        self._types = check_task_types(task_types)
        self._goal = goal
        self._goals: Goals = goals
        self._grammar = require_choice("grammar", grammar or GRAMMARS[0], GRAMMARS)
        self._choose(split)

    @abstractmethod
    def _choose(self, split: str) -> None:
        """Find the games of a split, or raise `UsageError`."""

    @abstractmethod
    def _about(self, task_id: str) -> tuple[str, str | None]:
        """Return the task type of a game and, if that is known without making it, its goal."""

    @staticmethod
    @abstractmethod
    def _made(task_id: str) -> GeneratedGame:
        """Return a game before it is written down or played."""

    def check(self, task_id: str) -> None:
        super().check(task_id)
        task_type, goal = self._about(task_id)
        if task_type not in self._types:
            raise UsageError(f"task {task_id!r} is of the type {task_type!r}: leave task_types out, or name it")
        if self._goal not in (None, goal):
            raise UsageError(f"task {task_id!r} has the goal {goal!r}, not {self._goal!r}: leave goal out")

    def text(self, task_id: str) -> GameText:
        return self._made(task_id).text(self._grammar)

    def game(self, task_id: str) -> Game:
        return _game(self._played, task_id, self._grammar)

    @classmethod
    def _played(cls, task_id: str, grammar: str) -> Game:
        return cls._made(task_id).game(grammar)


@lru_cache(maxsize=GAMES_KEPT)
def _game(played: Callable[[str, str], Game], task_id: str, grammar: str) -> Game:
    return played(task_id, grammar)


class GeneratedTasks(MadeGames):
    """The generated games of one split: its rooms and its numbers."""

    _made = staticmethod(generator.generated_game)

    def _choose(self, split: str) -> None:
        known = generated_split(split)
        self._numbers = _NUMBERS[known]
        # Which of the two kinds of rooms: True for the seen ones.
        self._seen = {"train": (True,), "validation": (True,), "test": (False,), None: (True, False)}[known]
        self._pool = None if self._goal is None else _pool(self._seen, self._types, self._numbers, self._goal)

    def draw(self, uniform: Callable[[], float]) -> str:
        """Return the id of a game: types as often as officially, then any room and any number; with a goal, any."""
        if self._pool is not None:
            return self._pool[int(uniform() * len(self._pool))]
        seen = self._seen[0]
        if len(self._seen) > 1:
            seen = uniform() >= _share_of_unseen(self._types)
        return generator.draw_task_id(uniform, seen, self._types, self._numbers)

    def draw_new(self, uniform: Callable[[], float]) -> str:
        """Return the id of a game in the unseen rooms whose number is too high for any list."""
        while True:
            task_id = generator.draw_task_id(uniform, False, self._types, NEW_GAMES)
            if self._goal in (None, self._about(task_id)[1]):
                return task_id

    def split_of(self, task_id: str) -> GeneratedSplit:
        _, room, number = parse_task_id(task_id)
        if room in UNSEEN_PLANS:
            return "test"
        return "train" if number in _NUMBERS["train"] else "validation"

    def _about(self, task_id: str) -> tuple[str, str | None]:
        aim = generator.aim_of(parse_task_id(task_id))
        return aim.task_type, aim.goal

    def ids(self) -> Iterator[str]:
        """Yield every task id, by type, room and number."""
        if self._pool is not None:
            yield from self._pool
            return
        for seen in self._seen:
            yield from task_ids(seen, self._types, self._numbers)


@lru_cache(maxsize=32)
def _pool(seen: tuple[bool, ...], types: tuple[str, ...], numbers: range, goal: str) -> tuple[str, ...]:
    """Return every game for a goal: what a game is about is known without making it."""
    pool = tuple(task_id for each in seen for task_id in task_ids(each, types, numbers, goal))
    if not pool:
        raise UsageError(
            f"no generated game of the types {', '.join(types)} has the goal {goal!r}: "
            "write it as OBJECT-RECEPTACLE, for example 'Tomato-Microwave'"
        )
    return pool


@lru_cache(maxsize=64)
def _share_of_unseen(types: tuple[str, ...]) -> float:
    unseen, seen = ({room for each in types for room in generator.rooms_for(each, side)} for side in (False, True))
    return len(unseen) / len(unseen | seen)
