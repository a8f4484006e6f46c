"""How fast the native engine of ALFWorld is, beside TextWorld's on the same games, and what games take.

`python benchmarks/alfworld_engine.py` prints a table and writes it to benchmarks/results/alfworld_engine.md; the exit
code is 1 where a floor does not hold. It plays the official games where they are found, else generated ones, and
TextWorld where it is installed. How fast the environments are, beside gymnasium's Taxi, is in alfworld_env.py.
"""

from __future__ import annotations

import gc
import random
import sys
import time
import tracemalloc
from collections.abc import Callable
from datetime import date
from importlib.util import find_spec
from itertools import cycle
from pathlib import Path
from statistics import median

from report import publish
from taxi import processor

from natlang_envs.alfworld.backends import AnyWorld
from natlang_envs.alfworld.engine.game import GameText, parse_game
from natlang_envs.alfworld.engine.world import World
from natlang_envs.alfworld.games.generator import generate, task_ids
from natlang_envs.alfworld.games.official import data_folder, official_ids, official_text
from natlang_envs.errors import UsageError
from natlang_envs.evaluation.runner import hardware

RESULTS = Path(__file__).parent / "results" / "alfworld_engine.md"
HEADINGS = ("what", "measured", "lowest to highest", "floor", "holds")
GAMES = 100
TURNS = 5
HORIZON = 50
REAL_GAMES = 3  # TextWorld needs seconds a game
Row = tuple[str, str, str, str, bool]


def texts() -> tuple[str, list[GameText]]:
    """Return a hundred games and what they are: an equal share of the official list, or of all generated ones."""
    try:
        folder = data_folder()
        ids = official_ids(folder, "valid_seen")
        return "official games of valid_seen", [official_text(folder, ids[n * len(ids) // GAMES]) for n in range(GAMES)]
    except UsageError:
        ids = [task for seen in (True, False) for task in task_ids(seen, numbers=range(1))]
        return "generated games", [generate(ids[n * len(ids) // GAMES]) for n in range(GAMES)]


def timed(what: str, unit: float, name: str, floor: float, times: int, play: Callable[[], object]) -> Row:
    """Time `play`, which does something `times` times; `floor` is the most that one may take, in units."""
    play()
    taken: list[float] = []
    for _ in range(TURNS):
        gc.collect()
        begun = time.process_time()
        play()
        taken.append((time.process_time() - begun) / times / unit)
    spread = f"{min(taken):.3g} to {max(taken):.3g} {name}"
    return (what, f"{median(taken):.3g} {name}", spread, f"<= {floor:g} {name}", median(taken) <= floor)


def megabytes(what: str, floor: float, make: Callable[[], object]) -> Row:
    gc.collect()
    tracemalloc.start()
    kept = make()
    gc.collect()
    taken = tracemalloc.get_traced_memory()[0] / 1e6
    tracemalloc.stop()
    del kept
    return (what, f"{taken:.1f} MB", "", f"<= {floor:g} MB", taken <= floor)


def walk(world: AnyWorld, seed: int, steps: int = HORIZON) -> None:
    """Play at random, reading the commands of every step."""
    chance = random.Random(seed).random
    for _ in range(steps):
        commands = world.commands
        world.step(commands[int(chance() * len(commands))])


def played(some: list[GameText]) -> object:
    games = [parse_game(text) for text in some]
    for seed in range(3):
        for game in games:
            walk(World(game), seed)
    return games


def against_textworld(some: list[GameText]) -> Row:
    """Play the same walks in both engines, in turns; reading and resetting the games is not counted."""
    what = f"random steps with commands, the same {REAL_GAMES} games, against TextWorld"
    if find_spec("textworld") is None or find_spec("alfworld") is None:
        return (what, "TextWorld is not installed: `make textworld`", "", ">= 1,000 x", False)
    from natlang_envs.alfworld.textworld.backend import TextWorldWorld

    ratios: list[float] = []
    rates: list[tuple[float, float]] = []
    for text in some[:: GAMES // REAL_GAMES][:REAL_GAMES]:
        real = TextWorldWorld(text)
        begun = time.process_time()
        walk(real, 0)
        theirs = (time.process_time() - begun) / HORIZON
        ours: list[float] = []
        for _ in range(TURNS):  # from a game that was just read: nothing is remembered of a walk before
            worlds = [World(parse_game(text)) for _ in range(20)]
            gc.collect()
            begun = time.process_time()
            for world in worlds:
                walk(world, 0)
            ours.append((time.process_time() - begun) / HORIZON / len(worlds))
        rates.append((median(ours), theirs))
        ratios.append(theirs / median(ours))
    our, their = (median(side) for side in zip(*rates, strict=True))
    measured = f"{median(ratios):,.0f} x ({1 / our:,.0f} to {1 / their:,.1f} steps/s)"
    spread = f"{min(ratios):,.0f} x to {max(ratios):,.0f} x"
    return (what, measured, spread, ">= 1,000 x", median(ratios) >= 1_000)


def main() -> None:
    kind, some = texts()
    games = [parse_game(text) for text in some]
    seeds = cycle(range(10**6))
    world = World(games[0])
    walk(world, 0)
    state = world.state()

    def fresh() -> None:
        for game in games:
            walk(World(game), next(seeds))

    rows = [
        timed("reading a game", 1e-3, "ms", 5, GAMES, lambda: [parse_game(text) for text in some]),
        timed("reset", 1e-6, "us", 100, GAMES, lambda: [World(game).intro() for game in games]),
        timed("snapshot", 1e-6, "us", 10, 1_000, lambda: [world.state() for _ in range(1_000)]),
        timed("restore", 1e-6, "us", 10, 1_000, lambda: [world.set_state(state) for _ in range(1_000)]),
        timed(f"a random step, {HORIZON} a game, never the same walk", 1e-6, "us", 20, GAMES * HORIZON, fresh),
        megabytes(f"{GAMES} games, read", 15, lambda: [parse_game(text) for text in some]),
        megabytes(f"{GAMES} games, each played for 3 episodes of {HORIZON}", 15, lambda: played(some)),
        against_textworld(some),
    ]
    publish(
        RESULTS,
        "ALFWorld: the native engine",
        [
            f"Written by `python benchmarks/alfworld_engine.py` on {date.today().isoformat()}: {hardware()} "
            f"({processor()}), Python {sys.version.split()[0]}. {GAMES} {kind}; medians of {TURNS} turns, in CPU time."
        ],
        HEADINGS,
        [(*row[:4], "yes" if row[4] else "NO") for row in rows],
    )
    sys.exit(not all(row[4] for row in rows))


if __name__ == "__main__":
    main()
