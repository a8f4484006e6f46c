"""A folder that a hostile program changes, or has left in any state: how much it holds, and its removal.

Folders are opened by descriptor and never through a link.
"""

from __future__ import annotations

import os
import secrets
import stat
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

DEPTH = 100  # folders in folders: deeper ones exhaust descriptors and recursion in whatever walks them
BLOCK = 4096  # the least that a directory entry is counted as, so that empty files are not free
_OWNER = 0o700
_NO_LINK = os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


class TooDeepError(Exception):
    """Folders lie in folders further than anything here follows."""


class Disk:
    """The bytes that a folder holds."""

    def __init__(self, folder: Path, owner: int | None) -> None:
        """Measure the folder for the first time.

        Args:
            folder: The folder.
            owner: The user id to give everything in it to (needs root), or None.

        Raises:
            TooDeepError: It nests too deep to be measured.
        """
        self._top = os.open(folder, os.O_RDONLY | _NO_LINK)
        self._owner = owner
        try:
            self.device = os.fstat(self._top).st_dev
            if owner is not None:
                os.fchown(self._top, owner, owner)
            self._before = sum(self._sizes(self._top, 0))
        except BaseException:
            self.close()
            raise
        self._owner = None

    def close(self) -> None:
        """Let go of the folder."""
        os.close(self._top)

    def free(self) -> int:
        """Return the bytes that its file system has left."""
        room = os.fstatvfs(self._top)
        return room.f_bavail * room.f_frsize

    def grown(self, limit: int) -> int:
        """Return the bytes added since the first measure, or some number above `limit` where that is passed.

        Raises:
            TooDeepError: It nests too deep to be measured.
        """
        mode = os.fstat(self._top).st_mode
        if mode & _OWNER != _OWNER:
            os.fchmod(self._top, mode & 0o777 | _OWNER)
        total = -self._before
        for size in self._sizes(self._top, 0):
            total += size
            if total > limit:
                break
        return total

    def _sizes(self, folder: int, depth: int) -> Iterator[int]:
        if depth > DEPTH:
            raise TooDeepError
        with os.scandir(folder) as entries:
            for entry in entries:
                try:
                    found = entry.stat(follow_symlinks=False)
                    if self._owner is not None:
                        self._give(folder, entry.name, found)
                    if found.st_mode & 0o600 != 0o600 or (stat.S_ISDIR(found.st_mode) and not found.st_mode & 0o100):
                        _let_owner(folder, entry.name)
                    yield max(found.st_blocks * 512, BLOCK)
                    if stat.S_ISDIR(found.st_mode):
                        yield from self._inside(folder, entry.name, depth)
                except OSError:  # it went away, or became something else, while we looked
                    continue

    def _inside(self, folder: int, name: str, depth: int) -> Iterator[int]:
        inner = enter(folder, name)
        try:
            yield from self._sizes(inner, depth + 1)
        finally:
            os.close(inner)

    def _give(self, folder: int, name: str, found: os.stat_result) -> None:
        # A second name of a file may lie outside, and the original must keep its owner.
        linked = not stat.S_ISDIR(found.st_mode) and found.st_nlink > 1
        if found.st_uid != self._owner and self._owner is not None and not linked:
            os.chown(name, self._owner, self._owner, dir_fd=folder, follow_symlinks=False)


def enter(folder: int, name: str) -> int:
    """Open a folder in a folder, if need be by giving its owner the right to.

    Raises:
        OSError: It is no folder (any more).
    """
    try:
        return os.open(name, os.O_RDONLY | _NO_LINK, dir_fd=folder)
    except PermissionError:
        _let_owner(folder, name)
        return os.open(name, os.O_RDONLY | _NO_LINK, dir_fd=folder)


def _let_owner(folder: int, name: str) -> None:
    """Give the owner of a file or folder the right to use it."""
    found = os.open(name, os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=folder)
    try:
        if stat.S_ISREG(mode := os.fstat(found).st_mode) or stat.S_ISDIR(mode):
            Path(f"/proc/self/fd/{found}").chmod(_OWNER)  # by descriptor: the name may be a link to elsewhere by now
    finally:
        os.close(found)


def remove_folder(folder: Path) -> None:
    """Remove a folder that a program may have left in any state: unreadable, full of links, nested without end.

    `shutil.rmtree` fails at the first and the last. Nothing may be running in the folder. A folder that is not there
    is no error.
    """
    with suppress(FileNotFoundError):
        parent = os.open(folder.parent, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            top = enter(parent, folder.name)
            try:
                _empty(top)
            finally:
                os.close(top)
            os.rmdir(folder.name, dir_fd=parent)
        finally:
            os.close(parent)


def _empty(top: int) -> None:
    prefix, moved = secrets.token_hex(8), 0
    while names := os.listdir(top):
        for name in names:
            try:
                os.unlink(name, dir_fd=top)
                continue
            except (IsADirectoryError, PermissionError):
                inner = enter(top, name)
            try:
                for each in os.listdir(inner):  # noqa: PTH208 - a descriptor
                    try:
                        os.unlink(each, dir_fd=inner)
                    except (IsADirectoryError, PermissionError):
                        # Renaming a folder writes its `..`, so its owner must be allowed to.
                        os.close(enter(inner, each))
                        # Up to the top instead of down into it: no depth is too great.
                        moved += 1
                        os.rename(each, f"{prefix}-{moved}", src_dir_fd=inner, dst_dir_fd=top)
            finally:
                os.close(inner)
            os.rmdir(name, dir_fd=top)
