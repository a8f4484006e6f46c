"""Six commands that are killed in the tests, what they read, and which files are their result."""

from __future__ import annotations

import gzip
import hashlib
import io
import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from tests.support import chat_server, package_index

ROOT = Path(__file__).parents[2]
_PROGRAMS = {"natlang": "natlang_envs.cli.main", "natlang-leaderboard": "leaderboard", "reflect-rl": "reference_agent"}
_TRAINING = """
threads = 1
reflection_tokens = 6
model = {layers = 1, width = 32, inner = 64, heads = 2}
warmup = {copy_steps = 3, steps = 3, direction_steps = 2, batch = 8}
collect = {trajectories = 3, policy_trajectories = 2, negatives = 2, wordings = 1, restarts = false}
sft_reflector = {steps = 4}
sft_policy = {steps = 4}
rl = {batch = 6, minibatch = 16, checkpoint_every = 1}
curriculum = [{env = "NatLang/DangerousTaxi-Pickup-v0", iterations = 3}]
"""
_CHAT = 'history = 10\nteacher = {name = "openai", model = "m", workers = 2}\n'
_REPOSITORY = """[[repository]]
name = "teapot"
version = "1.2"
licence = "MIT"
split = "train"
about = "cups"
digest = ""
files = 301
"""
_COMMANDS = {"30": "echo more >> README.md", "29": "python -c \"open('lines', 'w').write('line\\n' * 3000)\""}
_LISTED = re.compile(r"^(\w+)\. (.+)$", re.MULTILINE)
_HANGS = 120.0  # seconds
_PASSING = {"seconds", "provenance", "from_disk"}  # what may differ between two runs of the same


class Ended(NamedTuple):
    """A start that has ended: whether it was killed, its exit code, and what it wrote to standard error."""

    killed: bool
    code: int
    errors: str


@dataclass(frozen=True)
class Case:
    """A command.

    Attributes:
        name: What it does, in one word.
        command: It is run in a place of its own, reads `../data`, and writes to `disk`.
        results: Patterns of its final files and folders, below `disk`.
        urls: Addresses of the chat model and of the packaging index.
    """

    name: str
    command: str
    results: tuple[str, ...]
    urls: tuple[str, str]

    def place(self, root: Path) -> Path:
        """Return a new place: `disk`, `tmp` for what is temporary, and a run that can be packed."""
        place = Path(tempfile.mkdtemp(prefix="place-", dir=root))
        for each in ("disk", "tmp"):
            (place / each).mkdir()
        if (root / "data" / "run").exists():
            shutil.copytree(root / "data" / "run", place / "run")
        return place

    def begin(self, place: Path) -> subprocess.Popen[bytes]:
        """Start the command in a place."""
        program, *words = self.command.split()
        kept = {name: value for name, value in os.environ.items() if not name.startswith(("OPENAI", "AZURE", "PIP_"))}
        own = {"NATLANG_CACHE": f"{place}/disk/cache", "TMPDIR": f"{place}/tmp", "OMP_NUM_THREADS": "1"}
        urls = {"OPENAI_BASE_URL": self.urls[0], "PIP_INDEX_URL": self.urls[1]}
        path = {"PYTHONPATH": f"{place.parent}/data/checkout:{ROOT}"}
        errors = Path(tempfile.mkstemp(dir=place)[1])
        with errors.open("wb") as file:
            running = subprocess.Popen(
                [sys.executable, "-m", _PROGRAMS[program], *words],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=file,
                env={**kept, **own, **urls, **path},
                cwd=place,
            )
        errors.rename(place / f"{running.pid}.errors")
        return running

    def start(self, place: Path, *, kill_after: float | None = None) -> Ended:
        """Run the command in a place, kill it after so many seconds if it has not ended, and wait for its end."""
        running = self.begin(place)
        try:
            running.wait(_HANGS if kill_after is None else kill_after)
        except subprocess.TimeoutExpired:
            running.kill()
            running.wait()
            return Ended(True, -9, "it hung" if kill_after is None else "")
        return self.ended(place, running)

    def ended(self, place: Path, running: subprocess.Popen[bytes]) -> Ended:
        """Wait for the end of a start."""
        code = running.wait(_HANGS)
        return Ended(False, code, (place / f"{running.pid}.errors").read_text(errors="replace"))

    def found(self, place: Path) -> dict[str, str]:
        """Return what lies under the final names, each file or whole folder as a digest."""
        disk = place / "disk"
        paths = [path for pattern in self.results for path in disk.glob(pattern)]
        return {str(path.relative_to(disk)): _digest(path) for path in paths}


