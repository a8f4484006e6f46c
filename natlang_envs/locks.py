"""Locks of files and folders that end with the process that holds them, however it ends."""

from __future__ import annotations

import os
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

from natlang_envs.errors import UsageError


def lock(descriptor: int, *, wait: bool = False) -> bool | None:
    """Lock an open file or folder.

    Args:
        descriptor: It is held until this is closed.
        wait: Whether to wait while another process holds it.

    Returns:
        Whether this process holds it now; None where the system locks no files, as Windows.
    """
    try:
        import fcntl
    except ImportError:
        return None
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
    except BlockingIOError:
        return False
    except OSError:  # some network file systems
        return None
    return True


@contextmanager
def alone(path: Path) -> Generator[None]:
    """Hold a lock on a folder, or on a file made for it, and wait for it first."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with _opened(path) as descriptor:
        lock(descriptor, wait=True)
        yield


@contextmanager
def only_process(folder: Path) -> Generator[None]:
    """Hold a lock on a folder that exists, so that no other process works in it.

    Raises:
        UsageError: Another process holds it.
    """
    with _opened(folder) as descriptor:
        if lock(descriptor) is False:
            raise UsageError(f"another process works in {folder}: wait for its end, or choose another --out")
        yield


@contextmanager
def _opened(path: Path) -> Generator[int]:
    if os.name == "nt" and path.is_dir():  # Windows opens no folders, and locks nothing here
        yield -1
        return
    descriptor = os.open(path, os.O_RDONLY if path.is_dir() else os.O_WRONLY | os.O_CREAT, 0o666)
    try:
        yield descriptor
    finally:
        os.close(descriptor)
