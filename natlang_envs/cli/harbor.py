"""Which tasks `natlang data export --format harbor` writes."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from natlang_envs.autoexplore.dataset.catalogue import repository_folder
from natlang_envs.autoexplore.dataset.own_labels import read_own_labels
from natlang_envs.autoexplore.dataset.shipped import load_labels, part_named
from natlang_envs.change.harbor import HarborChange, HarborQuestion
from natlang_envs.change.listed_edits.tasks import make_tasks
from natlang_envs.errors import UsageError, require_choice
from natlang_envs.repository.texts import FILE_BUDGET
from natlang_envs.repository.tree import open_repository

_OWN = "own"


def harbor_tasks(
    board: str | None, labels: Path | None, tasks: Path | None, repository: Path | None, split: str | None
) -> Iterator[HarborQuestion | HarborChange]:
    """Return the tasks that the options name.

    Args:
        board: `explore` or `change`; None is what the files are of, and `explore` without any.
        labels: Labels of the user's own.
        tasks: HarborChange tasks of the user's own.
        repository: The folder that either is about.
        split: Of the suite's tasks; None is train.
    """
    own = {"--labels": labels, "--tasks": tasks}
    named = [name for name, path in own.items() if path is not None]
    if len(named) == 2:
        raise UsageError("--labels and --tasks are of two boards: give one of them")
    board = require_choice("board", board or ("change" if tasks else "explore"), ("explore", "change"))
    if named and board != {"--labels": "explore", "--tasks": "change"}[named[0]]:
        raise UsageError(f"{named[0]} is not of the board {board!r}: leave out --board")
    if bool(named) != (repository is not None):
        raise UsageError("--repo belongs to --labels or --tasks: name the file and the folder that it is about")
    if named and split is not None:
        raise UsageError(f"{named[0]} has no splits: leave out --split")
    if board == "explore":
        return _questions(labels, repository, part_named(split or "train"))
    return _changes(tasks, repository, split or "train")


def _questions(labels: Path | None, repository: Path | None, split: str) -> Iterator[HarborQuestion]:
    if labels is not None and repository is not None:
        known = open_repository(repository)
        for label in read_own_labels(labels, known):
            yield HarborQuestion(label.id, _OWN, label.asked("natural"), tuple(label.targets), known.path)
        return
    for label in load_labels(part_named(split)):
        yield HarborQuestion(
            label.id, split, label.asked("natural"), tuple(label.targets), repository_folder(label.repository)
        )


def _changes(tasks: Path | None, repository: Path | None, split: str) -> Iterator[HarborChange]:
    if tasks is not None:
        found = make_tasks("all", str(tasks), str(repository))
        split = _OWN
    else:
        found = make_tasks(require_choice("split", split, ("train", "validation", "test")), None, None)  # pyright: ignore[reportArgumentType]
    for task_id in found.ids():
        yield HarborChange(found.load(task_id, FILE_BUDGET), split)
