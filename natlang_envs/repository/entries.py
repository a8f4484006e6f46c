"""Folders and files of a repository on the disk: what is known of them, and how they are opened, following no link."""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Generator, Sequence
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Literal, NamedTuple

from natlang_envs.files import opening

# Windows has none of these: there, this module can be imported, but opens no folder.
_FOLDER = os.O_RDONLY | getattr(os, "O_DIRECTORY", 0)
_CAREFUL = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0)
_FOLDER_FLAGS = _FOLDER | _CAREFUL
# O_NONBLOCK: opening a FIFO that was put in a file's place must not wait for a writer.
FILE_FLAGS = os.O_RDONLY | _CAREFUL | getattr(os, "O_NONBLOCK", 0)
KEPT_BYTES = 4 << 20  # the content of a larger file is read again each time
NOT_REGULAR = "Not a regular file"
Kind = Literal["file", "folder", "other"]  # other: symbolic links, devices, sockets, files without permission


class Folder(NamedTuple):
    """A folder: its path ("" for the root), and the sorted names of the folders and files in it."""

    path: str
    folders: tuple[str, ...]
    files: tuple[str, ...]


class Mark(NamedTuple):
    """The status of a file when it was indexed: bytes, time in nanoseconds, inode and permissions."""

    size: int
    modified: int
    inode: int
    mode: int

    @classmethod
    def of(cls, status: os.stat_result) -> Mark:
        return cls(status.st_size, status.st_mtime_ns, status.st_ino, stat.S_IMODE(status.st_mode))


@contextmanager
def open_beneath(root: int, parts: Sequence[bytes]) -> Generator[int]:
    """Open the folder that `parts` lead to below the open folder `root`, following no symbolic link."""
    current = os.dup(root)
    try:
        for part in parts:
            below = os.open(part, _FOLDER_FLAGS, dir_fd=current)
            os.close(current)
            current = below
        yield current
    finally:
        os.close(current)


def open_folder(path: str | Path) -> AbstractContextManager[int]:
    """Open a folder that the caller trusts, also through symbolic links."""
    return opening(path, _FOLDER)


def read_regular(path: str | Path, largest: int, flags: int = FILE_FLAGS, dir_fd: int | None = None) -> bytes:
    """Return the content of a regular file, and at most one byte more than `largest` of it; nothing of a folder.

    A FIFO or device is not waited for: it raises `OSError`, as what cannot be read does.
    """
    with opening(path, flags, dir_fd=dir_fd) as opened:
        kind = stat.S_IFMT(os.fstat(opened).st_mode)
        if kind not in (stat.S_IFREG, stat.S_IFDIR):
            raise OSError(errno.ENOTSUP, NOT_REGULAR)
        return read_part(opened, 0, largest + 1) if kind == stat.S_IFREG else b""


def read_part(opened: int, start: int, length: int) -> bytes:
    """Return bytes of an open file from `start`, fewer where it ends."""
    content = _read_at(opened, length, start)
    while len(content) < length and (more := _read_at(opened, length - len(content), start + len(content))):
        content += more
    return content


def _read_at(opened: int, length: int, start: int) -> bytes:
    if hasattr(os, "pread"):
        return os.pread(opened, length, start)
    os.lseek(opened, start, os.SEEK_SET)  # Windows, where no descriptor is shared by threads here
    return os.read(opened, length)
