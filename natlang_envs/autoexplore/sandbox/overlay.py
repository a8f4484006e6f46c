"""A copy-on-write view of a repository: what a sandbox changed, over an index that it shares with all others."""

from __future__ import annotations

import base64
import binascii
import errno
import os
from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from natlang_envs.autoexplore.repository.tree import KEPT_BYTES, LINK, Folder, Kind, Repository
from natlang_envs.errors import UsageError

FILE_COST = 1024  # bytes that a changed file is charged beyond its content, so that many empty files have a limit too

# Each change as (path, kind or None for what is gone, text): base64 of a file's content, or why another cannot be read.
State = tuple[tuple[str, str | None, str], ...]


class Files(Protocol):
    """What commands read and write. A path is canonical: below the root, "" for the root, no `.`, `..` or `//`."""

    def kind(self, path: str) -> Kind | None:
        """Return what there is of this path, or None."""
        ...

    def reason(self, path: str) -> str:
        """Return why something of kind `other` cannot be read."""
        ...

    def folder(self, path: str) -> Folder:
        """Return a folder; `KeyError` where there is none."""
        ...

    def others(self, path: str) -> tuple[str, ...]:
        """Return the sorted names of what is neither folder nor file in a folder."""
        ...

    def size(self, path: str) -> int:
        """Return the number of bytes of a file."""
        ...

    def part(self, path: str, start: int, length: int) -> bytes:
        """Return up to `length` bytes of a file, from `start`."""
        ...

    def write(self, path: str, content: bytes) -> None:
        """Make or replace a file in an existing folder; `OSError` where there is no room."""
        ...


def parent_of(path: str) -> tuple[str, str]:
    """Return the path of the folder something is in, and its name in there."""
    parent, _, name = path.rpartition("/")
    return parent, name


