"""What ALFWorld's official games take in the native engine and in TextWorld's, side by side.

`make bench` prints a table and writes it to benchmarks/results/alfworld.md. Both engines play the same games in one
process, in turns, and give the text and the admissible commands after every step; TextWorld is used as its own users
do, with the alfworld package's wrappers and no speed-up of ours. The exit code is 1 where a floor does not hold, and 2
without the extra `alfworld` or the official games ($ALFWORLD_DATA). More about our engine is in alfworld_engine.py.
"""

from __future__ import annotations

import gc
import json
import platform
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from datetime import date
from importlib import import_module
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

import numpy as np
from report import factor, floors, publish
from taxi import HEADINGS, Row, processor

import natlang_envs
from natlang_envs.alfworld.engine.game import GameText, parse_game
from natlang_envs.alfworld.engine.goals import TASK_TYPES
from natlang_envs.alfworld.engine.world import World
from natlang_envs.alfworld.games.official import data_folder, official_ids, official_text
from natlang_envs.alfworld.textworld.backend import borrowed
from natlang_envs.alfworld.textworld.files import game_file
from natlang_envs.errors import UsageError
from natlang_envs.evaluation.runner import hardware
from natlang_envs.task_random import TaskRandom
from tools.alfworld.parity_recordings import choose
from tools.alfworld.textworld_parity import versions

RESULTS = Path(__file__).parent / "results" / "alfworld.md"
WALKS = 40  # for our engine; TextWorld plays the beginning of the first
WALK_STEPS = 50
THEIR_STEPS = 20
REPEATS = 200  # of what takes us microseconds
REMARKS = (
    f"Ours plays {WALKS} random walks of {WALK_STEPS} steps in each game, beginning with empty caches; TextWorld",
    f"plays the first {THEIR_STEPS} steps of the first. Text and admissible commands are read after every step.",
)
# Megabytes that a process grows by for each game that it holds at its beginning, after the first.
MEMORY = """
import sys
from pathlib import Path
sys.path.insert(0, {folder!r})
import alfworld_textworld as benchmark
def resident():
    return int(Path("/proc/self/statm").read_text().split()[1]) * 4096 / 1e6
texts = benchmark.official_texts()
hold = benchmark.{hold}
kept = [hold(texts[0])]
before = resident()
kept += [hold(text) for text in texts[1:]]
print((resident() - before) / (len(texts) - 1))
"""


class Seconds(NamedTuple):
    """What it takes to read a game, to begin an episode, and to do a step."""

    load: float
    reset: float
    step: float


def official_texts() -> list[GameText]:
    """Return one official game of each task type."""
    folder = data_folder()
    ids = official_ids(folder, "valid_seen")
    first = [next(name for name in ids if f"/{task_type}-" in name) for task_type in TASK_TYPES]
    return [official_text(folder, name) for name in first]


def walks(text: GameText) -> list[list[str]]:
    """Return random commands; they are found with a copy of the game, so that they warm nothing up."""
    game = parse_game(text)
    found: list[list[str]] = []
    for number in range(WALKS):
        world, random = World(game), TaskRandom(f"benchmark/{number}/{text.task}")
        found.append([])
        for _ in range(WALK_STEPS):
            found[-1].append(choose(random, world.commands))
            world.step(found[-1][-1])
    return found


def seconds(play: Callable[[], object], times: int) -> float:
    """Return the seconds of processor time that `play` takes, divided by `times`."""
    gc.collect()
    begun = time.process_time()
    play()
    return (time.process_time() - begun) / times


def textworld_env(text: GameText) -> Any:
    """Return an environment made as the alfworld package makes it, from a file."""
    textworld = import_module("textworld")
    wrappers = import_module("alfworld.agents.environment.alfred_tw_env")
    with tempfile.TemporaryDirectory() as folder, borrowed():
        path = Path(folder, "game.tw-pddl")
        path.write_text(json.dumps(game_file(text)), encoding="utf-8")
        infos = textworld.EnvInfos(won=True, admissible_commands=True, extras=["gamefile"])
        return textworld.start(str(path), infos, wrappers=[wrappers.AlfredDemangler(), wrappers.AlfredInfos])


def held_by_textworld(text: GameText) -> Any:
    env = textworld_env(text)
    env.reset()
    return env


def held_by_us(text: GameText) -> World:
    return World(parse_game(text))


