"""Runs on disk: `run.json`, the recording, and the journal that an unfinished run is resumed from."""

from __future__ import annotations

import hashlib
import json
import os
import platform
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field, fields
from functools import cache, reduce
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from types import UnionType
from typing import Any, cast, get_args, get_origin, get_type_hints

from natlang_envs.errors import UsageError, reason
from natlang_envs.evaluation.chat_response import Bill
from natlang_envs.evaluation.model_requests import forget, unfinished
from natlang_envs.evaluation.protocols import Episode, Protocol
from natlang_envs.evaluation.published import split_model
from natlang_envs.files import json_line, keys_once, make_folder, write_whole
from natlang_envs.trajectory import MAX_LINE_BYTES, Trajectory, parse_line, read_trajectories, write_trajectories

RUN_FILE = "run.json"
TRAJECTORIES_FILE = "trajectories.jsonl.gz"
JOURNAL_FILE = "episodes.jsonl"
Place = tuple[int, Episode, int]  # the position in the run, the episode, and which of its runs
_PACKAGES = ("natlang-envs", "gymnasium", "pettingzoo", "numpy", "torch", "transformers")
_MAX_TEXT = 300


@dataclass(frozen=True)
class Provenance:
    """Where an agent came from, as far as the runner can tell."""

    # `built-in`, `entry point`, `function`, `object` (handed over in Python) or `loop` (a loop of its own).
    origin: str = "object"
    agent: str = ""  # what was written behind `--agent`, or the qualified name of the object
    command: str = ""  # the command line
    commit: str = ""  # the Git commit of the current folder, or an empty string
    # The SHA-256 of the file or folder behind the colon of `--agent name:path`, or an empty string.
    checkpoint: str = ""


