"""Which cases of a table are left to `make test-full`."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, TypeVar

import pytest

from natlang_envs.conformance import Check

T = TypeVar("T")
TORCH = pytest.mark.xdist_group("torch")  # one worker imports it
PROCESSES = {
    "same_episodes_in_another_process",
    "async_equals_sync",
    "snapshots_restore_in_another_process",
    "vector_equals_sync",
}
"""Costly checks of the conformance kit, which start processes or many environments."""


def slow_unless(kept: Callable[[int], bool], values: Iterable[T]) -> list[T | Any]:
    """Return the values as parameters; those at whose position `kept` is false are slow."""
    marked: list[T | Any] = []
    for number, value in enumerate(values):
        fields = value if isinstance(value, tuple) else (value,)
        marked.append(value if kept(number) else pytest.param(*fields, marks=pytest.mark.slow))
    return marked


def slow_processes(checks: Iterable[Check]) -> list[Check | Any]:
    """Return the checks as parameters, for an environment of a family that `make test` checks whole."""
    return slow_unless(lambda number: known[number].__name__ not in PROCESSES, known := list(checks))
