"""Algorithms by name, built in or registered by another package; they are imported only when they are loaded."""

from __future__ import annotations

from importlib import import_module
from importlib.metadata import entry_points
from typing import Any

from natlang_envs.errors import one_of

GROUP = "natlang_envs.algorithms"
BUILT_IN = ("reinforce", "rloo", "ppo", "gigpo")


def check_algorithm(name: str) -> None:
    """Raise `UsageError` unless an algorithm has this name."""
    if name not in BUILT_IN:
        one_of("rl.algorithm", name, (*BUILT_IN, *sorted(entry_points(group=GROUP).names)))


def load_algorithm(name: str) -> Any:
    """Return the update function of an algorithm.

    Raises:
        UsageError: There is no such algorithm.
    """
    check_algorithm(name)
    if name in BUILT_IN:
        return import_module(f"reference_agent.algorithms.{name}").update
    (entry,) = entry_points(group=GROUP, name=name)
    return entry.load()
