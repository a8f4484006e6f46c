"""Tasks with stable ids, split by a hash of their group.

No seed is involved, so a task never changes sides when data is added or a library changes its random numbers.
"""

from __future__ import annotations

import hashlib
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator
from difflib import get_close_matches
from typing import Literal, NamedTuple, Protocol

from natlang_envs.errors import UsageError, all_are, check_flag, require_choice
from natlang_envs.task_random import TaskRandom as TaskRandom  # its public name since the first version

Split = Literal["train", "validation", "test", "all"]
SPLITS: tuple[Split, ...] = ("train", "validation", "test", "all")
LEARNING_SPLITS: tuple[Split, ...] = ("train", "validation")
_KNOWN = "known_"  # what the names of AutoExplore's splits of known repositories begin with


class Shares(NamedTuple):
    """The fractions of groups in train and validation; the rest is test."""

    train: float
    validation: float


class Tasks(Protocol):
    """The tasks of one environment in one split."""

    def draw(self, uniform: Callable[[], float]) -> str:
        """Return the id of a sampled task; `uniform` returns numbers in [0, 1), such as `np_random.random`."""
        ...

    def check(self, task_id: str) -> None:
        """Raise `UsageError` unless `task_id` names a task of this split."""
        ...

    def ids(self) -> Iterator[str]:
        """Yield every task id of the split, in a fixed order."""
        ...


def check_split(split: str) -> None:
    """Raise `UsageError` unless `split` is one of the four names."""
    require_choice("split", split, SPLITS)


def split_beside(split: str | None, name: str) -> str:
    """Return the split of a name beside another: `"known_validation"` beside `"known_test"`."""
    return f"{_KNOWN}{name}" if split is not None and split.startswith(_KNOWN) else name


def check_learning_split(split: str | None, allow_test: bool) -> None:
    """Raise `UsageError` if learning would see test tasks without `allow_test`.

    Args:
        split: The split to learn from; None where the environment is made without one.
        allow_test: Confirms that test tasks may be learned from.
    """
    check_flag("allow_test", allow_test)
    if split not in [split_beside(split, each) for each in LEARNING_SPLITS] and not allow_test:
        names = " or ".join(map(repr, LEARNING_SPLITS))
        raise UsageError(f"split={split!r} may hold test tasks: learn from {names}, or pass allow_test=True as well")


def check_in_split(task_id: str, found: str, split: str) -> None:
    """Raise `UsageError` unless a task of the split `found` belongs to `split`."""
    if split not in ("all", found):
        raise UsageError(f"task {task_id!r} is in the split {found!r}, not {split!r}: pass split={found!r}")


def hash_fraction(text: str) -> float:
    """Return a number in [0, 1) that depends on `text` alone."""
    return int.from_bytes(hashlib.sha256(text.encode("utf-8")).digest()[:8], "big") / 2**64


def split_of(family: str, group: str, shares: Shares) -> Split:
    """Return the split of `group` in the environments of `family`."""
    position = hash_fraction(f"split/{family}/{group}")
    if position < shares.train:
        return "train"
    return "validation" if position < shares.train + shares.validation else "test"


class TaskList:
    """Tasks that can be listed, in one split.

    Args:
        family: The environment's family; together with a task's group it decides the split.
        ids: Every task id of every split, in a fixed order.
        split: `"train"`, `"validation"`, `"test"` or `"all"`.
        shares: The part of the groups in train and in validation.
        group: Returns a task's group. Tasks of one group are always in one split; by default each task is a group.

    Raises:
        UsageError: There is no such split, an id is no str, or one is there twice.
    """

    def __init__(
        self,
        family: str,
        ids: Iterable[str],
        split: str,
        shares: Shares = Shares(0.6, 0.2),  # noqa: B008 - immutable
        group: Callable[[str], str] = str,
    ) -> None:
        check_split(split)
        self.split: str = split
        every = all_are(str, ids, "no task id: give a str")
        if len(frozenset(every)) < len(every):
            twice = next(each for number, each in enumerate(every) if each in every[:number])
            raise UsageError(f"the task {twice!r} is listed twice: give every id once")
        self.pool = tuple(each for each in every if split in ("all", split_of(family, group(each), shares)))
        self._known = frozenset(self.pool)

    def draw(self, uniform: Callable[[], float]) -> str:
        """Return the id of a task, all equally likely; takes one number even where there is one task.

        Raises:
            UsageError: The split has no task. A hash decides, so few tasks may all be in the other splits.
        """
        if not self.pool:
            raise UsageError(f"no task is in the split {self.split!r}: add tasks, or give other shares to TaskList")
        return self.pool[int(uniform() * len(self.pool))]

    def check(self, task_id: str) -> None:
        """Raise `UsageError` unless `task_id` names a task of this split; the message names the closest."""
        if task_id not in self._known:
            like = next(iter(get_close_matches(str(task_id), self.pool, n=1) or self.pool), "")
            raise UsageError(f"unknown task {str(task_id)[:200]!a}: an id reads like {like!r}")

    def ids(self) -> Iterator[str]:
        """Yield every task id of the split."""
        yield from self.pool


class DrawnTasks(ABC):
    """Tasks of one split that are too many to list; `draw` samples an id.

    Attributes:
        split: The name of the split, or `"all"`.
    """

    split: str

    @abstractmethod
    def draw(self, uniform: Callable[[], float]) -> str:
        """Return the id of a sampled task; `uniform` returns numbers in [0, 1)."""

    def draw_new(self, uniform: Callable[[], float]) -> str:
        """Return the id of a test task that neither `draw` nor `ids` ever returns; numbers in [0, 1) choose it.

        These tasks are too many to be known before the numbers are.

        Raises:
            UsageError: All tasks of this kind can be listed.
        """
        raise UsageError("all tasks of this kind can be listed, so none can be drawn anew: choose another board")

    @abstractmethod
    def ids(self) -> Iterator[str]:
        """Yield every task id of the split, in a fixed order; those of `draw_new` are not among them."""

    @abstractmethod
    def split_of(self, task_id: str) -> str:
        """Return the split of a task, or raise `UsageError` where there is no such task."""

    def check(self, task_id: str) -> None:
        """Raise `UsageError` unless the task exists, in this split."""
        check_in_split(task_id, self.split_of(task_id), self.split)
