"""Starts a program under bubblewrap: what it is shown, what it gives up, and how all its processes are ended.

As an ordinary user bubblewrap maps that user to 65534 inside. As root we map two users, and the program goes from one
to the other: the kernel limits no processes of root's, and /root, where a Python may lie, is closed to others.
"""

from __future__ import annotations

import json
import math
import os
import select
import signal
import subprocess
import time
from collections.abc import Mapping, Sequence
from contextlib import ExitStack, suppress
from pathlib import Path

from natlang_envs.sandbox.isolation.child import PACKAGES, environment, folders, interpreter_mounts, system_mounts
from natlang_envs.sandbox.isolation.ends_with_caller import group
from natlang_envs.sandbox.isolation.layers import LAYERS, Layer, layer_mounts
from natlang_envs.sandbox.isolation.system_calls import system_call_filter
from natlang_envs.sandbox.isolation.watch import Limits

NOBODY = 65534
OPEN_FILES = 256
PENDING_SIGNALS = 1024  # and timers: the kernel holds some hundred bytes for each

_USERS = f"0 0 1\n{NOBODY} {NOBODY} 1\n"  # inside, outside, how many
# The session begins here, not with bubblewrap's --new-session: so bubblewrap stays in the group that a killed caller
# takes along, and the program is never in it.
_WAITING = ("/bin/sh", "-c", 'read -r _ && exec setsid "$@" </dev/null', "sh")
# Over layers the folder to start in is there only when they are laid.
_WAITING_FOR_LAYERS = ("/bin/sh", "-c", 'read -r _ && cd "$0" && unset OLDPWD && exec setsid "$@" </dev/null')
_START = 10.0  # seconds in which bubblewrap must have made its namespaces
_END = 5.0  # seconds in which killed processes must be gone


