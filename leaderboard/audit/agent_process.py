"""An agent in a process of its own, which cannot read this one: it answers JSON, one object a line.

Under bubblewrap, where it works, the process sees the standard library, the installed packages, its own files and our
code without environments and tasks (`leaderboard.agent_files`); no other process, no network, no other file.
"""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import sysconfig
import tempfile
import threading
import time
from collections.abc import Generator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple, TypedDict, TypeVar, Unpack

from pydantic import BaseModel, TypeAdapter, ValidationError

from leaderboard.agent_files import AgentFiles, copy_agent_files, copy_packages
from leaderboard.audit import player
from leaderboard.schema import one_line
from natlang_envs.errors import UsageError, check_flag, reason
from natlang_envs.files import cache_folder
from natlang_envs.prompt import PathStep
from natlang_envs.sandbox.isolation.child import PYTHON, folders
from natlang_envs.sandbox.isolation.isolation import Bubblewrap, find_isolation
from natlang_envs.sandbox.isolation.namespaces import Namespaces, arguments, waiting
from natlang_envs.sandbox.isolation.watch import Limits

PATIENCE = 300.0  # seconds for one answer; making an agent loads its weights
_STARTING = 60.0  # seconds in which Python must have started
_ANSWER_BYTES = 64 * 1024  # of the answer to an input: an action has at most 4,096 characters
_LIMITS = Limits(seconds=24 * 3600, memory=16 << 30, processes=512, disk=512 << 20)
_ADDRESSES = 1 << 44  # bytes that a process with a GPU may reserve: the memory of all GPUs has addresses, used or not
_GPUS = "nvidia*"  # in /dev
_HIDDEN = ("natlang_envs", "reference_agent", "leaderboard")  # installed: the agent sees copies
_NETWORK = ("/etc/resolv.conf", "/etc/hosts", "/etc/nsswitch.conf", "/etc/ssl", "/etc/pki")
_KEPT = 4096  # bytes of standard error that are kept
_T = TypeVar("_T")


class InputJson(TypedDict):
    """`AgentInput` as JSON, with the number of the episode and its seed; `chances` reads the recorded `reflection`."""

    episode: int
    seed: list[int]
    task: str
    path: tuple[PathStep, ...]
    observation: str
    admissible_commands: tuple[str, ...]
    reflection: str | None


class AgentFacts(NamedTuple):
    """Whether an agent samples, asks for the environment, decides for many episodes, and states probabilities."""

    sampling: bool
    privileged: bool
    batch: bool
    chances: bool


class AgentOptions(TypedDict, total=False):
    """What an agent may use, and how long it may take."""

    # A folder with everything that the agent needs; without it, the agent sees only what its name names.
    files: Path | None
    patience: float  # seconds for one answer
    network: bool  # let it use the network, as one that asks an endpoint must
    variables: Sequence[str]  # names of environment variables that it may read, such as that of an endpoint's key
    isolated: bool  # use bubblewrap where it works; without it no audit passes
    gpu: bool  # let it use the machine's NVIDIA GPUs


class _Answer(BaseModel):
    id: int
    answer: Any = None
    problem: str | None = None


