"""The tasks of ALFWorld: generated games, the official ones, or a game file of the user's own."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Literal, Protocol

from natlang_envs.alfworld.engine.game import Game, parse_game
from natlang_envs.alfworld.engine.game_file import GameText, read_game_file
from natlang_envs.alfworld.engine.grammar import GRAMMARS
from natlang_envs.alfworld.games import official
from natlang_envs.alfworld.games.generated_tasks import GeneratedTasks
from natlang_envs.alfworld.games.size_limits import GAMES_KEPT, within_limits
from natlang_envs.alfworld.games.splits import AlfredSplit, check_task_types, official_split
from natlang_envs.alfworld.games.synthetic_rooms import MixedTasks
from natlang_envs.errors import UsageError, one_of
from natlang_envs.tasks import SPLITS, Tasks

Source = Literal["generated", "mixed", "official"]
FAMILY = "alfworld"


class AlfredTasks(Tasks, Protocol):
    """Tasks that are games."""

    def text(self, task_id: str) -> GameText:
        """Return the game of a task that `check` accepts, as it is written down."""
        ...

    def game(self, task_id: str) -> Game:
        """Return the same game parsed, for all episodes in common."""
        ...


class OfficialTasks:
    """The games of the official lists of one split.

    Args:
        split: As `kinds.official_split` takes it.
        task_types: As `kinds.check_task_types` takes it.
        goal: Only games for this object and this receptacle, such as `"Tomato-Microwave"`.
        grammar: One of `GRAMMARS` in place of the one in the games' files.

    Raises:
        UsageError: The games are not on this machine, or there is none of this kind.
    """

    def __init__(
        self, split: str, task_types: Sequence[str] | None = None, goal: str | None = None, grammar: str | None = None
    ) -> None:
        name = official_split(split)
        kinds = check_task_types(task_types)
        self._folder = official.data_folder()
        self._grammar = grammar
        self._splits = (name,) if name else tuple(official.COUNTS)
        ids = (task_id for each in self._splits for task_id in official.official_ids(self._folder, each))
        self.pool = tuple(task_id for task_id in ids if _fits(task_id, kinds, goal))
        if not self.pool:
            asked = f"of the types {', '.join(kinds)}" + (f" for {goal}" if goal else "")
            raise UsageError(f"the official split {split!r} has no game {asked}: choose another split, or others")
        self._known = frozenset(self.pool)

    def draw(self, uniform: Callable[[], float]) -> str:
        """Return the id of a game, uniformly."""
        return self.pool[int(uniform() * len(self.pool))]

    def check(self, task_id: str) -> None:
        """Raise `UsageError` unless the game is in the lists and of this kind."""
        if task_id in self._known:
            return
        split = str(task_id).split("/")[1:2]
        if split and split[0] in official.COUNTS and split[0] not in self._splits:
            raise UsageError(f"task {str(task_id)!a} is in the split {split[0]!r}: pass split={split[0]!r}")
        raise UsageError(f"unknown task {str(task_id)!a}: an id here reads like {self.pool[0]!r}")

    def ids(self) -> Iterator[str]:
        """Yield every task id, sorted within each list."""
        yield from self.pool

    def text(self, task_id: str) -> GameText:
        """Return a game as it is written down."""
        return _official_text(self._folder, task_id, self._grammar)

    def game(self, task_id: str) -> Game:
        """Return a game, parsed."""
        return _official_game(self._folder, task_id, self._grammar)


def _fits(task_id: str, kinds: Sequence[str], goal: str | None) -> bool:
    """Return whether a game is of one of these types and for this goal; its folder is named after both."""
    kind, thing, _, place, _ = task_id.split("/")[2].split("-")
    return kind in kinds and goal in (None, f"{thing}-{place}")


def _official_text(folder: Path, task_id: str, grammar: str | None) -> GameText:
    text = official.official_text(folder, task_id)
    return text if grammar is None else text._replace(grammar=grammar)


@lru_cache(maxsize=GAMES_KEPT)
def _official_game(folder: Path, task_id: str, grammar: str | None) -> Game:
    return within_limits(parse_game(_official_text(folder, task_id, grammar)))


class OwnGame:
    """One game from a file; its id depends on its content alone, so it is the same wherever the file is.

    Args:
        path: A `game.tw-pddl`.
        grammar: One of `GRAMMARS` in place of the file's.

    Raises:
        UsageError: The file is missing or is no game.
    """

    def __init__(self, path: str, grammar: str | None = None) -> None:
        text = read_game_file(Path(path))
        self._text = text if grammar is None else text._replace(grammar=grammar)
        self._game = within_limits(parse_game(self._text))
        digest = hashlib.sha256(f"{text.task}\n{text.problem}".encode()).hexdigest()
        self._id = f"own/{digest[:12]}"

    def draw(self, uniform: Callable[[], float]) -> str:
        """Return the one id; a number is drawn all the same, as other tasks do."""
        uniform()
        return self._id

    def check(self, task_id: str) -> None:
        """Raise `UsageError` unless it is this game's id."""
        if task_id != self._id:
            raise UsageError(f"unknown task {str(task_id)!a}: this game has the id {self._id!r}")

    def ids(self) -> Iterator[str]:
        """Yield the one id."""
        yield self._id

    def text(self, task_id: str) -> GameText:
        """Return the game as it is written down."""
        return self._text

    def game(self, task_id: str) -> Game:
        """Return the game, parsed."""
        return self._game


_KINDS = {"generated": GeneratedTasks, "mixed": MixedTasks, "official": OfficialTasks}


def make_tasks(
    split: AlfredSplit,
    task_types: Sequence[str] | None,
    goal: str | None,
    source: Source,
    grammar: str | None,
    game: str | None,
) -> AlfredTasks:
    """Return the tasks that the arguments of an environment describe.

    Raises:
        UsageError: One of them does not exist, or they do not fit together.
    """
    one_of("source", source, _KINDS)
    if grammar is not None:
        one_of("grammar", grammar, GRAMMARS)
    if game is None:
        return _KINDS[source](split, task_types, goal, grammar)
    one_of("split", split, SPLITS)
    for name, given, needed in (("split", split, "all"), ("task_types", task_types, None), ("goal", goal, None)):
        if given != needed:
            raise UsageError(f"a game of your own takes no {name} ({given!r}): leave {name} out")
    return OwnGame(game, grammar)
