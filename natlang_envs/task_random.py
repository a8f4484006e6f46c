"""Random numbers that depend on a text alone."""

from __future__ import annotations

import hashlib
from struct import Struct
from typing import Any, Final

_COUNTS: Final = tuple(b"%d" % count for count in range(4_096))
_first_number: Final = Struct(">Q").unpack_from


class TaskRandom:
    """A generator keyed by a text: equal on every machine and library version.

    Task generators use this instead of a `numpy.random.Generator`, whose streams may change between versions.

    Attributes:
        position: The number of values generated or skipped.
    """

    __slots__ = ("_before", "position")

    def __init__(self, key: str) -> None:
        self._before: Any = hashlib.sha256(f"{key}#".encode())
        self.position = 0

    def below(self, n: int) -> int:
        """Return a number in `range(n)`; the bias for the small `n` used here is under 2**-50."""
        self.position += 1
        return self.number(self.position, n)

    def number(self, position: int, n: int) -> int:
        """Return the number in `range(n)` at a position, from 1 on; `position` stays as it is."""
        hashed = self._before.copy()  # of the key, and of the position after it
        hashed.update(_COUNTS[position] if position < len(_COUNTS) else b"%d" % position)
        number: int = _first_number(hashed.digest())[0]
        return number % n

    def chance(self, part: int, whole: int) -> bool:
        """Return whether `below(whole)` is less than `part`."""
        if part:
            return self.below(whole) < part
        self.position += 1
        return False
