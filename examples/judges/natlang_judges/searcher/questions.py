"""AutoExplore's questions to learn from, with all that their words list, or with a map of all folders."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from natlang_envs.autoexplore.dataset.labels import WORDINGS
from natlang_envs.autoexplore.searching.listing import search_view_of
from natlang_envs.autoexplore.tasks import EMBEDDED, ExploreTask, RepositoryTasks
from natlang_envs.repository.navigation import Navigation, navigation_of
from natlang_envs.repository.texts import FILE_BUDGET, PREVIOUS, UP
from natlang_envs.repository.tree import open_repository
from natlang_envs.repository.walk import PagePosition, Walk
from natlang_judges.searcher.evidence import SearchEvidence, gather
from natlang_judges.searcher.games import Questions
from natlang_judges.searcher.walking import FolderMap, WalkQuestion, WalkQuestions, map_of


def load_questions(split: str, dataset: str) -> Questions:
    """Return every question of a split for players who search, in both wordings where the dataset has labels."""
    found: list[tuple[SearchEvidence, tuple[str, ...], bool]] = []
    for task, hard in _tasks(split, dataset, None):
        view = search_view_of(open_repository(task.folder), task.question, "lines", FILE_BUDGET)
        lists = {word: view.describe((word,)) for word in view.asked}
        paths = dict.fromkeys(hit.path for word in view.asked for hit in view.hits((word,)).best)
        texts = {path: view.navigation.text(path, 0) for path in paths}
        found.append((gather(task.question, lists, texts), task.targets, hard))
    return Questions(found)


def load_walks(split: str, dataset: str, depth: int | None) -> WalkQuestions:
    """Return the questions of a split for players who walk to targets of a depth; of any depth where it is None."""
    questions: list[WalkQuestion] = []
    folders: dict[Path, int] = {}
    for task, hard in _tasks(split, dataset, depth):
        number = folders.setdefault(task.folder, len(folders))
        questions.append(WalkQuestion(task.question, number, task.targets, hard))
    ways = [navigation_of(open_repository(folder), FILE_BUDGET) for folder in folders]
    maps = [_map_of_all(each) for each in ways]
    return WalkQuestions(questions, maps, lambda number, path: ways[number].text(path))


def _tasks(split: str, dataset: str, depth: int | None) -> Iterator[tuple[ExploreTask, bool]]:
    """Yield tasks, and whether they are in the hard wording."""
    for wording in WORDINGS[:1] if dataset == EMBEDDED else WORDINGS:
        tasks = RepositoryTasks(split, depth, dataset, wording)
        for name in sorted(tasks.ids()):
            yield tasks.load(name), wording == "hard"


def _map_of_all(navigation: Navigation) -> FolderMap:
    listed: dict[PagePosition, tuple[str, ...]] = {}
    open_ = [("", 0)]
    for folder, page in open_:
        place = navigation.place((folder, page))
        listed[PagePosition(tuple(folder.split("/")) if folder else (), page)] = place.commands
        deeper = (move for command, move in place.moves.items() if command not in (UP, PREVIOUS))
        open_ += [(move.path, move.page) for move in deeper if move.kind == "go"]
    return map_of(listed, Walk())
