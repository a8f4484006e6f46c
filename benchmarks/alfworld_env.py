"""How fast the ALFWorld environments are beside gymnasium's Taxi, and what their games take.

`python benchmarks/alfworld_env.py` compiles the engine into a temporary folder, measures it and the pure Python one,
each in a process of its own, prints a table and writes it to benchmarks/results/alfworld_env.md. Both sides of a ratio
run in the same process, in turns. The exit code is 1 where a floor does not hold. It plays the official games of
valid_seen where $ALFWORLD_DATA has them, else generated ones.
"""

from __future__ import annotations

import gc
import json
import os
import platform
import shutil
import subprocess
import sys
import tempfile
import time
import tracemalloc
from collections.abc import Callable, Sequence
from dataclasses import astuple, replace
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
from natlang_envs.alfworld.engine import is_compiled
from natlang_envs.alfworld.engine.game import parse_game
from natlang_envs.alfworld.engine.world import World
from natlang_envs.alfworld.tasks import AlfredTasks, make_tasks
from natlang_envs.errors import UsageError
from natlang_envs.evaluation.runner import hardware
from natlang_envs.task_random import TaskRandom

ROOT = Path(__file__).parents[1]
RESULTS = Path(__file__).parent / "results" / "alfworld_env.md"
ALFWORLD = "NatLang/ALFWorld-v0"
VECTOR_STEPS = 120
GAMES = 100
RESETS = 2_000
RANDOM_STEPS = 50
CLOCK = time.process_time  # the processor's seconds: what else runs on the machine disturbs them less
REMARKS = (
    "Theirs is gymnasium's Taxi, one at a time, in the same process and in turns. Random play hardly ever does a task, "
    "so episodes have 50 steps, and rates include a reset after each. The floors of steps are those of the compiled "
    "engine; pure Python has lower ones.",
    "",
    "Of a cold episode of the compiled engine, making the game takes nearly a half (SHA-256 draws that task ids fix, "
    "and the tables of its things), the engine's 50 steps a fifth (half of them into situations that are new), numpy's "
    "`integers`, which samples the commands, an eighth, and garbage collection a twelfth; the rest is the environment "
    "around them. These shares are from a profile of a version that was about a tenth slower.",
    "",
    "Other work on the machine slows games and vectors, which use much memory, more than Taxi, so ratios fall "
    "with load.",
)
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
    compiled = is_compiled()
    plays: list[tuple[str, Callable[[], None], float | None]] = [
        ("warm: few games, all of them kept", one, 2 if compiled else 1),
        ("cold: generated training games, nearly all new", cold("generated"), 1 if compiled else None),
        ("cold: realistic training games, nearly all new", cold("realistic"), None),
        (f"vector form of {EPISODES}, warm", vector(kwargs, turns), 2.5 if compiled else 1),
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


def measured_here() -> list[Row]:
    kwargs = choose_games()
    engine = "compiled" if is_compiled() else "pure"
    rows = [*steps(kwargs), resets(kwargs), *parsing(kwargs)]
    return [replace(row, what=f"{engine}: {row.what}") for row in rows]


def compile_into(folder: Path) -> Path:
    """Compile the engine and return where the packages lie."""
    sources, packages = folder / "sources", folder / "packages"
    for name in ("natlang_envs", "datasets"):
        shutil.copytree(ROOT / name, sources / name, ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("setup.py", "pyproject.toml", "README.md"):
        shutil.copy(ROOT / name, sources)
    build = [sys.executable, "setup.py", "-q", "build", "--build-lib", str(packages)]
    subprocess.run(build, cwd=sources, env={**os.environ, "NATLANG_COMPILE": "1"}, check=True, capture_output=True)
    return packages


def measured(packages: Path) -> list[Row]:
    """Return what a process measures that imports the packages of a folder."""
    command = [sys.executable, __file__, "--rows"]
    environment = {**os.environ, "PYTHONPATH": str(packages)}
    done = subprocess.run(command, env=environment, stdout=subprocess.PIPE, text=True, check=True)
    return [Row(*row) for row in json.loads(done.stdout)]


def conclusion(rows: Sequence[Sequence[str]]) -> str:
    """Return the page's first lines."""
    ratios = {row[0].partition(",")[0]: factor(row[3]) for row in rows}

    def said(engine: str) -> str:
        kinds = ("warm: few games", "cold: generated training games", f"vector form of {EPISODES}")
        warm, cold, vector = (ratios[f"{engine}: {kind}"] for kind in kinds)
        return f"{warm} where its games are kept, {cold} from new training games, {vector} with {EPISODES} episodes"

    return (
        f"**Compiled, ALFWorld takes so many times as many steps a second as gymnasium's Taxi: {said('compiled')}. "
        f"In pure Python: {said('pure')}.** {floors(rows)}"
    )


def main() -> None:
    if "--rows" in sys.argv:
        print(json.dumps([astuple(row) for row in measured_here()]))
        return
    with tempfile.TemporaryDirectory() as folder:
        rows = [*measured(compile_into(Path(folder))), *measured(ROOT)]
    machine = f"{hardware()} ({processor()})"
    versions = (
        f"Python {platform.python_version()}, gymnasium {gymnasium.__version__}, "
        f"natlang_envs {natlang_envs.__version__}"
    )
    cells = [row.cells() for row in rows]
    publish(
        RESULTS,
        "ALFWorld: the environment's speed and size",
        conclusion(cells),
        [
            f"Written by `python benchmarks/alfworld_env.py` on {date.today().isoformat()}: {machine}; {versions}.",
            f"Games: {choose_games()}. Times are the processor's.",
        ],
        HEADINGS,
        cells,
        REMARKS,
    )
    sys.exit(any(row.holds is False for row in rows))


if __name__ == "__main__":
    main()
