"""Benchmarks of ALFWorld: the environments, the engine, and the engine beside TextWorld.

`python benchmarks/alfworld.py PART` prints a table and writes it to a page in benchmarks/results; PART is
`env`        steps beside gymnasium's Taxi, compiled and in pure Python, each in a process of its own
`engine`     what reading, beginning, stepping, saving and keeping games costs
`textworld`  the same official games in TextWorld's engine, as its own users run it (needs the extra `alfworld`)
The official games are played where $ALFWORLD_DATA has them, else generated ones. The exit code is 1 where a floor does
not hold.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import astuple, replace
from importlib import import_module
from itertools import cycle, islice
from pathlib import Path
from statistics import median
from typing import Any

import gymnasium
import numpy as np
from harness import (
    EPISODES,
    SINGLE_STEPS,
    TAXI,
    Measure,
    at_most,
    compare,
    held,
    publish_and_exit,
    sample_and_step,
    spread_of,
    timed,
)

from natlang_envs.alfworld.engine import is_compiled
from natlang_envs.alfworld.engine.game import GameText, parse_game
from natlang_envs.alfworld.engine.goals import TASK_TYPES
from natlang_envs.alfworld.engine.world import World
from natlang_envs.alfworld.games.generator import generate, task_ids
from natlang_envs.alfworld.games.official import data_folder, official_ids, official_text
from natlang_envs.alfworld.textworld.backend import process_state_kept
from natlang_envs.alfworld.textworld.files import game_file
from natlang_envs.errors import UsageError

ROOT = Path(__file__).parents[1]
ALFWORLD = "NatLang/ALFWorld-v0"
GAMES, HORIZON, TURNS = 100, 50, 5
CLOCK = time.process_time  # the processor's seconds: what else runs on the machine disturbs them less


def seconds(play: Callable[[], object], times: int = 1) -> float:
    """Return the seconds of the processor that `play` takes, divided by `times`."""
    return timed(play, CLOCK) / times


def walk(world: Any, seed: int, steps: int = HORIZON) -> list[str]:
    """Play at random, reading the commands of every step; return what was played."""
    chance, played = random.Random(seed).random, list[str]()
    for _ in range(steps):
        commands = world.commands
        played.append(commands[int(chance() * len(commands))])
        world.step(played[-1])
    return played


# The environments.

REMARKS = (
    "Theirs is gymnasium's Taxi, one at a time, in the same process and in turns. Random play hardly ever does a task, "
    "so episodes have 50 steps, and rates include a reset after each. The floors of steps are those of the compiled "
    "engine; pure Python has lower ones.",
    "Other work on the machine slows games and vectors, which use much memory, more than Taxi, so ratios fall with "
    "load.",
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


def task_ids_of(env: gymnasium.Env[Any, Any]) -> list[str]:
    return list(env.unwrapped.tasks.ids())  # type: ignore[attr-defined]


def warm(kwargs: dict[str, Any]) -> Callable[[], None]:
    env = gymnasium.make(ALFWORLD, **kwargs)
    for task_id in task_ids_of(env):
        env.reset(options={"task_id": task_id})  # parses it
    return sample_and_step(env)


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


def env_rows() -> list[Measure]:
    """Return what this process measures."""
    kwargs, compiled = choose_games(), is_compiled()
    taxi = sample_and_step(gymnasium.make(TAXI))
    turns = round(SINGLE_STEPS / EPISODES)

    def cold(source: str) -> Callable[[], None]:
        """Return a loop over games of a training split that has far more of them than are kept."""
        return sample_and_step(gymnasium.make(ALFWORLD, split="train", source=source))

    plays: list[tuple[str, Callable[[], None], float | None]] = [
        ("warm: few games, all of them kept", warm(kwargs), 2 if compiled else 1),
        ("cold: generated training games, nearly all new", cold("generated"), 1 if compiled else None),
        ("cold: realistic training games, nearly all new", cold("realistic"), None),
        (f"vector form of {EPISODES}, warm", vector(kwargs, turns), 2.5 if compiled else 1),
        (f"gymnasium's SyncVectorEnv of {EPISODES}, warm", vector(kwargs, turns, "sync"), None),
    ]
    rows = [compare(what, turns * EPISODES, play, taxi, floor, CLOCK) for what, play, floor in plays]
    env = gymnasium.make(ALFWORLD, **kwargs)
    ids = task_ids_of(env)[:GAMES]
    for task_id in ids:
        env.reset(options={"task_id": task_id})
    resets = [seconds(lambda each=each: env.reset(options={"task_id": each})) * 1e6 for each in islice(cycle(ids), 500)]
    rows.append(at_most("reset of a parsed game", resets, "µs", 100))
    return [replace(row, what=f"{'compiled' if compiled else 'pure'}: {row.what}") for row in rows]


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


def measured(packages: Path) -> list[Measure]:
    """Return what a process measures that imports the packages of a folder."""
    environment = {**os.environ, "PYTHONPATH": str(packages)}
    command = [sys.executable, __file__, "env", "--rows"]
    done = subprocess.run(command, env=environment, stdout=subprocess.PIPE, text=True, check=True)
    return [Measure(*row) for row in json.loads(done.stdout)]


def environments(asked: argparse.Namespace) -> None:
    if asked.rows:
        print(json.dumps([astuple(row) for row in env_rows()]))
        return
    with tempfile.TemporaryDirectory() as folder:
        rows = [*measured(compile_into(Path(folder))), *measured(ROOT)]

    def said(engine: str) -> str:
        warm, cold, _, vectors = [row.factor for row in rows if row.what.startswith(engine)][:4]
        return f"{warm} × with cached games, {cold} × on new training games, {vectors} × with {EPISODES} episodes"

    publish_and_exit(
        "alfworld_env",
        "ALFWorld: the environment's speed and size",
        f"**Compiled, ALFWorld runs at these multiples of the step rate of gymnasium's Taxi: {said('compiled')}. In "
        f"pure Python: {said('pure')}.**",
        rows,
        ("gymnasium",),
        REMARKS,
        f"Games: {choose_games()}. Times are the processor's.",
    )


# The engine.


def texts() -> tuple[str, list[GameText]]:
    """Return a hundred games and what they are: an equal share of the official list, or of all generated ones."""
    try:
        folder = data_folder()
        ids = official_ids(folder, "valid_seen")
        return "official games of valid_seen", [official_text(folder, ids[n * len(ids) // GAMES]) for n in range(GAMES)]
    except UsageError:
        ids = [task for seen in (True, False) for task in task_ids(seen, numbers=range(1))]
        return "generated games", [generate(ids[n * len(ids) // GAMES]) for n in range(GAMES)]


def cost(what: str, scale: float, unit: str, floor: float, times: int, play: Callable[[], object]) -> Measure:
    """Time `play`, which does something `times` times."""
    play()
    return at_most(what, [seconds(play, times) * scale for _ in range(TURNS)], unit, floor, 3)


def megabytes(what: str, floor: float, make: Callable[[], object]) -> Measure:
    return at_most(what, [held(make) / 1e6], "MB", floor, 1)


def engine(asked: argparse.Namespace) -> None:
    kind, some = texts()
    games = [parse_game(text) for text in some]
    seeds = cycle(range(10**6))
    world = World(games[0])
    walk(world, 0)
    state = world.state()

    def fresh() -> None:
        for game in games:
            walk(World(game), next(seeds))

    def played() -> object:
        kept = [parse_game(text) for text in some]
        for seed in range(3):
            for game in kept:
                walk(World(game), seed)
        return kept

    step = f"a random step, {HORIZON} a game, never the same walk"
    rows = [
        cost("reading a game", 1e3, "ms", 5, GAMES, lambda: [parse_game(text) for text in some]),
        cost("reset", 1e6, "µs", 100, GAMES, lambda: [World(game).intro() for game in games]),
        cost("snapshot", 1e6, "µs", 10, 1_000, lambda: [world.state() for _ in range(1_000)]),
        cost("restore", 1e6, "µs", 10, 1_000, lambda: [world.set_state(state) for _ in range(1_000)]),
        cost(step, 1e6, "µs", 20, GAMES * HORIZON, fresh),
        megabytes(f"{GAMES} games, read", 15, lambda: [parse_game(text) for text in some]),
        megabytes(f"{GAMES} games, each played for 3 episodes of {HORIZON}", 15, played),
    ]
    publish_and_exit(
        "alfworld_engine",
        "ALFWorld: the native engine",
        f"**Reading a game takes {rows[0].ours}, and a random step {rows[4].ours}.**",
        rows,
        (),
        (),
        f"{GAMES} {kind}; medians of {TURNS} turns, in CPU time.",
    )


# Beside TextWorld.

WALKS = 40  # for our engine; TextWorld plays the beginning of the first
THEIR_STEPS = 20
# Megabytes that a process grows by for each game that it holds at its beginning, after the first.
MEMORY = """
import sys
from pathlib import Path
sys.path.insert(0, {folder!r})
import alfworld as benchmark
def resident():
    return int(Path("/proc/self/statm").read_text().split()[1]) * 4096 / 1e6
