"""A process group that ends when this process does, however it ends.

Bubblewrap's inner process waits for the outer one before it asks to die with it. If the caller is killed in those
milliseconds, the outer one ends too, and the inner one would wait forever. So the group has a shell, one for all that
this process starts. It waits for the end of a pipe that only this process can write, then ends the group and itself.
"""

from __future__ import annotations

import os
import select
import subprocess
import threading
from typing import NamedTuple

# In the background: its parent ends at once, so the caller cannot wait for it as a child.
_WAIT_AND_END = "exec 3<&0; { read -r _ <&3; kill -9 0; } &"


class _Group(NamedTuple):
    number: int
    session: int  # a process can join only groups of its own session
    alive: int  # ends with the shell
    ours: int  # ends with us


_lock = threading.Lock()
_last: _Group | None = None


def group() -> int:
    global _last
    with _lock:
        if _last is None or _last.session != os.getsid(0) or readable(_last.alive, 0):
            _forget()
            _last = _start()
        return _last.number


def _forget() -> None:
    global _last
    last, _last = _last, None
    if last is not None:
        os.close(last.alive)
        os.close(last.ours)


def _forked() -> None:
    global _lock
    _lock = threading.Lock()  # another thread may have held it
    _forget()


# A forked process has a group of its own, and must not keep the pipe of its parent's open.
os.register_at_fork(after_in_child=_forked)


def readable(descriptor: int, seconds: float) -> bool:
    """Wait until there is something to read, or the end; return whether there is."""
    poll = select.poll()  # which knows descriptors beyond 1023 as well
    poll.register(descriptor, select.POLLIN)
    return bool(poll.poll(seconds * 1000))


def _start() -> _Group:
    waits, ours = os.pipe()
    alive, held = os.pipe()
    try:
        with subprocess.Popen(
            ("/bin/sh", "-c", _WAIT_AND_END),
            stdin=waits,
            stdout=held,
            stderr=subprocess.DEVNULL,
            cwd="/",
            env={},
            process_group=0,
        ) as process:
            return _Group(process.pid, os.getsid(0), alive, ours)
    except BaseException:
        os.close(alive)
        os.close(ours)
        raise
    finally:
        os.close(waits)
        os.close(held)
