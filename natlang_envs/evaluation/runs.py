"""Runs on disk: `run.json`, the recording, and the journal that an unfinished run is resumed from."""

from __future__ import annotations

import hashlib
import json
import os
import platform
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass, fields
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, get_origin, get_type_hints

from natlang_envs.errors import UsageError
from natlang_envs.evaluation.protocols import Protocol
from natlang_envs.files import keys_once, write_whole
from natlang_envs.trajectory import (
    MAX_LINE_BYTES,
    Trajectory,
    line_of,
    parse_line,
    read_trajectories,
    write_trajectories,
)

RUN_FILE = "run.json"
TRAJECTORIES_FILE = "trajectories.jsonl.gz"
JOURNAL_FILE = "episodes.jsonl"
_PACKAGES = ("natlang-envs", "gymnasium", "pettingzoo", "numpy", "torch", "transformers")
_MAX_TEXT = 300


@dataclass(frozen=True)
class Provenance:
    """Where an agent came from, as far as the runner can tell.

    Attributes:
        origin: `built-in`, `entry point`, `function`, `object` (handed over in Python) or `loop` (a loop of its own).
        agent: What was written behind `--agent`, or the qualified name of the object.
        command: The command line.
        commit: The Git commit of the current folder, or an empty string.
        checkpoint: The SHA-256 of the file or folder behind the colon of `--agent name:path`, or an empty string.
    """

    origin: str = "object"
    agent: str = ""
    command: str = ""
    commit: str = ""
    checkpoint: str = ""


@dataclass(frozen=True)
class Run:
    """What `run.json` holds: everything about an evaluation but its episodes, and no score.

    Attributes:
        protocol: The protocol's name.
        protocol_digest: Its digest when the run was made.
        agent: The agent's name.
        runs: How often each episode was played.
        versions: Versions of Python and of the packages that matter.
        hardware: The machine, in words.
        tokens: Tokens read and written by the agent.
        seconds: Wall-clock time until the last episode ended; of all starts together if it was resumed.
        sampling: Whether the agent draws its commands at random; None in runs made before this was noted.
        privileged: Whether the agent saw the environment itself; None in runs made before this was noted.
        provenance: Where the agent came from; empty in runs made before this was noted.
    """

    protocol: str
    protocol_digest: str
    agent: str
    runs: int
    versions: dict[str, str]
    hardware: str
    tokens: int
    seconds: float
    sampling: bool | None = None
    privileged: bool | None = None
    provenance: dict[str, str] | None = None


def provenance(origin: str, agent: str, checkpoint: Path | None = None) -> Provenance:
    """Return where an agent came from, with the command and the commit of this process."""
    digest = digest_of(checkpoint) if checkpoint is not None and checkpoint.exists() else ""
    command = " ".join([Path(sys.argv[0]).name, *sys.argv[1:]]) if sys.argv else ""
    return Provenance(origin, _text(agent), _text(command), _commit(), digest)


def _text(text: str) -> str:
    return "".join(each if each.isprintable() else " " for each in text)[:_MAX_TEXT]


def _commit() -> str:
    try:
        ran = subprocess.run(["git", "rev-parse", "HEAD"], capture_output=True, text=True, timeout=5, check=False)
    except (OSError, subprocess.SubprocessError):
        return ""
    return ran.stdout.strip() if ran.returncode == 0 else ""


def digest_of(path: Path) -> str:
    """Return the SHA-256 of a file, or of the names and the SHA-256 of all files of a folder, sorted."""
    if path.is_file():
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    names = sorted(each.relative_to(path).as_posix() for each in path.rglob("*") if each.is_file())
    lines = "".join(f"{digest_of(path / name)}  {name}\n" for name in names)
    return hashlib.sha256(lines.encode()).hexdigest()


def prepare_folder(out: Path, *, resume: bool = False) -> None:
    """Make the folder that a run is to be written to, before anything is played."""
    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UsageError(f"{out} cannot hold a run ({error.strerror}): choose another --out") from None
    if not resume:
        _refuse_finished(out)
    if not resume and (out / JOURNAL_FILE).exists():
        raise UsageError(f"{out} holds an unfinished run: add --resume to go on with it, or choose another --out")


def _refuse_finished(out: Path) -> None:
    if (out / RUN_FILE).exists():
        raise UsageError(f"{out} already holds a run: choose another --out, or delete it")


def finished_run(out: Path, protocol: Protocol, agent: str, runs: int) -> tuple[Run, list[Trajectory]]:
    """Return the run that `out` already holds, and remove the journal if the process was killed before it could."""
    run, trajectories = read_run(out)
    if (run.protocol_digest, run.agent, run.runs) != (protocol.digest, agent, runs):
        raise UsageError(
            f"{out} already holds a run of another protocol, agent or number of runs: choose another --out"
        )
    (out / JOURNAL_FILE).unlink(missing_ok=True)
    return run, trajectories


@dataclass(frozen=True)
class Played:
    """An episode that has ended: its position in the run, what was recorded, and the tokens it took."""

    position: int
    trajectory: Trajectory
    tokens: int


