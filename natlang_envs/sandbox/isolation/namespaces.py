"""Starts a program under bubblewrap: its mounts, the rights it gives up, and the end of all its processes.

As an ordinary user bubblewrap maps that user to 65534 inside. As root we map two users, and the program goes from one
to the other: the kernel limits no processes of root's, and /root, where a Python may lie, is closed to others.
"""

from __future__ import annotations

import json
import math
import os
import resource
import signal
import subprocess
import time
from collections.abc import Mapping, Sequence
from contextlib import ExitStack, suppress
from pathlib import Path

from natlang_envs.sandbox.isolation.child import PACKAGES, environment, folders, interpreter_mounts, system_mounts
from natlang_envs.sandbox.isolation.ends_with_caller import group, readable
from natlang_envs.sandbox.isolation.environments import PythonEnvironment
from natlang_envs.sandbox.isolation.inherited import UMASK, small_pages, standard_descriptors, usual_signals
from natlang_envs.sandbox.isolation.layers import LAYERS, Layer, layer_mounts
from natlang_envs.sandbox.isolation.processes import OPEN_FILES
from natlang_envs.sandbox.isolation.system_calls import system_call_filter
from natlang_envs.sandbox.isolation.watch import Limits

NOBODY = 65534
PENDING_SIGNALS = 1024  # and timers: the kernel holds some hundred bytes for each

_USERS = f"0 0 1\n{NOBODY} {NOBODY} 1\n"  # inside, outside, how many
# The session begins here, not with bubblewrap's --new-session: so bubblewrap stays in the group that a killed caller
# takes along, and the program is never in it.
_WAITING = ("/bin/sh", "-c", 'read -r _ && exec setsid "$@" </dev/null', "sh")
# Over layers the folder to start in is there only when they are laid.
_WAITING_FOR_LAYERS = ("/bin/sh", "-c", 'read -r _ && cd "$0" && unset OLDPWD && exec setsid "$@" </dev/null')
_PRESSURE = "/proc/pressure"
_TAKEN = ("bin", "dev", "etc", "lib", "lib32", "lib64", "opt", "proc", "sbin", "usr", "work")  # nothing is added there
_START = 10.0  # seconds in which bubblewrap must have made its namespaces
_END = 5.0  # seconds in which killed processes must be gone


