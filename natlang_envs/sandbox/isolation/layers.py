"""A file system of two layers where a program finds its files: its own changes above files that many runs share.

The kernel's overlayfs shows both as one. A file is copied into the upper layer when a program opens it for writing,
even if it then writes through a memory map. So the upper layer holds all that a program did; the lower is read-only.

Before the program runs, the layers are unmounted from where it could reach them. The overlay is its only way to them,
and /proc/self/mountinfo does not show where they are on the host.
"""

from __future__ import annotations

import fcntl
import os
import subprocess
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import NamedTuple

from natlang_envs.files import opening
from natlang_envs.sandbox.isolation.child import folders
from natlang_envs.sandbox.isolation.inherited import standard_descriptors, usual_signals
from natlang_envs.sandbox.isolation.processes import TERMINALS

LAYERS = "/opt/layers"
"""The file system, as it is mounted inside, that gets a folder `UPPER` to be filled with the program's changes."""
UPPER = "upper"
OPAQUE = "user.overlay.opaque"
"""The attribute, of value y, of a folder in the upper layer that hides the one of its name below."""
_LOWER, _SCRATCH = "lower", "scratch"  # overlayfs makes files in the second before it moves them into the upper layer
_OWNER_OF_NAMESPACE = 0xB701  # NS_GET_USERNS in linux/nsfs.h
_SECONDS = 10.0
_TERMINALS = f"mount -n -t devpts -o remount,nosuid,noexec,mode=620,ptmxmode=666,max={TERMINALS} devpts /dev/pts"
_LAY = (
    f"mount -t overlay -o nosuid,nodev,userxattr,lowerdir={LAYERS}/{_LOWER},upperdir={LAYERS}/{UPPER},"
    f"workdir={LAYERS}/{_SCRATCH} overlay /work && umount -l {LAYERS}"
)


class Layer(NamedTuple):
    """Files that many runs share."""

    folder: Path  # where they are; nothing may change them
    names: int  # how many files and folders these are: a run may hide them all, and each takes a place in its own layer
    widest: int = 0  # the most names in one of the folders


def layer_mounts(layer: Layer) -> list[str]:
    """Return bubblewrap's arguments that prepare the file system at `LAYERS` for `lay`."""
    made = folders("/work", f"{LAYERS}/{UPPER}", f"{LAYERS}/{_SCRATCH}")
    return [*made, "--ro-bind", str(layer.folder), f"{LAYERS}/{_LOWER}"]


def lay(first: int) -> None:
    """Mount the overlay over /work in the namespaces of the process `first`, before the program in them runs."""
    done = _inside(first, "/bin/sh", "-c", f"{_LAY} && {{ {_TERMINALS} 2>/dev/null || :; }} && echo done")
    if done.stdout != b"done\n":  # there is no exit code where the caller ignores the end of its children
        raise OSError(done.stderr.decode(errors="replace").strip() or "the overlay cannot be mounted")


def limit_terminals(first: int) -> None:
    """Have the kernel limit the terminals in the namespaces of the process `first`, as `lay` does, too.

    The watch does where that cannot be.
    """
    with suppress(OSError):
        _inside(first, *_TERMINALS.split())


def _inside(first: int, *command: str) -> subprocess.CompletedProcess[bytes]:
    with ExitStack() as opened:
        opened.enter_context(standard_descriptors())
        # Among the program's processes, so that what is killed with them does not remain, and since umount asks /proc.
        # At the program's root: for a moment bubblewrap's former one is still mounted over it.
        names = {"mount": "ns/mnt", "pid": "ns/pid", "root": "root"}
        entered = {
            kind: opened.enter_context(opening(f"/proc/{first}/{name}", os.O_RDONLY)) for kind, name in names.items()
        }
        # Bubblewrap may have gone on to a second user namespace, which may not mount anything.
        entered["user"] = fcntl.ioctl(entered["mount"], _OWNER_OF_NAMESPACE)
        opened.callback(os.close, entered["user"])
        where = [f"--{kind}=/proc/self/fd/{each}" for kind, each in entered.items()]
        try:
            return subprocess.run(
                (*usual_signals(), "nsenter", "--preserve-credentials", *where, "--", *command),
                stdin=subprocess.DEVNULL,
                capture_output=True,
                cwd="/",
                env={},
                pass_fds=tuple(entered.values()),
                timeout=_SECONDS,
                check=False,
            )
        except subprocess.TimeoutExpired:
            raise OSError("mounting took too long") from None
