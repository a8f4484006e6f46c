"""How fast the ALFWorld environments are beside gymnasium's Taxi, and what their games take.

`python benchmarks/alfworld_env.py` prints a table and writes it to benchmarks/results/alfworld_env.md. Both sides of a
ratio run in the same process, in turns. The exit code is 1 where a floor does not hold. It plays the official games of
valid_seen where $ALFWORLD_DATA has them, else generated ones.
"""

from __future__ import annotations

import gc
import platform
import sys
import time
import tracemalloc
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import date
from itertools import cycle, islice
from pathlib import Path
from statistics import median
from typing import Any

import gymnasium
import numpy as np
from gymnasium.envs.toy_text.taxi import TaxiEnv
from report import factor, floors, publish
from taxi import EPISODES, HEADINGS, SINGLE_STEPS, Row, compare, processor, sample_and_step

import natlang_envs
from natlang_envs.alfworld.engine.game import parse_game
from natlang_envs.alfworld.engine.world import World
from natlang_envs.alfworld.tasks import AlfredTasks, make_tasks
from natlang_envs.errors import UsageError
from natlang_envs.evaluation.runner import hardware
from natlang_envs.tasks import TaskRandom

RESULTS = Path(__file__).parent / "results" / "alfworld_env.md"
ALFWORLD = "NatLang/ALFWorld-v0"
VECTOR_STEPS = 120
GAMES = 100
RESETS = 2_000
RANDOM_STEPS = 50
CLOCK = time.process_time  # the processor's seconds: what else runs on the machine disturbs them less
# Few enough games that all of them stay parsed.
OFFICIAL: dict[str, Any] = {"source": "official", "split": "validation"}
GENERATED: dict[str, Any] = {"split": "test", "task_types": ["pick_and_place_simple"], "goal": "Tomato-Microwave"}


def choose_games() -> dict[str, Any]:
    """Return the arguments of the environments."""
    try:
        gymnasium.make(ALFWORLD, **OFFICIAL)
    except UsageError:
        return GENERATED
    return OFFICIAL


def tasks_of(kwargs: dict[str, Any]) -> AlfredTasks:
    source = kwargs.get("source", "generated")
    return make_tasks(kwargs["split"], kwargs.get("task_types"), kwargs.get("goal"), source, None, None)


def single(kwargs: dict[str, Any]) -> Callable[[], None]:
    env = gymnasium.make(ALFWORLD, **kwargs)
    for task_id in tasks_of(kwargs).ids():
        env.reset(options={"task_id": task_id})  # parses it
    return sample_and_step(env)


def cold(source: str) -> Callable[[], None]:
    """Return a loop over games of a training split that has far more of them than are kept."""
    return sample_and_step(gymnasium.make(ALFWORLD, split="train", source=source))


def vector(kwargs: dict[str, Any], steps: int, mode: str = "vector_entry_point") -> Callable[[], None]:
    """Return a loop over `steps` steps of all episodes; the random numbers that choose are drawn before."""
    envs = gymnasium.make_vec(ALFWORLD, num_envs=EPISODES, vectorization_mode=mode, **kwargs)
    commands = envs.reset(seed=0)[1]["admissible_commands"]
    drawn = np.random.default_rng(0).random(size=(steps, EPISODES)).tolist()

    def play() -> None:
        nonlocal commands
        for row in drawn:
            chosen = [each[int(at * len(each))] for each, at in zip(commands, row, strict=True)]
            commands = envs.step(chosen)[4]["admissible_commands"]

    return play


def steps(kwargs: dict[str, Any]) -> list[Row]:
    gymnasium.register("Benchmark/Taxi-v0", entry_point=TaxiEnv, max_episode_steps=200)
    one, taxi = single(kwargs), sample_and_step(gymnasium.make("Benchmark/Taxi-v0"))
    turns = round(SINGLE_STEPS / EPISODES)
    plays: list[tuple[str, Callable[[], None], float | None]] = [
        ("warm: few games, all of them kept", one, 1),
        ("cold: generated training games, nearly all new", cold("generated"), 1),
        ("cold: realistic training games, nearly all new", cold("realistic"), None),
        (f"vector form of {EPISODES}, warm", vector(kwargs, turns), 1),
        (f"gymnasium's SyncVectorEnv of {EPISODES}, warm", vector(kwargs, turns, "sync"), None),
    ]
    return [compare(what, turns * EPISODES, play, taxi, floor, CLOCK) for what, play, floor in plays]


