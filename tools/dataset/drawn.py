"""Draws the files of train's repositories whose further questions are test_seen's, before any question is written.

A file is drawn by a hash of its path, unless a question of the second edition is about it: then it stays on its side.
"""

from __future__ import annotations

from functools import cache

from natlang_envs.autoexplore.dataset.catalogue import catalogue
from natlang_envs.autoexplore.dataset.editions import load_labels
from natlang_envs.autoexplore.dataset.labels import Part
from natlang_envs.autoexplore.dataset.repositories import repository_folder
from natlang_envs.autoexplore.repository.tree import open_repository
from natlang_envs.tasks import hash_fraction

DRAWN = 0.2  # of the files that no question of the second edition is about


def is_drawn(repository: str, path: str) -> bool:
    """Return whether further questions about a file of a repository in train are test_seen's."""
    if (repository, path) in _asked("test_seen"):
        return True
    return (repository, path) not in _asked("train") and hash_fraction(f"test_seen/{repository}/{path}") < DRAWN


def drawn_files(repository: str) -> tuple[str, ...]:
    """Return the files of a repository that are drawn, in order.

    Raises:
        UsageError: The repository is not here.
    """
    return tuple(path for path in open_repository(repository_folder(repository)).files if is_drawn(repository, path))


def repositories_in_train() -> tuple[str, ...]:
    """Return the names of the repositories that files are drawn from."""
    return tuple(name for name, entry in catalogue().items() if entry.split == "train")


@cache
def _asked(part: Part) -> frozenset[tuple[str, str]]:
    return frozenset((label.repository, path) for label in load_labels(part, 2) for path in label.targets)