class Namespaces:
    """A program in its namespaces; leaving the block ends every process in them.

    `process` is bubblewrap itself, outside; `first` the process in there whose end is the end of all others, `end` a
    pidfd of it; `root` the file system as the program will see it.
    """

    def __init__(
        self,
        program: Path,
        arguments: Sequence[str],
        command: Sequence[str],
        *,
        network: bool = False,
        gpu: bool = False,
    ) -> None:
        """Start bubblewrap, and return when the program's folder can be filled; `go` starts what waits in `command`.

        `network` and `gpu` allow the system calls of the network and of CUDA, where the arguments share these.
        """
        root = os.geteuid() == 0
        with ExitStack() as ours, ExitStack() as theirs:
            theirs.enter_context(standard_descriptors())
            # Bubblewrap writes there how the program ended, which a caller that ignores its children would not see.
            self._said, says = os.pipe()
            report, reported = os.pipe()
            ours.callback(os.close, self._said)
            ours.callback(os.close, report)
            theirs.callback(os.close, says)
            theirs.callback(os.close, reported)
            inherited = [reported, says, _holding(theirs, b"".join(os.fsencode(each) + b"\0" for each in arguments))]
            line = [*usual_signals(), str(program), "--info-fd", str(reported), "--json-status-fd", str(says)]
            line += ["--args", str(inherited[-1])]
            calls = system_call_filter(network, gpu)
            if calls is not None:
                inherited.append(_holding(theirs, calls))
                line += ["--seccomp", str(inherited[-1])]
            # Standard input is what it waits at: for the mapping of users, and when all is mounted, so that the folder
            # can be filled. Bubblewrap's own way to wait takes a caller's end for the sign to go on.
            stdin, self._go = os.pipe()
            ours.callback(os.close, self._go)
            theirs.callback(os.close, stdin)
            if root:
                line += ["--userns-block-fd", "0"]
            with small_pages():
                self.process = subprocess.Popen(
                    [*line, "--", *command],
                    stdin=stdin,
                    stdout=subprocess.PIPE,
                    stderr=subprocess.PIPE,
                    env={},  # bubblewrap's own environment can be read inside, even where it clears the program's
                    pass_fds=inherited,
                    process_group=group(),
                    umask=UMASK,
                )
            ours.callback(self._end_bubblewrap)
            theirs.close()
            self.first, self.end = self._first_process(report)
            ours.callback(os.close, self.end)
            if root:
                for kind in ("uid", "gid"):
                    Path(f"/proc/{self.first}/{kind}_map").write_text(_USERS, encoding="ascii")
                os.write(self._go, b"1")
            self.root = self._mounted()
            self._opened = ours.pop_all()

    def __enter__(self) -> Namespaces:
        return self

    def __exit__(self, *exception: object) -> None:
        self.finish()
        self._opened.close()

    def _end_bubblewrap(self) -> None:
        self.process.kill()
        for each in (self.process.stdout, self.process.stderr):
            each.close() if each else None
        with suppress(subprocess.TimeoutExpired):
            self.process.wait(_END)

    def go(self, limits: Limits) -> None:
        """Let the program run, within limits that hold for each process in the namespaces, the first one included."""
        for each in (self.first, *self.waiting()):
            for kind, most in _limits(limits).items():
                allowed = resource.prlimit(each, kind)[1]  # the caller may be held to less
                least = most if allowed == resource.RLIM_INFINITY else min(most, allowed)
                resource.prlimit(each, kind, (least, least))
        os.write(self._go, b"\n")

    def status(self) -> int:
        """Return the program's exit code when all has ended; 128 and the signal where one ended it."""
        with suppress(subprocess.TimeoutExpired):
            self.process.wait(_END)
        said = b""
        while readable(self._said, _END) and (data := os.read(self._said, 4096)):
            said += data
        return json.loads(said.splitlines()[-1]).get("exit-code", 128 + signal.SIGKILL)

    def waiting(self) -> list[int]:
        """Return the processes that wait for `go`, as seen from here."""
        children = Path(f"/proc/{self.first}/task/{self.first}/children").read_text(encoding="ascii")
        return [int(each) for each in children.split()]

    def finish(self) -> bool:
        """End every process in the namespaces; return whether all of them are gone."""
        self.kill()
        return readable(self.end, _END)

    def kill(self) -> None:
        # The first process: bubblewrap's end would not end one that asked to outlive it.
        with suppress(ProcessLookupError):
            signal.pidfd_send_signal(self.end, signal.SIGKILL)

    def _first_process(self, report: int) -> tuple[int, int]:
        said = b""
        while not said.endswith(b"}\n"):
            data = os.read(report, 4096) if readable(report, _START) else b""
            if not data:
                raise self._failed("bubblewrap did not start")
            said += data
        first = int(json.loads(said)["child-pid"])
        try:
            return first, os.pidfd_open(first)
        except ProcessLookupError:
            raise self._failed("bubblewrap ended at once") from None

    def _failed(self, otherwise: str) -> OSError:
        self.process.kill()
        said = b""
        with suppress(subprocess.TimeoutExpired):
            said = self.process.communicate(timeout=_END)[1]
        return OSError(said.decode(errors="replace").strip() or otherwise)

    def _mounted(self) -> Path:
        """Wait until all is mounted and the program waits for `go`, and return the root."""
        root = Path(f"/proc/{self.first}/root")
        ours = Path("/").stat().st_dev
        deadline = time.monotonic() + _START
        while time.monotonic() < deadline and self.process.poll() is None:
            with suppress(OSError):
                device = root.stat().st_dev
                # The last step makes the root read-only; before it, the device is ours or there is no /tmp.
                mounted = device not in (ours, (root / "tmp").stat().st_dev) and os.statvfs(root).f_flag & os.ST_RDONLY
                # What enters the namespaces before the program waits there would take its number, 2.
                if mounted and self.waiting():
                    return root
            time.sleep(0.0003)
        raise self._failed("bubblewrap did not mount in time")


def _holding(theirs: ExitStack, content: bytes) -> int:
    opened = os.memfd_create("natlang")
    theirs.callback(os.close, opened)
    os.pwrite(opened, content, 0)
    return opened


