"""The tasks of AutoExplore: a repository, a question and the files that answer it.

Each embedded repository is a folder and a JSON file of questions in `repositories/`: few and small, they need nothing
but the package. The labelled dataset (`dataset/`) has real repositories, and what protocols evaluate on.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Container, Iterable, Sequence
from functools import cache, lru_cache
from pathlib import Path
from typing import Any, Literal, NamedTuple

from natlang_envs.autoexplore.dataset.catalogue import catalogue, repository_folder
from natlang_envs.autoexplore.dataset.labels import (
    KNOWN_SPLITS,
    PARTS,
    KnownSplit,
    Label,
    Part,
    Wording,
    wording_named,
)
from natlang_envs.autoexplore.dataset.own_labels import read_own_labels
from natlang_envs.autoexplore.dataset.shipped import load_labels
from natlang_envs.errors import UsageError, require_choice
from natlang_envs.repository.names import same
from natlang_envs.repository.texts import clean_question
from natlang_envs.repository.tree import open_repository
from natlang_envs.tasks import SPLITS, Shares, Split, TaskList, check_in_split, split_of

ExploreSplit = Split | Literal["test_seen", "known"] | KnownSplit
EMBEDDED, LABELLED = "embedded", "labelled"
FAMILY = "autoexplore"
SHARES = Shares(train=0.5, validation=0.2)
DEPTHS: dict[int, tuple[int, ...]] = {1: (0, 1), 2: (2,)}  # what the two variants hold, counted in folders to enter
_EMBEDDED = Path(__file__).parent / "repositories"
_KNOWN_PARTS: tuple[Part | KnownSplit, ...] = (*KNOWN_SPLITS, "validation", "test")  # all labels, as `PARTS`
_ASKED = {"test_seen": "no", "known": "yes"}  # whether train asks about the file, on the boards of known repositories


class ExploreTask(NamedTuple):
    """A question about a repository."""

    id: str  # `repository/number`, `repository/` and 8 hex digits for a label, `own/` and 12 for a user's own
    folder: Path  # where the repository lies on this machine; no player is told
    question: str  # one line
    targets: tuple[str, ...]  # the files that answer it, any one of which is right
    label: Label | None = None  # where it comes from; None for an embedded task and for a question of the user's own

    @property
    def depth(self) -> int:
        """The number of folders to enter for the nearest target."""
        return min(target.count("/") for target in self.targets)


class ExploreTasks(TaskList):
    def __init__(self, tasks: Iterable[ExploreTask], split: str = "all") -> None:
        self._tasks = {task.id: task for task in tasks}
        super().__init__(FAMILY, sorted(self._tasks), "all")
        self.split = split

    def load(self, task_id: str) -> ExploreTask:
        return self._tasks[task_id]


def split_of_task(task_id: str) -> Split:
    return split_of(FAMILY, task_id.partition("/")[0], SHARES)


def kinds_of_task(task_id: str) -> dict[str, str]:
    """Return the repository of a task and how many folders deep its target lies, if the package knows the task."""
    tables = (_embedded_by_split(), _tables(LABELLED, "hard"))
    part, task = next((found for each in tables if (found := _found(each, task_id))[1]), ("", None))
    if task is None:
        return {}
    kinds = {"Depth": str(task.depth), "Repository": task_id.partition("/")[0]}
    return {**kinds, "File asked about in training": _ASKED[part]} if part in _ASKED else kinds


class RepositoryTasks(ExploreTasks):
    """The questions about the embedded repositories, or those of the labelled dataset, of one split.

    `dataset=None` draws embedded tasks in the split `"all"`, where it accepts the ids of labels too, and labels in any
    other.
    """

    def __init__(
        self,
        split: str,
        depth: int | None,
        dataset: str | None = EMBEDDED,
        wording: Wording = "natural",
        among: Container[str] | None = None,
    ) -> None:
        _check_depth(depth)
        if dataset == EMBEDDED and wording != "natural":
            raise UsageError(
                f"embedded repositories have no {wording} wording: pass dataset='labelled', or leave it out"
            )
        name = (EMBEDDED if split == "all" else LABELLED) if dataset is None else dataset
        tables = _tables(name, wording, split)
        require_choice("split", split, dict.fromkeys((*SPLITS, *tables, *(KNOWN_SPLITS if name != EMBEDDED else ()))))
        drawn = [part for part in tables if part != "known"] if split == "all" else [split]
        chosen = (task for part in drawn for task in tables[part].values())
        super().__init__((task for task in chosen if _is_of_depth(task, depth) and _is_among(task, among)), split)
        self._among = among
        self._depth = depth
        self._wording: Wording = wording
        self._known_by_split = tables
        self._folders: dict[str, Path] = {}  # of the repositories asked for: to find one takes as long as some steps
        if not self.pool:
            raise UsageError(f"the dataset {name!r} has no task of the split {split!r} and this depth: choose others")
        self._accepts_labels = dataset is None and split == "all"

    def check(self, task_id: str) -> None:
        """Raise `UsageError` unless the task exists, in this split and of this depth."""
        part, task = self._find(task_id)
        if task is None:
            super().check(task_id)
        elif not _is_of_depth(task, self._depth):
            raise UsageError(f"task {task_id!r} has a target of depth {task.depth}: {_other_id(task.depth)}")
        elif not _is_among(task, self._among):
            raise UsageError(f"task {task_id!r} has no key of this wording and form: reset() samples those that have")
        check_in_split(task_id, part, self.split)

    def _find(self, task_id: str) -> tuple[str, ExploreTask | None]:
        found = _found(self._known_by_split, task_id)
        if self._accepts_labels and found[1] is None:
            return _found(_tables(LABELLED, self._wording), task_id)
        return found

    def load(self, task_id: str) -> ExploreTask:
        task = self._find(task_id)[1]
        if task is None:
            raise KeyError(task_id)
        name = task_id.partition("/")[0]
        if name not in self._folders:
            self._folders[name] = task.folder if task.folder.is_relative_to(_EMBEDDED) else repository_folder(name)
        return task._replace(folder=self._folders[name])


def label_file_tasks(
    labels: Path,
    repository: Path,
    depth: int | None = None,
    wording: Wording = "natural",
    among: Container[str] | None = None,
) -> ExploreTasks:
    """Return the labels of a user's own file about one folder, which may lie elsewhere than when they were made."""
    known = open_repository(repository)
    tasks = [_task_of(label, repository, wording) for label in read_own_labels(labels, known)]
    for task in tasks:
        for path in task.targets:
            if known.kind(path) != "file":
                raise UsageError(f"{labels}: {path}, which answers {task.id}, is no file of {repository}")
    chosen = ExploreTasks(task for task in tasks if _is_of_depth(task, depth) and _is_among(task, among))
    if not chosen.pool:
        which = f"{'' if depth is None else ' of this depth'}{'' if among is None else ' that has a key'}"
        raise UsageError(f"{labels} has no label{which}: choose another file")
    return chosen


