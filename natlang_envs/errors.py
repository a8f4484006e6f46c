"""`UsageError`, the one exception for bad input."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches


class UsageError(ValueError):
    """An argument, file or command of the caller is wrong.

    The message is one line that names the thing and the remedy; the command lines print it to standard error and
    exit with code 2.
    """


def one_of(what: str, given: str, known: Iterable[str]) -> str:
    """Return `given` if it is among `known`.

    Raises:
        UsageError: It is not; the message names the closest known values.
    """
    names = list(known)
    if given in names:
        return given
    close = get_close_matches(given, names, n=3) or names[:8]
    raise UsageError(f"unknown {what} {given!r}: choose one of {', '.join(close)}")
