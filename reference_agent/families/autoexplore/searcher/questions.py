"""The questions that the judge learns from, with all that their words list."""

from __future__ import annotations

from natlang_envs.autoexplore.dataset.labels import WORDINGS
from natlang_envs.autoexplore.searching.listing import board_of
from natlang_envs.autoexplore.tasks import EMBEDDED, RepositoryTasks
from natlang_envs.repository.texts import FILE_BUDGET
from natlang_envs.repository.tree import open_repository
from reference_agent.families.autoexplore.searcher.evidence import Evidence, gather
from reference_agent.families.autoexplore.searcher.games import Questions, stack


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
