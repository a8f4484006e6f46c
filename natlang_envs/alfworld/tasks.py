"""Tasks: generated and realistic games, synthetic rooms, the official games, or game files of the user's own."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from functools import lru_cache, partial
from pathlib import Path
from typing import Literal, NamedTuple, get_args

from natlang_envs.alfworld.difficulty import AlfredTasks, Difficulty, TasksOfDifficulty
from natlang_envs.alfworld.engine.game import Game, parse_game
from natlang_envs.alfworld.engine.game_file import GameText, read_game_file
from natlang_envs.alfworld.engine.grammar import GRAMMARS
from natlang_envs.alfworld.games import official
from natlang_envs.alfworld.games.folder import folder_games, folder_text, folder_trajectory, human_sentence
from natlang_envs.alfworld.games.generated_tasks import GeneratedTasks, Goals, MadeGames
from natlang_envs.alfworld.games.realistic import RealisticTasks
from natlang_envs.alfworld.games.size_limits import within_limits
from natlang_envs.alfworld.games.splits import AlfredSplit, check_task_types, official_split
from natlang_envs.alfworld.games.synthetic_rooms import MixedTasks
from natlang_envs.errors import UsageError, check_flag, require_choice, require_type
from natlang_envs.tasks import SPLITS, TaskList, check_in_split

Source = Literal["generated", "realistic", "mixed", "official", "folder"]
FAMILY = "alfworld"
_GAMES_KEPT = 4_096  # parsed games that one process keeps: all of an official list, in about 50 MiB


class GameFiles(NamedTuple):
    """A folder of games, how a game and its `traj_data.json` are found there, and what replaces its texts."""

    folder: Path
    read: Callable[[Path, str], GameText]
    trajectory: Callable[[Path, str], Path]
    grammar: str | None
    human_goals: bool

    def text(self, task_id: str) -> GameText:
        text = self.read(self.folder, task_id)
        if self.grammar is not None:
            text = text._replace(grammar=self.grammar)
        if self.human_goals:
            text = text._replace(task=human_sentence(self.trajectory(self.folder, task_id), task_id))
        return text


@lru_cache(maxsize=_GAMES_KEPT)
def _listed_game(files: GameFiles, task_id: str) -> Game:
    return within_limits(parse_game(files.text(task_id)))


class ListedTasks(TaskList):
    """Games in files, which a list names."""

    def __init__(self, files: GameFiles, pool: Sequence[str], split: str = "all") -> None:
        super().__init__(FAMILY, pool, "all")
        self.split = split
        self._files = files
        if files.human_goals:
            files.text(pool[0])

    def text(self, task_id: str) -> GameText:
        return self._files.text(task_id)

    def game(self, task_id: str) -> Game:
        return _listed_game(self._files, task_id)


class OfficialTasks(ListedTasks):
    """The games of the official lists of one split, as `splits.official_split` names it."""

    def __init__(
        self,
        split: str,
        task_types: Sequence[str | int] | None = None,
        goal: str | None = None,
        grammar: str | None = None,
        human_goals: bool = False,
    ) -> None:
        name = official_split(split)
        kinds = check_task_types(task_types)
        folder = official.data_folder()
        self._splits = (name,) if name else tuple(official.COUNTS)
        ids = (task_id for each in self._splits for task_id in official.official_ids(folder, each))
        pool = tuple(task_id for task_id in ids if _fits(task_id, kinds, goal))
        if not pool:
            raise UsageError(
                f"the official split {split!r} has no game {_asked(kinds, goal)}: choose another split, or others"
            )
        files = GameFiles(folder, official.official_text, official.official_trajectory, grammar, human_goals)
        super().__init__(files, pool, split)

    def check(self, task_id: str) -> None:
        split = "".join(str(task_id).split("/")[1:2])
        if split in official.COUNTS and split not in self._splits:
            check_in_split(task_id, split, self.split)
        super().check(task_id)


def _fits(task_id: str, kinds: Sequence[str], goal: str | None) -> bool:
    """Return whether a game has one of these types and this goal; its folder is named after both."""
    kind, thing, _, place, _ = task_id.split("/")[2].split("-")
    return kind in kinds and goal in (None, f"{thing}-{place}")


def _asked(kinds: Sequence[str], goal: str | None) -> str:
    return f"of the types {', '.join(kinds)}" + (f" for {goal}" if goal else "")


def _folder_tasks(
    folder: str, task_types: Sequence[str | int] | None, goal: str | None, grammar: str | None, human_goals: bool
) -> ListedTasks:
    """Return the games in a folder of the user's own, which lie anywhere below it."""
    kinds = check_task_types(task_types)
    place = Path(folder).expanduser().absolute()
    wanted = goal.lower() if goal else None
    pool = tuple(
        task_id
        for task_id, (kind, thing, receptacle, lamp) in folder_games(place)
        if kind in kinds and wanted in (None, f"{thing}-{receptacle or lamp}")
    )
    if not pool:
        raise UsageError(f"the folder {place} has no game {_asked(kinds, goal)}: choose others")
    return ListedTasks(GameFiles(place, folder_text, folder_trajectory, grammar, human_goals), pool)


