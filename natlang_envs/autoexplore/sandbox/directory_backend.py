"""The files of a sandbox as a real folder holds them: what commands see with the directory backend."""

from __future__ import annotations

import os
import stat
from collections.abc import Generator
from contextlib import contextmanager

from natlang_envs.autoexplore.repository.names import is_git, of_entry, on_disk
from natlang_envs.autoexplore.repository.tree import FILE_FLAGS, LINK, NOT_REGULAR, Folder, Kind
from natlang_envs.autoexplore.sandbox.overlay import View, parent_of
from natlang_envs.autoexplore.sandbox.work_folder import Seen, WorkFolder


class DirectoryFiles:
    """`view.Files` over a work folder; what is written goes to the view as well.

    Args:
        work: The folder.
        view: The view it was made from.
    """

    def __init__(self, work: WorkFolder, view: View) -> None:
        self._work = work
        self._view = view

    def _status(self, path: str) -> os.stat_result | None:
        parent, name = parent_of(path)
        try:
            with self._work.open(parent) as folder:
                return os.stat(on_disk(name), dir_fd=folder, follow_symlinks=False)
        except OSError:  # also where something else put a link or a file in the place of a folder
            return None

    def _barred(self, path: str) -> bool:
        """Whether the original holds something here that could not be copied."""
        return path in self._view.repository.barred and self._view.kind(path) == "other"

    def kind(self, path: str) -> Kind | None:
        """Return what there is of this path, or None."""
        if not path:
            return "folder"
        if is_git(parent_of(path)[1]):
            return None
        status = self._status(path)
        if status is None:
            return "other" if self._barred(path) else None
        return Seen.of(status).kind

    def reason(self, path: str) -> str:
        """Return why something of kind `other` cannot be read."""
        status = self._status(path)
        if status is None:
            return self._view.reason(path)
        return LINK if stat.S_ISLNK(status.st_mode) else NOT_REGULAR

    def _names(self, path: str) -> dict[Kind, list[str]]:
        names: dict[Kind, list[str]] = {"folder": [], "file": [], "other": []}
        with self._work.open(path) as folder, os.scandir(folder) as entries:
            for entry in entries:
                name = of_entry(entry)
                if not is_git(name):
                    names[Seen.of(entry.stat(follow_symlinks=False)).kind].append(name)
        return names

    def folder(self, path: str) -> Folder:
        """Return a folder.

        Raises:
            KeyError: There is none of this path.
        """
        if self.kind(path) != "folder":
            raise KeyError(path)
        names = self._names(path)
        return Folder(path, tuple(sorted(names["folder"])), tuple(sorted(names["file"])))

    def others(self, path: str) -> tuple[str, ...]:
        """Return the sorted names of what is neither folder nor file in a folder."""
        prefix = f"{path}/" if path else ""
        barred = [name for name in self._view.repository.others(path) if self._barred(prefix + name)]
        return tuple(sorted({*self._names(path)["other"], *barred}))

    @contextmanager
    def _opened(self, path: str) -> Generator[int]:
        parent, name = parent_of(path)
        with self._work.open(parent) as folder:
            opened = os.open(on_disk(name), FILE_FLAGS, dir_fd=folder)
        try:
            if not stat.S_ISREG(os.fstat(opened).st_mode):
                raise KeyError(path)
            yield opened
        finally:
            os.close(opened)

    def size(self, path: str) -> int:
        """Return the number of bytes of a file.

        Raises:
            KeyError: There is none of this path.
            OSError: It cannot be opened.
        """
        with self._opened(path) as opened:
            return os.fstat(opened).st_size

    def part(self, path: str, start: int, length: int) -> bytes:
        """Return up to `length` bytes of a file, from `start`.

        Raises:
            KeyError: There is none of this path.
            OSError: It cannot be opened.
        """
        with self._opened(path) as opened, os.fdopen(os.dup(opened), "rb") as file:
            file.seek(start)
            return file.read(length)

    def write(self, path: str, content: bytes) -> None:
        """Make or replace a file in an existing folder.

        Raises:
            OSError: There is no room for it, or the folder cannot be written to.
        """
        self._view.check_room(path, len(content))
        self._work.write(path, content)
        try:
            self._view.write(path, content)
        except KeyError:  # someone else made its folder since the last update
            self._work.update()