texts = benchmark.one_of_each_type()
hold = benchmark.{hold}
kept = [hold(texts[0])]
before = resident()
kept += [hold(text) for text in texts[1:]]
print((resident() - before) / (len(texts) - 1))
"""


def one_of_each_type() -> list[GameText]:
    """Return one official game of each task type."""
    folder = data_folder()
    ids = official_ids(folder, "valid_seen")
    first = [next(name for name in ids if f"/{task_type}-" in name) for task_type in TASK_TYPES]
    return [official_text(folder, name) for name in first]


def held_by_us(text: GameText) -> World:
    return World(parse_game(text))


def textworld_env(text: GameText) -> Any:
    """Return an environment made as the alfworld package makes it, from a file."""
    textworld = import_module("textworld")
    wrappers = import_module("alfworld.agents.environment.alfred_tw_env")
    with tempfile.TemporaryDirectory() as folder, process_state_kept():
        path = Path(folder, "game.tw-pddl")
        path.write_text(json.dumps(game_file(text)), encoding="utf-8")
        infos = textworld.EnvInfos(won=True, admissible_commands=True, extras=["gamefile"])
        return textworld.start(str(path), infos, wrappers=[wrappers.AlfredDemangler(), wrappers.AlfredInfos])


def held_by_textworld(text: GameText) -> Any:
    env = textworld_env(text)
    env.reset()
    return env


def grown(hold: str) -> float:
    code = MEMORY.format(folder=str(Path(__file__).parent), hold=hold)
    done = subprocess.run([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True, check=True)
    return float(done.stdout.splitlines()[-1])


def both(text: GameText) -> list[tuple[float, float]]:
    """Return our and their seconds of the processor to read a game, to begin an episode of it, and for a step."""
    game = parse_game(text)
    walks = [walk(World(parse_game(text)), seed) for seed in range(WALKS)]  # found in copies: nothing is warmed up

    def begin() -> None:
        for _ in range(200):
            world = World(game)
            assert world.intro()
            assert world.commands

    def play() -> None:
        for each in walks:
            world = World(game)
            for command in each:
                assert world.step(command)
                assert world.commands

    ours = seconds(lambda: [parse_game(text) for _ in range(20)], 20), seconds(begin, 200)
    ours = (*ours, seconds(play, WALKS * HORIZON))
    envs: list[Any] = []
    load = seconds(lambda: envs.append(textworld_env(text)))
    [env] = envs

    def their_play() -> None:
        for command in walks[0][:THEIR_STEPS]:
            state, _, _ = env.step(command)
            assert state["feedback"]
            assert state["admissible_commands"]

    theirs = (load, seconds(env.reset), seconds(their_play, THEIR_STEPS))
    return list(zip(ours, theirs, strict=True))


def beside(what: str, pairs: Sequence[tuple[float, float]], floor: str, most: float = 1e9, least: float = 0) -> Measure:
    ratios = [their / our for our, their in pairs]
    middle, our, their = median(ratios), median(our for our, _ in pairs), median(their for _, their in pairs)
    shown = [f"{each * 1e3:,.3g} ms ({1 / each:,.{1 if each > 0.01 else 0}f}/s)" for each in (our, their)]
    holds = middle >= least and our <= most
    return Measure(what, *shown, f"{middle:,.0f} x", spread_of(ratios, 0), floor, holds)


def textworld(asked: argparse.Namespace) -> None:
    import_module("textworld")  # so that no game pays for it
    reads, resets, steps = zip(*[both(text) for text in one_of_each_type()], strict=True)
    our, their = (f"{grown(hold):.2f} MB" for hold in ("held_by_us", "held_by_textworld"))
    rows = [
        beside("read a game", reads, "<= 5 ms", most=5e-3),
        beside("begin an episode of it", resets, "<= 0.1 ms", most=1e-4),
        beside("a step, with commands", steps, ">= 1,000 x", least=1_000),
        Measure("memory of one game more", our, their),
    ]
    publish_and_exit(
        "alfworld",
        "ALFWorld's official games in the native engine and in TextWorld's",
        f"**The native engine takes {rows[2].factor} times as many steps a second as TextWorld, and reads a game "
        f"{rows[0].factor} times as fast.** One more game takes {our} instead of {their}.",
        rows,
        ("alfworld", "textworld"),
        (
            f"Ours plays {WALKS} random walks of {HORIZON} steps in each game, beginning with empty caches; TextWorld "
            f"plays the first {THEIR_STEPS} steps of the first. Text and commands are read after every step.",
        ),
        "Medians over six official games, one of each task type, in processor time; the ratio is theirs to ours.",
    )


PARTS = {"env": environments, "engine": engine, "textworld": textworld}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("part", choices=PARTS)
    parser.add_argument("--rows", action="store_true", help="of env: print what this process measures")
    asked = parser.parse_args()
    try:
        PARTS[asked.part](asked)
    except (UsageError, ImportError) as error:
        print(f"benchmarks/alfworld.py: {error}", file=sys.stderr)
        sys.exit(2)


if __name__ == "__main__":
    main()
