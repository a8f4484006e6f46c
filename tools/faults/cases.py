"""The six commands that the faults are done to: what they are started with, and which files are their result."""

from __future__ import annotations

import gzip
import hashlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from tools.faults import loopback

ROOT = Path(__file__).parents[2]
TRAINING = """
threads = 1
reflection_tokens = 6
model = {layers = 1, width = 32, inner = 64, heads = 2}
warmup = {copy_steps = 3, steps = 3, direction_steps = 2, batch = 8}
collect = {trajectories = 3, policy_trajectories = 2, negatives = 2, wordings = 1, restarts = false}
sft_reflector = {steps = 4}
sft_policy = {steps = 4}
rl = {batch = 6, group = 2, minibatch = 16, checkpoint_every = 1}
curriculum = [{env = "NatLang/DangerousTaxi-Pickup-v0", iterations = 3}]
"""
CHAT = 'history = 10\nteacher = {name = "openai", model = "m", workers = 2}\n'
_AFTER = 120.0  # seconds after which a start hangs
_PASSING = {"seconds", "provenance", "from_disk"}  # what may differ between two runs of the same


class Ended(NamedTuple):
    """A start that has ended: whether it was killed, its exit code, and what it wrote to standard error."""

    killed: bool
    code: int
    errors: str

    @property
    def line(self) -> str | None:
        """The one line that it refuses with; None if it wrote something else."""
        lines = [each for each in self.errors.splitlines() if each.startswith(("natlang", "reflect-rl"))]
        return lines[0] if self.code == 2 and len(lines) == 1 and "Traceback" not in self.errors else None


@dataclass(frozen=True)
class Case:
    """A command.

    Attributes:
        name: What it does, in one word.
        shown: The command, as the page shows it.
        module: The module that is run.
        arguments: What it is given; `{disk}` is the folder that it writes to, `{data}` one that it reads.
        results: Patterns of its final files and folders below that folder.
        inputs: Folders of `data` that it works on, copied into its place first.
        text: The file of lines (or of JSON) that it reads when it goes on, as a pattern.
        remedy: What is deleted when that is corrupt: the `line`, `file` or `folder`; `again` if it is made again.
        environment: Further variables.
    """

    name: str
    shown: str
    module: str
    arguments: str
    results: tuple[str, ...]
    inputs: tuple[str, ...] = ()
    text: str = ""
    remedy: str = ""
    environment: tuple[tuple[str, str], ...] = ()

    def start(self, place: Path, *, kill_after: float | None = None, limit: Callable[[], None] | None = None) -> Ended:
        """Run the command in a place, kill it after so many seconds if it has not ended, and wait for its end."""
        running = self.begin(place, limit)
        try:
            running.wait(_AFTER if kill_after is None else kill_after)
        except subprocess.TimeoutExpired:
            running.kill()
            running.wait()
            return Ended(True, -9, "it hung" if kill_after is None else "")
        return self.ended(place, running)

    def ended(self, place: Path, running: subprocess.Popen[bytes]) -> Ended:
        """Wait for the end of a start."""
        code = running.wait(_AFTER)
        return Ended(False, code, Path(f"{place}.{running.pid}").read_text(errors="replace"))

    def begin(self, place: Path, limit: Callable[[], None] | None = None) -> subprocess.Popen[bytes]:
        """Start the command in a place."""
        words = [
            each.format(place=place, disk=place / "disk", data=place.parent / "data")
            for each in self.arguments.split("|")
        ]
        kept = {name: value for name, value in os.environ.items() if not name.startswith(("OPENAI", "AZURE", "PIP_"))}
        told = {name: value.format(data=place.parent / "data") for name, value in self.environment}
        environment = {
            **kept,
            "PYTHONPATH": str(ROOT),
            "OMP_NUM_THREADS": "1",
            "NATLANG_CACHE": str(place / "disk" / "cache"),
            "TMPDIR": str(place / "tmp"),
            **told,
        }
        errors = Path(tempfile.mkstemp(dir=place.parent)[1])
        with errors.open("wb") as file:
            running = subprocess.Popen(
                [sys.executable, "-m", self.module, *words],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=file,
                env=environment,
                cwd=place.parent,
                preexec_fn=limit,
            )
        errors.rename(f"{place}.{running.pid}")
        return running

    def place(self, root: Path) -> Path:
        """Return a new place: a folder `disk` that the command works in, and `tmp` for what is temporary."""
        place = Path(tempfile.mkdtemp(prefix="place-", dir=root))
        (place / "disk").mkdir()
        (place / "tmp").mkdir()
        for each in self.inputs:
            shutil.copytree(root / "data" / each, place / each)
        return place

    def found(self, place: Path) -> dict[str, str]:
        """Return what lies under the final names, each file or whole folder as a digest."""
        disk = place / "disk"
        paths = [path for pattern in self.results for path in disk.glob(pattern)]
        return {str(path.relative_to(disk)): _digest(path) for path in paths}


