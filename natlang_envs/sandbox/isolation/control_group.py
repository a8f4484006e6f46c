"""A control group (v2) for one run, where this user may make one: the kernel then counts and limits its memory.

It also counts memory that no process shows, for example buffers of sockets, but not locks on files. System calls are
filtered alike with and without it, so a program that runs on one machine runs on another.
"""

from __future__ import annotations

import os
import subprocess
import time
from collections import Counter
from collections.abc import Generator, Iterable
from contextlib import contextmanager, suppress
from functools import lru_cache
from itertools import count
from pathlib import Path

_PREFIX = "natlang-"
_numbers = count()


class ControlGroup:
    """The group of one run.

    `files` are open folders, each the top of a file system in memory: what is in those is limited by itself.
    """

    def __init__(self, folder: Path, files: Iterable[int]) -> None:
        self._folder = folder
        self._files = {each: _bytes_in(each) for each in files}

    def take(self, processes: Iterable[int]) -> None:
        for each in processes:
            (self._folder / "cgroup.procs").write_text(str(each), encoding="ascii")

    def held(self) -> int:
        """Return the bytes of its processes and of the kernel for them, without files and what can be given back."""
        lines = (self._folder / "memory.stat").read_text(encoding="ascii").splitlines()
        found = Counter({name: int(value) for name, value in map(str.split, lines)})
        kernel = found["kernel"] or sum(found[name] for name in ("kernel_stack", "pagetables", "percpu", "slab"))
        files = sum(_bytes_in(each) - before for each, before in self._files.items())
        shared = max(0, found["shmem"] - max(0, files))
        return found["anon"] + shared + found["sock"] + kernel - found["slab_reclaimable"]

    def was_full(self) -> bool:
        """Return whether the kernel ended one of its processes because the limit on memory was reached."""
        events = (self._folder / "memory.events").read_text(encoding="ascii").splitlines()
        return any(line.startswith("oom_kill ") and line != "oom_kill 0" for line in events)


@contextmanager
def control_group(most: int, files: Iterable[int], wanted: bool = True) -> Generator[ControlGroup | None]:
    """Make a group for a block; yield None where there can be none. Its limit of `most` bytes includes files."""
    place = groups_folder() if wanted else None
    if place is None:
        yield None
        return
    folder = _made(place)
    try:
        (folder / "memory.max").write_text(str(most), encoding="ascii")
        with suppress(OSError):  # no swap is counted here
            (folder / "memory.swap.max").write_text("0", encoding="ascii")
        with suppress(OSError):  # before Linux 4.19
            (folder / "memory.oom.group").write_text("1", encoding="ascii")
        yield ControlGroup(folder, files)
    finally:
        _removed(folder)


@lru_cache
def groups_folder() -> Path | None:
    """Return the folder in which this user may make groups with a limit on memory; None if there is none."""
    with suppress(OSError):
        mounted, own = _own()
        return next((each for each in (own, *own.parents) if each.is_relative_to(mounted) and _works(each)), None)
    return None


def who_counts_memory() -> str:
    """Return in words who keeps the limit on the memory of all processes of a run together, on this machine."""
    if place := groups_folder():
        counted = f"the kernel counts it, its own included, in control groups below {place}"
        return f"{counted}, and a watcher 50 times a second"
    return (
        "no control group can be had here, so a watcher counts it 50 times a second, and what the kernel holds by the "
        "piece; calls that would have the kernel hold more are refused"
    )


def _own() -> tuple[Path, Path]:
    """Return where the groups are mounted, and this process's own one."""
    for line in Path("/proc/self/mountinfo").read_text(encoding="utf-8", errors="surrogateescape").splitlines():
        before, _, after = line.partition(" - ")
        if after.startswith("cgroup2 "):
            root, mounted = before.split()[3:5]
            for group in Path("/proc/self/cgroup").read_text(encoding="utf-8").splitlines():
                number, _, path = group.split(":", 2)
                if number == "0" and Path(path).is_relative_to(root):
                    return Path(mounted), Path(mounted, Path(path).relative_to(root))
    raise FileNotFoundError


def _works(place: Path) -> bool:
    """Return whether a process can be taken into a group of its own there."""
    try:
        if "memory" not in (place / "cgroup.subtree_control").read_text(encoding="ascii").split():
            return False
        for left in place.glob(f"{_PREFIX}*-*"):  # of processes that were killed
            if not Path("/proc", left.name.split("-")[1]).exists():
                _removed(left)
        folder = _made(place)
    except OSError:
        return False
    try:
        with subprocess.Popen(("/bin/sh", "-c", "read -r _"), stdin=subprocess.PIPE) as process:
            try:
                (folder / "memory.max").write_text(str(1 << 30), encoding="ascii")
                ControlGroup(folder, ()).take([process.pid])
                return ControlGroup(folder, ()).held() >= 0
            finally:
                process.kill()
    except OSError:
        return False
    finally:
        _removed(folder)


def _made(place: Path) -> Path:
    folder = place / f"{_PREFIX}{os.getpid()}-{next(_numbers)}"
    folder.mkdir()
    return folder


def _removed(folder: Path) -> None:
    for _ in range(100):  # processes that have just ended are still in it for a moment
        with suppress(OSError):
            folder.rmdir()
            return
        time.sleep(0.001)


def _bytes_in(folder: int) -> int:
    room = os.fstatvfs(folder)
    return (room.f_blocks - room.f_bfree) * room.f_frsize
