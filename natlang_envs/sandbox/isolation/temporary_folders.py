"""Folders that are removed when their process ends, even if it is killed; and the removal of hostile folders.

A process locks its folder. The system drops the lock when the process ends, and the next process that makes a folder
removes the unlocked ones. Only folders that this program made are removed: the name has the exact form, the folder
holds the marker file or nothing, and both belong to this user.
"""

from __future__ import annotations

import os
import re
import secrets
import stat
import tempfile
import weakref
from contextlib import suppress
from pathlib import Path

from natlang_envs import files
from natlang_envs.errors import UsageError

PREFIX = "natlang-explore-"
MEMORY = Path("/dev/shm")
"""Where folders are made if not among temporary files."""
MARKER = ".natlang-explore"  # outside of what programs can reach, so none of them can remove it
_NAME = re.compile(rf"{PREFIX}[1-9][0-9]*-[a-z0-9_]{{8}}")  # the prefix, a process, and what mkdtemp adds
_TRIES = 20  # another process may take a new folder for an abandoned one
_NEW_FILE = os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_NOFOLLOW | os.O_CLOEXEC
_OPEN = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


class OwnFolder:
    """A new empty folder, removed by `close`, when this object is dropped, or after a crash by the next one."""

    def __init__(self, place: Path) -> None:
        for each in {place, MEMORY}:
            _remove_abandoned(each)
        self.process = os.getpid()
        for _ in range(_TRIES):
            try:
                self.path = Path(tempfile.mkdtemp(prefix=f"{PREFIX}{self.process}-", dir=place))
            except OSError as error:
                reason = error.strerror or "no access"
                raise UsageError(f"no folder can be made in {str(place)!r} ({reason}): choose another folder") from None
            with suppress(FileNotFoundError):  # another process may take an unlocked folder for an abandoned one
                self.path.chmod(0o700)  # whatever the umask
            lock = _lock(self.path)
            if lock is not None:
                break
            with suppress(OSError):
                self.path.rmdir()
        else:
            raise UsageError(f"no folder in {str(place)!r} can be locked: choose another folder")
        os.close(os.open(MARKER, _NEW_FILE, 0o600, dir_fd=lock))
        self._finalizer = weakref.finalize(self, _close, self.path, lock, self.process)

    def close(self) -> None:
        self._finalizer()


def new_folder(path: str | bytes | Path, dir_fd: int | None = None) -> None:
    """Make a folder that its owner may write and others may enter, whatever the umask."""
    os.mkdir(path, dir_fd=dir_fd)
    os.chmod(path, 0o755, dir_fd=dir_fd)


def _lock(path: Path) -> int | None:
    """Lock a folder of ours; None where another process holds it, or took it away."""
    try:
        opened = os.open(path, _OPEN)
    except OSError:
        return None
    with suppress(OSError):
        held = files.lock(opened)
        if held and os.fstat(opened).st_ino == path.lstat().st_ino and os.fstat(opened).st_uid == os.geteuid():
            return opened
    os.close(opened)
    return None


def _close(path: Path, lock: int, process: int) -> None:
    if os.getpid() == process:  # a forked child drops its copy of the object, not the folder
        with suppress(OSError):
            remove_folder(path)
    os.close(lock)


def _remove_abandoned(place: Path) -> None:
    try:
        names = [name for name in os.listdir(place) if _NAME.fullmatch(name)]  # noqa: PTH208 - names are enough
    except OSError:
        return
    for name in names:
        lock = _lock(place / name)
        if lock is not None:
            with suppress(OSError):
                remove_folder(place / name) if _is_marked(lock) else (place / name).rmdir()
            os.close(lock)


def _is_marked(folder: int) -> bool:
    with suppress(OSError):
        status = os.stat(MARKER, dir_fd=folder, follow_symlinks=False)
        return stat.S_ISREG(status.st_mode) and status.st_uid == os.geteuid()
    return False


def _enter(folder: int, name: str) -> int:
    """Open a folder in a folder, if need be by giving its owner the right to."""
    with suppress(PermissionError):
        return os.open(name, _OPEN, dir_fd=folder)
    with files.opening(name, os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=folder) as found:
        if stat.S_ISDIR(os.fstat(found).st_mode):
            Path(f"/proc/self/fd/{found}").chmod(0o700)  # by descriptor: the name may be a link to elsewhere by now
    return os.open(name, _OPEN, dir_fd=folder)


def remove_folder(folder: Path) -> None:
    """Remove a folder that a program may have left in any state: unreadable, full of links, nested without end.

    `shutil.rmtree` fails at the first and the last. Nothing may be running in the folder. A folder that is not there
    is no error.
    """
    with suppress(FileNotFoundError), files.opening(folder.parent, os.O_RDONLY | os.O_DIRECTORY) as parent:
        top = _enter(parent, folder.name)
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
                inner = _enter(top, name)
            try:
                for each in os.listdir(inner):  # noqa: PTH208 - a descriptor
                    try:
                        os.unlink(each, dir_fd=inner)
                    except (IsADirectoryError, PermissionError):
                        # Renaming a folder writes its `..`, so its owner must be allowed to.
                        os.close(_enter(inner, each))
                        # Up to the top instead of down into it: no depth is too great.
                        moved += 1
                        os.rename(each, f"{prefix}-{moved}", src_dir_fd=inner, dst_dir_fd=top)
            finally:
                os.close(inner)
            os.rmdir(name, dir_fd=top)
