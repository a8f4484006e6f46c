"""Benchmarks of DangerousTaxi beside Gymnasium's own Taxi, and of its vector form beside SyncVectorEnv.

`python benchmarks/taxi.py` prints a table and writes it to benchmarks/results/taxi.md. Both sides of a ratio run in the
same process, in turns; a ratio is the median over the turns. The exit code is 1 where a floor does not hold.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Sequence
from typing import Any

import gymnasium
import numpy as np
from gymnasium.vector import AutoresetMode, SyncVectorEnv, VectorEnv
from harness import EPISODES, SINGLE_STEPS, TAXI, TURNS, Measure, at_most, compare, publish_and_exit, sample_and_step

from natlang_envs.dangerous_taxi.words import COMMANDS

PICKUP = "NatLang/DangerousTaxi-Pickup-v0"
DELIVERY = "NatLang/DangerousTaxi-v0"
VECTOR_STEPS = 200
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


def single() -> list[Measure]:
    ours = sample_and_step(gymnasium.make(DELIVERY))
    theirs = sample_and_step(gymnasium.make(TAXI))
    unchecked = sample_and_step(gymnasium.make(TAXI, disable_env_checker=True))
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


def vectors() -> list[Measure]:
    drawn = np.random.default_rng(0).integers(len(COMMANDS), size=(VECTOR_STEPS, EPISODES)).tolist()
    actions = [tuple(COMMANDS[index] for index in row) for row in drawn]
    rows: list[Measure] = []
    for mode in (AutoresetMode.NEXT_STEP, AutoresetMode.SAME_STEP, AutoresetMode.DISABLED):
        form: Callable[..., Any] = gymnasium.make_vec
        ours = form(DELIVERY, EPISODES, vectorization_mode="vector_entry_point", autoreset_mode=mode)
        theirs = SyncVectorEnv([lambda: gymnasium.make(DELIVERY) for _ in range(EPISODES)], autoreset_mode=mode)
        loops = (vector_loop(ours, mode, actions), vector_loop(theirs, mode, actions))
        what = f"{EPISODES} random episodes, {mode.value}; theirs: SyncVectorEnv"
        # The floor is the design's for the default mode; the others are reported.
        floor = 10 if mode is AutoresetMode.NEXT_STEP else None
        rows.append(compare(what, VECTOR_STEPS * EPISODES, *loops, floor))
    return rows


def in_fresh_process(what: str, code: str, floor: float) -> Measure:
    """Time a script that prints its own seconds, in a new process each turn."""
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}

    def once() -> float:
        done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
        return float(done.stdout)

    once()  # the first process writes the bytecode
    return at_most(what, [once() for _ in range(TURNS)], "s", floor, 3)


def main() -> None:
    rows = [
        *single(),
        *vectors(),
        in_fresh_process("import natlang_envs after gymnasium and pettingzoo", IMPORT, 0.1),
        in_fresh_process("make DangerousTaxi-Pickup and 1,000 random steps", FIRST_STEPS, 1),
    ]
    publish_and_exit(
        "taxi",
        "DangerousTaxi: speed",
        f"**One episode at a time, DangerousTaxi takes {rows[0].factor} times as many steps a second as Gymnasium's "
        f"Taxi. With {EPISODES} episodes its vector form takes {rows[2].factor} times as many as SyncVectorEnv.**",
        rows,
        ("gymnasium", "pettingzoo", "numpy"),
        [REMARK],
        f"Medians of {TURNS} turns; the ratio is ours to theirs in the same turn, both in one process.",
    )


if __name__ == "__main__":
    main()