class Journal:
    """The episodes of a run that have ended, each appended to a file at once, so that no later failure loses one.

    Attributes:
        seconds: Wall-clock time of the run so far: of this start until its newest episode, and of earlier starts.
    """

    def __init__(self, out: Path | None, protocol: Protocol, agent: str, runs: int) -> None:
        self.played: dict[int, Played] = {}
        self.seconds = 0.0
        self._newest = time.perf_counter()
        self._out = out
        self._head = json.dumps({"protocol_digest": protocol.digest, "agent": agent, "runs": runs}).encode() + b"\n"
        plays = protocol.plays(runs)
        self._keys = [(episode.task_id, episode.seed, run) for episode, run in plays]
        if out is None:
            return
        _refuse_finished(out)
        path = out / JOURNAL_FILE
        if path.exists():
            whole = self._read(path)
            # A line that was cut short by a kill is dropped before anything is appended after it.
            with path.open("r+b") as file:
                file.truncate(whole)
        else:
            path.write_bytes(self._head)

    def _read(self, path: Path) -> int:
        """Read what is there and return the number of bytes of whole lines."""
        whole = 0
        with path.open("rb") as file:
            for number, line in enumerate(_bounded_lines(file.readline), 1):
                if number == 1 and line != self._head:
                    raise UsageError(f"{path} is of another protocol, agent or number of runs: choose another --out")
                if number > 1:
                    try:
                        self._take(line)
                    except (ValueError, TypeError, KeyError, RecursionError) as error:
                        raise UsageError(f"{path}, line {number}: {error}: delete the line") from None
                whole += len(line)
        if not whole:
            path.write_bytes(self._head)
            return len(self._head)
        return whole

    def _take(self, line: bytes) -> None:
        content: Any = json.loads(line, object_pairs_hook=keys_once)
        trajectory = parse_line(json.dumps(content["episode"]).encode())
        position = int(content["position"])
        if not 0 <= position < len(self._keys) or self._keys[position] != (
            trajectory.task_id,
            trajectory.seed,
            trajectory.run,
        ):
            raise ValueError("this episode is not of this run")
        self.played[position] = Played(position, trajectory, int(content["tokens"]))
        self.seconds += float(content["seconds"])

    def append(self, episode: Played) -> None:
        """Keep an episode that has ended."""
        self.played[episode.position] = episode
        now = time.perf_counter()
        passed, self._newest = now - self._newest, now
        self.seconds += passed
        if self._out is None:
            return
        # The seconds since the episode before, so that the sum of a journal's lines is wall-clock time.
        facts = {"position": episode.position, "tokens": episode.tokens, "seconds": round(passed, 3)}
        head = json.dumps(facts, separators=(",", ":")).encode()
        line = head[:-1] + b',"episode":' + line_of(episode.trajectory)[:-1] + b"}\n"
        with (self._out / JOURNAL_FILE).open("ab") as file:
            file.write(line)

    def trajectories(self) -> list[Trajectory]:
        """Return the episodes in the order of the protocol."""
        return [self.played[position].trajectory for position in sorted(self.played)]

    def finish(self, run: Run) -> None:
        """Write the recording and `run.json`, and remove the journal."""
        if self._out is None:
            return
        write_trajectories(self._out / TRAJECTORIES_FILE, self.trajectories())
        write_whole(self._out / RUN_FILE, (json.dumps(asdict(run), indent=2) + "\n").encode())
        (self._out / JOURNAL_FILE).unlink()


def _bounded_lines(readline: Any) -> Iterator[bytes]:
    while (line := readline(2 * MAX_LINE_BYTES)).endswith(b"\n"):
        yield line


def read_run(folder: Path) -> tuple[Run, list[Trajectory]]:
    """Read what `evaluate` wrote.

    Raises:
        UsageError: A file is missing or is not what it should be.
    """
    return read_run_facts(folder), read_trajectories(folder / TRAJECTORIES_FILE)


def read_run_facts(folder: Path) -> Run:
    """Read `run.json`."""
    path = folder / RUN_FILE
    try:
        content: Any = json.loads(path.read_text(encoding="utf-8"), object_pairs_hook=keys_once)
    except FileNotFoundError:
        unfinished = (folder / JOURNAL_FILE).exists()
        remedy = "finish it with `natlang evaluate --resume" if unfinished else "make it with `natlang evaluate"
        raise UsageError(f"{path} is missing: {remedy} --out {folder}`") from None
    except (ValueError, OSError) as error:
        raise UsageError(f"{path} cannot be read ({error}): run `natlang evaluate` again") from None
    return _run_of(content, path)


_NOTED_LATER = {"sampling": bool, "privileged": bool, "provenance": dict}


def _run_of(content: Any, path: Path) -> Run:
    hints = get_type_hints(Run)
    if not isinstance(content, dict) or set(content) | set(_NOTED_LATER) != set(hints):  # pyright: ignore[reportUnknownArgumentType]
        raise UsageError(f"{path} must have exactly the keys {', '.join(sorted(hints))}")
    for key, value in content.items():  # pyright: ignore[reportUnknownVariableType]
        if key in _NOTED_LATER:
            right = value is None or isinstance(value, _NOTED_LATER[key])
            name = _NOTED_LATER[key].__name__
        else:
            hint = hints[key]
            kinds = (int, float) if hint is float else get_origin(hint) or hint
            right = isinstance(value, kinds) and not isinstance(value, bool)
            name = hint.__name__
        if not right:
            raise UsageError(f"{path}: {key} must be {name}, not {value!r}: run `natlang evaluate` again")
    run = Run(**content)  # pyright: ignore[reportUnknownArgumentType]
    known = {each.name for each in fields(Provenance)}
    if not set(run.provenance or {}) <= known or not all(
        isinstance(each, str)  # pyright: ignore[reportUnnecessaryIsInstance]
        for each in (run.provenance or {}).values()
    ):
        raise UsageError(f"{path}: provenance holds the texts {', '.join(sorted(known))}: run `natlang evaluate` again")
    return run


def hardware() -> str:
    """Return the machine in words: processor architecture, number of cores, system."""
    return f"{platform.machine()}, {os.cpu_count()} cores, {platform.system()}"


def installed_versions() -> dict[str, str]:
    """Return the versions of Python and of the packages that matter."""
    found = {"python": platform.python_version()}
    for package in _PACKAGES:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            continue
    return found
