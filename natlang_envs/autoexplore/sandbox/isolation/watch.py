"""What the kernel does not limit by itself: a program's output, its time, and the disk and memory of all its processes.

Disk and memory are looked at some fifty times a second, so a program may pass those two limits by what it can write in
between. Everything here runs against a program that may be hostile: no reading grows without a bound.
"""

from __future__ import annotations

import os
import selectors
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from natlang_envs.autoexplore.sandbox.isolation.hostile_folder import BLOCK, DEPTH, Disk, TooDeepError

_LOOK_EVERY = 0.02  # seconds
_GRACE = 5.0  # seconds in which the last output of killed processes must have been read
_SHORT = 1 << 30  # bytes: below this, and a quarter of what there was, the machine itself runs short
_PAGE = os.sysconf("SC_PAGE_SIZE")


@dataclass(frozen=True)
class Limits:
    """What one run may use.

    Attributes:
        seconds: Wall-clock time; the processor time of each process is limited to the same.
        memory: Bytes of all processes together, and of each one's data.
        processes: Processes and threads at a time.
        disk: Bytes by which the run may enlarge the folder; also the size of each file, and of /tmp and /dev/shm.
        output: Bytes of standard output and standard error together.
    """

    seconds: float = 10.0
    memory: int = 512 << 20
    processes: int = 32
    disk: int = 64 << 20
    output: int = 1 << 20


class Gathered(NamedTuple):
    """What a program wrote, and the limit that ended it (None where it ended by itself)."""

    stdout: bytes
    stderr: bytes
    stopped: str | None


class Completed(NamedTuple):
    """What a program did.

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
    """Looks at a running program and says which limit it has passed."""

    def __init__(self, limits: Limits, disk: Disk, processes: Processes | None) -> None:
        self._limits = limits
        self._disk = disk
        self._processes = processes
        self._free = disk.free()
        self._available = _available_memory()
        self._next_measure = 0.0

    def look(self) -> str | None:
        """Return a sentence that names the limit passed, or None."""
        each = self._processes.each() if self._processes else []
        if sum(map(_resident, each)) > self._limits.memory and sum(map(_share, each)) > self._limits.memory:
            return f"it held more than {self._limits.memory:,} bytes of memory"
        if _short(_available_memory(), self._available):
            return "the machine runs short of memory"
        if _short(self._disk.free(), self._free):
            return "the machine runs short of disk"
        root = self._processes.root() if self._processes else None
        with suppress(OSError):
            if root is not None and _entries(root / "tmp") + _entries(root / "dev/shm") > self._limits.disk // BLOCK:
                return f"it made more than {self._limits.disk // BLOCK:,} temporary files"
        begun = time.monotonic()
        if begun < self._next_measure:
            return None
        passed = self.measure(each)
        now = time.monotonic()
        self._next_measure = now + 4 * (now - begun)  # a large tree must not cost more than a fifth of the time
        return passed

    def measure(self, processes: list[Path]) -> str | None:
        """Look at the disk alone, whatever it costs."""
        hidden = sum(_hidden(processes, self._disk.device))
        try:
            grown = self._disk.grown(self._limits.disk - hidden)
        except TooDeepError:
            return f"it nested folders deeper than {DEPTH}"
        if grown + hidden > self._limits.disk:
            return f"it wrote more than {self._limits.disk:,} bytes to the disk"
        return None


def _short(now: int, before: int) -> bool:
    return now < _SHORT and now < before // 4


def _available_memory() -> int:
    with suppress(OSError), open("/proc/meminfo", encoding="ascii") as lines:  # noqa: PTH123 - read until found
        for line in lines:
            if line.startswith("MemAvailable:"):
                return int(line.split()[1]) << 10
    return _SHORT  # unknown: never short


def _entries(mount: Path) -> int:
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


def _hidden(processes: list[Path], device: int) -> Iterator[int]:
    """Yield the sizes of files that have no name any more, but are still open or mapped."""
    seen: set[int] = set()
    kernel_device = f"{os.major(device):02x}:{os.minor(device):02x}"
    for process in processes:
        with suppress(OSError):
            for each in (process / "fd").iterdir():
                with suppress(OSError):
                    found = each.stat()
                    if found.st_dev == device and found.st_nlink == 0 and found.st_ino not in seen:
                        seen.add(found.st_ino)
                        yield found.st_blocks * 512
            with open(process / "maps", "rb") as lines:  # noqa: PTH123 - a line at a time
                for line in lines:
                    if not line.endswith(b"(deleted)\n"):
                        continue
                    span, _, _, where, inode = line.split()[:5]
                    if where.decode() == kernel_device and int(inode) not in seen:
                        seen.add(int(inode))
                        begin, end = span.split(b"-")
                        yield int(end, 16) - int(begin, 16)


def gather(
    process: subprocess.Popen[bytes], end: int | None, kill: Callable[[], None], limits: Limits, watch: Watch
) -> Gathered:
    """Read what a program writes until it has ended, and end it where it passes a limit.

    Args:
        process: The program, its standard output and error being pipes.
        end: A pidfd that becomes readable when all of it has ended; None to ask `process`.
        kill: Ends all of it at once.
        limits: What it may use; the time counts from now.
        watch: Looks at disk and memory.
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
    passed = watch.measure([])  # also where it was stopped: this leaves everything readable to the caller
    return Gathered(bytes(out), bytes(err), stopped or passed)
