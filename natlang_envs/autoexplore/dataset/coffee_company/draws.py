"""Random integers that are the same on every machine and with every version of NumPy."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

Integers = NDArray[np.int64]


def plain(numbers: Integers) -> list[int]:
    """Return the numbers of a one-dimensional array as a list."""
    return [int(number) for number in numbers]


class Draws:
    """A stream of random integers with a name: other streams neither move it nor are moved by it.

    Only PCG64's raw words are used, which NumPy promises to keep; the methods of `Generator` may change.

    Args:
        name: What the numbers are for; another name gives other numbers.
    """

    def __init__(self, name: str) -> None:
        seed = int.from_bytes(hashlib.sha256(f"coffee company: {name}".encode()).digest()[:16], "big")
        self._words = np.random.PCG64(seed)

    def below(self, end: int, count: int) -> Integers:
        """Return `count` integers from 0 to `end` - 1, `end` at most 2**31."""
        words = self._words.random_raw(count) >> np.uint64(33)  # 31 bits, so that the product fits 63
        return (words.astype(np.int64) * end) >> 31

    def between(self, low: int, high: int, count: int) -> Integers:
        """Return `count` integers from `low` to `high`, both included."""
        return low + self.below(high - low + 1, count)

    def bell(self, low: int, high: int, count: int) -> Integers:
        """Return `count` integers from `low` to `high`, those in the middle more often: means of three draws."""
        return self.between(low, high, 3 * count).reshape(3, count).sum(axis=0) // 3

    def one(self, low: int, high: int) -> int:
        """Return one integer from `low` to `high`, both included."""
        return int(self.between(low, high, 1)[0])

    def pick(self, weights: Sequence[int], count: int) -> Integers:
        """Return `count` places in `weights`, each as often as its weight says."""
        edges = np.cumsum(np.asarray(weights, dtype=np.int64))
        return np.searchsorted(edges, self.below(int(edges[-1]), count), side="right")

    def order(self, count: int) -> Integers:
        """Return the integers from 0 to `count` - 1 in random order."""
        return np.argsort(self.below(1 << 31, count), kind="stable")