class AgentProcess:
    """The agent's process, as this one sees it.

    Attributes:
        facts: What the agent states about itself.
        files: The copies that it sees.
        open: What the agent can reach on this machine, in words; empty under bubblewrap.
    """

    def __init__(
        self, line: socket.socket, errors: int, files: AgentFiles, open_: tuple[str, ...], patience: float
    ) -> None:
        self.files, self.open = files, open_
        self._line, self._patience = line, patience
        self._asked = 0
        self._unread = b""
        self._printed = b""
        self._reader = threading.Thread(target=self._read_errors, args=(os.dup(errors),), daemon=True)
        self._reader.start()
        self.facts = AgentFacts(**self._ask("load", (), TypeAdapter(dict[str, bool])))

    def act(self, inputs: Sequence[InputJson]) -> list[str]:
        actions = self._ask("act", inputs, TypeAdapter(list[str]))
        if len(actions) != len(inputs):
            raise _no_answer()
        return actions

    def chances(self, inputs: Sequence[InputJson]) -> list[list[float]]:
        """Return the probability of each listed command, for each input."""
        found = self._ask("chances", inputs, TypeAdapter(list[Any]))
        if len(found) != len(inputs):
            raise _no_answer()
        for given, each in zip(inputs, found, strict=True):
            if not _are_chances(each, len(given["admissible_commands"])):
                raise UsageError("what the agent says of its chances are no probabilities of the listed commands")
        return found

    def _ask(self, ask: str, of: Sequence[InputJson], kind: TypeAdapter[_T]) -> _T:
        self._asked += 1
        question = json.dumps({"id": self._asked, "ask": ask, "of": of}).encode() + b"\n"
        try:
            answer = _Answer.model_validate_json(
                self._exchange(question, _ANSWER_BYTES * max(len(of), 16)), strict=True
            )
            if answer.id != self._asked:
                raise UsageError("the agent answers what it was not asked: only the board's program writes to its line")
            if answer.problem is not None:
                raise UsageError(one_line(f"the agent stopped: {answer.problem}"))
            return kind.validate_python(answer.answer, strict=True)
        except ValidationError:
            raise _no_answer() from None

    def _exchange(self, question: bytes, most: int) -> bytes:
        if self._unread:
            raise UsageError("the agent answers what it was not asked: only the board's program writes to its line")
        deadline = time.monotonic() + self._patience
        try:
            self._line.settimeout(self._patience)
            self._line.sendall(question)
            while b"\n" not in self._unread:
                self._line.settimeout(max(deadline - time.monotonic(), 1e-3))
                if not (data := self._line.recv(1 << 16)):
                    raise self._ended()
                self._unread += data
                if len(self._unread) > most:
                    raise UsageError(f"the agent answers with more than {most:,} bytes: an action has at most 4,096")
        except TimeoutError:
            late = f"it gave no answer in {self._patience:g} seconds"
            raise UsageError(f"the agent hangs: {late}; if it is only slow, allow more with --patience") from None
        except OSError:
            raise self._ended() from None
        answer, _, self._unread = self._unread.partition(b"\n")
        return answer

    def _read_errors(self, errors: int) -> None:
        """Read what the agent prints, and keep the end of it: a full pipe would block the agent."""
        with open(errors, "rb", buffering=0) as printed:
            while data := printed.read(1 << 16):
                self._printed = (self._printed + data)[-_KEPT:]

    def _ended(self) -> UsageError:
        self._reader.join(1)
        last = self._printed.decode(errors="replace").strip().rpartition("\n")[2]
        return UsageError(one_line(f"the agent's process ended in the middle of the audit{': ' * bool(last)}{last}"))


def _no_answer() -> UsageError:
    return UsageError("the agent wrote something that is no answer: only the board's program writes to its line")


def _are_chances(value: Any, commands: int) -> bool:
    try:
        chances = TypeAdapter(list[float]).validate_python(value, strict=True)
    except ValidationError:
        return False
    return len(chances) == commands and all(0 <= each <= 1.001 for each in chances) and abs(sum(chances) - 1) < 0.01


@contextmanager
def start_agent(spec: str, **options: Unpack[AgentOptions]) -> Generator[AgentProcess]:
    """Start an agent in a process of its own, and end it and all that it started.

    Args:
        spec: The agent, as `natlang evaluate --agent` takes it.
        options: See `AgentOptions`.
    """
    network, isolated, gpu = options.get("network", False), options.get("isolated", True), options.get("gpu", False)
    variables = options.get("variables", ())
    for name, flag in (("network", network), ("isolated", isolated), ("gpu", gpu)):
        check_flag(name, flag)
    if not hasattr(socket, "AF_UNIX"):
        raise UsageError("an audit needs Unix sockets: run it on Linux")
    missing = [each for each in variables if each not in os.environ]
    if missing:
        raise UsageError(one_line(f"the environment variable {missing[0]} is not set: set it, or leave it out"))
    shared = {each: os.environ[each] for each in variables}
    devices = gpu_devices() if gpu else []
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="audit-")))
        folder.chmod(0o755)
        copied = copy_agent_files(spec, folder, options.get("files"))
        copy_packages(copied)
        (sockets := folder / "line").mkdir()
        listening = stack.enter_context(socket.socket(socket.AF_UNIX))
        listening.bind(str(sockets / "socket"))
        (sockets / "socket").chmod(0o777)
        sockets.chmod(0o755)
        listening.listen(1)
        listening.settimeout(_STARTING)
        program = _bubblewrap() if isolated else "it was not asked for"
        if isinstance(program, Bubblewrap):
            process = stack.enter_context(_isolated(program, copied, sockets, network, shared, devices))
            open_ = ("the network",) if network else ()
        else:
            process = stack.enter_context(_not_isolated(copied, sockets, folder, shared))
            open_ = (f"files, processes and the network of this machine ({program})",)
        assert process.stderr is not None
        errors = process.stderr.fileno()
        try:
            line = stack.enter_context(listening.accept()[0])
        except TimeoutError:
            process.kill()
            last = (process.stderr.read(_KEPT) or b"").decode(errors="replace").strip().rpartition("\n")[2]
            raise UsageError(one_line(f"the agent's process did not start: {last}")) from None
        listening.close()
        yield AgentProcess(line, errors, copied, open_, options.get("patience", PATIENCE))


