"""Questions that are nearly the same: MinHash finds pairs to compare, and their shared letters decide."""

from __future__ import annotations

import hashlib
import zlib
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np

NEAR = 0.6  # the share of letter groups in common (Jaccard) from which two questions are one
_LETTERS = 5
_BANDS, _ROWS = 40, 3  # a pair as near as NEAR is compared with a probability of 1 - (1 - 0.6³)⁴⁰ = 0.99994


class Pair(NamedTuple):
    """The positions of two texts, the earlier one first, and how near they are."""

    first: int
    second: int
    share: float


def letter_groups(text: str) -> frozenset[str]:
    """Return all runs of five letters of a text, its words joined by single spaces."""
    plain = " ".join("".join(each if each.isalnum() else " " for each in text.lower()).split())
    return frozenset(plain[at : at + _LETTERS] for at in range(max(1, len(plain) - _LETTERS + 1)))


def share(left: frozenset[str], right: frozenset[str]) -> float:
    """Return the share that two sets have in common."""
    return len(left & right) / len(left | right)


def near_pairs(texts: Sequence[str]) -> list[Pair]:
    """Return the pairs of texts that are nearly the same, in order; the same for the same input, for ever."""
    groups = [letter_groups(text) for text in texts]
    buckets: dict[tuple[int, bytes], list[int]] = {}
    for number, group in enumerate(groups):
        for band, key in enumerate(_bands(group)):
            buckets.setdefault((band, key), []).append(number)
    candidates = {
        (first, second)
        for numbers in buckets.values()
        for place, second in enumerate(numbers)
        for first in numbers[:place]
    }
    found = (Pair(first, second, share(groups[first], groups[second])) for first, second in sorted(candidates))
    return [pair for pair in found if pair.share >= NEAR]


def _bands(group: Iterable[str]) -> list[bytes]:
    values = np.array([zlib.crc32(each.encode()) for each in group], dtype=np.uint64)
    # (a·x + b) mod 2⁶⁴, then the upper bits: universal enough, and no product overflows unnoticed.
    lowest = (_FACTORS[:, None] * values[None, :] + _OFFSETS[:, None] >> np.uint64(32)).min(axis=1)
    return [lowest[at : at + _ROWS].tobytes() for at in range(0, _BANDS * _ROWS, _ROWS)]


def _constants(name: str) -> np.ndarray[tuple[int], np.dtype[np.uint64]]:
    """Return odd numbers that depend on nothing but the name: NumPy's random streams may change."""
    digests = (hashlib.sha256(f"minhash/{name}/{number}".encode()).digest() for number in range(_BANDS * _ROWS))
    return np.array([int.from_bytes(each[:8], "big") | 1 for each in digests], dtype=np.uint64)


_FACTORS, _OFFSETS = _constants("factor"), _constants("offset")
