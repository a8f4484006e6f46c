"""Folders that live as long as the process that made them, also when it is killed.

Each is locked by its process. The system drops the lock when the process ends, however it ends, and the next process
that makes such a folder removes those that nobody holds.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import stat
import tempfile
import weakref
from contextlib import suppress
from pathlib import Path

from natlang_envs.errors import UsageError

PREFIX = "natlang-explore-"
RAM_DISK = Path("/dev/shm")
_OPEN = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


def choose_place(needed: int) -> Path:
    """Return the RAM disk where there is one with room for `needed` bytes, else the folder for temporary files."""
    with suppress(OSError):
        if os.access(RAM_DISK, os.W_OK | os.X_OK) and shutil.disk_usage(RAM_DISK).free > needed:
            return RAM_DISK
    return Path(tempfile.gettempdir())


class OwnFolder:
    """A new empty folder, removed by `close`, when this object is dropped, or after a crash by the next one.

    Args:
        place: The existing folder to make it in.

    Raises:
        UsageError: No folder can be made there.
    """

    def __init__(self, place: Path) -> None:
        _remove_abandoned(place)
        self.process = os.getpid()
        while True:
            try:
                self.path = Path(tempfile.mkdtemp(prefix=f"{PREFIX}{self.process}-", dir=place))
            except OSError as error:
                reason = error.strerror or "no access"
                raise UsageError(f"no folder can be made in {str(place)!r} ({reason}): choose another folder") from None
            lock = _lock(self.path)
            if lock is not None:
                break
        self._finalizer = weakref.finalize(self, _close, self.path, lock, self.process)

    def close(self) -> None:
        """Remove the folder and all that is in it."""
        self._finalizer()


def _lock(path: Path) -> int | None:
    """Lock a folder of ours; None where another process holds it, or took it away."""
    try:
        opened = os.open(path, _OPEN)
    except OSError:
        return None
    with suppress(OSError):
        fcntl.flock(opened, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if os.fstat(opened).st_ino == path.lstat().st_ino and os.fstat(opened).st_uid == os.geteuid():
            return opened
    os.close(opened)
    return None


def _close(path: Path, lock: int, process: int) -> None:
    if os.getpid() == process:  # a forked child drops its copy of the object, not the folder
        remove(path)
    os.close(lock)


def _remove_abandoned(place: Path) -> None:
    try:
        names = [name for name in os.listdir(place) if name.startswith(PREFIX)]  # noqa: PTH208 - names are enough
    except OSError:
        return
    for name in names:
        lock = _lock(place / name)
        if lock is not None:
            remove(place / name)
            os.close(lock)


def remove(path: Path) -> None:
    """Remove a folder, however deep it is and whatever is in it; what cannot be removed stays.

    Subfolders are first moved up to the top, one level after the other: going down a tree that a hostile program made
    would run out of stack, and of the length of paths.
    """
    try:
        top = os.open(path, _OPEN)
    except OSError:
        return
    try:
        waiting = [b""]
        moved = 0
        while waiting:
            name = waiting.pop()
            folder = _opened(name, top)
            if folder is None:
                continue
            for child in _listed(folder):
                if not _is_folder(child, folder):
                    with suppress(OSError):
                        os.unlink(child, dir_fd=folder)
                elif not name:
                    waiting.append(child)
                else:
                    moved += 1
                    target = b".removed-%d" % moved
                    if _moved(child, folder, target, top):
                        waiting.append(target)
            os.close(folder)
            if name:
                with suppress(OSError):
                    os.rmdir(name, dir_fd=top)
    finally:
        os.close(top)
    with suppress(OSError):
        path.rmdir()


def _opened(name: bytes, top: int) -> int | None:
    with suppress(OSError):
        if not name:
            return os.dup(top)
        _unlock(name, top)
        return os.open(name, _OPEN, dir_fd=top)
    return None


def _unlock(name: bytes, folder: int) -> None:
    """Give ourselves access to a subfolder that a program may have taken it from."""
    with suppress(OSError):
        if _is_folder(name, folder):
            os.chmod(name, 0o700, dir_fd=folder)


def _listed(folder: int) -> list[bytes]:
    with suppress(OSError):
        return [os.fsencode(name) for name in os.listdir(folder)]
    return []


def _is_folder(name: bytes, folder: int) -> bool:
    with suppress(OSError):
        return stat.S_ISDIR(os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode)
    return False


def _moved(name: bytes, folder: int, target: bytes, top: int) -> bool:
    with suppress(OSError):
        _unlock(name, folder)  # moving a folder changes its `..`, and so needs access to itself
        os.rename(name, target, src_dir_fd=folder, dst_dir_fd=top)
        return True
    return False
