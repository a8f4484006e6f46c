"""Makes the files of the splits from the drafts of all repositories.

Validation and test are whole repositories. Of the repositories in train some files are held out, with every question
that they answer: `test_seen`. Files that answer one question together stay together, so no file is on two sides.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from natlang_envs.autoexplore.dataset.catalogue import catalogue
from natlang_envs.autoexplore.dataset.editions import part_file, part_named
from natlang_envs.autoexplore.dataset.labels import PARTS, Label, Part, write_labels
from natlang_envs.autoexplore.dataset.locations import data_folder
from natlang_envs.errors import UsageError
from natlang_envs.tasks import hash_fraction
from tools.dataset.drafts import fill_file

HELD_OUT = 0.15  # of the groups of files of a repository in train


def drafts_folder() -> Path:
    """Return the folder with one file of drafts a repository."""
    return data_folder() / "drafts"


def assemble(folder: Path, unfinished: list[str] | None = None) -> dict[Part, list[Label]]:
    """Return the labels of every part, in the order of `repositories.toml` and then of the drafts.

    Args:
        folder: With files `<repository>.jsonl`.
        unfinished: Takes one line for each draft that is not finished, and is left out then; None allows none.

    Raises:
        UsageError: A file is of no known repository, a line in it is not finished (the message names both), or a
            question stands there twice.
    """
    known = catalogue()
    for path in sorted(folder.glob("*.jsonl")):
        if path.stem not in known:
            raise UsageError(f"{path} is of no repository in repositories.toml: rename it, or add the repository")
    parts: dict[Part, list[Label]] = {part: [] for part in PARTS}
    for name, entry in known.items():
        path = folder / f"{name}.jsonl"
        if not path.exists():
            continue
        labels = finished(path, name, unfinished)
        held_out = held_out_files(name, labels) if entry.split == "train" else frozenset[str]()
        for label in labels:
            part: Part = "test_seen" if held_out.intersection(label.targets) else part_named(entry.split)
            parts[part].append(label)
    return parts


def finished(path: Path, repository: str | None, unfinished: list[str] | None = None) -> list[Label]:
    """Return the labels of a file of drafts, which are about one repository or, without its name, about any.

    Raises:
        UsageError: A line is not finished and none may be, or is about another repository.
    """
    labels: list[Label] = []
    for each in fill_file(path):
        if each.label is None or each.problems:
            problem = f"{path}, line {each.number}: {each.problems[0]}"
            if unfinished is None:
                raise UsageError(f"{problem}; see python -m tools.dataset draft {path}")
            unfinished.append(problem)
            continue
        if repository is not None and each.label.repository != repository:
            raise UsageError(f"{path}, line {each.number}: it is about {each.label.repository}, not {repository}")
        labels.append(each.label)
    return labels


def held_out_files(repository: str, labels: Iterable[Label]) -> frozenset[str]:
    """Return the targets that are held out: groups of files that share a question, by a hash of the first path."""
    groups: list[set[str]] = []
    for label in labels:
        touching = [group for group in groups if group.intersection(label.targets)]
        groups = [group for group in groups if group not in touching]
        groups.append(set(label.targets).union(*touching))
    return frozenset(
        path for group in groups if hash_fraction(f"test_seen/{repository}/{min(group)}") < HELD_OUT for path in group
    )


def write_parts(parts: dict[Part, list[Label]]) -> list[Path]:
    """Write the files of the splits, and return their paths."""
    for part, labels in parts.items():
        write_labels(part_file(part), labels)
    return [part_file(part) for part in parts]
