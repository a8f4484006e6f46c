"""Limits that the kernel does not keep: a program's output, its time, its files, and the memory of all processes.

Memory and the number of files are read fifty times a second, so a program may pass those two limits by what it can take
in between. The program may be hostile, so every reading is bounded.
"""

from __future__ import annotations

import os
import selectors
import subprocess
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import NamedTuple

from natlang_envs.sandbox.isolation.control_group import ControlGroup
from natlang_envs.sandbox.isolation.processes import TERMINALS, Processes

_LOOK_EVERY = 0.02  # seconds
_GRACE = 5.0  # seconds in which the last output of killed processes must have been read
_SHORT = 1 << 30  # bytes: below this, and a quarter of what there was, the machine itself runs short
BLOCK = 4096  # bytes of the disk limit for each file that a program may make
_SURE = (0.001, 0.004, 0.008, 0.016)  # seconds after each of which memory must be too much again


@dataclass(frozen=True)
class Limits:
    """The limits of one run.

    Attributes:
        seconds: Wall-clock time; the processor time of each process is limited to the same.
        memory: Bytes of all processes together, and of each one's data.
        processes: Processes and threads at a time.
        disk: Bytes that the run may add to the folder, as the size of its file system; /tmp and /dev/shm have the same.
        output: Bytes of standard output and standard error together.
    """

    seconds: float = 10.0
    memory: int = 512 << 20
    processes: int = 32
    disk: int = 64 << 20
    output: int = 1 << 20


class Completed(NamedTuple):
    """The result of a program."""

    exit_code: int  # its exit status; 128 and the signal where a signal ended it; 126 where it could not be started
    stdout: bytes  # its standard output, as far as `Limits.output` allows
    stderr: bytes  # its standard error, likewise
    stopped: str | None  # a sentence naming the limit that ended it, or None

    @classmethod
    def failed(cls, code: int, why: str) -> Completed:
        return cls(code, b"", f"{why}\n".encode("utf-8", "backslashreplace"), None)


class Watch:
    """Looks at a running program and says which limit it has passed.

    `folder` is an open file system of limited size. `below` files are in a layer beneath it: one that is removed takes
    a place in the folder. `processes` is None where they cannot be separated from others. `group` counts memory, too,
    without locks on files.
    """

    def __init__(
        self,
        limits: Limits,
        folder: int | None,
        processes: Processes | None,
        below: int = 0,
        group: ControlGroup | None = None,
    ) -> None:
        self._limits = limits
        self._group = group
        self._folder = folder
        self._processes = processes
        self._available = available_memory()
        self._too_much_memory = f"it held more than {limits.memory:,} bytes of memory"
        self._before = (0 if folder is None else entries(folder)) + below

    def look(self) -> str | None:
        if self._holds_too_much():
            return self._too_much_memory
        if (now := available_memory()) < _SHORT and now < self._available // 4:
            return "the machine runs short of memory"
        made = 0 if self._folder is None else entries(self._folder) - self._before
        made += sum(map(entries, self._processes.temporary)) if self._processes else 0
        if made > self._limits.disk // BLOCK:
            return f"it made more than {self._limits.disk // BLOCK:,} files"
        if self._processes and self._processes.terminals() > TERMINALS:
            return f"it opened more than {TERMINALS} terminals"
        return self._is_full()

    def _holds_too_much(self) -> bool:
        if self._group is not None and self._group.held() > self._limits.memory:
            return True
        if self._processes is None:
            return False
        # Several times in a row: a process that starts another shows its memory twice until that one has begun its own
        # program, where it is not seen to wait for it.
        for pause in _SURE:
            if not self._processes.holds_more(self._limits.memory):
                return False
            time.sleep(pause)
        return self._processes.holds_more(self._limits.memory)

    def passed(self) -> str | None:
        """Return a sentence if the program has ended by a limit that the kernel keeps."""
        if self._group is not None and self._group.was_full():
            return self._too_much_memory
        return self._is_full()

    def _is_full(self) -> str | None:
        # Beyond that the kernel lets the program write nothing.
        if self._folder is not None and os.fstatvfs(self._folder).f_bavail == 0:
            return f"it wrote more than {self._limits.disk:,} bytes to the disk"
        return None


def available_memory() -> int:
    """Return the bytes of memory that programs can still get, or a number that is never short."""
    with suppress(OSError), open("/proc/meminfo", encoding="ascii") as lines:  # noqa: PTH123 - read until found
        for line in lines:
            if line.startswith("MemAvailable:"):
                return int(line.split()[1]) << 10
    return _SHORT  # unknown: never short


def entries(mount: int) -> int:
    """Return how many files, folders and links are in the file system of an open folder."""
    room = os.statvfs(mount)
    return room.f_files - room.f_ffree


def gather(
    process: subprocess.Popen[bytes], end: int | None, kill: Callable[[], None], limits: Limits, watch: Watch
) -> Completed:
    """Read what a program writes until it has ended, and end it by `kill` where it passes a limit.

    The exit code is left at 0.
    `end` is a pidfd that becomes readable when all of it has ended; None: `process` is asked.
    """
    assert process.stdout is not None
    assert process.stderr is not None
    kept = {process.stdout.fileno(): bytearray(), process.stderr.fileno(): bytearray()}
    room = limits.output
    stopped: str | None = None
    deadline = time.monotonic() + limits.seconds
    with selectors.DefaultSelector() as selector:
        for fd in (*kept, *(() if end is None else (end,))):
            selector.register(fd, selectors.EVENT_READ)
        ended = False
        next_look = time.monotonic() + _LOOK_EVERY
        while not ended or selector.get_map():
            for key, _ in selector.select(max(0.0, min(next_look, deadline) - time.monotonic())):
                if key.fd == end:
                    ended = True
                    selector.unregister(key.fd)
                elif data := os.read(key.fd, 1 << 16):
                    kept[key.fd] += data[:room]
                    if len(data) > room and stopped is None:
                        stopped = f"it wrote more than {limits.output:,} bytes of output"
                        kill()
                        deadline = time.monotonic() + _GRACE
                    room = max(0, room - len(data))
                else:
                    selector.unregister(key.fd)
            now = time.monotonic()
            if end is None and process.poll() is not None and not ended:
                ended = True
                deadline = min(deadline, now + 0.2)  # a child of its own may hold the pipes open
            if now >= deadline:
                if stopped is not None or ended:
                    break
                stopped = f"it ran longer than {limits.seconds:g} seconds"
                kill()
                deadline = now + _GRACE
            elif now >= next_look:
                if stopped is None and not ended and (stopped := watch.look()) is not None:
                    kill()
                    deadline = now + _GRACE
                next_look = time.monotonic() + _LOOK_EVERY
    out, err = kept.values()
    return Completed(0, bytes(out), bytes(err), stopped or watch.passed())