def gpu_devices() -> list[str]:
    """Return the device files of this machine's NVIDIA GPUs, or raise `UsageError` if there are none."""
    found = sorted(str(each) for each in Path("/dev").glob(_GPUS) if each.is_char_device())
    if not found:
        raise UsageError("this machine has no NVIDIA GPU to show to the agent: leave out --gpu")
    return found


def _bubblewrap() -> Bubblewrap | str:
    """Return bubblewrap, or the reason why it does not work here."""
    try:
        found = find_isolation()
    except UsageError as error:
        return str(error)
    return found if isinstance(found, Bubblewrap) else found.name


def _command(files: AgentFiles, python: str, script: Path, socket_: Path, folders: Sequence[Path]) -> list[str]:
    """Return the command that starts `leaderboard.audit.player`; `folders` hold our packages, its files, and others."""
    argument = files.argument
    if isinstance(argument, Path):
        argument = str(folders[1] / argument.relative_to(files.own))
    spec = files.kind + (f":{argument}{files.model}" if argument else "")
    return [python, "-I", "-S", str(script), str(socket_), spec, *map(str, folders)]


@contextmanager
def _isolated(
    program: Bubblewrap,
    files: AgentFiles,
    sockets: Path,
    network: bool,
    variables: dict[str, str],
    devices: Sequence[str],
) -> Generator[subprocess.Popen[bytes]]:
    root = os.geteuid() == 0
    top = Path("/work/.audit")
    packages = Path(sysconfig.get_path("purelib"))
    mounted = {files.packages: "board", files.own: "agent", sockets: "line", packages: "packages"}
    limits = replace(_LIMITS, memory=_ADDRESSES) if devices else _LIMITS
    options = arguments(root, 0, "", limits)
    at = [*pairwise(options)].index(("--remount-ro", "/dev"))
    options[at:at] = [part for each in devices for part in ("--dev-bind", each, each)]
    mounts = [*folders(str(top), str(top / "cache"))]
    for source, name in mounted.items():
        mounts += ["--ro-bind", str(source), str(top / name)]
    for name in _HIDDEN:
        if (packages / name).is_dir():
            mounts += ["--tmpfs", str(top / "packages" / name), "--remount-ro", str(top / "packages" / name)]
    mounts += ["--ro-bind", player.__file__, str(top / "player.py")]
    if (models := cache_folder() / "models").is_dir():
        mounts += ["--ro-bind", str(models), str(top / "cache" / "models")]
    mounts += ["--setenv", "NATLANG_CACHE", str(top / "cache")]
    if network:
        mounts += ["--share-net", *(part for each in _NETWORK for part in ("--ro-bind-try", each, each))]
    for name, value in variables.items():
        mounts += ["--setenv", name, value]
    # All has to be mounted before the root becomes read-only.
    end = max(at for at, pair in enumerate(pairwise(options)) if pair == ("--remount-ro", "/"))
    options[end:end] = mounts
    seen = [top / name for name in ("board", "agent", "packages")]
    command = [*waiting(root), *_command(files, PYTHON, top / "player.py", top / "line" / "socket", seen)]
    try:
        started = Namespaces(program.program, options, command, network=network, gpu=bool(devices))
    except OSError as error:
        raise UsageError(one_line(f"the agent's process cannot be started: {reason(error)}")) from None
    with started:
        started.go(limits)
        yield started.process


@contextmanager
def _not_isolated(
    files: AgentFiles, sockets: Path, folder: Path, variables: dict[str, str]
) -> Generator[subprocess.Popen[bytes]]:
    (scratch := folder / "scratch").mkdir()
    seen = [files.packages, files.own, Path(sysconfig.get_path("purelib"))]
    command = _command(files, sys.executable, Path(player.__file__), sockets / "socket", seen)
    environment = {"PATH": os.defpath, "HOME": str(scratch), "TMPDIR": str(scratch), "LANG": "C.UTF-8", **variables}
    process = subprocess.Popen(
        command,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        cwd=scratch,
        env=environment,
        start_new_session=True,
    )
    with process:
        try:
            yield process
        finally:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