class View:
    """A repository and the changes to it, in memory. Making and resetting one costs the same at any size.

    Args:
        repository: What lies below; it is never changed.
        limit: The most bytes that changed files may hold together.
    """

    def __init__(self, repository: Repository, limit: int) -> None:
        self.repository = repository
        self._limit = limit
        self._kinds: dict[str, Kind | None] = {}  # of everything that was changed; None where it is gone
        self._contents: dict[str, bytes] = {}
        self._reasons: dict[str, str] = {}
        self._folders: dict[str, Folder] = {}
        self._others: dict[str, tuple[str, ...]] = {}
        self._used = 0
        self._state: State | None = ()

    def kind(self, path: str) -> Kind | None:
        """Return what there is of this path, or None."""
        if path in self._kinds:
            return self._kinds[path]
        return self.repository.kind(path)

    def reason(self, path: str) -> str:
        """Return why something of kind `other` cannot be read."""
        if path in self._reasons:
            return self._reasons[path]
        return self.repository.barred.get(path, LINK)

    def folder(self, path: str) -> Folder:
        """Return a folder.

        Raises:
            KeyError: There is none of this path.
        """
        known = self._folders.get(path)
        if known is not None:
            return known
        if path in self._kinds:  # its kind was changed, and to no folder
            raise KeyError(path)
        return self.repository.folder(path)

    def others(self, path: str) -> tuple[str, ...]:
        """Return the sorted names of what is neither folder nor file in a folder."""
        known = self._others.get(path)
        if known is not None:
            return known
        return () if path in self._kinds else self.repository.others(path)

    def size(self, path: str) -> int:
        """Return the number of bytes of a file.

        Raises:
            KeyError: There is none of this path.
        """
        content = self._contents.get(path)
        return self.repository.mark(path).size if content is None else len(content)

    def part(self, path: str, start: int, length: int) -> bytes:
        """Return up to `length` bytes of a file, from `start`.

        Raises:
            KeyError: There is none of this path.
            RepositoryChanged: The original changed before this file was first read.
        """
        content = self._contents.get(path)
        if content is not None:
            return content[start : start + length]
        if self.repository.mark(path).size <= KEPT_BYTES:
            return self.repository.read(path)[start : start + length]
        return self.repository.part(path, start, length)

    def read(self, path: str) -> bytes:
        """Return the content of a file.

        Raises:
            KeyError: There is none of this path.
            RepositoryChanged: The original changed before this file was first read.
        """
        content = self._contents.get(path)
        return self.repository.read(path) if content is None else content

    def write(self, path: str, content: bytes) -> None:
        """Make or replace a file in an existing folder.

        Raises:
            OSError: The changed files would hold more than the limit.
        """
        self.check_room(path, len(content))
        self._set(path, "file")
        self._contents[path] = content
        self._used += len(content) + FILE_COST

    def check_room(self, path: str, size: int) -> None:
        """Check that a file of `size` bytes may be written.

        Raises:
            OSError: The changed files would hold more than the limit.
        """
        before = self._contents.get(path)
        freed = 0 if before is None else len(before) + FILE_COST
        if self._used - freed + size + FILE_COST > self._limit:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    def add_folder(self, path: str) -> None:
        """Make an empty folder in an existing one."""
        self._set(path, "folder")

    def add_other(self, path: str, reason: str) -> None:
        """Note something that cannot be read, and why."""
        self._set(path, "other")
        self._reasons[path] = reason

    def remove(self, path: str) -> None:
        """Take a file, an empty folder or anything else away."""
        self._set(path, None)

    def _set(self, path: str, kind: Kind | None) -> None:
        before = self.kind(path)
        self._state = None
        dropped = self._contents.pop(path, None)
        if dropped is not None:
            self._used -= len(dropped) + FILE_COST
        self._reasons.pop(path, None)
        if kind == before:
            if kind != "folder":
                self._kinds[path] = kind
            return
        parent, name = parent_of(path)
        folder = self.folder(parent)
        lists = {"folder": folder.folders, "file": folder.files, "other": self.others(parent)}
        if before is not None:
            lists[before] = tuple(other for other in lists[before] if other != name)
        if kind is not None:
            lists[kind] = tuple(sorted((*lists[kind], name)))
        self._folders[parent] = Folder(parent, lists["folder"], lists["file"])
        self._others[parent] = lists["other"]
        self._folders.pop(path, None)
        self._others.pop(path, None)
        if kind == "folder":
            self._folders[path] = Folder(path, (), ())
        self._kinds[path] = kind

    @property
    def changes(self) -> Mapping[str, Kind | None]:
        """The kind of everything that was changed, None where it is gone."""
        return self._kinds

    def reset(self) -> None:
        """Return to the repository as it was indexed."""
        if self._kinds:
            self._kinds, self._contents, self._reasons, self._folders, self._others = {}, {}, {}, {}, {}
            self._used = 0
        self._state = ()

    def state(self) -> State:
        """Return the changes as immutable JSON values, for `restore`."""
        if self._state is None:
            self._state = tuple((path, self._kinds[path], self._text(path)) for path in sorted(self._kinds))
        return self._state

    def _text(self, path: str) -> str:
        if self._kinds[path] == "file":
            return base64.b64encode(self.read(path)).decode()
        return self._reasons.get(path, "")

    def restore(self, state: State | Sequence[Any]) -> None:
        """Return to a state of a view over the same repository, also one that went through JSON.

        Raises:
            UsageError: It is no such state.
        """
        self.reset()
        try:
            changes = [(str(path), kind, str(text)) for path, kind, text in state]
            for path, kind, _ in reversed(changes):  # what is in a folder goes before the folder
                if kind is None:
                    self.remove(path)
            for path, kind, text in changes:
                if kind == "file":
                    self.write(path, base64.b64decode(text, validate=True))
                elif kind == "folder":
                    self.add_folder(path)
                elif kind is not None:
                    self.add_other(path, text)
        except (ValueError, TypeError, KeyError, OSError, binascii.Error):
            self.reset()
            raise UsageError("this is no state of a sandbox over this repository: give one that it returned") from None
        self._state = None