def _task_of(label: Label, folder: Path, wording: Wording) -> ExploreTask:
    return ExploreTask(label.id, folder, label.asked(wording), label.targets, label)


@lru_cache(maxsize=256)  # one text and one path for all the environments that ask the same
def own_task(folder: Path, question: str, targets: tuple[str, ...]) -> ExploreTask:
    """Return a question about a folder of the user's own; `targets` is empty if the answer is not known."""
    asked = clean_question(question)
    digest = hashlib.sha256("\n".join((asked, *targets)).encode()).hexdigest()
    return ExploreTask(f"own/{digest[:12]}", folder, asked, targets)


def make_tasks(
    depth: int | None,
    split: ExploreSplit,
    dataset: str | None,
    repository: str | None,
    question: str | None,
    target: str | Sequence[str] | None,
    wording: Wording = "natural",
    among: Container[str] | None = None,
) -> ExploreTasks:
    wording = wording_named(wording)
    _check_depth(depth)
    if repository is None and question is None and target is None:
        return RepositoryTasks(split, depth, dataset, wording, among)
    require_choice("split", split, SPLITS)
    if split != "all":
        raise UsageError(f"a repository of your own has no split {split!r}: leave split out")
    if repository is not None and question is None and target is None and dataset is not None:
        return label_file_tasks(Path(dataset), Path(repository), depth, wording, among)
    if repository is None or question is None or target is None:
        raise UsageError(
            "a repository of your own needs all three of repository, question and target, or labels as dataset"
        )
    if dataset is not None:
        raise UsageError(f"a repository of your own is in no dataset {dataset!r}: leave dataset out")
    if wording != "natural":
        raise UsageError(f"a question of your own has no {wording} wording: leave wording out")
    given = (target,) if isinstance(target, str | Path) else tuple(target)
    if not given:
        raise UsageError("target is empty: name at least one file of the repository")
    task = own_task(Path(repository), question, tuple(sorted({_target(repository, each) for each in given})))
    if not _is_of_depth(task, depth):
        raise UsageError(f"target {task.targets[0]!r} has depth {task.depth}: {_other_id(task.depth)}")
    return ExploreTasks([task])


