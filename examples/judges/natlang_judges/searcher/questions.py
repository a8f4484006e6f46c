"""The questions that the judge learns from, with all that their words list."""

from __future__ import annotations

from pathlib import Path

from natlang_envs.autoexplore.dataset.labels import WORDINGS
from natlang_envs.autoexplore.searching.listing import board_of
from natlang_envs.autoexplore.tasks import EMBEDDED, RepositoryTasks
from natlang_envs.repository.navigation import Navigation, navigation_of
from natlang_envs.repository.texts import FILE_BUDGET, PREVIOUS, UP
from natlang_envs.repository.tree import open_repository
from natlang_envs.repository.walk import PagePosition, Walk
from natlang_judges.searcher.evidence import Evidence, gather
from natlang_judges.searcher.games import Questions, stack
from natlang_judges.searcher.walking import Map, WalkQuestions, map_of


def load_questions(split: str, dataset: str) -> Questions:
    """Return every question of a split, of labels in both wordings."""
    found: list[tuple[Evidence, tuple[str, ...]]] = []
    hard: list[bool] = []
    for wording in WORDINGS[:1] if dataset == EMBEDDED else WORDINGS:
        tasks = RepositoryTasks(split, None, dataset, wording)
        for name in sorted(tasks.ids()):
            task = tasks.load(name)
            board = board_of(open_repository(task.folder), task.question, "lines", FILE_BUDGET)
            lists = {word: board.describe((word,)) for word in board.asked}
            paths = dict.fromkeys(hit.path for word in board.asked for hit in board.hits((word,)).best)
            texts = {path: board.navigation.text(path, 0) for path in paths}
            found.append((gather(task.question, lists, texts), task.targets))
            hard.append(wording == "hard")
    return stack(found, hard)


def load_walks(split: str, dataset: str, depth: int | None) -> WalkQuestions:
    """Return the questions of a split whose targets lie so deep, in both wordings, for players who walk."""
    asked: list[tuple[str, int, tuple[str, ...]]] = []
    hard: list[bool] = []
    folders: dict[Path, int] = {}
    for wording in WORDINGS[:1] if dataset == EMBEDDED else WORDINGS:
        tasks = RepositoryTasks(split, depth, dataset, wording)
        for task in map(tasks.load, sorted(tasks.ids())):
            asked.append((task.question, folders.setdefault(task.folder, len(folders)), task.targets))
            hard.append(wording == "hard")
    ways = [navigation_of(open_repository(folder), FILE_BUDGET) for folder in folders]
    return WalkQuestions(asked, [_whole(each) for each in ways], lambda number, path: ways[number].text(path), hard)


def _whole(navigation: Navigation) -> Map:
    """Return the map of all folders."""
    listed: dict[PagePosition, tuple[str, ...]] = {}
    open_ = [("", 0)]
    for folder, page in open_:
        place = navigation.place((folder, page))
        listed[PagePosition(tuple(folder.split("/")) if folder else (), page)] = place.commands
        deeper = (move for command, move in place.moves.items() if command not in (UP, PREVIOUS))
        open_ += [(move.path, move.page) for move in deeper if move.kind == "go"]
    return map_of(listed, Walk())
