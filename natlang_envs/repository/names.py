r"""Names of files as text: what is shown, and back to the bytes of the disk.

A name may hold any byte but `/` and NUL. Bytes that are no UTF-8, control characters and characters that reorder or
break a line are shown as `\xNN`, and so is the backslash itself, so that no two names look alike.
"""

from __future__ import annotations

import os
import re

# A fixed set, not `str.isprintable`: that one differs between versions of Python.
_ODD = re.compile("[\\x00-\\x1f\\x7f-\\x9f\\\\\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff\ud800-\udfff]")
# Only what `shown` escapes: `\x2f` and `\x2e` must never turn into `/` and `.`, nor `\x00` into the end of a name.
_ESCAPED = re.compile(rb"\\x(0[1-9a-f]|1[0-9a-f]|5c|7f|[89a-f][0-9a-f])")


def shown(name: str) -> str:
    """Return a name or path, as `os.fsdecode` gives it, with its odd characters escaped."""
    if name.isascii() and name.isprintable() and "\\" not in name:
        return name
    return _ODD.sub(_escape, name)


def _escape(match: re.Match[str]) -> str:
    errors = "surrogateescape" if "\udc80" <= match.group() <= "\udcff" else "surrogatepass"
    encoded = match.group().encode("utf-8", errors)
    return "".join(f"\\x{byte:02x}" for byte in encoded)


def on_disk(name: str) -> bytes:
    encoded = name.encode("utf-8", "backslashreplace")
    if b"\\" not in encoded:
        return encoded
    return _ESCAPED.sub(lambda match: bytes([int(match.group(1), 16)]), encoded)


def parts_of(path: str) -> list[bytes]:
    """Return the names on the way to a path, as on the disk; none for the top."""
    return on_disk(path).split(b"/") if path else []


def same(name: str) -> str:
    r"""Return how a typed name is shown: `a\b` and `a\x5cb` are one name."""
    if "\\" not in name and name.isascii() and name.isprintable():
        return name
    return shown(on_disk(name).decode("utf-8", "surrogateescape"))


def is_git(name: str) -> bool:
    """Return whether a name belongs to git itself: such a file can run programs on the user's machine."""
    return name.lower() == ".git"


def of_entry(entry: os.DirEntry[str]) -> str:
    """Return how the name of a directory entry is shown."""
    return shown(os.fsencode(entry.name).decode("utf-8", "surrogateescape"))