def theirs(text: GameText, commands: list[str]) -> Seconds:
    envs: list[Any] = []
    load = seconds(lambda: envs.append(textworld_env(text)), 1)
    [env] = envs
    reset = seconds(env.reset, 1)

    def play() -> None:
        for command in commands[:THEIR_STEPS]:
            state, _, _ = env.step(command)
            assert state["feedback"]
            assert state["admissible_commands"]

    return Seconds(load, reset, seconds(play, THEIR_STEPS))


def ours(text: GameText, commands: list[list[str]]) -> Seconds:
    load = seconds(lambda: [parse_game(text) for _ in range(20)], 20)
    game = parse_game(text)

    def begin() -> None:
        for _ in range(REPEATS):
            world = World(game)
            assert world.intro()
            assert world.commands

    reset = seconds(begin, REPEATS)

    def play() -> None:
        for walk in commands:
            world = World(game)
            for command in walk:
                assert world.step(command)
                assert world.commands

    return Seconds(load, reset, seconds(play, WALKS * WALK_STEPS))


def rows() -> list[Row]:
    import_module("textworld")  # so that no game pays for it
    pairs: list[tuple[Seconds, Seconds]] = []
    for text in official_texts():
        commands = walks(text)
        pairs.append((ours(text, commands), theirs(text, commands[0])))
        print(f"game {len(pairs)} of {len(TASK_TYPES)}", flush=True)
    return [
        time_row("read a game", [(our.load, their.load) for our, their in pairs], "<= 5 ms", most=5e-3),
        time_row("begin an episode of it", [(our.reset, their.reset) for our, their in pairs], "<= 0.1 ms", most=1e-4),
        time_row("a step, with commands", [(our.step, their.step) for our, their in pairs], ">= 1,000 x", least=1_000),
        memory_row(),
    ]


def time_row(
    what: str, pairs: list[tuple[float, float]], floor: str, most: float = float("inf"), least: float = 0
) -> Row:
    ratios = [their / our for our, their in pairs]
    middle, our, their = median(ratios), median(our for our, _ in pairs), median(their for _, their in pairs)
    spread = f"{min(ratios):,.0f} to {max(ratios):,.0f}"
    return Row(what, words(our), words(their), f"{middle:,.0f} x", spread, floor, middle >= least and our <= most)


def words(duration: float) -> str:
    rate = f" ({1 / duration:,.1f}/s)" if duration > 0.01 else f" ({1 / duration:,.0f}/s)"
    return (f"{duration * 1e3:,.3g} ms" if duration < 0.1 else f"{duration:,.2f} s") + rate


def memory_row() -> Row:
    our, their = (grown(hold) for hold in ("held_by_us", "held_by_textworld"))
    return Row("memory of one game more", f"{our:.2f} MB", f"{their:.2f} MB", "", "", "", None)


def grown(hold: str) -> float:
    code = MEMORY.format(folder=str(Path(__file__).parent), hold=hold)
    done = subprocess.run([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True, check=True)
    return float(done.stdout.splitlines()[-1])


def conclusion(rows: Sequence[Sequence[str]]) -> str:
    """Return the page's first lines."""
    reading, _, step, memory = rows
    return (
        f"**The native engine takes {factor(step[3])} times as many steps a second as TextWorld, and reads a game "
        f"{factor(reading[3])} times as fast.** One more game takes {memory[1]} instead of {memory[2]}. {floors(rows)}"
    )


def main() -> None:
    try:
        packages = {name: number for name, number in versions().items() if name != "walk"}
        found = rows()
    except UsageError as error:
        print(f"benchmarks/alfworld_textworld.py: {error}", file=sys.stderr)
        sys.exit(2)
    known = packages | {"Python": platform.python_version(), "numpy": np.__version__}
    publish(
        RESULTS,
        "ALFWorld's official games in the native engine and in TextWorld's",
        conclusion([row.cells() for row in found]),
        [
            f"Written by `python benchmarks/alfworld_textworld.py` on {date.today().isoformat()}: {hardware()} "
            f"({processor()}); {', '.join(f'{name} {number}' for name, number in known.items())}, "
            f"natlang_envs {natlang_envs.__version__}.",
            "Medians over six official games, one of each task type, in processor time; the ratio is theirs to ours.",
        ],
        HEADINGS,
        [row.cells() for row in found],
        REMARKS,
    )
    sys.exit(any(row.holds is False for row in found))


if __name__ == "__main__":
    main()
