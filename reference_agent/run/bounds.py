"""The values that settings take, stated beside their fields, and checks of a dataclass of settings."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import MISSING, Field, field, fields, is_dataclass
from math import inf, isfinite
from numbers import Integral, Real
from typing import Any

import numpy as np

from natlang_envs.errors import UsageError, require_choice

_LARGE = 10_000_000  # weights
# What a field takes, by the name of its type, and in words.
_KINDS: dict[Any, tuple[Callable[[Any], bool], str]] = {
    "bool": (lambda value: isinstance(value, (bool, np.bool_)), "True or False"),
    "int": (lambda value: isinstance(value, Integral) and not isinstance(value, bool), "a whole number"),
    "float": (lambda value: isinstance(value, Real) and not isinstance(value, bool), "a number"),
    "str": (lambda value: isinstance(value, str), "a text"),
    "tuple[Stage, ...]": (lambda value: isinstance(value, tuple), "a tuple of stages"),
    "dict[str, Any]": (lambda value: isinstance(value, dict), "a table of names and values"),
}


def at_least(least: int, default: Any) -> Any:
    return _bounded(default, lambda value: value >= least, f"{least} or more")


def positive(default: float) -> Any:
    return _bounded(default, lambda value: 0 < value < inf, "a number above 0")


def limit(default: float) -> Any:
    return _bounded(default, lambda value: value > 0, "a number above 0, or inf for no limit", endless=True)


def share(default: float = 0.0) -> Any:
    return _bounded(default, lambda value: 0 <= value < 1, "a number of at least 0 and below 1")


def fraction(default: float = 0.0) -> Any:
    return _bounded(default, lambda value: 0 <= value <= 1, "a number from 0 to 1")


def choice(*names: str) -> Any:
    return field(default=names[0], metadata={"choices": names})


def _bounded(default: Any, holds: Callable[[Any], bool], wanted: str, endless: bool = False) -> Any:
    return field(default=default, metadata={"bound": (holds, wanted), "endless": endless})


def check_kind(settings: Any, kind: type) -> None:
    """Raise `UsageError` unless settings are of this very class: those of another would be left unread in part."""
    if type(settings) is not kind:
        raise UsageError(f"the settings are {settings!r:.100}: give a {kind.__name__}")


def check_rate(model: Any, settings: Any) -> None:
    """Raise `UsageError` if all weights of a large model would learn as fast as the tiny one's do by default."""
    count, default = model.model.num_parameters(), type(settings).learning_rate
    if model.adapter is None and count >= _LARGE and settings.learning_rate == default:
        raise UsageError(
            f"learning_rate {default} is for the tiny model and would wreck one of {count:,} weights: "
            "give one of your own, such as 1e-5, or train adapters (with_adapter)"
        )


def refuse_given(settings: Any, names: Iterable[str], why: str, table: str = "") -> None:
    """Raise `UsageError` for the first setting of `names` that has no effect and is not at its default."""
    for each in fields(settings):
        if each.name in names and getattr(settings, each.name) != each.default:
            raise UsageError(f"{table}{each.name} has no effect {why}: leave it out")


def check_bounds(settings: Any, table: str) -> None:
    """Raise `UsageError` unless each setting of `table` (such as `"rl."`) has a value that its field takes."""
    for each in fields(settings):
        value, finite = getattr(settings, each.name), None
        if each.type == "float" and not each.metadata.get("endless"):
            finite = (isfinite, "a finite number")
        for holds, wanted in filter(None, (_kind_of(each), each.metadata.get("bound"), finite)):
            if not holds(value):
                raise UsageError(f"{table}{each.name} is {value!r:.100}: give {wanted}")
        if choices := each.metadata.get("choices"):
            require_choice(f"{table}{each.name}", value, choices)


def _kind_of(given: Field[Any]) -> tuple[Callable[[Any], bool], str] | None:
    """Return what values of a field's type are, and in words; None for any other type."""
    kind = type(given.default) if given.default_factory is MISSING else given.default_factory
    if isinstance(kind, type) and is_dataclass(kind):
        return lambda value: isinstance(value, kind), f"a {kind.__name__}"
    return _KINDS.get(given.type)
