"""The listed change tasks: an issue, a broken source, and what each edit of it makes fail."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import lru_cache
from pathlib import Path

from natlang_envs.autoexplore.tasks import EMBEDDED
from natlang_envs.change.listed_edits.repository import ChangeRepository, shared_repository
from natlang_envs.change.listed_edits.views import ChangeView, EditableSource, EditSite, Key
from natlang_envs.change.repositories import OWN, PUBLIC
from natlang_envs.change.task_files import (
    TaskFile,
    edit_of,
    edits_digest,
    failing_before,
    open_task_file,
    shipped_task_files,
    unpack,
)
from natlang_envs.errors import UsageError, require_choice
from natlang_envs.repository.mutations import apply
from natlang_envs.tasks import SPLITS, Split, TaskList, check_in_split

FAMILY = "autoexplore-change"


class ChangeTask:
    """A task that is played: a repository with one broken source."""

    def __init__(self, task_id: str, repository: ChangeRepository) -> None:
        row = repository.task_file.tasks[task_id]
        self.id = task_id  # `repository/…`
        self.repository = repository
        self.question: str = row["issue"]
        self.file: str = row["file"]  # the broken source
        self.broken = failing_before(row)  # the tests that fail before anything is mended
        # The tests that a player may know: the shown one, and those that pass before.
        self.visible = (1 << len(repository.tests)) - 1 & ~self.broken | 1 << row["shown"]
        self._mutation = edit_of(row)
        self._digest: str = row["edits_digest"]
        self._table = unpack(row["table"])
        self._source: EditableSource | None = None
        self.plans: dict[Key, list[str]] = {}  # the fewest commands to a right edit, by the view that they begin in

    def __reduce__(self) -> tuple[Callable[..., ChangeTask], tuple[str, TaskFile, Path, int]]:
        """Pickle as its id and file: it is made again, or shared, where it is loaded."""
        return _task, (self.id, self.repository.task_file, self.repository.root, self.repository.budget)

    @property
    def line(self) -> int:
        return self._mutation.line

    def source(self, path: str) -> EditableSource:
        """Return a source as it is before anything is mended."""
        if path != self.file:
            return self.repository.source(path)
        if self._source is None:
            made = self.repository.source_of(path, apply(self.repository.texts[path], self._mutation))
            if edits_digest(made.edits) != self._digest:
                raise UsageError(f"task {self.id!r} is of other edits of {path}: install the version that made it")
            self._source = made
        return self._source

    def view(self, key: Key) -> ChangeView:
        """Return a view; raise `KeyError` if there is none of this key."""
        return self.repository.folder(key) if key[0] == "folder" else self.source(key[1]).view(key)

    def fails(self, edit: EditSite | None) -> int:
        """Return the tests that fail with an edit or none; the docstring of the environment has the rule."""
        if edit is None:
            return self.broken
        if edit.path == self.file:
            return self._table[edit.number]
        return self.broken | self.repository.fails(*edit)

    def right(self) -> list[int]:
        """Return the edits of the broken file with which every test passes."""
        return [number for number, outcome in enumerate(self._table) if not outcome]


class ChangeTasks(TaskList):
    """Tasks of a split, by id; `root` is the repository of a user's own, None where the package knows it."""

    def __init__(self, task_files: Mapping[str, TaskFile], split: str, root: Path | None = None) -> None:
        super().__init__(FAMILY, sorted(task for each in task_files.values() for task in each.tasks), "all")
        self.split = split
        self._root = root
        self._files = dict(task_files)
        if not self.pool:
            raise UsageError(f"there is no task of the split {split!r} and this kind of code: choose others")

    def check(self, task_id: str) -> None:
        """Raise `UsageError` unless the task exists, in this split."""
        if task_id in self._known:
            return
        shipped = _shipped_with(task_id) if self._root is None else None
        if shipped is not None:
            check_in_split(task_id, shipped[0], self.split)
            if self.split == "all":  # which draws from code that needs no download, and accepts every task
                return
        super().check(task_id)

    def load(self, task_id: str, budget: int) -> ChangeTask:
        """Return a task that `check` accepts."""
        task_file = self._files.get(task_id.partition("/")[0])
        if task_file is None:
            shipped = _shipped_with(task_id)
            assert shipped is not None
            task_file = shipped[1]
        return _task(task_id, task_file, self._root or task_file.folder, budget)


@lru_cache(maxsize=1_024)
def _task(task_id: str, task_file: TaskFile, root: Path, budget: int) -> ChangeTask:
    return ChangeTask(task_id, shared_repository(root, task_file, budget))


def _shipped() -> Iterator[tuple[str, TaskFile]]:
    """Yield the suite's own files of tasks, each with its split."""
    for split in SPLITS:
        for task_file in shipped_task_files(split).values() if split != "all" else ():
            yield split, task_file


def _shipped_with(task_id: str) -> tuple[str, TaskFile] | None:
    return next(((split, each) for split, each in _shipped() if task_id in each.tasks), None)


def make_tasks(split: Split, dataset: str | None, repository: str | None) -> ChangeTasks:
    require_choice("split", split, SPLITS)
    if repository is not None:
        if dataset is None:
            raise UsageError("a repository of your own needs tasks as dataset: make them with natlang data mutate")
        if split != "all":
            raise UsageError(f"a repository of your own has no split {split!r}: leave split out")
        task_file = open_task_file(dataset)
        return ChangeTasks({task_file.repository: task_file}, "all", Path(repository).absolute())
    if dataset is not None and str(dataset).endswith(".jsonl"):
        raise UsageError(f"the tasks of {dataset} are of a folder of yours: name it, repository=…")
    wanted = {EMBEDDED: OWN, PUBLIC: PUBLIC, None: OWN if split == "all" else None}
    kind = wanted[dataset if dataset is None else require_choice("dataset", dataset, (EMBEDDED, PUBLIC))]
    files = [each for part, each in _shipped() if split in ("all", part) and kind in (None, each.kind)]
    return ChangeTasks({each.repository: each for each in files}, split)


def kinds_of_task(task_id: str) -> dict[str, str]:
    """Return the kind of code, the repository and the operator of a task; nothing of a user's own."""
    shipped = _shipped_with(task_id)
    if shipped is None:
        return {}
    _, task_file = shipped
    operator = str(task_file.tasks[task_id]["operator"])
    return {"Code": task_file.kind, "Repository": task_file.repository, "Operator": operator}
