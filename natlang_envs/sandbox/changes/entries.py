"""One changed thing in a sandbox, and its form as JSON values."""

from __future__ import annotations

import base64
import binascii
from typing import Any, NamedTuple, cast

from natlang_envs.repository.entries import Kind
from natlang_envs.repository.names import on_disk, same
from natlang_envs.repository.tree import MAX_DEPTH

FILE_COST = 1024  # bytes that a change is charged beyond its content, so that many empty files have a limit too
MAX_NAME = 255  # bytes, as in file systems

# Each change as (path, kind, text, mode). The kinds are `file` (text: its content as base64), `mode` (a file of the
# original with other permissions), `folder`, `link` (text: where to), `other` (text: why it cannot be read), and None
# for what is gone. The mode is None where it is the usual one.
Change = tuple[str, str | None, str, int | None]
State = tuple[Change, ...]


class Entry(NamedTuple):
    """One changed thing."""

    kind: Kind  # what it is now
    content: bytes | None = None  # the content of a file; None: that of the original
    text: str = ""  # where a symbolic link leads, or why something else cannot be read
    mode: int | None = None  # the permissions of a file or folder; None for the usual ones
    link: bool = False  # whether it is a symbolic link

    @property
    def cost(self) -> int:
        """The bytes that it is charged."""
        return FILE_COST + len(self.content or b"") + len(self.text)


def to_change(path: str, entry: Entry | None) -> Change:
    """Return one change as JSON values."""
    if entry is None:
        return path, None, "", None
    if entry.kind == "file":
        if entry.content is None:
            return path, "mode", "", entry.mode
        return path, "file", base64.b64encode(entry.content).decode(), entry.mode
    return path, "link" if entry.link else entry.kind, entry.text, entry.mode


def read_change(given: Any) -> tuple[str, Entry | None]:
    """Return what `to_change` wrote."""
    path, kind, text, mode = cast("tuple[object, ...]", given)
    if not isinstance(path, str) or not isinstance(text, str) or not is_path(path):
        raise ValueError(path)
    if mode is not None and (type(mode) is not int or not 0 <= mode <= 0o777 or kind not in ("file", "mode", "folder")):
        raise ValueError(mode)
    if kind == "file":
        try:
            return path, Entry("file", base64.b64decode(text, validate=True), mode=mode)
        except binascii.Error as error:
            raise ValueError(path) from error
    if kind == "link" and text and "\0" not in text and same(text) == text:
        return path, Entry("other", text=text, link=True)
    if kind == "other":
        return path, Entry("other", text=" ".join(text.split())[:200])
    if not text and kind == "folder":
        return path, Entry("folder", mode=mode)
    if not text and kind == "mode" and mode is not None:
        return path, Entry("file", mode=mode)
    if not text and kind is None:
        return path, None
    raise ValueError(kind)


def is_path(path: str) -> bool:
    """Return whether a path is canonical, as `names.shown` shows it."""
    parts = path.split("/")
    if len(parts) > MAX_DEPTH or "\0" in path:
        return False
    return all(part not in ("", ".", "..") and same(part) == part and len(on_disk(part)) <= MAX_NAME for part in parts)
