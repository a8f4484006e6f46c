"""How good ALFWorld's reference plans are beside true shortest ones, and how many games the honest expert wins.

`python benchmarks/alfworld_plans.py` prints two tables and writes them to benchmarks/results/alfworld_plans.md.
Official games are played where they are found: in `$ALFWORLD_DATA`, else in `shared/alfworld/official` beside the
checkout. The exit code is 1 where the expert wins fewer than 95% of the games of a split within 50 steps.
"""

from __future__ import annotations

import os
import platform
import random
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import date
from pathlib import Path
from statistics import mean, median, quantiles
from typing import NamedTuple

import numpy as np
from report import markdown, show, write_page
from rich.progress import track
from taxi import processor

import natlang_envs
from natlang_envs.alfworld.engine.game import Game, parse_game
from natlang_envs.alfworld.engine.world import World
from natlang_envs.alfworld.expert import Expert
from natlang_envs.alfworld.games.generated_tasks import GeneratedTasks
from natlang_envs.alfworld.games.official import COUNTS, VARIABLE, official_ids, official_text
from natlang_envs.alfworld.games.splits import TASK_TYPES
from natlang_envs.alfworld.plans import reference
from natlang_envs.evaluation.runner import hardware
from tools.alfworld.shortest_plans import shortest

RESULTS = Path(__file__).parent / "results" / "alfworld_plans.md"
BESIDE = Path(__file__).resolve().parents[2] / "shared" / "alfworld" / "official"
HORIZON = 50
FLOOR = 0.95
DRAWN = 1_000  # generated games of each split
SEARCHED = 150  # games whose shortest plan is searched for, of the official and of the generated ones each
WALK = 30  # random steps
DEAD_END = 15  # steps in which a game without a plan is not won either
PLAN_HEADINGS = ("games", "from", "task type", "plans", "mean steps", "shortest", "mean excess", "most", "ms, median")
EXPERT_HEADINGS = ("games", "task type", "played", "won", "plan", "mean", "10%", "50%", "90%", "most")

Source = Callable[[], Iterator[Game]]


def sources() -> dict[str, Source]:
    """The games of each split; where there are none on this machine, no split."""
    folder = Path(os.environ.get(VARIABLE) or BESIDE)

    def official(split: str) -> Iterator[Game]:
        for task_id in official_ids(folder, split):
            yield parse_game(official_text(folder, task_id))

    def generated(split: str) -> Iterator[Game]:
        tasks, rng = GeneratedTasks(split), np.random.default_rng(0)
        for _ in range(DRAWN):
            yield parse_game(tasks.text(tasks.draw(rng.random)))

    found: dict[str, Source] = {}
    if folder.is_dir():
        found |= {f"official {split}": lambda split=split: official(split) for split in COUNTS}
    return found | {f"generated {split}": lambda split=split: generated(split) for split in COUNTS}


def wander(world: World, rng: random.Random) -> None:
    """Take random steps, mostly other than going away, none of which wins."""
    for _ in range(WALK):
        stay = [command for command in world.commands if not command.startswith("go to ")]
        before = world.state()
        world.step(rng.choice(stay if rng.random() < 0.7 else world.commands))
        if world.won:
            world.set_state(before)


class Planned(NamedTuple):
    """A plan from one state."""

    task_type: str
    steps: int
    shortest: int
    seconds: float


def planned(world: World) -> Planned | None:
    """Plan, check that the plan wins, and search for a shorter one; None where nothing can be won."""
    begun = time.perf_counter()
    plan = reference(world)
    seconds = time.perf_counter() - begun
    if not plan:
        if shortest(world, DEAD_END) is not None:
            raise AssertionError(f"no plan where {world.game.task!r} can be won")
        return None
    before = world.state()
    for command in plan:
        world.step(command)
    if not world.won:
        raise AssertionError(f"the plan {plan} does not win {world.game.task!r}")
    world.set_state(before)
    shorter = shortest(world, len(plan) - 1)  # to learn that there is none takes a fraction of finding one as long
    return Planned(world.game.goal.task_type, len(plan), len(plan) if shorter is None else shorter, seconds)


