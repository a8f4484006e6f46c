"""The common base of sources that make a game when it is asked for."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Literal

from natlang_envs.alfworld.engine.game import Game
from natlang_envs.alfworld.engine.game_file import GameText
from natlang_envs.alfworld.engine.grammar import GRAMMARS
from natlang_envs.alfworld.games.size_limits import GAMES_KEPT
from natlang_envs.alfworld.games.splits import check_task_types
from natlang_envs.tasks import DrawnTasks

Goals = Literal["official", "new", "all"]


class MadeGames(DrawnTasks):
    """The games of one split of a source that makes them.

    Args:
        split: As `splits.generated_split` takes it.
        task_types: As `splits.check_task_types` takes it.
        goal: Only games for this object and this receptacle or lamp, such as `"Tomato-Microwave"`.
        grammar: One of `GRAMMARS`; the first by default.
        goals: Which pairs of an object and a receptacle there are; only realistic games have others than the official.
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
        self._grammar = grammar or GRAMMARS[0]
        self._choose(split)

    @abstractmethod
    def _choose(self, split: str) -> None:
        """Find the games of a split, or raise `UsageError`."""

    @staticmethod
    @abstractmethod
    def _make(task_id: str, grammar: str) -> Game:
        """Return a game as it is played."""

    @abstractmethod
    def text(self, task_id: str) -> GameText:
        """Return a game as it is written down."""

    def game(self, task_id: str) -> Game:
        """Return a game, parsed."""
        return _game(self._make, task_id, self._grammar)


@lru_cache(maxsize=GAMES_KEPT)
def _game(make: Callable[[str, str], Game], task_id: str, grammar: str) -> Game:
    return make(task_id, grammar)
