"""What a rollout of many ALFWorld games costs: by alfworld's own class, by ours in its place, by ours as one batch.

`make bench` prints a table and writes it to benchmarks/results/alfworld_rollout.md. The driver has the shape of
verl-agent's: a Ray actor for each environment, groups that start in the same game, and all of them stepped together.
Only the module that `AlfredTWEnv` comes from differs. The exit code is 1 where a floor does not hold, and 2 without the
extras `alfworld` and `ray`.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import platform
import random
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from datetime import date
from importlib import import_module
from importlib.metadata import version
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

import gymnasium
from report import factor, floors, publish
from taxi import HEADINGS, Row, processor

import natlang_envs
from natlang_envs.alfworld.compat import AlfredTWEnv
from natlang_envs.alfworld.textworld.backend import borrowed
from natlang_envs.alfworld.textworld.export import export_game, folder_of, game_of
from natlang_envs.errors import UsageError
from natlang_envs.evaluation.runner import hardware

RESULTS = Path(__file__).parent / "results" / "alfworld_rollout.md"
GROUP = 8  # environments that start in the same game, as GRPO samples them
PACKAGES = {"ours": "natlang_envs.alfworld.compat", "theirs": "alfworld.agents.environment"}
CPUS_OF_AN_ACTOR = 0.1
GAMES = 16  # generated training games, in the package's own format
TURNS = 5  # of ours, which takes seconds; theirs takes minutes and is played once


class Cost(NamedTuple):
    """What a rollout took.

    Attributes:
        environments: Seconds of processor time in `reset` and `step`, over all environments.
        wall: Seconds that the driver waited for them.
        memory: MB that all environments together hold at the end and share with no other process.
        transcript: A digest of everything that was said.
    """

    environments: float
    wall: float
    memory: float
    transcript: str


def config(games: Path, steps: int) -> dict[str, Any]:
    """Return the config that both classes are constructed with."""
    return {
        "dataset": {"data_path": str(games), "num_train_games": -1},
        "env": {
            "type": "AlfredTWEnv",
            "domain_randomization": False,
            "task_types": [1, 2, 3, 4, 5, 6],
            "expert_type": "handcoded",
            "goal_desc_human_anns_prob": 0.0,
        },
        "general": {"training_method": "dqn"},  # without an expert's plan, which costs more than the game
        "rl": {"training": {"max_nb_steps_per_episode": steps}},
    }


class Worker:
    """One environment in a process of its own, which counts what it spends."""

    def __init__(self, package: str, settings: dict[str, Any], files: list[str], seed: int) -> None:
        self.seconds, self.env = 0.0, None
        if package:
            with borrowed():  # to import TextWorld draws random numbers
                base: Any = import_module(package).get_environment("AlfredTWEnv")(settings, train_eval="train")
            base.game_files = files  # the package keeps the order of the disk
            self.env = base.init_env(batch_size=1)
            self.env.seed(seed)

    def reset(self) -> tuple[str, list[str]]:
        before = spent()
        observations, infos = self.env.reset()
        self.seconds += spent() - before
        return observations[0], list(infos["admissible_commands"][0])

    def step(self, command: str) -> tuple[str, list[str], bool]:
        before = spent()
        observations, _, dones, infos = self.env.step([command])
        self.seconds += spent() - before
        return observations[0], list(infos["admissible_commands"][0]), bool(dones[0])

    def cost(self) -> tuple[float, float]:
        """Return the seconds spent, and the MB that this process and those it started share with no other."""
        return self.seconds, sum(private(pid) for pid in family())


def family() -> Iterator[int]:
    """Yield this process and all that it started."""
    waiting = [os.getpid()]
    while waiting:
        pid = waiting.pop()
        yield pid
        for children in Path(f"/proc/{pid}/task").glob("*/children"):
            waiting += map(int, children.read_text().split())


def spent() -> float:
    """Return the processor time of this process and those that it started, in seconds."""
    others = 0
    for pid in islice(family(), 1, None):
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        others += int(fields[11]) + int(fields[12])
    return time.process_time() + others / 100


def played(package: str, settings: dict[str, Any], files: list[str], count: int, steps: int) -> Cost:
    """Play a rollout by a driver with a Ray actor for each environment."""
    import ray

    actor: Any = ray.remote(num_cpus=CPUS_OF_AN_ACTOR)(Worker)
    workers = [actor.remote(package, settings, files, number // GROUP) for number in range(count)]
    ray.get([worker.cost.remote() for worker in workers])  # all of them have started
    said = hashlib.sha256()
    begun = time.perf_counter()
    if package:
        shown: list[Any] = ray.get([worker.reset.remote() for worker in workers])
        for step in range(steps):
            commands = [choice(number, step, each[1]) for number, each in enumerate(shown)]
            shown = ray.get([worker.step.remote(each) for worker, each in zip(workers, commands, strict=True)])
            said.update(repr([(each[0], sorted(each[1])) for each in shown]).encode())
    wall = time.perf_counter() - begun
    costs: list[tuple[float, float]] = ray.get([worker.cost.remote() for worker in workers])
    for worker in workers:
        ray.kill(worker)
    time.sleep(5)  # until their memory is free
    return Cost(sum(each[0] for each in costs), wall, sum(each[1] for each in costs), said.hexdigest())


def batch(settings: dict[str, Any], files: list[str], count: int, steps: int) -> Cost:
    """Play the same rollout by one batch of ours in one process."""
    base = AlfredTWEnv(settings, "train")
    base.game_files = files
    groups = [base.init_env(GROUP, group_size=GROUP) for _ in range(count // GROUP)]
    said, seconds = hashlib.sha256(), 0.0
    resident, commands = private(os.getpid()), [""] * count
    for seed, group in enumerate(groups):
        group.seed(seed)
    for step in range(steps + 1):
        begun = time.process_time()
        if step == 0:
            results: list[Any] = [group.reset() for group in groups]
        else:
            results = [
                group.step(commands[number * GROUP : (number + 1) * GROUP]) for number, group in enumerate(groups)
            ]
        seconds += time.process_time() - begun
        shown = [pair for each in results for pair in zip(each[0], each[-1]["admissible_commands"], strict=True)]
        commands = [choice(number, step, each[1]) for number, each in enumerate(shown)]
        if step:
            said.update(repr([(text, sorted(listed)) for text, listed in shown]).encode())
    return Cost(seconds, seconds, private(os.getpid()) - resident, said.hexdigest())


def private(pid: int) -> float:
    """Return the MB that a process shares with no other."""
    lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    return sum(int(line.split()[1]) for line in lines if line.startswith("Private_")) * 1024 / 1e6


def choice(number: int, step: int, commands: Sequence[str]) -> str:
    """Return the command of an environment at a step."""
    return random.Random(f"{number}/{step}").choice(sorted(commands))


def rows(costs: dict[str, list[Cost]], idle: Cost) -> list[Row]:
    ours, theirs, together = costs["ours"], costs["theirs"][0], costs["batch"]
    return [
        row("processor time of the environments", theirs.environments, [each.environments for each in ours], "s", 100),
        row("the whole rollout, on the wall", theirs.wall, [each.wall for each in ours], "s"),
        row("memory of the actors", theirs.memory, [each.memory for each in ours], "MB"),
        row(
            f"memory of the actors beyond actors that hold nothing ({idle.memory:,.0f} MB)",
            theirs.memory - idle.memory,
            [each.memory - idle.memory for each in ours],
            "MB",
            20,
        ),
        row(
            "processor time, ours as one batch in the driver",
            theirs.environments,
            [each.environments for each in together],
            "s",
            100,
        ),
        row("memory, ours as one batch in the driver", theirs.memory, [together[0].memory], "MB", 20),
    ]


def row(what: str, theirs: float, ours: list[float], unit: str, floor: float | None = None) -> Row:
    ratios = sorted(theirs / each for each in ours)
    middle, own = ratios[len(ratios) // 2], sorted(ours)[len(ours) // 2]
    spread = f"{ratios[0]:,.0f} to {ratios[-1]:,.0f}" if len(ratios) > 1 else ""
    holds = None if floor is None else middle >= floor
    asked = "" if floor is None else f">= {floor:g} x"
    digits = ",.2f" if unit == "s" else ",.0f"
    return Row(what, f"{own:{digits}} {unit}", f"{theirs:{digits}} {unit}", f"{middle:,.1f} x", spread, asked, holds)


def measure(count: int, steps: int) -> list[Row]:
    """Play the rollout by both classes and as a batch; return the table.

    Raises:
        UsageError: The classes did not say the same.
    """
    import ray

    with tempfile.TemporaryDirectory(prefix="alfworld-rollout-") as name:
        games = Path(name)
        tasks = gymnasium.make("NatLang/ALFWorld-v0", split="train")
        for seed in range(GAMES):
            task_id = tasks.reset(seed=seed)[1]["task_id"]
            export_game(game_of(task_id, "0.4.2"), games / folder_of(task_id))
        settings = config(games, steps)
        files = sorted(AlfredTWEnv(settings, "train").game_files)
        ray.init(num_cpus=int(count * CPUS_OF_AN_ACTOR) + 1, include_dashboard=False, log_to_driver=False)
        try:
            idle = played("", settings, files, count, steps)
            costs = {
                "ours": [played(PACKAGES["ours"], settings, files, count, steps) for _ in range(TURNS)],
                "batch": [batch(settings, files, count, steps) for _ in range(TURNS)],
                "theirs": [played(PACKAGES["theirs"], settings, files, count, steps)],
            }
        finally:
            ray.shutdown()
    transcripts = {cost.transcript for each in costs.values() for cost in each}
    if len(transcripts) != 1:
        raise UsageError("the classes did not say the same: their times cannot be compared")
    return rows(costs, idle)


def main() -> None:
    parser = argparse.ArgumentParser(description="Compare rollouts of alfworld's class with ours.")
    parser.add_argument("--environments", type=int, default=64, help=f"A multiple of {GROUP}.")
    parser.add_argument("--steps", type=int, default=50)
    asked = parser.parse_args()
    try:
        packages = ", ".join(f"{name} {version(name)}" for name in ("alfworld", "textworld", "ray"))
        found = measure(asked.environments, asked.steps)
    except (UsageError, ImportError) as error:
        print(f"benchmarks/alfworld_rollout.py: {error}", file=sys.stderr)
        sys.exit(2)
    cells = [each.cells() for each in found]
    actors, memory, together = cells[0], cells[3], cells[4]
    publish(
        RESULTS,
        f"ALFWorld: a rollout of {asked.environments} environments and {asked.steps} steps",
        f"**In the same driver, alfworld's own class takes {factor(actors[3])} times the processor time of ours, and "
        f"{factor(together[3])} times that of ours as one batch.** It takes {factor(memory[3])} times the memory, "
        f"beyond what an idle actor holds. {floors(cells)}",
        [
            f"Written by `python benchmarks/alfworld_rollout.py` on {date.today().isoformat()}: {hardware()} "
            f"({processor()}); Python {platform.python_version()}, {packages}, "
            f"natlang_envs {natlang_envs.__version__}.",
        ],
        HEADINGS,
        cells,
        [
            f"An actor for each environment, in groups of {GROUP} that start in one of {GAMES} generated games; random",
            "commands, drawn alike; each said the same to the letter, which is checked. Times are of reset and step,",
            "cold: each actor reads its game. Memory is what no other process shares, at the end.",
            f"Ours is the median of {TURNS} rollouts, theirs was played once.",
        ],
    )
    sys.exit(any(each.holds is False for each in found))


if __name__ == "__main__":
    main()
