"""How fast the AutoExplore environment is beside gymnasium's Taxi, and how its cost grows with the repository.

`python benchmarks/autoexplore_env.py` prints a table and writes it to benchmarks/results/autoexplore_env.md. Both sides
of a ratio run in the same process, in turns. The exit code is 1 where a floor does not hold.
"""

from __future__ import annotations

import platform
import sys
import tempfile
import tracemalloc
from collections.abc import Callable
from datetime import date
from pathlib import Path
from statistics import median
from typing import Any

import gymnasium
from autoexplore_search import by_depth_first, make_repository, open_question
from gymnasium.envs.toy_text.taxi import TaxiEnv
from report import publish
from taxi import HEADINGS, SINGLE_STEPS, TURNS, Row, compare, processor, sample_and_step, timed

import natlang_envs
from natlang_envs.autoexplore.repository.tree import open_repository
from natlang_envs.evaluation.runner import hardware

RESULTS = Path(__file__).parent / "results" / "autoexplore_env.md"
EXPLORE = "NatLang/AutoExplore-v0"
RESETS = 5_000
ENVIRONMENTS = 64
REMARKS = """\
Random play ends an episode after two or three steps, so the rate of ours includes the resets.

An environment by itself costs about 3 KiB (Gymnasium's random numbers, spaces and spec make up most of it),
whatever the repository; beside the bare index of a small one that still counts.
"""


def make(folder: Path, files: int) -> gymnasium.Env[Any, Any]:
    question = make_repository(folder, files)[0]
    return gymnasium.make(EXPLORE, repository=str(folder), question=question.text, target=question.target)


def steps(folder: Path) -> Row:
    gymnasium.register("Benchmark/Taxi-v0", entry_point=TaxiEnv, max_episode_steps=200)
    ours, theirs = sample_and_step(make(folder, 1_000)), sample_and_step(gymnasium.make("Benchmark/Taxi-v0"))
    return compare("random steps, 1,000 files; theirs: gymnasium's Taxi", SINGLE_STEPS, ours, theirs, 0.2)


def resets(small: Path, large: Path) -> Row:
    def resetting(env: gymnasium.Env[Any, Any]) -> Callable[[], None]:
        def play() -> None:
            for _ in range(RESETS):
                env.reset()

        play()
        return play

    few, many = resetting(make(small, 100)), resetting(make(large, 10_000))
    turns = [(timed(many), timed(few)) for _ in range(TURNS)]
    ratios = [slow / fast for slow, fast in turns]
    times = [f"{median(side) / RESETS * 1e6:.1f} µs" for side in zip(*turns, strict=True)]
    middle = median(ratios)
    spread = f"{min(ratios):.2f} to {max(ratios):.2f}"
    what = "reset, 10,000 files (ours) beside 100 files (theirs)"
    return Row(what, times[0], times[1], f"{middle:.2f} x", spread, "<= 2 x", middle <= 2)


def memory(folder: Path, files: int, read: bool) -> Row:
    """What 64 environments on one repository hold after a reset, beside one; the shared index is counted in both.

    With `read`, the first one has read nearly all files before, and those contents are kept and shared too.
    """
    question = make_repository(folder, files)[-1]
    arguments: dict[str, Any] = {"repository": str(folder), "question": question.text, "target": question.target}
    gymnasium.make(EXPLORE, **arguments).reset()  # what is imported and compiled is not counted
    tracemalloc.start()
    open_repository(folder, again=True)
    envs = [gymnasium.make(EXPLORE, **arguments)]
    envs[0].reset(seed=0)
    if read:
        by_depth_first(open_question(folder, question))
    one = tracemalloc.get_traced_memory()[0]
    envs += [gymnasium.make(EXPLORE, **arguments) for _ in range(ENVIRONMENTS - 1)]
    for env in envs[1:]:
        env.reset(seed=0)
    all_of_them = tracemalloc.get_traced_memory()[0]
    tracemalloc.stop()
    ratio = all_of_them / one
    texts = [f"{size / 2**20:.2f} MiB" for size in (all_of_them, one)]
    state = "read before" if read else "nothing read"
    what = f"memory of {ENVIRONMENTS} environments (ours) beside one (theirs), {files:,} files, {state}"
    return Row(what, *texts, f"{ratio:.2f} x", "", "<= 1.5 x", ratio <= 1.5)


def main() -> None:
    with tempfile.TemporaryDirectory() as name:
        folders = [Path(name) / str(number) for number in range(6)]
        for folder in folders:
            folder.mkdir()
        rows = [
            steps(folders[0]),
            resets(folders[1], folders[2]),
            memory(folders[3], 1_000, read=False),
            memory(folders[4], 1_000, read=True),
            memory(folders[5], 10_000, read=False),
        ]
    machine = f"{hardware()} ({processor()})"
    versions = (
        f"Python {platform.python_version()}, gymnasium {gymnasium.__version__}, "
        f"natlang_envs {natlang_envs.__version__}"
    )
    publish(
        RESULTS,
        "AutoExplore: the environment's speed and size",
        [f"Written by `python benchmarks/autoexplore_env.py` on {date.today().isoformat()}: {machine}; {versions}."],
        HEADINGS,
        [row.cells() for row in rows],
        REMARKS.splitlines(),
    )
    sys.exit(any(row.holds is False for row in rows))


if __name__ == "__main__":
    main()