@dataclass(frozen=True)
class Run:
    """The content of `run.json`: an evaluation without episodes and score.

    Attributes:
        protocol: The protocol's name.
        protocol_digest: Its digest when the run was made.
        agent: The agent's name.
        runs: How often each episode was played.
        versions: Versions of Python and of the packages that matter.
        hardware: The machine, in words.
        tokens: Tokens read and written by the agent.
        seconds: Wall-clock time until the last episode ended; of all starts together if it was resumed.
        sampling: Whether the agent samples its commands; None in runs made before this was noted.
        privileged: Whether the agent saw the environment itself; None in runs made before this was noted.
        provenance: Where the agent came from; empty in runs made before this was noted.
        settings: How the agent asked its model: the form, the model, and what was set; None for one that asked none.
        answers: Of a model's answers, how many were read in each form, or not read, by problem; `failed` requests.
        bill: The tokens `read`, `written` and counted in a total alone (`other`), and replies without a count.
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
    settings: dict[str, str] | None = None
    answers: dict[str, int] | None = None
    bill: dict[str, int] | None = None


def provenance(origin: str, agent: str) -> Provenance:
    argument = agent.partition(":")[2]
    path, _ = split_model(argument)
    weights = origin == "entry point" and argument and path.exists()
    digest = digest_of(path) if weights else ""
    started = getattr(sys.modules.get("__main__"), "__spec__", None)  # by python -m
    program = f"python -m {started.name.removesuffix('.__main__')}" if started else Path("".join(sys.argv[:1])).name
    command = " ".join([program, *sys.argv[1:]])
    return Provenance(origin, _printable(agent), _printable(command), _commit(), digest)


def _printable(text: str) -> str:
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
    make_folder(out)
    if resume:
        return
    _refuse_finished(out)
    journal = out / JOURNAL_FILE
    if (journal.exists() and journal.read_bytes().count(b"\n") > 1) or unfinished(out):
        raise UsageError(f"{out} holds an unfinished run: add --resume to go on (resume=True), or choose another --out")


def _refuse_finished(out: Path) -> None:
    if (out / RUN_FILE).exists():
        raise UsageError(f"{out} already holds a run: choose another --out, or delete it")


def finished_run(
    out: Path, protocol: Protocol, agent: str, runs: int, checkpoint: str = "", settings: dict[str, str] | None = None
) -> tuple[Run, list[Trajectory]]:
    """Return the run that `out` already holds, and remove the journal if the process was killed before it could."""
    run, trajectories = read_run(out)
    if (run.protocol_digest, run.agent, run.runs) != (protocol.digest, agent, runs):
        raise UsageError(
            f"{out} already holds a run of another protocol, agent or number of runs: choose another --out"
        )
    if (run.provenance or {}).get("checkpoint", "") != checkpoint:
        raise UsageError(f"{out} already holds a run of other weights: choose another --out")
    if run.settings != settings:
        raise UsageError(f"{out} already holds a run with other settings of a model: choose another --out")
    (out / JOURNAL_FILE).unlink(missing_ok=True)
    return run, trajectories


@dataclass(frozen=True)
class PlayedEpisode:
    """An episode that has ended: its position in the run, what was recorded, and what it took of a model."""

    position: int
    trajectory: Trajectory
    tokens: int
    answers: Mapping[str, int] = field(default_factory=dict[str, int])
    bill: Bill = field(default_factory=Bill)


class Journal:
    """The episodes of a run that have ended, each appended to a file at once, so that no later failure loses one.

    `seconds` is the wall-clock time of the run so far: of this start until its newest episode, and of earlier starts.
    `checkpoint` is the digest of the weights that play, and `settings` how a model is asked: a run does not go on with
    others.
    """

    def __init__(
        self,
        out: Path | None,
        protocol: Protocol,
        agent: str,
        runs: int,
        checkpoint: str = "",
        settings: dict[str, str] | None = None,
    ) -> None:
        self.played: dict[int, PlayedEpisode] = {}
        self.seconds = 0.0
        self._newest = time.perf_counter()
        self._length = 0  # of the file, as this process left it
        self._out, self._protocol, self._agent, self._runs = out, protocol, agent, runs
        self._checkpoint, self._settings = checkpoint, settings
        self._places = dict.fromkeys((position, *play) for position, play in enumerate(protocol.plays(runs)))
        if out is not None:
            _refuse_finished(out)
            self._go_on(out / JOURNAL_FILE)

    def _go_on(self, path: Path) -> None:
        """Take in what is there, but for a line that was cut short by a kill: more is appended in its place.

        Where an agent was refused before its first episode, any other may begin.
        """
        facts = {"protocol_digest": self._protocol.digest, "agent": self._agent, "runs": self._runs}
        more = {"settings": self._settings} if self._settings else {}
        head = json.dumps({**facts, "checkpoint": self._checkpoint, **more}).encode() + b"\n"
        with path.open("a+b") as file:
            file.seek(0)
            whole, other = 0, False
            for number, line in enumerate(_bounded_lines(file.readline), 1):
                if number == 1:
                    other = line != head
                if other and (number > 1 or unfinished(path.parent)):
                    what = "other settings or of another protocol, agent, number of runs or weights"
                    raise UsageError(f"{path} is of {what}: choose another --out")
                try:
                    if number > 1:
                        self._take(line)
                except (ValueError, TypeError, KeyError, RecursionError) as error:
                    raise UsageError(f"{path}, line {number}: {error}: delete the line") from None
                whole += len(line)
            whole = 0 if other else whole
            file.truncate(whole)
            if not whole:
                file.write(head)
            self._length = whole or len(head)
        for position in self.played:
            forget(path.parent, position)

    def _take(self, line: bytes) -> None:
        content: Any = json.loads(line, object_pairs_hook=keys_once)
        trajectory = parse_line(json.dumps(content["episode"]).encode())
        place = (int(content["position"]), Episode(trajectory.task_id, trajectory.seed), trajectory.run)
        if place not in self._places:
            raise ValueError("this episode is not of this run")
        asked = (dict(content.get("answers", {})), Bill(*content.get("bill", ())))
        self.played[place[0]] = PlayedEpisode(place[0], trajectory, int(content["tokens"]), *asked)
        self.seconds += float(content["seconds"])

    def todo(self) -> list[Place]:
        return [place for place in self._places if place[0] not in self.played]

    def append(self, episode: PlayedEpisode) -> None:
        self.played[episode.position] = episode
        now = time.perf_counter()
        passed, self._newest = now - self._newest, now
        self.seconds += passed
        if self._out is None:
            return
        # The seconds since the episode before, so that the sum of a journal's lines is wall-clock time.
        facts: dict[str, Any] = {"position": episode.position, "tokens": episode.tokens, "seconds": round(passed, 3)}
        facts |= {"answers": episode.answers, "bill": episode.bill} if episode.answers else {}
        with (self._out / JOURNAL_FILE).open("ab") as file:
            if file.tell() != self._length:
                raise UsageError(f"another loop has gone on in {self._out} since this one began: end one of the two")
            file.write(json_line({**facts, "episode": asdict(episode.trajectory)}))
            self._length = file.tell()
        forget(self._out, episode.position)

    def trajectories(self) -> list[Trajectory]:
        return [self.played[position].trajectory for position in sorted(self.played)]

    def finish(self, source: Provenance, sampling: bool, privileged: bool) -> Run:
        run = Run(
            protocol=self._protocol.name,
            protocol_digest=self._protocol.digest,
            agent=self._agent,
            runs=self._runs,
            versions={**installed_versions()},
            hardware=hardware(),
            tokens=sum(each.tokens for each in self.played.values()),
            seconds=round(self.seconds, 3),
            sampling=sampling,
            privileged=privileged,
            provenance=asdict(source),
            settings=self._settings,
            answers=dict(sum((Counter(each.answers) for each in self.played.values()), Counter[str]())) or None,
            bill=self.bill._asdict() if self.bill != Bill() else None,
        )
        if self._out is not None:
            write_trajectories(self._out / TRAJECTORIES_FILE, self.trajectories())
            write_whole(self._out / RUN_FILE, (json.dumps(asdict(run), indent=2) + "\n").encode())
            (self._out / JOURNAL_FILE).unlink()
            forget(self._out)
        return run

    @property
    def bill(self) -> Bill:
        return reduce(Bill.plus, (each.bill for each in self.played.values()), Bill())


def _bounded_lines(readline: Any) -> Iterator[bytes]:
    while (line := readline(2 * MAX_LINE_BYTES)).endswith(b"\n"):
        yield line


def read_run(folder: str | Path) -> tuple[Run, list[Trajectory]]:
    """Read a run of `evaluate`.

    Raises:
        UsageError: A file is missing or is not what it should be.
    """
    return read_run_facts(Path(folder)), read_trajectories(Path(folder) / TRAJECTORIES_FILE)


def read_run_facts(folder: Path) -> Run:
    path = folder / RUN_FILE
    try:
        content: Any = json.loads(path.read_text(encoding="utf-8"), object_pairs_hook=keys_once)
    except FileNotFoundError:
        unfinished = (folder / JOURNAL_FILE).exists()
        remedy = "finish it with `natlang evaluate --resume" if unfinished else "make it with `natlang evaluate"
        raise UsageError(f"{path} is missing: {remedy} --out {folder}`") from None
    except (ValueError, OSError) as error:
        raise UsageError(f"{path} cannot be read ({reason(error)}): run `natlang evaluate` again") from None
    return _run_of(content, path)


def _run_of(content: Any, path: Path) -> Run:
    again = "run `natlang evaluate` again"
    hints = get_type_hints(Run)
    noted_later = {each.name for each in fields(Run) if each.default is None}
    if not isinstance(content, dict) or set(found := cast("dict[str, Any]", content)) | noted_later != set(hints):
        raise UsageError(f"{path} must have exactly the keys {', '.join(sorted(hints))}")
    for key, value in found.items():
        hint = hints[key]
        kinds = [get_origin(each) or each for each in (get_args(hint) if isinstance(hint, UnionType) else (hint,))]
        if type(value) not in (kinds if kinds != [float] else (float, int)):
            raise UsageError(f"{path}: {key} must be {kinds[0].__name__}, not {value!r}: {again}")
    run = Run(**found)
    known = {each.name for each in fields(Provenance)}
    source: dict[str, Any] = run.provenance or {}
    if not set(source) <= known or not all(isinstance(each, str) for each in source.values()):
        raise UsageError(f"{path}: provenance holds the texts {', '.join(sorted(known))}: {again}")
    return run


def hardware() -> str:
    return f"{platform.machine()}, {os.cpu_count()} cores, {platform.system()}"


@cache
def installed_versions() -> dict[str, str]:
    found = {"python": platform.python_version()}
    for package in _PACKAGES:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            continue
    return found
