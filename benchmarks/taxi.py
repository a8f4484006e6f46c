"""How fast DangerousTaxi is, beside Gymnasium's own Taxi and its own vector form beside SyncVectorEnv.

`make bench` prints a table and writes it to benchmarks/results/taxi.md. Both sides of a ratio run in the same process,
in turns; a ratio is the median over the turns. The exit code is 1 where a floor does not hold.
"""

from __future__ import annotations

import gc
import os
import platform
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from statistics import median
from typing import Any

import gymnasium
import numpy as np
import pettingzoo
from gymnasium.envs.toy_text.taxi import TaxiEnv
from gymnasium.vector import AutoresetMode, SyncVectorEnv, VectorEnv
from report import factor, floors, publish

import natlang_envs
from natlang_envs.dangerous_taxi.words import COMMANDS
from natlang_envs.evaluation.runner import hardware

PICKUP = "NatLang/DangerousTaxi-Pickup-v0"
DELIVERY = "NatLang/DangerousTaxi-v0"
RESULTS = Path(__file__).parent / "results" / "taxi.md"
TURNS = 9
SINGLE_STEPS = 30_000
EPISODES = 256
VECTOR_STEPS = 200
HEADINGS = ("what", "ours", "theirs", "ratio", "lowest to highest", "floor", "holds")
REMARK = "Random play ends a DangerousTaxi episode after two or three steps, so every rate of ours includes the resets."

IMPORT = """
import time, gymnasium, pettingzoo
begun = time.perf_counter()
import natlang_envs
print(time.perf_counter() - begun)
"""
FIRST_STEPS = f"""
import time, gymnasium, natlang_envs
begun = time.perf_counter()
env = gymnasium.make({PICKUP!r})
env.reset(seed=0)
for _ in range(1_000):
    if any(env.step(env.action_space.sample())[2:4]):
        env.reset()
print(time.perf_counter() - begun)
"""


@dataclass(frozen=True)
class Row:
    """One line of the table: texts, and whether the floor holds (None without a floor)."""

    what: str
    ours: str
    theirs: str
    ratio: str
    spread: str
    floor: str
    holds: bool | None

    def cells(self) -> tuple[str, ...]:
        verdict = {True: "yes", False: "NO", None: ""}[self.holds]
        return (self.what, self.ours, self.theirs, self.ratio, self.spread, self.floor, verdict)


def timed(play: Callable[[], None], clock: Callable[[], float] = time.perf_counter) -> float:
    gc.collect()
    begun = clock()
    play()
    return clock() - begun


def compare(
    what: str,
    steps: int,
    ours: Callable[[], None],
    theirs: Callable[[], None],
    floor: float | None,
    clock: Callable[[], float] = time.perf_counter,
) -> Row:
    """Run both in turns; `steps` is what each of them plays."""
    ours()
    theirs()
    turns = [(timed(ours, clock), timed(theirs, clock)) for _ in range(TURNS)]
    ratios = [their / our for our, their in turns]
    middle = median(ratios)
    rates = [f"{steps / median(side):,.0f} steps/s" for side in zip(*turns, strict=True)]
    holds = None if floor is None else middle >= floor
    wanted = "" if floor is None else f"{floor:g} x"
    spread = f"{min(ratios):.2f} to {max(ratios):.2f}"
    return Row(what, rates[0], rates[1], f"{middle:.2f} x", spread, wanted, holds)


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


def single() -> list[Row]:
    taxi_id = "Taxi-v4"
    if taxi_id not in gymnasium.registry:  # older gymnasium: its TaxiEnv under a name of ours
        taxi_id = "Benchmark/Taxi-v0"
        gymnasium.register(taxi_id, entry_point=TaxiEnv, max_episode_steps=200)
    ours = sample_and_step(gymnasium.make(DELIVERY))
    theirs = sample_and_step(gymnasium.make(taxi_id))
    unchecked = sample_and_step(gymnasium.make(taxi_id, disable_env_checker=True))
    return [
        compare("one episode at a time; theirs: gymnasium's Taxi", SINGLE_STEPS, ours, theirs, 2),
        compare("the same, theirs without its passive checker", SINGLE_STEPS, ours, unchecked, None),
    ]