def _digest(path: Path) -> str:
    """Return a digest of a file, or of all names and contents of a folder, less what two runs may differ in."""
    if path.is_dir():
        names = sorted(each for each in path.rglob("*") if each.is_file())
        return hashlib.sha256(
            "".join(f"{each.relative_to(path)} {_digest(each)}\n" for each in names).encode()
        ).hexdigest()
    content = path.read_bytes()
    if path.suffix == ".gz":
        content = gzip.decompress(content)
    elif path.suffix == ".json":
        content = json.dumps(_kept(json.loads(content))).encode()
    return hashlib.sha256(content).hexdigest()


def _kept(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _kept(each) for key, each in value.items() if key not in _PASSING}
    return value


def prepare(root: Path, url: str) -> tuple[Case, ...]:
    """Make what the commands read, in the folder `data`, and return the six commands."""
    data = root / "data"
    (data / "repo").mkdir(parents=True)
    (data / "repo" / "README.md").write_text("# Sums\n")
    (data / "training.toml").write_text(TRAINING)
    (data / "chat.toml").write_text(CHAT + TRAINING)
    _make_catalogue(data)
    endpoint = ("OPENAI_BASE_URL", f"{url}/v1")
    played = "evaluate|--agent|random|--protocol|dangerous-taxi-pickup/v1|--batch|4|--resume|--out|"
    pack = Case(
        "packing",
        "natlang-leaderboard pack RUN --name a --out ENTRIES",
        "leaderboard",
        "pack|{place}/run|--name|a|--out|{disk}/entries",
        ("entries/*/*/[!.]*",),
        inputs=("run",),
        text="run/trajectories.jsonl.gz",
        remedy="again",
    )
    evaluate = Case(
        "evaluating",
        "natlang evaluate --agent random --protocol dangerous-taxi-pickup/v1 --out RUN --resume",
        "natlang_envs.cli",
        f"{played}{{disk}}/out",
        ("out/run.json", "out/trajectories.jsonl.gz"),
        text="disk/out/episodes.jsonl",
        remedy="line",
    )
    made = evaluate.place(root)
    if evaluate.start(made).code:
        raise RuntimeError("the run to be packed cannot be made")
    shutil.copytree(made / "disk" / "out", data / "run")
    return (
        Case(
            "exploring",
            "natlang explore TASK --repo REPO --mode change --agent openai --export PATCH",
            "natlang_envs.cli",
            "explore|Add a line.|--repo|{data}/repo|--mode|change|--agent|openai|--model|m|--export|{disk}/patch",
            ("patch",),
            environment=(endpoint,),
        ),
        Case(
            "collecting",
            "reflect-rl collect CONFIG --out RUN (a chat model reflects)",
            "reference_agent",
            "collect|{data}/chat.toml|--out|{disk}/out",
            ("out/settings.json", "out/data"),
            text="disk/out/answers/*/*.json",
            remedy="file",
            environment=(endpoint,),
        ),
        Case(
            "training",
            "reflect-rl train CONFIG --out RUN",
            "reference_agent",
            "train|{data}/training.toml|--out|{disk}/out",
            ("cache/tiny-*", "out/[!r]*.json", "out/[bdp]*", "out/reflector"),
            text="disk/out/data/examples.jsonl",
            remedy="file",
        ),
        evaluate,
        pack,
        Case(
            "fetching",
            "natlang data fetch NAME",
            "natlang_envs.cli",
            f"data|fetch|{loopback.NAME}",
            ("cache/repositories/[!.]*",),
            environment=(("PYTHONPATH", "{data}/checkout"), ("PIP_INDEX_URL", f"{url}/simple")),
        ),
    )


def _make_catalogue(data: Path) -> None:
    """Make a checkout whose catalogue pins the archive of loopback, and whose code is this one."""
    checkout = data / "checkout"
    listed = checkout / "datasets" / "autoexplore"
    listed.mkdir(parents=True)
    (checkout / "natlang_envs").symlink_to(ROOT / "natlang_envs")
    facts = {
        "name": loopback.NAME,
        "version": loopback.VERSION,
        "licence": "MIT",
        "split": "train",
        "about": "cups",
        "sha256": hashlib.sha256(loopback.archive()).hexdigest(),
        "digest": "",
    }
    lines = [f'{name} = "{value}"' for name, value in facts.items()]
    text = "\n".join(["[[repository]]", *lines, f"files = {loopback.FILES}"])
    (listed / "repositories.toml").write_text(f"{text}\n")


def measured(case: Case, root: Path, times: int) -> tuple[float, dict[str, str], int]:
    """Return the seconds that an undisturbed run takes, its results, and the bytes that it leaves."""
    seconds: list[float] = []
    for _ in range(times):
        place = case.place(root)
        begun = time.monotonic()
        ended = case.start(place)
        seconds.append(time.monotonic() - begun)
        if ended.code:
            raise RuntimeError(f"{case.name} fails undisturbed: {ended.errors}")
    size = sum(-(-each.stat().st_size // 4096) * 4096 for each in (place / "disk").rglob("*") if each.is_file())
    return sorted(seconds)[times // 2], case.found(place), size
