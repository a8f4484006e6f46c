"""Tasks with stable ids, and their splits: decided for ever by a hash of a task's group.

No seed is involved, so a task never changes sides when data is added or a library changes its random numbers.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from typing import Literal, NamedTuple, Protocol

from natlang_envs.errors import one_of

Split = Literal["train", "validation", "test", "all"]
SPLITS: tuple[Split, ...] = ("train", "validation", "test", "all")


class Shares(NamedTuple):
    """The part of the groups that each split gets; what is left over is test."""

    train: float
    validation: float


class Tasks(Protocol):
    """The tasks of one environment in one split."""

    def draw(self, uniform: Callable[[], float]) -> str:
        """Return the id of a task, drawn with numbers in [0, 1) such as `np_random.random` gives."""
        ...

    def check(self, task_id: str) -> None:
        """Raise `UsageError` unless `task_id` names a task of this split."""
        ...

    def ids(self) -> Iterator[str]:
        """Yield every task id of the split, in a fixed order."""
        ...


def check_split(split: str) -> None:
    """Raise `UsageError` unless `split` is one of the four names."""
    one_of("split", split, SPLITS)


def hash_fraction(text: str) -> float:
    """Return a number in [0, 1) that depends on `text` alone."""
    return int.from_bytes(hashlib.sha256(text.encode("utf-8")).digest()[:8], "big") / 2**64


def split_of(family: str, group: str, shares: Shares) -> Split:
    """Return the split that `group` belongs to in the environments of `family`."""
    position = hash_fraction(f"split/{family}/{group}")
    if position < shares.train:
        return "train"
    return "validation" if position < shares.train + shares.validation else "test"


class TaskRandom:
    """Whole numbers drawn from a text by counting hashes: the same on every machine and library version, for ever.

    Task generators use this instead of a `numpy.random.Generator`, whose streams may change between versions.
    """

    def __init__(self, key: str) -> None:
        self._key = key
        self._count = 0

    def below(self, n: int) -> int:
        """Return a number in `range(n)`; the bias for the small `n` used here is under 2**-50."""
        self._count += 1
        digest = hashlib.sha256(f"{self._key}#{self._count}".encode()).digest()
        return int.from_bytes(digest[:8], "big") % n
