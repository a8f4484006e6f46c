"""Makes what programs inherit from the process that starts them the same for every host."""

from __future__ import annotations

import ctypes
import os
import re
import threading
from collections.abc import Generator
from contextlib import contextmanager, suppress
from pathlib import Path

UMASK = 0o022
_SET_THP_DISABLE, _GET_THP_DISABLE = 41, 42
_BY_PYTHON = 1 << 12 | 1 << 24  # SIGPIPE and SIGXFSZ, which Python ignores itself, and gives back to what it starts
_lock = threading.Lock()
# Otherwise a process forked while the lock is held would wait for it forever, and have no huge pages.
os.register_at_fork(before=_lock.acquire, after_in_parent=_lock.release, after_in_child=_lock.release)


def usual_signals() -> tuple[str, ...]:
    """Return the beginning of a command line for a program that has to find its signals neither ignored nor blocked.

    Where SIGCHLD is ignored, bubblewrap does not see the end of a program. The beginning is empty on a usual host.
    """
    with suppress(OSError):
        said = Path("/proc/thread-self/status").read_text(encoding="utf-8", errors="replace")
        if any(int(each, 16) & ~_BY_PYTHON for each in re.findall(r"^Sig(?:Blk|Ign):\t(\w+)", said, re.MULTILINE)):
            return ("/usr/bin/env", "--default-signal")
    return ()


@contextmanager
def standard_descriptors() -> Generator[None]:
    """Keep descriptors 0 to 2 open in a block, so that none that is opened to be passed on gets their numbers."""
    opened = [os.open(os.devnull, os.O_RDWR)]
    try:
        while opened[-1] <= 2:
            opened.append(os.open(os.devnull, os.O_RDWR))
        yield
    finally:
        for each in opened:
            os.close(each)


@contextmanager
def small_pages() -> Generator[None]:
    """Start the programs of a block without huge pages, which no process shows whole; children inherit this.

    The calling process has none either until the block ends.
    """
    with _lock:
        before = _process_control(_GET_THP_DISABLE)
        _process_control(_SET_THP_DISABLE, 1)
        try:
            yield
        finally:
            _process_control(_SET_THP_DISABLE, max(before, 0))


def _process_control(option: int, value: int = 0) -> int:
    return ctypes.CDLL(None).prctl(option, *map(ctypes.c_ulong, (value, 0, 0, 0)))