class Namespaces:
    """A program in its namespaces; leaving the block ends whatever still runs in them.

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
            report, reported = os.pipe()
            ours.callback(os.close, report)
            theirs.callback(os.close, reported)
            inherited = [reported, _holding(theirs, b"".join(os.fsencode(each) + b"\0" for each in arguments))]
            line = [str(program), "--info-fd", str(inherited[0]), "--args", str(inherited[1])]
            calls = system_call_filter(network, gpu)
            if calls is not None:
                inherited.append(_holding(theirs, calls))
                line += ["--seccomp", str(inherited[-1])]
            # Standard input is what it waits at: for the mapping of users, and when all is mounted, so that the folder
            # can be filled. Bubblewrap's own way to wait takes a caller's end for the sign to go on.
            stdin, self._go = os.pipe()
            theirs.callback(os.close, stdin)
            if root:
                line += ["--userns-block-fd", "0"]
            self.process = subprocess.Popen(
                [*line, "--", *command],
                stdin=stdin,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                env={},  # bubblewrap's own can be read inside, whatever it is told to clear
                pass_fds=inherited,
                process_group=group(),
            )
            theirs.close()
            try:
                self.first, self.end = self._first_process(report)
                if root:
                    for kind in ("uid", "gid"):
                        Path(f"/proc/{self.first}/{kind}_map").write_text(_USERS, encoding="ascii")
                    os.write(self._go, b"1")
                self.root = self._mounted()
            except BaseException:
                os.close(self._go)
                self.process.kill()
                with self.process:
                    raise

    def __enter__(self) -> Namespaces:
        return self

    def __exit__(self, *exception: object) -> None:
        self.finish()
        os.close(self.end)
        os.close(self._go)
        with self.process:
            self.process.kill()

    def go(self) -> None:
        """Let the program run."""
        os.write(self._go, b"\n")

    def waiting(self) -> list[int]:
        """Return the processes that wait for `go`, as seen from here."""
        children = Path(f"/proc/{self.first}/task/{self.first}/children").read_text(encoding="ascii")
        return [int(each) for each in children.split()]

    def finish(self) -> bool:
        """End every process in the namespaces; return whether all of them are gone."""
        self.kill()
        return bool(select.select([self.end], [], [], _END)[0])

    def kill(self) -> None:
        """Tell every process in the namespaces to end."""
        # The first one itself: told to outlive bubblewrap, it would.
        with suppress(ProcessLookupError):
            signal.pidfd_send_signal(self.end, signal.SIGKILL)

    def _first_process(self, report: int) -> tuple[int, int]:
        said = b""
        while not said.endswith(b"}\n"):
            ready = select.select([report], [], [], _START)[0]
            data = os.read(report, 4096) if ready else b""
            if not data:
                raise self._failed("bubblewrap did not start")
            said += data
        first = int(json.loads(said)["child-pid"])
        try:
            return first, os.pidfd_open(first)
        except ProcessLookupError:
            raise self._failed("bubblewrap ended at once") from None

    def _failed(self, otherwise: str) -> OSError:
        """End bubblewrap, and return what it said went wrong."""
        self.process.kill()
        return OSError(self.process.communicate()[1].decode(errors="replace").strip() or otherwise)

    def _mounted(self) -> Path:
        """Wait until all is mounted, and return the root."""
        root = Path(f"/proc/{self.first}/root")
        ours = Path("/").stat().st_dev
        deadline = time.monotonic() + _START
        while time.monotonic() < deadline and self.process.poll() is None:
            with suppress(OSError):
                device = root.stat().st_dev
                # The last step makes the root read-only; before, its device is ours or it has no such folder.
                if device not in (ours, (root / "tmp").stat().st_dev) and os.statvfs(root).f_flag & os.ST_RDONLY:
                    return root
            time.sleep(0.0003)
        raise self._failed("bubblewrap did not mount in time")


def _holding(theirs: ExitStack, content: bytes) -> int:
    """Return a descriptor that a program reads `content` from, which must fit in a pipe."""
    read, write = os.pipe()
    theirs.callback(os.close, read)
    os.write(write, content)
    os.close(write)
    return read


def arguments(
    root: bool,
    size: int,
    start: str,
    limits: Limits,
    layer: Layer | None = None,
    packages: str = PACKAGES,
    beside: Mapping[str, Path] | None = None,
) -> list[str]:
    """Return what bubblewrap is told, but for the command.

    `size` are the bytes of the files that are there before the program; `start` and `packages` are relative to /work;
    `beside` are folders of the host by where they are shown.
    """
    sized = ["--perms", "0755", "--size", str(size + max(limits.disk, 4096)), "--tmpfs"]
    if layer is None:
        files = [*sized, "/work", *(folders(str(Path("/work", start))) if start else ())]
    else:
        files = [*sized, LAYERS, *layer_mounts(layer)]
        start = "/"  # a process that starts in a layer would have a way into it
    for inside, folder in (beside or {}).items():
        files += [*folders(inside), "--ro-bind", str(folder), inside]
    return [*_unshared(root), *_mounts(limits, files, packages), "--chdir", str(Path("/work", start))]


def _unshared(root: bool) -> list[str]:
    arguments = ["--unshare-all", "--unshare-user", "--die-with-parent", "--hostname", "sandbox"]
    if root:
        # The kernel limits nobody's processes, not root's: we map both users, and setpriv goes from one to the other.
        return [*arguments, "--cap-add", "CAP_SETUID", "--cap-add", "CAP_SETGID", "--cap-add", "CAP_SETPCAP"]
    if system_call_filter() is None:
        arguments.append("--disable-userns")
    return [*arguments, "--uid", str(NOBODY), "--gid", str(NOBODY)]


def _mounts(limits: Limits, files: Sequence[str], packages: str) -> list[str]:
    temporary = ["--perms", "1777", "--size", str(max(limits.disk, 4096)), "--tmpfs"]
    return [
        *system_mounts(),
        *("--proc", "/proc", "--dev", "/dev"),
        # The same zeros: a shared map of the other device would be memory that no process shows and nothing limits.
        *("--dev-bind", "/dev/full", "/dev/zero"),
        *(*temporary, "/dev/shm", "--remount-ro", "/dev"),  # writable it would be a disk without a size
        *(*temporary, "/tmp"),
        *interpreter_mounts(),
        *(
            part
            for name, value in environment(f"/work/{packages}", "/tmp").items()
            for part in ("--setenv", name, value)
        ),
        *files,
        *("--remount-ro", "/"),
    ]


def limited(limits: Limits, root: bool, start: str | None = None) -> list[str]:
    """Return the beginning of a command line that waits for the files, gives up rights and takes on limits, inside.

    `start` is the folder to start in, relative to /work, if it is not there yet.
    """
    seconds = math.ceil(limits.seconds)
    drop = ["setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups", "--inh-caps=-all"]
    return [
        *(_WAITING if start is None else (*_WAITING_FOR_LAYERS, str(Path("/work", start)))),
        *([*drop, "--bounding-set=-all", "--"] if root else []),
        "prlimit",
        f"--nproc={limits.processes + (not root)}",  # bubblewrap's own process inside is the same user's
        f"--data={limits.memory}",
        f"--as={4 * limits.memory}",  # addresses, most of them never used: threads and allocators reserve many
        f"--fsize={limits.disk}",
        f"--cpu={seconds}:{seconds + 1}",
        f"--nofile={OPEN_FILES}",
        f"--sigpending={PENDING_SIGNALS}",
        "--msgqueue=0",
        "--core=0",
        "--",
    ]
