"""Speed of AutoExplore's environment, its sandbox and its isolated programs.

`python benchmarks/autoexplore.py PART`, with `env`, `sandbox` or `isolation`, prints a table and writes it to a page in
benchmarks/results. Both sides of a ratio run in the same process, in turns; a ratio is the median over the turns. The
exit code is 1 if a floor does not hold. `isolation` takes numbers of files (`1000 10000`) of the repositories.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any

import gymnasium
from harness import (
    SINGLE_STEPS,
    TAXI,
    TURNS,
    Measure,
    compare,
    held,
    publish_and_exit,
    sample_and_step,
    spread_of,
    timed,
)

from natlang_envs.repository.tree import open_repository
from natlang_envs.sandbox import AutoExploreSandbox, Limits

EXPLORE = "NatLang/AutoExplore-v0"
TARGET = "part0/piece0/file7.txt"
COMMANDS, RESETS, VIEWS = 50, 500, 64
STARTS = 41
HOW = f"Medians of {TURNS} turns; the ratio is ours to theirs in the same turn, both in one process."
REMARKS = (
    "Random play ends an episode after two or three steps, so the rate of ours includes the resets.",
    "An environment by itself costs about 3 KiB (Gymnasium's random numbers, spaces and spec make up most of it), "
    "whatever the repository; beside the bare index of a small one that still counts.",
)


def make_repository(place: Path, files: int) -> Path:
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


def shared(what: str, make: Callable[[int], object]) -> Measure:
    """Compare the memory of many things with that of one."""
    make(1)  # what is imported and compiled is not counted
    one, many = (held(partial(make, count)) for count in (1, VIEWS))
    ratio = many / one
    sizes = [f"{size / 2**20:.2f} MiB" for size in (many, one)]
    return Measure(f"memory of {VIEWS} {what}; theirs: of one", *sizes, f"{ratio:.2f} x", "", "<= 1.5 x", ratio <= 1.5)


# The environment.


def make(folder: Path) -> gymnasium.Env[Any, Any]:
    return gymnasium.make(EXPLORE, repository=str(folder), question="Which file says nothing more?", target=TARGET)


def resets(small: Path, large: Path) -> Measure:
    plays = [times(make(folder).reset, RESETS * 10) for folder in (large, small)]
    turns = [[timed(play) for play in plays] for _ in range(TURNS + 1)][1:]
    ratios = [slow / fast for slow, fast in turns]
    shown = [f"{median(side) / RESETS * 1e5:.1f} µs" for side in zip(*turns, strict=True)]
    what = "reset, 10,000 files (ours) beside 100 files (theirs)"
    return Measure(what, *shown, f"{median(ratios):.2f} x", spread_of(ratios), "<= 2 x", median(ratios) <= 2)


def environments(folder: Path, *, read: bool = False) -> Callable[[int], object]:
    """Return what makes environments that share one index, and with `read` the contents that one has read."""

    def begun(count: int) -> object:
        index = open_repository(folder, again=True)
        envs = [make(folder) for _ in range(count)]
        for env in envs:
            env.reset(seed=0)
        if read:
            for path in index.files:
                index.read(path)
        return index, envs

    return begun


def environment(place: Path) -> None:
    small, middle, large = (make_repository(place, files) for files in (100, 1_000, 10_000))
    ours, theirs = sample_and_step(make(middle)), sample_and_step(gymnasium.make(TAXI))
    rows = [
        compare("random steps, 1,000 files; theirs: gymnasium's Taxi", SINGLE_STEPS, ours, theirs, 0.2),
        resets(small, large),
        shared("environments, 1,000 files, nothing read", environments(middle)),
        shared("environments, 1,000 files, read before", environments(middle, read=True)),
        shared("environments, 10,000 files, nothing read", environments(large)),
    ]
    publish_and_exit(
        "autoexplore_env",
        "AutoExplore: the environment's speed and size",
        f"**AutoExplore takes {rows[0].factor} times as many steps a second as gymnasium's Taxi.** A reset with 10,000 "
        f"files takes {rows[1].factor} times as long as with 100, and {VIEWS} environments share one index.",
        rows,
        ("gymnasium",),
        REMARKS,
        HOW,
    )


# The sandbox.


def commands(repository: Path) -> list[Measure]:
    sandbox = AutoExploreSandbox(repository)
    folder = repository / "part0" / "piece0"
    sandbox.execute("cd part0/piece0")
    rows: list[Measure] = []
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


def change_and_reset(repository: Path) -> Callable[[], None]:
    sandbox = AutoExploreSandbox(repository)

    def once() -> None:
        sandbox.execute(f"echo changed > {TARGET}")
        sandbox.execute("echo new > part0/new.txt")
        sandbox.reset()

    return times(once, RESETS)


def sandboxes(repository: Path) -> Callable[[int], object]:
    def made(count: int) -> object:
        index = open_repository(repository, again=True)
        kept = [AutoExploreSandbox(index) for _ in range(count)]
        for sandbox in kept:
            for line in ("cd part0/piece0", "cat file7.txt", "echo changed > file8.txt"):
                sandbox.execute(line)
        return index, kept

    return made


def sandbox(place: Path) -> None:
    small, middle, large = (make_repository(place, files) for files in (100, 1_000, 10_000))
    indexed = timed(lambda: open_repository(large))
    two = "two writes and a reset, 10,000 files; theirs: 100 files"
    rows = [
        *commands(middle),
        compare(two, RESETS, change_and_reset(large), change_and_reset(small), 0.5),  # at most twice the time
        shared("sandboxes on 1,000 files", sandboxes(middle)),
        Measure("index of 10,000 files, once per process", f"{indexed * 1e3:.0f} ms"),
    ]
    ratios = sorted(float(row.factor) for row in rows[:4])
    publish_and_exit(
        "autoexplore",
        "AutoExplore: the sandbox's speed and memory",
        f"**`cat`, `ls`, `head` and `tail` run {ratios[0]:.0f} to {ratios[-1]:.0f} times as fast as the programs**, "
        f"because no process starts. Two writes and a reset run at {rows[4].factor} times the rate with 10,000 files "
        "that they have with 100.",
        rows,
        (),
        (),
        HOW,
    )


# Isolated programs.


def isolation(place: Path) -> None:
    sizes = [int(each) for each in sys.argv[2:]] or [10]
    bare = [sys.executable, "-c", "pass"]
    rows: list[Measure] = []
    for files in sizes:
        with AutoExploreSandbox(make_repository(place, files), limits=Limits(seconds=600)) as opened:

            def ours(opened: AutoExploreSandbox = opened) -> None:
                done = opened.execute("python -c pass")
                assert done.exit_code == 0, done

            def theirs() -> None:
                subprocess.run(bare, stdin=subprocess.DEVNULL, capture_output=True, check=True)

            first = timed(ours)
            turns = [(timed(ours), timed(theirs)) for _ in range(STARTS)]
            ratios = [our / their for our, their in turns]
            shown = [f"{median(side) * 1e3:.1f} ms" for side in zip(*turns, strict=True)]
            what = f"`python -c pass` over {files:,} files, the first {first:.2f} s; theirs: the bare interpreter"
            holds = None if files > 1_000 else median(ratios) <= 3
            floor = "" if holds is None else "<= 3 x"
            rows.append(Measure(what, *shown, f"{median(ratios):.2f} x", spread_of(ratios), floor, holds))
    said = f"**A program starts in the sandbox in {rows[0].factor} times the time of the bare interpreter.**"
    title = "AutoExplore: what isolation costs"
    publish_and_exit("autoexplore_isolation", title, said, rows, (), (), f"Medians of {STARTS} starts in turns.")


PARTS = {"env": environment, "sandbox": sandbox, "isolation": isolation}

if __name__ == "__main__":
    if sys.argv[1:2] == [] or sys.argv[1] not in PARTS:
        sys.exit(f"say which: {', '.join(PARTS)}")
    with tempfile.TemporaryDirectory(prefix="natlang-benchmark-") as name:
        PARTS[sys.argv[1]](Path(name))
