"""What a change task says: the behaviour that a test wants, without the place that is to be changed."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable

_ADDRESS = re.compile(r"\b0x[0-9a-f]+")
_LONGEST = 300  # characters of what pytest said
_WORD = re.compile(r"[A-Za-z_][A-Za-z_0-9]*")
ASKED = (
    "Something in the sources is wrong since a change that nobody remembers. {wanted} Find the cause and mend it. The "
    "tests are right: they, settings and files that are new are put back before your sources are tested."
)


def behaviour(test: str) -> str:
    """Return the name of a test as words."""
    name = test.rpartition("::")[2].partition("[")[0]
    return name.removeprefix("test_").replace("_", " ")


def masked(said: str) -> str:
    """Return what pytest said without addresses, which differ each time."""
    return _ADDRESS.sub("0x…", said)


def first_words(said: str, secret: Collection[str]) -> str:
    """Return the first line of what pytest said went wrong, or nothing where it names what is secret."""
    found = next((line[1:].strip() for line in said.splitlines() if line.startswith("E ")), "")
    if set(_WORD.findall(found)) & set(secret):
        return ""
    return masked(found)[:_LONGEST]


def issue(shown: Iterable[tuple[str, str]], secret: Collection[str]) -> str:
    """Return the text of an issue.

    Args:
        shown: Tests that fail, each with what pytest says.
        secret: Names that it may not hold: of functions and files that are to be changed.
    """
    parts: list[str] = []
    for test, said in shown:
        words = " ".join(each for each in behaviour(test).split() if each not in secret)
        why = first_words(said, secret)
        parts.append(f"This should hold, and does not: “{words}”" + (f" ({why})." if why else "."))
    return ASKED.format(wanted=" ".join(parts))