def _target(repository: str, given: str) -> str:
    opened = open_repository(repository)
    if not isinstance(given, str | Path):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise UsageError(f"target must be a path or a list of paths, not {given!r}")
    given = given.as_posix() if isinstance(given, Path) else given
    parts = [part for part in given.split("/") if part not in ("", ".")]
    if given.startswith("/") or ".." in parts:
        raise UsageError(f"target {given!r} may lie outside the repository: write it relative to {repository}")
    path = same("/".join(parts))
    if opened.kind(path) == "folder":
        raise UsageError(f"target {given!r} is a folder: name a file in it")
    return require_choice(f"target in {repository}", path, opened.files)


def _check_depth(depth: int | None) -> None:
    if depth is not None and depth not in list(DEPTHS):
        raise UsageError(f"unknown depth {depth!r}: choose one of {', '.join(map(str, DEPTHS))}, or None for any")


def _is_of_depth(task: ExploreTask, depth: int | None) -> bool:
    return depth is None or task.depth in DEPTHS[depth]


def _is_among(task: ExploreTask, ids: Container[str] | None) -> bool:
    return ids is None or task.id in ids


def _other_id(depth: int) -> str:
    fitting = [f"Depth{name}-" for name, depths in DEPTHS.items() if depth in depths]
    return f"use {' or '.join(f'NatLang/AutoExplore-{name}v0' for name in (*fitting, ''))}"


def _found(tables: dict[str, dict[str, ExploreTask]], task_id: str) -> tuple[str, ExploreTask | None]:
    return next(((part, tasks[task_id]) for part, tasks in tables.items() if task_id in tasks), ("", None))


def _tables(dataset: str, wording: Wording, split: str = "all") -> dict[str, dict[str, ExploreTask]]:
    """Return the tasks of a dataset by split and id; with a split of known repositories, divided as those are."""
    if dataset == EMBEDDED:
        return _embedded_by_split()
    if str(dataset).endswith(".jsonl"):
        raise UsageError(f"the labels of {dataset} are about a folder of yours: name it, repository=…")
    require_choice("dataset", dataset, (EMBEDDED, LABELLED, *catalogue()))
    parts = _KNOWN_PARTS if split in KNOWN_SPLITS else PARTS
    tables = {part: _labelled(part, wording) for part in parts}
    if dataset == LABELLED:
        return tables
    return {
        part: {name: task for name, task in tasks.items() if name.startswith(f"{dataset}/")}
        for part, tasks in tables.items()
    }


@cache
def _embedded_by_split() -> dict[str, dict[str, ExploreTask]]:
    tables: dict[str, dict[str, ExploreTask]] = {split: {} for split in SPLITS if split != "all"}
    for file in sorted(_EMBEDDED.glob("*.json"), key=lambda path: path.name):
        questions: dict[str, dict[str, Any]] = json.loads(file.read_text(encoding="utf-8"))
        for number, each in questions.items():
            name = f"{file.stem}/{number}"
            task = ExploreTask(name, file.with_suffix(""), each["question"], tuple(each["targets"]))
            tables[split_of_task(name)][name] = task
    return tables


@cache
def _labelled(part: Part | KnownSplit, wording: Wording) -> dict[str, ExploreTask]:
    """Return the labelled tasks of a part; where their files are is asked when one is loaded."""
    return {each.id: _task_of(each, Path(), wording) for each in load_labels(part)}