def _already_read(text: GameText, _path: Path, _task_id: str) -> GameText:
    return text


def _own_game(path: Path, grammar: str | None) -> ListedTasks:
    """Return one game from a file; its id depends on its content alone, so it is the same wherever the file is."""
    text = read_game_file(path)
    digest = hashlib.sha256(f"{text.task}\n{text.problem}".encode()).hexdigest()
    task_id = f"own/{digest[:12]}"
    files = GameFiles(path, partial(_already_read, text), folder_trajectory, grammar, False)
    tasks = ListedTasks(files, [task_id])
    tasks.game(task_id)  # refuses one that is too large
    return tasks


_MADE: dict[str, type[MadeGames]] = {"generated": GeneratedTasks, "mixed": MixedTasks, "realistic": RealisticTasks}


def make_tasks(
    split: AlfredSplit,
    task_types: Sequence[str | int] | None,
    goal: str | None,
    source: Source,
    grammar: str | None,
    game: str | None,
    folder: str | None = None,
    human_goals: bool = False,
    goals: Goals = "official",
    difficulty: Difficulty | None = None,
) -> AlfredTasks:
    if difficulty is not None:
        tasks = make_tasks(split, task_types, goal, source, grammar, game, folder, human_goals, goals)
        return TasksOfDifficulty(tasks, difficulty)
    require_choice("source", source, get_args(Source))
    if grammar is not None:
        require_choice("grammar", grammar, GRAMMARS)
    if (source == "folder") != (folder is not None):
        raise UsageError(f"source={source!r} and folder={folder!r} do not fit: pass source='folder' and folder=PATH")
    if goal is not None:
        require_type(goal, str, "no goal: give a type of object and of receptacle, such as 'Tomato-Microwave'")
    check_flag("human_goals", human_goals)
    if human_goals and (game is not None or source in _MADE):
        raise UsageError("people wrote no sentences for these games: pass source='official', or leave human_goals out")
    if goals != "official" and source != "realistic":
        raise UsageError(f"only realistic games have goals={goals!r}: pass source='realistic', or leave goals out")
    if game is None and folder is None:
        if source == "official":
            return OfficialTasks(split, task_types, goal, grammar, human_goals)
        return _MADE[source](split, task_types, goal, grammar, goals)
    require_choice("split", split, SPLITS)
    if split != "all":
        raise UsageError(f"a game of your own takes no split ({split!r}): leave split out")
    if folder is not None and game is None:
        return _folder_tasks(folder, task_types, goal, grammar, human_goals)
    unused = {"folder": folder, "task_types": task_types, "goal": goal}
    unused |= {"source": None if source in ("generated", "folder") else source}
    unused |= {"goals": None if goals == "official" else goals}
    for name, given in unused.items():
        if given is not None:
            raise UsageError(f"a game of your own takes no {name} ({given!r}): leave {name} out")
    return _own_game(Path(str(game)), grammar)
