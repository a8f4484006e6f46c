"""How fast AutoExplore's sandbox is, and how much memory it takes; its environments are in autoexplore_env.py.

`make bench` prints a table and writes it to benchmarks/results/autoexplore.md. Both sides of a ratio run in the same
process, in turns; a ratio is the median over the turns. The exit code is 1 where a floor does not hold.
"""

from __future__ import annotations

import gc
import platform
import subprocess
import sys
import tempfile
import time
import tracemalloc
from collections.abc import Callable
from datetime import date
from pathlib import Path

from report import publish
from taxi import HEADINGS, TURNS, Row, compare, processor

import natlang_envs
from natlang_envs.autoexplore.repository.tree import open_repository
from natlang_envs.autoexplore.sandbox.sandbox import AutoExploreSandbox
from natlang_envs.evaluation.runner import hardware

RESULTS = Path(__file__).parent / "results" / "autoexplore.md"
COMMANDS = 50
RESETS = 500
VIEWS = 64


def make_repository(place: Path, files: int) -> Path:
    """Make a repository of that many files of about 2 KB, 20 a folder."""
    root = place / f"repository-{files}"
    for number in range(files):
        folder = root / f"part{number // 200}" / f"piece{number // 20 % 10}"
        folder.mkdir(parents=True, exist_ok=True)
        lines = (f"line {line} of file {number}, which says nothing more\n" for line in range(45))
        (folder / f"file{number}.txt").write_text("".join(lines), encoding="utf-8")
    return root


def times(play: Callable[[], object], count: int) -> Callable[[], None]:
    def loop() -> None:
        for _ in range(count):
            play()

    return loop


def commands(repository: Path) -> list[Row]:
    sandbox = AutoExploreSandbox(repository)
    folder = repository / "part0" / "piece0"
    sandbox.execute("cd part0/piece0")
    rows: list[Row] = []
    for line in ("cat file7.txt", "ls", "head -n 5 file7.txt", "tail -n 5 file7.txt"):

        def spawn(words: tuple[str, ...] = tuple(line.split())) -> None:
            subprocess.run(words, cwd=folder, stdin=subprocess.DEVNULL, capture_output=True, check=True)

        def answer(line: str = line) -> None:
            sandbox.execute(line)

        real = subprocess.run(line.split(), cwd=folder, capture_output=True, text=True, check=True)
        if sandbox.execute(line).stdout != real.stdout:
            raise SystemExit(f"{line}: the sandbox answers something else than the program")
        what = f"`{line}`; theirs: the program, spawned"
        rows.append(compare(what, COMMANDS, times(answer, COMMANDS), times(spawn, COMMANDS), 30))
    return rows


def resets(small: Path, large: Path) -> Row:
    """Change two files and reset, in both repositories."""

    def play(sandbox: AutoExploreSandbox) -> Callable[[], None]:
        def once() -> None:
            sandbox.execute("echo changed > part0/piece0/file7.txt")
            sandbox.execute("echo new > part0/new.txt")
            sandbox.reset()

        return once

    in_large, in_small = times(play(AutoExploreSandbox(large)), RESETS), times(play(AutoExploreSandbox(small)), RESETS)
    # At most twice the time is at least half the rate.
    what = "two writes and a reset, 10,000 files; theirs: 100 files"
    return compare(what, RESETS, in_large, in_small, 0.5)


def memory(repository: Path) -> Row:
    """Return what 64 sandboxes with their index take, beside one with its index."""

    def held(count: int) -> int:
        gc.collect()
        tracemalloc.start()
        index = open_repository(repository, again=True)
        sandboxes = [AutoExploreSandbox(index) for _ in range(count)]
        for sandbox in sandboxes:
            sandbox.execute("cd part0/piece0")
            sandbox.execute("cat file7.txt")
            sandbox.execute("echo changed > file8.txt")
        gc.collect()
        size = tracemalloc.get_traced_memory()[0]
        tracemalloc.stop()
        return size

    one, many = held(1), held(VIEWS)
    what = f"memory of {VIEWS} sandboxes on 1,000 files; theirs: of one"
    ratio = many / one
    return Row(what, f"{many / 1e6:.2f} MB", f"{one / 1e6:.2f} MB", f"{ratio:.2f} x", "", "<= 1.5 x", ratio <= 1.5)


def main() -> None:
    with tempfile.TemporaryDirectory() as place:
        small, middle, large = (make_repository(Path(place), files) for files in (100, 1_000, 10_000))
        begun = time.perf_counter()
        open_repository(large)
        indexed = time.perf_counter() - begun
        rows = [
            *commands(middle),
            resets(small, large),
            memory(middle),
            Row("index of 10,000 files, once per process", f"{indexed * 1e3:.0f} ms", "", "", "", "", None),
        ]
    publish(
        RESULTS,
        "AutoExplore: speed and memory",
        [
            f"Written by `make bench` on {date.today().isoformat()}: {hardware()} ({processor()}); "
            f"Python {platform.python_version()}, natlang_envs {natlang_envs.__version__}.",
            f"Medians of {TURNS} turns; the ratio is ours to theirs in the same turn, both in one process.",
        ],
        HEADINGS,
        [row.cells() for row in rows],
    )
    sys.exit(any(row.holds is False for row in rows))


if __name__ == "__main__":
    main()
