"""Takes what changed in a repository since it was indexed as it is now: others may write to it all the time."""

from __future__ import annotations

import os
import stat
from collections.abc import Collection, Mapping
from contextlib import ExitStack, suppress
from pathlib import Path
from types import MappingProxyType
from typing import Self

from natlang_envs.files import opening
from natlang_envs.repository.entries import FILE_FLAGS, KEPT_BYTES, NOT_REGULAR, Folder, Mark, open_beneath, open_folder
from natlang_envs.repository.names import parts_of

CHANGING = "It changes all the time"
# What became of a file, after its name.
GONE = "it is gone, and left out"
ANEW = "it is taken as it is now"


class Renewable:
    """An index that can be taken anew; `Repository` fills it."""

    path: Path
    files: tuple[str, ...]
    size: int
    barred: Mapping[str, str]
    _folders: dict[str, Folder]
    _marks: dict[str, Mark]
    _others: dict[str, tuple[str, ...]]
    _barred: dict[str, str]
    _contents: dict[str, bytes]

    def renewed(self, without: Collection[str] = ()) -> tuple[Self, dict[str, str]]:
        """Return an index of the files as they are now, and what became of each that is not as it was.

        Folders and new files are not looked for. The content of what changed is read at once and kept, so that it may
        go on changing; a file that is too large for that is left out if it is in `without`.
        """
        fresh = object.__new__(type(self))
        fresh.__dict__.update(self.__dict__, _digest=None, _marks=dict(self._marks), _barred=dict(self._barred))
        fresh._folders, fresh._others, fresh._contents = dict(self._folders), dict(self._others), dict(self._contents)
        became: dict[str, str] = {}
        with open_folder(self.path) as root:
            for folder in self._folders.values():
                now = self._renew_folder(root, folder, without, fresh)
                if now:
                    became |= now
                    fresh._list_again(folder)
        fresh.files = tuple(sorted(fresh._marks))
        fresh.size = sum(mark.size for mark in fresh._marks.values())
        fresh.barred = MappingProxyType(fresh._barred)
        return fresh, became

    def _renew_folder(self, root: int, folder: Folder, without: Collection[str], fresh: Self) -> dict[str, str]:
        """Put the files of a folder as they are now into another index, and return what became of them."""
        became: dict[str, str] = {}
        prefix = f"{folder.path}/" if folder.path else ""
        with ExitStack() as stack:
            opened: int | None = None
            with suppress(OSError):
                opened = stack.enter_context(open_beneath(root, parts_of(folder.path)))
            for path in (prefix + name for name in folder.files):
                kept = path in self._contents
                try:
                    if opened is None:
                        raise FileNotFoundError
                    found = os.stat(parts_of(path)[-1], dir_fd=opened, follow_symlinks=False)
                    if Mark.of(found) == self._marks[path] and path not in without:
                        continue
                    if kept and path not in without and found.st_size > KEPT_BYTES:
                        continue  # what was read of it at first stays
                    became[path] = fresh._take_anew(path, opened, found, path in without)
                except OSError:
                    became[path] = GONE
                    del fresh._marks[path]
                    fresh._contents.pop(path, None)
        return became

    def _take_anew(self, path: str, folder: int, found: os.stat_result, leave_out: bool) -> str:
        self._contents.pop(path, None)
        if leave_out or not stat.S_ISREG(found.st_mode):
            del self._marks[path]
            self._barred[path] = CHANGING if leave_out else NOT_REGULAR
            return f"{self._barred[path].lower()}: it is left out"
        with opening(parts_of(path)[-1], FILE_FLAGS, dir_fd=folder) as opened:
            found = os.fstat(opened)
            self._marks[path] = Mark.of(found)
            if found.st_size <= KEPT_BYTES:
                content = os.read(opened, found.st_size)
                self._marks[path] = self._marks[path]._replace(size=len(content))
                self._contents[path] = content
        return ANEW

    def _list_again(self, folder: Folder) -> None:
        prefix = f"{folder.path}/" if folder.path else ""
        files = tuple(name for name in folder.files if prefix + name in self._marks)
        barred = {name for name in folder.files if prefix + name in self._barred}
        self._folders[folder.path] = folder._replace(files=files)
        if barred:
            self._others[folder.path] = tuple(sorted({*self._others.get(folder.path, ()), *barred}))
