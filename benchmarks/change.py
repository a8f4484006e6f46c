"""How fast AutoExplore-Change is, how often its issue leads BM25 to the broken file, and what needs no learning.

`python benchmarks/change.py [DATASET]` prints a table and writes it to a page in benchmarks/results; DATASET is
`embedded` (the default) or `public`, which has to be fetched. The exit code is 1 where a floor does not hold.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator

import gymnasium
from harness import SINGLE_STEPS, TURNS, Measure, at_most, compare, publish_and_exit, sample_and_step, timed

from natlang_envs.autoexplore.baselines import bm25_of
from natlang_envs.change.listed_edits.tasks import make_tasks
from natlang_envs.evaluation import evaluate
from natlang_envs.evaluation.agents import load_agent
from natlang_envs.evaluation.protocols import Episode, Protocol
from natlang_envs.evaluation.runner import score_run
from natlang_envs.repository.texts import FILE_BUDGET
from natlang_envs.repository.tree import open_repository
from natlang_envs.tasks import Split
from natlang_envs.trajectory import difference, replay

CHANGE, EXPLORE = "NatLang/AutoExplore-Change-v0", "NatLang/AutoExplore-v0"
NAMES = ("Change", "ChangeFile", "ChangeLine")
VERIFIED, RESETS = 1_000, 2_000


def question() -> gymnasium.Env[str, str]:
    """Return a game of AutoExplore over the repository of a task."""
    tasks = make_tasks("validation", "embedded", None)
    repository = tasks.load(next(tasks.ids()), FILE_BUDGET).repository
    return gymnasium.make(
        EXPLORE, repository=str(repository.root), question="Which one?", target=next(iter(repository.texts))
    )


def resets(dataset: str) -> Measure:
    env = gymnasium.make(CHANGE, dataset=dataset)
    ids = list(env.unwrapped.tasks.ids())  # pyright: ignore[reportAttributeAccessIssue]
    for task_id in ids:
        env.reset(options={"task_id": task_id})

    def play() -> None:
        for number in range(RESETS):
            env.reset(options={"task_id": ids[number % len(ids)]})

    return at_most(f"a reset, {len(ids)} tasks known", [timed(play) / RESETS * 1e3 for _ in range(TURNS)], "ms", 1.0, 3)


def played(dataset: str, name: str, agent: str) -> Measure:
    """Return how often an agent mends a bug of the validation split; ten times each where it draws."""
    player = load_agent(agent)
    ids = make_tasks("validation", dataset, None).ids()
    episodes = tuple(Episode(task_id, number) for number, task_id in enumerate(ids))
    kwargs = {"split": "validation", "dataset": dataset}
    protocol = Protocol("benchmark/change", f"NatLang/AutoExplore-{name}-v0", kwargs, 30, 10, episodes, "")
    score = score_run(protocol, evaluate(player, protocol)[1])
    low, high = score.interval
    what = f"validation, {len(episodes)} bugs, {name}: {agent}; spread: 95% interval"
    return Measure(what, f"{score.success_rate:.1%}", spread=f"{low:.1%} to {high:.1%}")


def verification(dataset: str, agent: str) -> Measure:
    ids = list(make_tasks("all", dataset, None).ids())
    episodes = tuple(Episode(ids[number % len(ids)], number) for number in range(VERIFIED))
    protocol = Protocol("benchmark/change", CHANGE, {"dataset": dataset}, 30, 1, episodes, "")
    trajectories = evaluate(load_agent(agent), protocol)[1]
    begun = time.perf_counter()
    env = protocol.make_env()
    if any(difference(each, replay(env, each)) for each in trajectories):
        raise SystemExit("an episode is not replayed as it was played")
    steps = sum(len(each.actions) for each in trajectories)
    what = f"{VERIFIED:,} episodes of {agent} replayed, {steps:,} steps"
    return at_most(what, [time.perf_counter() - begun], "s", 5.0)


def hits(dataset: str) -> Iterator[Measure]:
    parts: tuple[Split, ...] = ("validation", "test")  # nothing is learned from this
    for split in parts:
        tasks = make_tasks(split, dataset, None)
        found = [0, 0]
        ids = list(tasks.ids())
        for task_id in ids:
            task = tasks.load(task_id, FILE_BUDGET)
            ranked = bm25_of(open_repository(task.repository.root)).rank(task.question)
            sources = [each.path for each in ranked if each.path in task.repository.texts]
            found = [found[0] + (task.file in sources[:1]), found[1] + (task.file in sources[:3])]
        shown = [f"{100 * each / len(ids):.0f}%" for each in found]
        yield Measure(f"{split}, {len(ids)} issues: BM25's first source is the broken one; theirs: of three", *shown)


def main() -> None:
    dataset = sys.argv[1] if sys.argv[1:] else "embedded"
    ours, theirs = sample_and_step(gymnasium.make(CHANGE, dataset=dataset)), sample_and_step(question())
    rate = compare("random steps; theirs: AutoExplore over one repository", SINGLE_STEPS, ours, theirs, 0.5)
    verified = [verification(dataset, each) for each in ("random", "oracle")]
    agents = [played(dataset, name, each) for name in NAMES for each in ("random-edit", "spectrum")]
    rows = [rate, resets(dataset), *verified, *hits(dataset), *agents]
    publish_and_exit(
        "autoexplore_change" if dataset == "embedded" else f"autoexplore_change_{dataset}",
        "AutoExplore-Change: speed, and how far the issue leads",
        f"**AutoExplore-Change takes {rate.factor} times as many steps a second as AutoExplore.**",
        rows,
        ("gymnasium",),
    )


if __name__ == "__main__":
    main()
