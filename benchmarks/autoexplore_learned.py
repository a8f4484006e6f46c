"""Plays the rows of a trained searcher on AutoExplore's protocols, and says where games are lost.

    python benchmarks/autoexplore_learned.py RUN --kind depth1 --protocol autoexplore-depth1/paper --out DIR

Every call appends a line to the log beside the results, so that each look at the test split is on record.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path

import torch

from natlang_envs.autoexplore.env import AutoExploreEnv
from natlang_envs.evaluation import evaluate, load_protocol, read_run
from natlang_envs.evaluation.runner import score_run
from reference_agent.search.agents import SearchAgent
from reference_agent.search.reflect import read_policy
from reference_agent.search.run import Searcher


def rows(run: Path, kind: str, searcher: Searcher, drawn: bool, prefix: str):
    """Yield the name of each row and its agent."""
    yield f"{prefix}-search", SearchAgent(searcher, kind)
    for form in ("policy", "reflect"):
        for file in sorted(run.glob(f"{form}-{kind}-*.pt")):
            name = f"{prefix}-{file.stem}"
            agent = SearchAgent(searcher, kind, read_policy(file, form == "reflect"), form == "reflect")
            yield name, agent
            if drawn:
                yield f"{name}-sample", agent.sampled()


def stages(trajectories, env: AutoExploreEnv) -> tuple[float, float, float]:
    """Return in which share of games a target's folder was entered and a target read, and how many files were read."""
    entered = read = files = 0
    for each in trajectories:
        env.reset(options={"task_id": each.task_id})
        targets = env._episode.goal.targets
        folders, seen = {""}, set()
        for command in each.actions:
            env.step(command)
            folders.add(env._episode.place.key[0])
            seen = set(env.files_read)
        entered += any(target.rpartition("/")[0] in folders for target in targets)
        read += bool(seen & set(targets))
        files += len(seen)
    return entered / len(trajectories), read / len(trajectories), files / len(trajectories)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("run", type=Path)
    parser.add_argument("--kind", required=True)
    parser.add_argument("--protocol", required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--log", type=Path, default=Path("benchmarks/results/autoexplore_test_log.md"))
    parser.add_argument("--drawn", action="store_true", help="Play the policies at temperature 1, too.")
    parser.add_argument("--prefix", default="listing", help="The beginning of the row names.")
    parser.add_argument("--only", default="", help="Rows whose name holds this.")
    given = parser.parse_args()
    torch.set_num_threads(1)
    protocol = load_protocol(given.protocol)
    searcher = Searcher.load(given.run)
    for name, agent in rows(given.run, given.kind, searcher, given.drawn, given.prefix):
        folder = given.out / f"{given.protocol.replace('/', '-')}-{name}"
        if given.only not in name or (folder.exists() and f"| {given.protocol} | {name} |" in given.log.read_text()):
            continue
        started = time.perf_counter()
        if not folder.exists():
            evaluate(agent, given.protocol, name=name, out=folder)
        trajectories = read_run(folder)[1]
        result = score_run(protocol, trajectories)
        entered, read, files = stages(trajectories, protocol.make_env().unwrapped)
        line = (
            f"| {time.strftime('%Y-%m-%d %H:%M')} | {given.protocol} | {name} | {len(trajectories)} "
            f"| {result.success_rate:.1%} | {result.interval.low:.1%} to {result.interval.high:.1%} "
            f"| {entered:.0%} | {read:.0%} | {files:.1f} | {time.perf_counter() - started:.0f} |"
        )
        print(line, flush=True)
        with given.log.open("a", encoding="utf-8") as log:
            log.write(line + "\n")


if __name__ == "__main__":
    main()
