"""The labels that a command of `natlang data` is about: the dataset's, or a file of the user's own."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Collection
from dataclasses import dataclass
from pathlib import Path

from natlang_envs.autoexplore.dataset.labels import Label, read_labels
from natlang_envs.autoexplore.dataset.report import Folders, Parts, all_parts, folder_here
from natlang_envs.autoexplore.dataset.shipped import digest, load_labels
from natlang_envs.errors import UsageError
from natlang_envs.repository.tree import open_repository

OWN = "labels"  # the part, and the exported split, of a user's own labels


@dataclass(frozen=True)
class Chosen:
    """Labels, and where the files that they are about lie.

    Attributes:
        parts: The labels by part.
        folders: Where the files of a repository are.
        own: Whether they are the user's own.
        digest: Of the files that the labels come from.
    """

    parts: Parts
    folders: Folders
    own: bool
    digest: str

    @property
    def explained(self) -> Callable[[Label], Collection[str]] | None:
        """Which files may hold a label's evidence without being targets; None where nobody has looked."""
        return None if self.own else lambda label: [each.path for each in label.elsewhere]


def chosen_labels(labels: Path | None, repository: Path | None) -> Chosen:
    """Return the labels that the options of a command name."""
    if (labels is None) != (repository is None):
        raise UsageError("--labels and --repo belong together: name the file and the folder that it is about")
    if labels is not None and repository is not None:
        folder = open_repository(repository).path
        parts = {OWN: read_labels(labels)}
        if not parts[OWN]:
            raise UsageError(f"{labels} holds no label: make some with natlang data label")
        return Chosen(parts, lambda name: folder, True, hashlib.sha256(labels.read_bytes()).hexdigest())
    return Chosen(all_parts(load_labels), folder_here, False, digest())
