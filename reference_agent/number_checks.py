"""Checks of numbers in settings, each a line that names the setting as a user writes it. It knows no setting."""

from __future__ import annotations

from math import inf

from natlang_envs.errors import UsageError


def at_least(table: str, settings: object, **bounds: int) -> None:
    """Raise `UsageError` unless each setting that is named has the value given for it, or more.

    Args:
        table: What stands before the settings' names, such as `"rl."`.
        settings: What holds them.
        **bounds: The least value of each.
    """
    for name, bound in bounds.items():
        value = getattr(settings, name)
        if value < bound:
            raise UsageError(f"{table}{name} is {value}: give {bound} or more")


def positive(table: str, settings: object, *names: str) -> None:
    """Raise `UsageError` unless these settings are above 0 and finite; see `at_least`."""
    for name in names:
        value = getattr(settings, name)
        if not 0 < value < inf:
            raise UsageError(f"{table}{name} is {value}: give a number above 0")


def shares(table: str, settings: object, *names: str) -> None:
    """Raise `UsageError` unless these settings are at least 0 and below 1; see `at_least`."""
    for name in names:
        value = getattr(settings, name)
        if not 0 <= value < 1:
            raise UsageError(f"{table}{name} is {value}: give a number of at least 0 and below 1")
