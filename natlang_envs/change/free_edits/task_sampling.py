"""The tasks of ChangeFree, of code and of data, by split."""

from __future__ import annotations

from functools import lru_cache

from natlang_envs.change.free_edits.code_tasks import code_tasks
from natlang_envs.change.free_edits.data_tasks import data_tasks
from natlang_envs.change.free_edits.free_task import ChangeVerdict, FreeTask
from natlang_envs.change.free_edits.sandbox_tests import LIMITS
from natlang_envs.errors import check_task_id
from natlang_envs.sandbox import AutoExploreSandbox, CommandResult, SandboxState
from natlang_envs.sandbox.changes.overlay import State
from natlang_envs.tasks import TaskList, check_in_split, check_split


def free_tasks(split: str) -> dict[str, FreeTask]:
    return {**code_tasks(split), **data_tasks(split)}


class FreeTasks(TaskList):
    """Tasks that can be loaded by id."""

    def __init__(self, split: str) -> None:
        check_split(split)
        self._all = {
            task_id: (task, name)
            for name in ("train", "validation", "test")
            for task_id, task in free_tasks(name).items()
        }
        super().__init__("", (), "all")
        self.split = split
        self.pool = tuple(task_id for task_id, (_, name) in self._all.items() if split in ("all", name))
        self._known = frozenset(self._all)

    def check(self, task_id: str) -> None:
        """Raise `UsageError` unless there is such a task, in this split."""
        check_task_id(task_id)
        super().check(task_id)
        check_in_split(task_id, self._all[task_id][1], self.split)

    def load(self, task_id: str) -> FreeTask:
        return self._all[task_id][0]


@lru_cache(maxsize=256)
def checked(task: FreeTask, changes: State) -> CommandResult:
    """Answer the command `test` in a state of a task, once for equal states."""
    with AutoExploreSandbox(task.folder(), limits=LIMITS) as sandbox:
        sandbox.restore(SandboxState("", changes))
        return task.check(sandbox)


@lru_cache(maxsize=256)
def scored(task: FreeTask, kept: tuple[tuple[str, str], ...]) -> ChangeVerdict:
    """Judge the files that count, once for equal ones."""
    return task.score(dict(kept))
