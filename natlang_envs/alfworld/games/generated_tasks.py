"""The generated games of a split: its rooms and its numbers."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import lru_cache

from natlang_envs.alfworld.engine.game import Game
from natlang_envs.alfworld.engine.game_file import GameText
from natlang_envs.alfworld.games.generator import (
    GAMES,
    NEW_GAMES,
    aim_of,
    draw_task_id,
    generate,
    generated_game,
    parse_task_id,
    rooms_for,
    task_ids,
)
from natlang_envs.alfworld.games.made_games import MadeGames
from natlang_envs.alfworld.games.splits import (
    UNSEEN_PLANS,
    GeneratedSplit,
    check_kind,
    generated_split,
)
from natlang_envs.errors import UsageError

# The games of a room, by number: those of one split are no others'. The unseen rooms are in one split only.
_NUMBERS: dict[GeneratedSplit | None, range] = {
    "train": range(900),
    "validation": range(900, GAMES),
    "test": range(GAMES),
    None: range(GAMES),
}


class GeneratedTasks(MadeGames):
    """The generated games of one split."""

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
        return draw_task_id(uniform, seen, self._types, self._numbers)

    def draw_new(self, uniform: Callable[[], float]) -> str:
        """Return the id of a game in the unseen rooms of so high a number that no list holds it."""
        while True:
            drawn = draw_task_id(uniform, False, self._types, NEW_GAMES)
            aim = aim_of(parse_task_id(drawn))
            if self._goal in (None, f"{aim.object_type}-{aim.target_type}"):
                return drawn

    def split_of(self, task_id: str) -> GeneratedSplit:
        """Return the split of a game, by its room and its number."""
        _, room, number = parse_task_id(task_id)[:3]
        if room in UNSEEN_PLANS:
            return "test"
        return "train" if number in _NUMBERS["train"] else "validation"

    def check(self, task_id: str) -> None:
        """Raise `UsageError` unless the game exists, in this split and of this kind."""
        super().check(task_id)
        task = parse_task_id(task_id)
        aim = aim_of(task)
        check_kind(task_id, task.task_type, self._types, f"{aim.object_type}-{aim.target_type}", self._goal)

    def ids(self) -> Iterator[str]:
        """Yield every task id, by type, room and number."""
        if self._pool is not None:
            yield from self._pool
            return
        for seen in self._seen:
            yield from task_ids(seen, self._types, self._numbers)

    def text(self, task_id: str) -> GameText:
        """Return a game as it is written down."""
        return generate(task_id, self._grammar)

    @staticmethod
    def _make(task_id: str, grammar: str) -> Game:
        return generated_game(task_id).game(grammar)


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
    unseen, seen = ({room for each in types for room in rooms_for(each, side)} for side in (False, True))
    return len(unseen) / len(unseen | seen)
