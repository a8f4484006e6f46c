"""Folders that are complete or missing, each made by one process at a time."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from natlang_envs.files import whole_folder


def finished(folder: Path, make: Callable[[Path], None]) -> Path:
    """Return `folder`, made by `make` in a place beside it and renamed when whole, unless it is there already."""
    if not folder.exists():
        with whole_folder(folder, keep=True) as unfinished:
            make(unfinished)
    return folder


@contextmanager
def alone(path: Path) -> Iterator[None]:
    """Hold a lock that ends with the process, however it ends."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w") as file:
        lock_file(file, wait=True)
        yield


def lock_file(file: IO[str], wait: bool) -> bool:
    """Lock an open file; return False if another process has it and `wait` is False."""
    try:
        import fcntl
    except ImportError:  # Windows: nothing is locked, and two processes may make the same stage twice
        return True
    try:
        fcntl.flock(file, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
    except BlockingIOError:
        return False
    return True
