"""The removal of a folder that a hostile program has left in any state.

Folders are opened by descriptor and never through a link.
"""

from __future__ import annotations

import os
import secrets
import stat
from contextlib import suppress
from pathlib import Path

from natlang_envs.files import opening

_OWNER = 0o700
_NO_LINK = os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


def enter(folder: int, name: str) -> int:
    """Open a folder in a folder, if need be by giving its owner the right to."""
    try:
        return os.open(name, os.O_RDONLY | _NO_LINK, dir_fd=folder)
    except PermissionError:
        _let_owner(folder, name)
        return os.open(name, os.O_RDONLY | _NO_LINK, dir_fd=folder)


def _let_owner(folder: int, name: str) -> None:
    """Give the owner of a file or folder the right to use it."""
    with opening(name, os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=folder) as found:
        if stat.S_ISREG(mode := os.fstat(found).st_mode) or stat.S_ISDIR(mode):
            Path(f"/proc/self/fd/{found}").chmod(_OWNER)  # by descriptor: the name may be a link to elsewhere by now


def remove_folder(folder: Path) -> None:
    """Remove a folder that a program may have left in any state: unreadable, full of links, nested without end.

    `shutil.rmtree` fails at the first and the last. Nothing may be running in the folder. A folder that is not there
    is no error.
    """
    with suppress(FileNotFoundError), opening(folder.parent, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC) as parent:
        top = enter(parent, folder.name)
        try:
            _empty(top)
        finally:
            os.close(top)
        os.rmdir(folder.name, dir_fd=parent)


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
