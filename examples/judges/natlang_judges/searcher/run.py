"""Trains a searcher for each seed into a folder; a seed that is there already is left alone."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import NamedTuple

import torch
from safetensors.torch import save

from natlang_envs.autoexplore.tasks import LABELLED
from natlang_envs.files import only_process, write_whole
from natlang_judges.searcher.judge import Judge
from natlang_judges.searcher.questions import load_questions, load_walks
from natlang_judges.searcher.training import Settings, imitate, reinforce, shares
from natlang_judges.searcher.walking import SEARCHER, Walker
from reference_agent.run.inputs import claim_inputs

SETTINGS = "settings.json"
STAGES = ("imitation", "reward")


class Result(NamedTuple):
    """A judge, and the shares of validation games that it wins greedily and sampled, natural and hard."""

    weights: Path
    greedy: tuple[float, ...]
    sampled: tuple[float, ...]


def train_searchers(
    out: Path,
    seeds: int,
    settings: Settings,
    report: Callable[[str, int, int, float], None],
    dataset: str = LABELLED,
    depth: int | None = None,
    start: Path | None = None,
) -> list[Result]:
    """Teach a judge for each seed, by imitation and then by reward, and keep what does best on validation.

    Args:
        out: Gets `seed0/imitation.safetensors`, `seed0/reward.safetensors` and so on.
        seeds: How many judges; they begin with other weights and see the questions in another order.
        settings: How long and how fast they learn.
        report: Called with a stage, a step, the steps, and the share of validation games won.
        dataset: `"labelled"`, or `"embedded"` for a try in seconds.
        depth: Walk through folders to files so deep, 1 or 2, or 0 for any; without it, search.
        start: A folder of judges of another depth; each seed begins as the rewarded one of it.

    Raises:
        UsageError: The folder holds judges of other settings, or `start` has none.
    """
    torch.set_num_threads(1)
    out.mkdir(parents=True, exist_ok=True)
    with only_process(out):
        settings_of = {"dataset": dataset, "depth": depth, "start": start and str(start), **settings._asdict()}
        claim_inputs(out / SETTINGS, settings_of)
        train, validation = (
            load_questions(split, dataset) if depth is None else load_walks(split, dataset, depth or None)
            for split in ("train", "validation")
        )
        found: list[Result] = []
        for seed in range(seeds):
            folder = out / f"seed{seed}"
            folder.mkdir(exist_ok=True)
            torch.manual_seed(seed)
            judge = Judge() if depth is None else Walker()
            if start is not None:
                judge.load_state_dict(SEARCHER.read(start / folder.name / "reward.safetensors").state_dict())
            for stage, teach in zip(STAGES, (imitate, reinforce), strict=True):
                weights = folder / f"{stage}.safetensors"
                if not weights.exists():
                    teach(judge, train, validation, settings, seed, partial(report, f"seed {seed}, {stage}"))
                    write_whole(weights, save(dict(judge.state_dict())))
                judge = SEARCHER.read(weights)
                found.append(Result(weights, shares(judge, validation, False), shares(judge, validation, True)))
    return found
