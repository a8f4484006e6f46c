"""Shared parts of the benchmarks: timing two sides in turns, the table, and the page of results."""

from __future__ import annotations

import gc
import platform
import shlex
import sys
import time
import tracemalloc
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import date
from importlib.metadata import version
from pathlib import Path
from statistics import median
from typing import Any, NoReturn

import gymnasium
from gymnasium.envs.toy_text.taxi import TaxiEnv
from rich import box
from rich.console import Console
from rich.table import Table

from natlang_envs.evaluation.runs import hardware
from natlang_envs.files import write_whole

RESULTS = Path(__file__).parent / "results"
TAXI = "Benchmark/Taxi-v0"  # gymnasium's own, the yardstick of every environment
TURNS = 9
SINGLE_STEPS = 30_000
EPISODES = 256
HEADINGS = ("what", "ours", "theirs", "ratio", "lowest to highest", "floor", "holds")
gymnasium.register(TAXI, entry_point=TaxiEnv, max_episode_steps=200)


@dataclass(frozen=True)
class Measure:
    """One line of the table: texts, and whether the floor holds (None without a floor)."""

    what: str
    ours: str
    theirs: str = ""
    ratio: str = ""
    spread: str = ""
    floor: str = ""
    holds: bool | None = None

    def cells(self) -> tuple[str, ...]:
        verdict = {True: "yes", False: "NO", None: ""}[self.holds]
        return (self.what, self.ours, self.theirs, self.ratio, self.spread, self.floor, verdict)

    @property
    def factor(self) -> str:
        return self.ratio.removesuffix(" x")


def timed(play: Callable[[], object], clock: Callable[[], float] = time.perf_counter) -> float:
    gc.collect()
    begun = clock()
    play()
    return clock() - begun


def held(make: Callable[[], object]) -> int:
    """Return the bytes that what is made takes, with what it shares."""
    gc.collect()
    tracemalloc.start()
    kept = make()
    gc.collect()
    size = tracemalloc.get_traced_memory()[0]
    tracemalloc.stop()
    del kept
    return size


def spread_of(values: Sequence[float], digits: int = 2) -> str:
    return f"{min(values):,.{digits}f} to {max(values):,.{digits}f}"


def compare(
    what: str,
    steps: int,
    ours: Callable[[], None],
    theirs: Callable[[], None],
    floor: float | None,
    clock: Callable[[], float] = time.perf_counter,
) -> Measure:
    """Run both in turns; `steps` is what each of them plays."""
    ours()
    theirs()
    turns = [(timed(ours, clock), timed(theirs, clock)) for _ in range(TURNS)]
    ratios = [their / our for our, their in turns]
    middle = median(ratios)
    rates = [f"{steps / median(side):,.0f} steps/s" for side in zip(*turns, strict=True)]
    wanted, holds = ("", None) if floor is None else (f"{floor:g} x", middle >= floor)
    return Measure(what, rates[0], rates[1], f"{middle:.2f} x", spread_of(ratios), wanted, holds)


def at_most(what: str, values: Sequence[float], unit: str, most: float, digits: int = 2) -> Measure:
    """Return a line for the median of values that must not exceed `most`."""
    middle = median(values)
    spread = f"{spread_of(values, digits)} {unit}" if len(values) > 1 else ""
    return Measure(what, f"{middle:,.{digits}f} {unit}", "", "", spread, f"<= {most:g} {unit}", middle <= most)


def sample_and_step(env: gymnasium.Env[Any, Any]) -> Callable[[], None]:
    env.reset(seed=0)
    env.action_space.seed(0)

    def play() -> None:
        env.reset()
        for _ in range(SINGLE_STEPS):
            _, _, terminated, truncated, _ = env.step(env.action_space.sample())
            if terminated or truncated:
                env.reset()

    return play


def processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.processor()
    return next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), "")


def floors(rows: Sequence[Measure]) -> str:
    """Say in a sentence which floors hold."""
    missed, kept = ([row.what for row in rows if row.holds is holds] for holds in (False, True))
    if not missed:
        return f"All {len(kept)} floors hold."
    return f"{len(kept)} of {len(kept) + len(missed)} floors hold. Missed: {'; '.join(missed)}."


def publish_and_exit(
    page: str,
    title: str,
    conclusion: str,
    rows: Sequence[Measure],
    packages: Sequence[str],
    remarks: Sequence[str] = (),
    how: str = "",
) -> NoReturn:
    """Print the rows, write the page with the conclusion and remarks, and leave with 1 where a floor does not hold."""
    cells = [row.cells() for row in rows]
    table = Table(*HEADINGS, box=box.SIMPLE)
    for row in cells:
        table.add_row(*row)
    Console().print(table)
    command = shlex.join(["python", f"benchmarks/{Path(sys.argv[0]).name}", *sys.argv[1:]])
    known = ", ".join(f"{name} {version(name)}" for name in (*packages, "natlang-envs"))
    measured = (
        f"Written by `{command}` on {date.today().isoformat()}: {hardware()} ({processor()}); Python "
        f"{platform.python_version()}, {known}. {how}"
    )
    shown = [f"| {' | '.join(line)} |" for line in (HEADINGS, ["---"] * len(HEADINGS), *cells)]
    said = [line for each in remarks for line in (each, "")]
    lines = [f"# {title}", "", f"{conclusion} {floors(rows)}", "", *shown, "", *said, measured.rstrip()]
    write_whole(RESULTS / f"{page}.md", ("\n".join(lines) + "\n").encode())
    sys.exit(any(row.holds is False for row in rows))