def vector_loop(envs: VectorEnv[Any, Any, Any], mode: AutoresetMode, actions: Sequence[Sequence[str]]) -> Any:
    envs.reset(seed=0)  # once: what is timed is stepping, with the resets that ended episodes need

    def play() -> None:
        for commands in actions:
            _, _, terminated, truncated, _ = envs.step(commands)
            if mode is AutoresetMode.DISABLED:
                ended = terminated | truncated
                if ended.any():
                    envs.reset(options={"reset_mask": ended})

    return play


def vectors() -> list[Row]:
    drawn = np.random.default_rng(0).integers(len(COMMANDS), size=(VECTOR_STEPS, EPISODES)).tolist()
    actions = [tuple(COMMANDS[index] for index in row) for row in drawn]
    rows: list[Row] = []
    for mode in (AutoresetMode.NEXT_STEP, AutoresetMode.SAME_STEP, AutoresetMode.DISABLED):
        ours = gymnasium.make_vec(
            DELIVERY, num_envs=EPISODES, vectorization_mode="vector_entry_point", autoreset_mode=mode
        )
        theirs = SyncVectorEnv([lambda: gymnasium.make(DELIVERY) for _ in range(EPISODES)], autoreset_mode=mode)
        loops = (vector_loop(ours, mode, actions), vector_loop(theirs, mode, actions))
        what = f"{EPISODES} random episodes, {mode.value}; theirs: SyncVectorEnv"
        # The floor is the design's for the default mode; the others are reported.
        floor = 10 if mode is AutoresetMode.NEXT_STEP else None
        rows.append(compare(what, VECTOR_STEPS * EPISODES, *loops, floor))
    return rows


def in_fresh_process(what: str, code: str, floor: float) -> Row:
    """Time a script that prints its own seconds, in a new process each turn."""
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}

    def once() -> float:
        done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
        return float(done.stdout)

    once()  # the first process writes the bytecode
    seconds = [once() for _ in range(TURNS)]
    middle = median(seconds)
    spread = f"{min(seconds):.3f} to {max(seconds):.3f} s"
    return Row(what, f"{middle:.3f} s", "", "", spread, f"< {floor:g} s", middle < floor)


def processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.processor()
    return next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), "")


def conclusion(rows: Sequence[Sequence[str]]) -> str:
    """Return the page's first lines."""
    return (
        f"**One episode at a time, DangerousTaxi takes {factor(rows[0][3])} times as many steps a second as "
        f"Gymnasium's Taxi. With 256 episodes its vector form takes {factor(rows[2][3])} times as many as "
        f"SyncVectorEnv.** {floors(rows)}"
    )


def main() -> None:
    rows = [
        *single(),
        *vectors(),
        in_fresh_process("import natlang_envs after gymnasium and pettingzoo", IMPORT, 0.1),
        in_fresh_process("make DangerousTaxi-Pickup and 1,000 random steps", FIRST_STEPS, 1),
    ]
    machine = f"{hardware()} ({processor()})"
    versions = (
        f"Python {platform.python_version()}, gymnasium {gymnasium.__version__}, pettingzoo {pettingzoo.__version__}, "
        f"numpy {np.__version__}, natlang_envs {natlang_envs.__version__}"
    )
    publish(
        RESULTS,
        "DangerousTaxi: speed",
        conclusion([row.cells() for row in rows]),
        [
            f"Written by `make bench` on {date.today().isoformat()}: {machine}; {versions}.",
            f"Medians of {TURNS} turns; the ratio is ours to theirs in the same turn, both in one process.",
        ],
        HEADINGS,
        [row.cells() for row in rows],
        [REMARK],
    )
    sys.exit(any(row.holds is False for row in rows))


if __name__ == "__main__":
    main()
