"""Which cases of a table are left to `make test-full`."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, TypeVar

import pytest

T = TypeVar("T")


def slow_unless(kept: Callable[[int], bool], values: Iterable[T]) -> list[T | Any]:
    """Return the values as parameters; those at whose position `kept` is false are slow."""
    marked: list[T | Any] = []
    for number, value in enumerate(values):
        fields = value if isinstance(value, tuple) else (value,)
        marked.append(value if kept(number) else pytest.param(*fields, marks=pytest.mark.slow))
    return marked
