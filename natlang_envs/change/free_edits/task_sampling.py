"""The tasks of ChangeFree, of code and of data, by split."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path
from typing import Protocol

from natlang_envs.change.free_edits.code_tasks import CodeTask, code_tasks
from natlang_envs.change.free_edits.data_tasks import DataRules, DataTask, data_tasks
from natlang_envs.change.free_edits.free_task import Rules, Verdict
from natlang_envs.change.free_edits.sandbox_tests import LIMITS
from natlang_envs.change.free_edits.scoring import CodeRules
from natlang_envs.errors import check_task_id
from natlang_envs.sandbox import AutoExploreSandbox, CommandResult, SandboxState
from natlang_envs.sandbox.changes.overlay import State
from natlang_envs.tasks import TaskList, check_in_split, check_split

_SPLITS = ("train", "validation", "test")


class FreeTask(Protocol):
    """What tasks of both kinds have."""

    @property
    def id(self) -> str:
        """Its id."""
        ...

    @property
    def about(self) -> str:
        """`code` or `data`."""
        ...

    @property
    def kind(self) -> str:
        """What was done to the code, or is asked of the data."""
        ...

    @property
    def issue(self) -> str:
        """What is asked, in words."""
        ...

    def folder(self) -> Path:
        """Return the folder that the player works over."""
        ...


def free_tasks(split: str) -> dict[str, FreeTask]:
    """Return the tasks of one split by their ids."""
    return {**code_tasks(split), **data_tasks(split)}


def rules_of(task: FreeTask) -> Rules:
    """Return the rules of a task."""
    if isinstance(task, DataTask):
        return DataRules(task)
    assert isinstance(task, CodeTask)
    return CodeRules(task)


class FreeTasks(TaskList):
    """Tasks that can be loaded by id."""

    def __init__(self, split: str) -> None:
        check_split(split)
        self._all = {each.id: (each, name) for name in _SPLITS for each in free_tasks(name).values()}
        super().__init__("", (), "all")
        self.split = split
        self.pool = tuple(each.id for each, name in self._all.values() if split in ("all", name))
        self._known = frozenset(self._all)

    def check(self, task_id: str) -> None:
        """Raise `UsageError` unless there is such a task, in this split."""
        check_task_id(task_id)
        super().check(task_id)
        check_in_split(task_id, self._all[task_id][1], self.split)

    def load(self, task_id: str) -> FreeTask:
        """Return a task of any split."""
        return self._all[task_id][0]


@lru_cache(maxsize=256)
def checked(task: FreeTask, changes: State) -> CommandResult:
    """Answer the command `test` in a state of a task, once for equal states."""
    with AutoExploreSandbox(task.folder(), limits=LIMITS) as sandbox:
        sandbox.restore(SandboxState("", changes))
        return rules_of(task).check(sandbox)


@lru_cache(maxsize=256)
def scored(task: FreeTask, kept: tuple[tuple[str, str], ...]) -> Verdict:
    """Return what files that count are worth, once for equal ones."""
    return rules_of(task).score(dict(kept))