def cost(what: str, seconds: list[float], unit: str, floor: float) -> Row:
    """Return a line for the median of some times."""
    scale = {"µs": 1e6, "ms": 1e3}[unit]
    times = [each * scale for each in seconds]
    middle = median(times)
    spread = f"{min(times):.2f} to {max(times):.2f} {unit}"
    return Row(what, f"{middle:.2f} {unit}", "", "", spread, f"<= {floor:g} {unit}", middle <= floor)


def resets(kwargs: dict[str, Any]) -> Row:
    env = gymnasium.make(ALFWORLD, **kwargs)
    ids = list(islice(tasks_of(kwargs).ids(), GAMES))
    for task_id in ids:
        env.reset(options={"task_id": task_id})
    seconds: list[float] = []
    for task_id in islice(cycle(ids), RESETS):
        begun = CLOCK()
        env.reset(options={"task_id": task_id})
        seconds.append(CLOCK() - begun)
    return cost("reset of a parsed game", seconds, "µs", 100)


def parsing(kwargs: dict[str, Any]) -> list[Row]:
    tasks = tasks_of(kwargs)
    texts = [tasks.text(task_id) for task_id in islice(tasks.ids(), GAMES)]
    seconds: list[float] = []
    for text in texts:
        begun = CLOCK()
        parse_game(text)
        seconds.append(CLOCK() - begun)
    gc.collect()
    tracemalloc.start()
    games = [parse_game(text) for text in texts]
    gc.collect()
    parsed = tracemalloc.get_traced_memory()[0] / 2**20
    random = TaskRandom("benchmark/alfworld")
    for game in games:
        world = World(game)
        for _ in range(RANDOM_STEPS):
            world.step(world.commands[random.below(len(world.commands))])
    del world
    gc.collect()
    played = tracemalloc.get_traced_memory()[0] / 2**20
    tracemalloc.stop()
    row = Row(f"memory of {len(games)} parsed games", f"{parsed:.1f} MiB", "", "", "", "<= 15 MiB", parsed <= 15)
    what = f"the same after {RANDOM_STEPS} random steps in each"
    after = replace(row, what=what, ours=f"{played:.1f} MiB", holds=played <= 15)
    return [cost("parsing a game", seconds, "ms", 5), row, after]


def conclusion(rows: Sequence[Sequence[str]]) -> str:
    """Return the page's first lines."""
    return (
        f"**ALFWorld takes {factor(rows[0][3])} times as many steps a second as gymnasium's Taxi where its games are "
        f"kept, {factor(rows[1][3])} times from generated training games that are new, and {factor(rows[3][3])} times "
        f"in its vector form with {EPISODES} episodes.** {floors(rows)}"
    )


def main() -> None:
    kwargs = choose_games()
    rows = [*steps(kwargs), resets(kwargs), *parsing(kwargs)]
    machine = f"{hardware()} ({processor()})"
    versions = (
        f"Python {platform.python_version()}, gymnasium {gymnasium.__version__}, "
        f"natlang_envs {natlang_envs.__version__}"
    )
    publish(
        RESULTS,
        "ALFWorld: the environment's speed and size",
        conclusion([row.cells() for row in rows]),
        [
            f"Written by `python benchmarks/alfworld_env.py` on {date.today().isoformat()}: {machine}; {versions}.",
            f"Games: {kwargs}. Times are the processor's.",
        ],
        HEADINGS,
        [row.cells() for row in rows],
        [
            "Theirs is gymnasium's Taxi, one at a time, in the same process and in turns. Random play hardly ever does "
            "a task, so episodes have 50 steps, and rates include a reset after each. The engine is pure Python.",
        ],
    )
    sys.exit(any(row.holds is False for row in rows))


if __name__ == "__main__":
    main()
