"""Limits that the kernel does not keep: a program's output, its time, its files, and the memory of all processes.

Memory and the number of files are looked at some fifty times a second, so a program may pass those two limits by what
it can take in between. Everything here runs against a program that may be hostile: no reading grows without a bound.
"""

from __future__ import annotations

import os
import selectors
import subprocess
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

_LOOK_EVERY = 0.02  # seconds
_GRACE = 5.0  # seconds in which the last output of killed processes must have been read
_SHORT = 1 << 30  # bytes: below this, and a quarter of what there was, the machine itself runs short
BLOCK = 4096  # a program may make one file for so many bytes of its disk limit
_PAGE = os.sysconf("SC_PAGE_SIZE")


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


class Gathered(NamedTuple):
    """The output of a program, and the limit that ended it (None where it ended by itself)."""

    stdout: bytes
    stderr: bytes
    stopped: str | None


class Completed(NamedTuple):
    """The result of a program.

    Attributes:
        exit_code: Its exit status; 128 and the signal where a signal ended it; 126 where it could not be started.
        stdout: Its standard output, as far as `Limits.output` allows.
        stderr: Its standard error, likewise.
        stopped: A sentence naming the limit that ended it, or None.
    """

    exit_code: int
    stdout: bytes
    stderr: bytes
    stopped: str | None


class Processes:
    """The processes of one pid namespace, through its own /proc as its first process's child sees it."""

    def __init__(self, first: int) -> None:
        self._first = first

    def root(self) -> Path | None:
        """Return the file system that the program sees, or None before it has started and after it has ended."""
        try:
            children = Path(f"/proc/{self._first}/task/{self._first}/children").read_text(encoding="ascii").split()
            root = Path(f"/proc/{children[0]}/root")
            # Another device than our /proc: what we would list otherwise is the whole machine.
            return root if (root / "proc").stat().st_dev != Path("/proc").stat().st_dev else None
        except (OSError, IndexError):
            return None

    def each(self) -> list[Path]:
        """Return the /proc folder of every process."""
        root = self.root()
        if root is None:
            return []
        with suppress(OSError):
            return [each for each in (root / "proc").iterdir() if each.name.isdigit()]
        return []


class Watch:
    """Looks at a running program and says which limit it has passed.

    Args:
        limits: The limits.
        folder: An open descriptor of the folder it works in, a file system of limited size; None where it is none.
        processes: Its processes; None where they cannot be told from others.
        below: How many files are in a layer below the folder: one that is removed takes a place in the folder.
    """

    def __init__(self, limits: Limits, folder: int | None, processes: Processes | None, below: int = 0) -> None:
        self._limits = limits
        self._folder = folder
        self._processes = processes
        self._available = available_memory()
        self._entries = (0 if folder is None else _entries(folder)) + below

    def look(self) -> str | None:
        """Return a sentence that names the limit passed, or None."""
        each = self._processes.each() if self._processes else []
        if sum(map(_resident, each)) > self._limits.memory and sum(map(_share, each)) > self._limits.memory:
            return f"it held more than {self._limits.memory:,} bytes of memory"
        if _short(available_memory(), self._available):
            return "the machine runs short of memory"
        entries = 0 if self._folder is None else _entries(self._folder) - self._entries
        root = self._processes.root() if self._processes else None
        with suppress(OSError):
            if root is not None:
                entries += _entries(root / "tmp") + _entries(root / "dev/shm")
        if entries > self._limits.disk // BLOCK:
            return f"it made more than {self._limits.disk // BLOCK:,} files"
        return self.is_full()

    def is_full(self) -> str | None:
        """Return a sentence if the program filled its file system, beyond which the kernel lets it write nothing."""
        if self._folder is not None and os.fstatvfs(self._folder).f_bavail == 0:
            return f"it wrote more than {self._limits.disk:,} bytes to the disk"
        return None


def _short(now: int, before: int) -> bool:
    return now < _SHORT and now < before // 4


def available_memory() -> int:
    """Return the bytes of memory that programs can still get, or a number that is never short."""
    with suppress(OSError), open("/proc/meminfo", encoding="ascii") as lines:  # noqa: PTH123 - read until found
        for line in lines:
            if line.startswith("MemAvailable:"):
                return int(line.split()[1]) << 10
    return _SHORT  # unknown: never short


def _entries(mount: Path | int) -> int:
    room = os.statvfs(mount)
    return room.f_files - room.f_ffree


def _resident(process: Path) -> int:
    with suppress(OSError, IndexError):
        return int((process / "statm").read_text(encoding="ascii").split()[1]) * _PAGE
    return 0


def _share(process: Path) -> int:
    """Return the process's proportional share: pages that forked processes have in common are counted once in all."""
    with suppress(OSError):
        for line in (process / "smaps_rollup").read_text(encoding="ascii").splitlines():
            if line.startswith("Pss:"):
                return int(line.split()[1]) << 10
    return 0


def gather(
    process: subprocess.Popen[bytes], end: int | None, kill: Callable[[], None], limits: Limits, watch: Watch
) -> Gathered:
    """Read what a program writes until it has ended, and end it where it passes a limit.

    Args:
        process: The program, whose standard output and error are pipes.
        end: A pidfd that becomes readable when all of it has ended; None to ask `process`.
        kill: Ends all of it at once.
        limits: What it may use; the time counts from now.
        watch: Looks at memory, files and disk.
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
    passed = watch.is_full()
    return Gathered(bytes(out), bytes(err), stopped or passed)