def arguments(
    root: bool,
    size: int,
    start: str,
    limits: Limits,
    layer: Layer | None = None,
    packages: str = PACKAGES,
    beside: Mapping[str, Path] | None = None,
    shown: PythonEnvironment | None = None,
    original: Path | None = None,
) -> list[str]:
    """Return bubblewrap's arguments without the command.

    `size` is that of the files before the program runs, in bytes. `start` and `packages` are relative to /work.
    `beside` are folders of the host by the paths where they are shown, and `shown` is an environment. Where `original`
    can be a link to /work, it is one: an environment names the folder of what is installed from there.
    """
    sized = ["--perms", "0755", "--size", str(size + max(limits.disk, 4096)), "--tmpfs"]
    if layer is None:
        files = [*sized, "/work", *(folders(str(Path("/work", start))) if start else ())]
    else:
        files = [*sized, LAYERS, *layer_mounts(layer)]
        start = "/"  # a process that starts in a layer would have a way into it
    for inside, folder in (beside or {}).items():
        files += [*folders(inside), "--ro-bind", str(folder), inside]
    if original and original.parts[1:] and original.parts[1] not in _TAKEN:
        above = [str(each) for each in reversed(original.parents[:-1])]
        files += [*folders(*above), "--symlink", "/work", str(original)]
    return [*_unshared(root), *_mounts(limits, files, packages, shown), "--chdir", str(Path("/work", start))]


def _unshared(root: bool) -> list[str]:
    arguments = ["--unshare-all", "--unshare-user", "--die-with-parent", "--hostname", "sandbox"]
    if root:
        # The kernel does not limit root's processes: we map root and nobody, and setpriv goes from one to the other.
        return [*arguments, "--cap-add", "CAP_SETUID", "--cap-add", "CAP_SETGID", "--cap-add", "CAP_SETPCAP"]
    if system_call_filter() is None:
        arguments.append("--disable-userns")
    return [*arguments, "--uid", str(NOBODY), "--gid", str(NOBODY)]


def _mounts(limits: Limits, files: Sequence[str], packages: str, shown: PythonEnvironment | None) -> list[str]:
    temporary = ["--perms", "1777", "--size", str(max(limits.disk, 4096)), "--tmpfs"]
    return [
        *system_mounts(),
        *("--proc", "/proc", "--dev", "/dev"),
        # The same zeros: a shared map of the other device would be memory that no process shows and nothing limits.
        *("--dev-bind", "/dev/full", "/dev/zero"),
        # A program that writes there learns when the machine is busy.
        *(("--size", "4096", "--tmpfs", _PRESSURE, "--remount-ro", _PRESSURE) if Path(_PRESSURE).is_dir() else ()),
        *(*temporary, "/dev/shm", "--remount-ro", "/dev"),  # writable it would be a disk without a size
        *(*temporary, "/tmp"),
        *interpreter_mounts(shown),
        *(
            part
            for name, value in environment(f"/work/{packages}", "/tmp").items()
            for part in ("--setenv", name, value)
        ),
        *files,
        *("--remount-ro", "/"),
    ]


def _limits(limits: Limits) -> dict[int, int]:
    return {
        # As an ordinary user process 1, bubblewrap's, is the same user's.
        resource.RLIMIT_NPROC: limits.processes + (os.geteuid() != 0),
        resource.RLIMIT_DATA: limits.memory,
        resource.RLIMIT_AS: 4 * limits.memory,  # addresses, most never used: threads and allocators reserve many
        resource.RLIMIT_FSIZE: limits.disk,
        resource.RLIMIT_CPU: math.ceil(limits.seconds),
        resource.RLIMIT_NOFILE: OPEN_FILES,
        resource.RLIMIT_SIGPENDING: PENDING_SIGNALS,
        resource.RLIMIT_MSGQUEUE: 0,
        resource.RLIMIT_CORE: 0,
    }


def waiting(root: bool, start: str | None = None) -> list[str]:
    """Return the beginning of a command line that waits inside for the files, then gives up its rights.

    `start` is the folder to start in, relative to /work, where the files are laid later.
    """
    drop = ["setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups", "--inh-caps=-all"]
    return [
        *(_WAITING if start is None else (*_WAITING_FOR_LAYERS, str(Path("/work", start)))),
        *([*drop, "--bounding-set=-all", "--"] if root else []),
    ]