def _digest(path: Path) -> str:
    """Return a digest of a file, or of all names and contents of a folder, less what two runs may differ in."""
    if path.is_dir():
        names = sorted(each for each in path.rglob("*") if each.is_file())
        content = "".join(f"{each.relative_to(path)} {_digest(each)}\n" for each in names).encode()
    else:
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


def _answer(prompt: str) -> str:
    """Return what the chat model says: the next command of a script, the hinted action, or the one it has announced."""
    if "# Steps left" in prompt:
        return _COMMANDS.get(prompt.rpartition("# Steps left\n")[2].strip(), "exit")
    if "Answer with its label" in prompt:
        said = re.findall(r"Reflection: So I (.+)\.", prompt)[-1]
        return next((label for label, command in _LISTED.findall(prompt) if command == said), "none")
    hint = re.search(r"a good next action is `([^`]+)`", prompt)
    return f"So I {hint[1] if hint else 'exit'}."


def _archive() -> bytes:
    """Return a source distribution of 300 files and 12 MB."""
    plain = io.BytesIO()
    with tarfile.open(fileobj=plain, mode="w") as tar:
        for number in range(300):
            package_index.add(tar, f"{package_index.TOP}/docs/{number % 20}/{number}.md", f"# Cup {number}\n" * 4_000)
        package_index.add(tar, f"{package_index.TOP}/README.md", "# Teapot\n")
    return gzip.compress(plain.getvalue(), compresslevel=0, mtime=0)


@contextmanager
def served(root: Path) -> Iterator[tuple[Case, ...]]:
    """Make what the commands read, in the folder `data`, and serve a chat model and a packaging index meanwhile."""
    data, content = root / "data", _archive()
    listed = data / "checkout" / "datasets" / "autoexplore"  # a checkout with a catalogue of its own
    for folder in (data / "repo", listed):
        folder.mkdir(parents=True)
    (data / "repo" / "README.md").write_text("# Sums\n")
    (data / "training.toml").write_text(_TRAINING)
    (data / "chat.toml").write_text(_CHAT + _TRAINING)
    (data / "checkout" / "natlang_envs").symlink_to(ROOT / "natlang_envs")
    listed.with_name("change").symlink_to(ROOT / "datasets" / "change")
    (listed / "repositories.toml").write_text(f'{_REPOSITORY}sha256 = "{hashlib.sha256(content).hexdigest()}"\n')
    (listed / "more_repositories.toml").write_text("repository = []\n")
    run = "natlang evaluate --agent random --protocol dangerous-taxi-pickup/v1 --batch 4 --resume --out disk/out"
    explore = "natlang explore TASK --repo ../data/repo --mode change --agent openai --model m --export disk/patch"
    pack = "natlang-leaderboard pack run --name a --out disk/entries"
    player = ("out/[!r]*.json", "out/[bdp]*", "out/reflector", "cache/tiny-*")  # not the checkpoints and the picture
    rows = (
        ("exploring", explore, ("patch",)),
        ("collecting", "reflect-rl collect ../data/chat.toml --out disk/out", player),
        ("training", "reflect-rl train ../data/training.toml --out disk/out", player),
        ("evaluating", run, ("out/*.json", "out/*.gz")),
        ("packing", pack, ("entries/*/*/[!.]*",)),
        ("fetching", "natlang data fetch teapot", ("cache/repositories/[!.]*",)),
    )
    with chat_server.serve(_answer) as chat, package_index.serve(content) as index:
        cases = tuple(Case(*row, (chat.url, index.url)) for row in rows)
        made = cases[3].place(root)
        if cases[3].start(made).code:
            raise RuntimeError("the run to be packed cannot be made")
        shutil.copytree(made / "disk" / "out", data / "run")
        yield cases
