"""`UsageError`, the one exception for bad input, and the checks of names and positions that callers give."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from difflib import get_close_matches
from functools import cache
from inspect import Parameter, signature
from numbers import Integral
from typing import Any, TypeVar, cast

T = TypeVar("T")
_FEW = 8  # names that a message lists
MADE_WITH = ("max_episode_steps",)  # what `gymnasium.make` takes besides


class UsageError(ValueError):
    """A wrong argument, file or command of the caller.

    The message is one line that names the thing and the remedy; the command lines print it to standard error and
    exit with code 2.
    """


class NoPlanError(UsageError, NotImplementedError):
    """The environment has no plan of its own."""


def reason(error: Exception) -> str:
    """Return the message of an error in one line; of an `OSError` only the reason, without number and path."""
    message = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
    return " ".join(message.split())


def require_choice(name: str, value: str, choices: Iterable[str]) -> str:
    """Return `value` if it is one of `choices`, or raise `UsageError` with a message that lists the closest first."""
    names = list(dict.fromkeys(choices))
    if value in names:
        return value
    close = get_close_matches(str(value), names, n=3)
    if len(names) <= _FEW:
        listed = ", ".join(dict.fromkeys([*close, *names]))
    elif close:
        listed = f"{', '.join(close)}, the nearest of {len(names)}"
    else:
        listed = f"{', '.join(names[:_FEW])} and {len(names) - _FEW} more"
    raise UsageError(f"unknown {name} {value!r}: choose one of {listed}")


def check_flag(name: str, given: Any) -> None:
    """Raise `UsageError` unless a value is True or False: of other texts, `"no"` would be taken for True."""
    if not isinstance(given, bool):
        raise UsageError(f"{name} must be True or False, not {given!a}")


def require_type(value: Any, kind: type | tuple[type, ...], message: str) -> None:
    """Raise `UsageError` if `value` is not an instance of `kind`; `message` follows "… is" and names what to give."""
    if not isinstance(value, kind):
        raise UsageError(f"{value!r:.100} is {message}")


def all_are(kind: type[T], given: object, message: str) -> list[T]:
    """Return one value or several as a list, or raise `UsageError` as `require_type` does."""
    several = isinstance(given, Iterable) and not isinstance(given, str)
    values: list[Any] = list(cast("Iterable[Any]", given)) if several else [given]
    for value in values:
        require_type(value, kind, message)
    return values


def check_count(name: str, given: Any, least: int = 1) -> int:
    """Return an int for a whole number of any kind, NumPy's too, or raise `UsageError`, as also for True."""
    if not is_count(given, least):
        raise UsageError(f"{name} must be a whole number of at least {least}, not {given!a}")
    return int(given)


def is_count(given: Any, least: int) -> bool:
    return not isinstance(given, bool) and isinstance(given, Integral) and int(given) >= least


def command_at(commands: Sequence[str], position: int, noops: int) -> str | None:
    """Return the listed command at a position; where none is listed, the empty one below `noops`, and None beyond."""
    if 0 <= position < len(commands):
        return commands[position]
    return "" if 0 <= position < noops else None


@cache
def _known_arguments(cls: type) -> tuple[str, ...] | None:
    """Return the names of a class's arguments, or None where it takes any."""
    given = getattr(cls, "__signature__", None)
    parameters = list((given or signature(cls.__init__)).parameters.values())[0 if given else 1 :]  # without self
    if any(each.kind is Parameter.VAR_KEYWORD for each in parameters):
        return None
    return tuple(each.name for each in parameters)


def check_arguments(cls: type, given: Iterable[str], more: tuple[str, ...] = ()) -> None:
    """Raise `UsageError` unless a class has all arguments whose names are given, but for those of `more`."""
    known = _known_arguments(cls)
    if known is not None:
        for name in given:
            require_choice("argument", name, (*known, *more))


@cache
def check_hooks(cls: type, base: str) -> None:
    """Raise `UsageError` for a class that has not written the hooks of a base: Gymnasium's metaclass would let it."""
    missing = [name for name in dir(cls) if getattr(getattr(cls, name), "__isabstractmethod__", False)]
    if missing:
        raise UsageError(f"{cls.__name__} has no {', '.join(missing)}: write these hooks, see {base}")


def check_options(options: Any, known: tuple[str, ...], cls: type) -> Mapping[str, Any]:
    """Return the options of a reset of `cls`. Raises `UsageError` for unknown ones and arguments of the environment."""
    if options is None:
        return {}
    if not isinstance(options, Mapping):
        raise UsageError(f"options must be a dict such as {{'task_id': …}}, not {options!r}")
    found = cast("Mapping[str, Any]", options)
    for name in found:
        if name == "seed":
            raise UsageError("a seed is no option: write reset(seed=…)")
        if name in (_known_arguments(cls) or ()):
            raise UsageError(f"{name!r} is no option of reset: give it to gymnasium.make({name}=…)")
        if name not in known:
            require_choice("option of reset", str(name), known)
    return found


def check_task_id(task_id: Any) -> None:
    """Raise `UsageError` unless a task id is a str, whatever the tasks."""
    if not isinstance(task_id, str):
        raise UsageError(f"task_id must be the id of a task, a str, not {task_id!r}")
