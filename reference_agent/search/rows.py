"""Makes the players of AutoExplore's rows in `reflect-rl reproduce --preset searcher`: a searcher, then its policies.

All of it goes into one run's folder. Processes that need the same part of it wait for each other.
"""

from __future__ import annotations

import json
from dataclasses import replace
from functools import lru_cache
from pathlib import Path

from natlang_envs.autoexplore.dataset.catalogue import cache_folder
from natlang_envs.errors import UsageError
from natlang_envs.files import write_whole
from natlang_envs.locks import alone
from reference_agent.search.agents import SearchAgent
from reference_agent.search.practice import Exercise, config_of
from reference_agent.search.recipes import UPDATES, Recipe, Row
from reference_agent.search.reflect import read_policy
from reference_agent.search.run import Searcher, is_trained
from reference_agent.search.train import Report, TrainConfig, Workshop, open_workshop, policy_file, practise
from reference_agent.search.weak import WEAK_FOLDER

WEAK = Path(WEAK_FOLDER, "questions.jsonl.gz")  # in the cache folder


class Rows:
    """The rows of one run.

    Args:
        run: The folder of the searcher and its policies.
        steps: Updates of each judge, where they are not the usual ones.

    Raises:
        UsageError: The searcher has yet to be trained, and the questions of `reflect-rl data autoexplore` are missing.
    """

    def __init__(self, run: Path, steps: int | None = None) -> None:
        weak = None if is_trained(run) else cache_folder() / WEAK
        if weak is not None and not weak.is_file():
            raise UsageError(f"{weak} is missing: make it once with `reflect-rl data autoexplore`")
        config = TrainConfig() if steps is None else TrainConfig().shortened(steps)
        self._run = run
        self._shop: Workshop = open_workshop(run, weak, None, config)
        self._searcher: Searcher | None = None
        self._exercises: dict[str, list[Exercise]] = {}

    def player(self, row: Row, seed: int, out: Path, report: Report) -> SearchAgent:
        """Return a row's player, trained if it was not.

        Args:
            row: What plays.
            seed: Of its policy, if it has one.
            out: Where the learning curve goes, as `curve.json`.
            report: Called with a stage, its step, how many there are, and the share that is right or won.
        """
        searcher = self._trained(report)
        if row.recipe is None:
            return SearchAgent(searcher, row.kind)
        file = self._policy(row.recipe, seed, row.updates, report)
        curve = curve_of(file) if row.updates else []
        write_whole(out / "curve.json", json.dumps(curve).encode())
        return SearchAgent(searcher, row.kind, read_policy(file, row.recipe.reflects), row.recipe.reflects)

    def _trained(self, report: Report) -> Searcher:
        if self._searcher is None:
            with alone(self._run.with_name(f".{self._run.name}.lock")):
                trained = is_trained(self._run)
                self._searcher = Searcher.load(self._run) if trained else self._shop.train_searcher(report)
        assert self._searcher is not None, "there is no limit to the time"
        return self._searcher

    def _policy(self, recipe: Recipe, seed: int, updates: int, report: Report) -> Path:
        """Return the file of a policy. The one that its curriculum starts from is trained before."""
        file = policy_file(self._run, recipe, seed, rl=updates > 0)
        with alone(self._run / f".{recipe.name(seed)}.lock"):
            if file.exists():  # the ratings of the exercises take minutes
                return file
            if recipe.before is not None:
                self._policy(recipe.before, seed, updates or UPDATES, report)
            if recipe.kind not in self._exercises:
                self._exercises[recipe.kind] = self._shop.exercises(recipe.kind, self._trained(report))
            config = replace(config_of(recipe), updates=updates)
            practise(self._exercises[recipe.kind], recipe, seed, config, self._run, report)
            self._shop.keep_cache()
        return file


def curve_of(policy: Path) -> list[dict[str, float]]:
    """Return the learning curve of a policy of `practise`, as `reflect-rl train` writes it."""
    told = json.loads(policy.with_suffix(".json").read_text(encoding="utf-8"))
    games = told["questions"] * told["group"]
    return [
        {"success": share, "episodes": games * count, "stage": 0, "iteration": count}
        for count, share in enumerate(told["won"], start=1)
    ]


@lru_cache(maxsize=1)
def rows_of(run: Path, steps: int | None = None) -> Rows:
    """Return the rows of a run, opened once in a process."""
    return Rows(run, steps)
