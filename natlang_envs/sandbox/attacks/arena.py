"""Attacks a host from inside the isolation, and judges each attempt.

As a script, for another user, it prints the results as JSON. Its arguments are classes to leave out. It imports nothing
but the isolation's modules.
"""

from __future__ import annotations

import json
import os
import shutil
import socket
import sys
import tempfile
import threading
import time
from contextlib import ExitStack, suppress
from dataclasses import asdict, dataclass
from pathlib import Path

from natlang_envs.sandbox.attacks.cases import ALLOWANCE, ATTACKS, SECRET, Attack, script
from natlang_envs.sandbox.isolation.files import HostFolder
from natlang_envs.sandbox.isolation.isolation import Isolation, find_isolation
from natlang_envs.sandbox.isolation.layers import Layer
from natlang_envs.sandbox.isolation.namespaces import NOBODY
from natlang_envs.sandbox.isolation.temporary_folders import remove_folder


@dataclass(frozen=True)
class AttackResult:
    """The result of one attack; `damage` is what the host found, empty where all held."""

    stdout: str
    stderr: str
    exit_code: int
    stopped: str | None
    seconds: float
    damage: tuple[str, ...]


class Arena:
    """A host to attack: a canary, a folder that must not change, listening sockets, a secret in the environment."""

    def __init__(self) -> None:
        self._stack = ExitStack()
        # Not below a folder that only one user may enter, which would protect the host without the isolation.
        self.top = Path(tempfile.mkdtemp(prefix="natlang-arena-", dir="/var/tmp"))
        self._stack.callback(remove_folder, self.top)
        self.top.chmod(0o755)
        self.outside = self.top / "outside"
        self.outside.mkdir()
        self.outside.chmod(0o777)
        self.canary = self.outside / "canary"
        self.canary.write_text(SECRET)
        (self.outside / "planted.py").write_text(f"TEXT = {SECRET!r}")
        self.layer = self.top / "layer"
        (self.layer / "shared" / "deep").mkdir(parents=True)
        for path in (self.layer / "shared.txt", self.layer / "shared" / "deep" / "inside.txt"):
            path.write_text("shared by many runs")
        if os.geteuid() == 0:
            for path in (self.layer, *self.layer.rglob("*")):
                os.chown(path, NOBODY, NOBODY)
        self.touched: list[str] = []
        abstract = f"natlang-{os.getpid()}-{time.monotonic_ns()}"
        tcp, udp = socket.socket(), socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        unix, hidden = socket.socket(socket.AF_UNIX), socket.socket(socket.AF_UNIX)
        for each, address in ((tcp, ("127.0.0.1", 0)), (unix, str(self.outside / "socket")), (hidden, "\0" + abstract)):
            each.bind(address)
            each.listen()
        udp.bind(("127.0.0.1", 0))
        for each in (tcp, udp, unix, hidden):
            self._stack.callback(each.close)
            each.settimeout(0.1)
            threading.Thread(target=self._listen, args=(each,), daemon=True).start()
        (self.outside / "socket").chmod(0o777)
        self.before = self.state()
        self.facts = {
            "canary": str(self.canary), "outside": str(self.outside), "secret": (SECRET[:6], SECRET[6:]),
            "abstract": abstract, "unix": str(self.outside / "socket"), "layer": str(self.layer),
            "tcp": tcp.getsockname()[1], "udp": udp.getsockname()[1],
            "hostpid": os.getpid(), "hostline": Path("/proc/self/cmdline").read_bytes().hex(),
        }  # fmt: skip
        os.environ["NATLANG_SECRET"] = SECRET

    def _listen(self, listener: socket.socket) -> None:
        while listener.fileno() >= 0:
            with suppress(TimeoutError, OSError):
                if listener.type == socket.SOCK_DGRAM:
                    listener.sendto(b"x", listener.recvfrom(9)[1])
                    self.touched.append("datagram")
                else:
                    listener.accept()[0].close()
                    self.touched.append(f"connection to {listener.getsockname()}")

    def close(self) -> None:
        os.environ.pop("NATLANG_SECRET", None)
        self._stack.close()

    def state(self) -> dict[str, tuple[int, int, bytes]]:
        """Return every name outside and in the layer with its mode, owner and content."""
        found: dict[str, tuple[int, int, bytes]] = {}
        for path in sorted((*self.outside.rglob("*"), self.layer, *self.layer.rglob("*"))):
            about = path.lstat()
            found[path.name] = (about.st_mode, about.st_uid, path.read_bytes() if path.is_file() else b"")
        return found

    def attack(self, isolation: Isolation, attack: Attack) -> AttackResult:
        work = Path(tempfile.mkdtemp(prefix="work-", dir=self.top))
        self.touched.clear()
        files = HostFolder(work, Layer(self.layer, len(self.before)) if attack.layered else None)
        begun = time.monotonic()
        done = isolation.run(("python", "-c", script(attack.code), json.dumps(self.facts)), files, "", attack.limits)
        if attack.pip:
            begun = time.monotonic()
            done = isolation.run(("pip", *(each.format(**self.facts) for each in attack.pip)), files, "", attack.limits)
        seconds = time.monotonic() - begun
        damage: list[str] = []
        alive = work / "alive"
        if alive.exists() and (size := alive.stat().st_size):
            time.sleep(0.1)
            if alive.stat().st_size != size:
                damage.append("a process is still alive")
        stdout = done.stdout.decode(errors="replace")
        if (work / "ran").is_file():
            stdout += (work / "ran").read_text()
        remove_folder(work)
        if work.exists() or work.is_symlink():
            damage.append("the folder could not be removed")
        if self.state() != self.before:
            damage.append(f"outside changed: {sorted(self.state())}")
            for path in self.outside.iterdir():
                if path.name not in self.before:
                    shutil.rmtree(path) if path.is_dir() and not path.is_symlink() else path.unlink()
            assert self.state() == self.before
        damage += self.touched
        others = {each.name for each in self.top.iterdir()} - {"outside", "layer"}
        if others:
            damage.append(f"beside the folder: {sorted(others)}")
            for name in others:
                (self.top / name).unlink()
        stderr = done.stderr.decode(errors="replace")
        return AttackResult(stdout, stderr, done.exit_code, done.stopped, seconds, tuple(damage))


def verdict(attack: Attack, outcome: AttackResult) -> str:
    late = outcome.seconds > attack.limits.seconds + ALLOWANCE
    output = len(outcome.stdout) + len(outcome.stderr) > attack.limits.output + 100
    wrong = [*outcome.damage, *(["too late"] if late else []), *(["too much output"] if output else [])]
    if "ESCAPED" in outcome.stdout + outcome.stderr:
        wrong.append(outcome.stdout + outcome.stderr)
    return "; ".join(wrong)


if __name__ == "__main__":
    arena = Arena()
    try:
        isolation = find_isolation()
        left_out = {*sys.argv[1:], *(() if isolation.lays() else ("layer",))}
        chosen = {name: attack for name, attack in ATTACKS.items() if name.partition(":")[0] not in left_out}
        outcomes = {name: asdict(arena.attack(isolation, attack)) for name, attack in chosen.items()}
    finally:
        arena.close()
    json.dump({"name": isolation.name, "user": os.geteuid(), "outcomes": outcomes}, sys.stdout)