def plan_rows(name: str, games: Iterable[Game], count: int) -> list[tuple[str, ...]]:
    from_start: list[Planned] = []
    from_elsewhere: list[Planned] = []
    for number, game in enumerate(track(games, f"shortest plans, {name}", total=count, transient=True)):
        world = World(game)
        from_start += filter(None, [planned(world)])
        wander(world, random.Random(number))
        from_elsewhere += filter(None, [planned(world)])
    rows: list[tuple[str, ...]] = []
    for start, plans in (("the start", from_start), (f"{WALK} random steps", from_elsewhere)):
        for task_type in (*TASK_TYPES, "all"):
            some = [plan for plan in plans if task_type in (plan.task_type, "all")]
            if not some:
                continue
            excess = [plan.steps - plan.shortest for plan in some]
            rows.append(
                (
                    name,
                    start,
                    task_type,
                    str(len(some)),
                    f"{mean(plan.steps for plan in some):.2f}",
                    f"{excess.count(0) / len(some):.1%}",
                    f"{mean(excess):.3f}",
                    str(max(excess)),
                    f"{median(plan.seconds for plan in some) * 1e3:.2f}",
                )
            )
    return rows


class Played(NamedTuple):
    """A game that the expert played, and the length of the reference plan from its start."""

    task_type: str
    won: bool
    steps: int
    plan: int


def played(game: Game) -> Played:
    world = World(game)
    plan = len(reference(world))
    observation = world.intro()
    expert, steps = Expert(observation), 0
    while not world.won and steps < HORIZON:
        observation = world.step(expert.choose(observation, world.commands))
        steps += 1
    return Played(game.goal.task_type, world.won, steps, plan)


def expert_rows(name: str, games: Sequence[Played]) -> list[tuple[str, ...]]:
    rows: list[tuple[str, ...]] = []
    for task_type in (*TASK_TYPES, "all"):
        some = [game for game in games if task_type in (game.task_type, "all")]
        steps = [game.steps for game in some if game.won]
        if len(steps) < 2:
            continue
        cuts = quantiles(steps, n=10, method="inclusive")
        rows.append(
            (
                name,
                task_type,
                str(len(some)),
                f"{len(steps) / len(some):.1%}",
                f"{mean(game.plan for game in some):.2f}",
                f"{mean(steps):.2f}",
                *(f"{cuts[cut]:g}" for cut in (0, 4, 8)),
                str(max(steps)),
            )
        )
    return rows


def main() -> None:
    plans: list[tuple[str, ...]] = []
    experts: list[tuple[str, ...]] = []
    below: list[str] = []
    for name, source in sources().items():
        results = [played(game) for game in track(source(), f"expert, {name}", total=None, transient=True)]
        experts += expert_rows(name, results)
        if sum(result.won for result in results) < FLOOR * len(results):
            below.append(name)
        if not name.endswith("train"):
            every = max(1, 2 * len(results) // SEARCHED)
            games = [game for number, game in enumerate(source()) if number % every == 0]
            plans += plan_rows(name, games, len(games))
    for headings, rows in ((PLAN_HEADINGS, plans), (EXPERT_HEADINGS, experts)):
        show(headings, rows)
    lines = [
        f"Written by `python benchmarks/alfworld_plans.py` on {date.today().isoformat()}: {hardware()} "
        f"({processor()}); Python {platform.python_version()}, natlang_envs {natlang_envs.__version__}.",
        "",
        "## Reference plans",
        "",
        "Full knowledge. Beside the length of the shortest plan, found by breadth-first search over the engine, which "
        "leaves out only what no shortest plan holds. The excess is in steps; states that cannot be won (what is held "
        "fits nowhere) are left out, after a search that finds no way to win there either.",
        "",
        *markdown(PLAN_HEADINGS, plans),
        "",
        "## The expert",
        "",
        "Sees what an agent sees: the first observation, the answers, the admissible commands; "
        f"{HORIZON} steps. `plan` is the mean length of the reference plan, which knows where everything is; the other "
        "figures are steps of the games that are won. Generated games are drawn as the environment draws them, "
        f"{DRAWN:,} a split.",
        "",
        "Where things usually lie was counted over the official training games. So `official train` is what the expert "
        "learned from, `valid_seen` is new games in the same rooms, and only `official valid_unseen` is new to it "
        "altogether. Generated games, of all splits, are laid out by the same counts that the expert searches by: they "
        "are easier for it than for a player who does not know them.",
        "",
        *markdown(EXPERT_HEADINGS, experts),
    ]
    write_page(RESULTS, "ALFWorld: reference plans and the expert", lines)
    if below:
        print(f"below {FLOOR:.0%}: {', '.join(below)}", file=sys.stderr)
    sys.exit(bool(below))


if __name__ == "__main__":
    main()
