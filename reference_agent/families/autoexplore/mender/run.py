"""Trains a mender for each seed into a folder; a stage that is there already is left alone."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch
from safetensors.torch import save

from natlang_envs.autoexplore.changing.picking.env import Start
from natlang_envs.files import only_process, write_whole
from reference_agent.families.autoexplore.mender.training import Bugs, Settings, imitate, learn_code, reinforce, wins
from reference_agent.families.autoexplore.searcher.run import claim
from reference_agent.mender.judge import MENDER, Judge

IMITATION = "imitation"
# Each begins with the imitated judge: the curriculum, and as many updates from the top folder alone.
BY_REWARD: dict[str, Sequence[Start]] = {"reward": ("line", "file", "repository"), "direct": ("repository",)}


class Result(NamedTuple):
    """A judge, and the share of validation tasks that it wins greedily, by where they start."""

    weights: Path
    won: dict[Start, float]


def train_menders(
    out: Path,
    seeds: int,
    settings: Settings,
    report: Callable[[str, int, int, float], None],
    train: Bugs,
    validation: Bugs,
) -> list[Result]:
    """Teach a judge for each seed: by imitation, then from it by reward, with the curriculum and without.

    Args:
        out: Gets `seed0/imitation.safetensors`, `seed0/reward.safetensors`, `seed0/direct.safetensors` and so on.
        seeds: How many judges; they begin with other weights and meet other bugs.
        settings: How long and how fast they learn.
        report: Called with a stage, a step, the steps, and the share of training games won.
        train: What they learn from.
        validation: What is played at the end of each stage; nothing is chosen by it.

    Raises:
        UsageError: The folder holds judges of other settings or tasks.
    """
    torch.set_num_threads(1)
    out.mkdir(parents=True, exist_ok=True)
    with only_process(out):
        claim(out, {**train.about, **settings._asdict()}, "menders")
        found: list[Result] = []
        for seed in range(seeds):
            folder = out / f"seed{seed}"
            folder.mkdir(exist_ok=True)
            for number, stage in enumerate((IMITATION, *BY_REWARD)):
                weights = folder / f"{stage}.safetensors"
                if not weights.exists():
                    rng = np.random.default_rng([seed, number])
                    torch.manual_seed(seed)
                    tell = partial(report, f"seed {seed}, {stage}")
                    if stage == IMITATION:
                        judge = Judge()
                        learn_code(judge, train, settings, rng)
                        imitate(judge, train, settings, rng, tell)
                    else:
                        judge = MENDER.read(folder / f"{IMITATION}.safetensors")
                        reinforce(judge, train, BY_REWARD[stage], settings, rng, tell)
                    write_whole(weights, save(dict(judge.state_dict())))
                games = wins(MENDER.read(weights), validation)
                found.append(Result(weights, {start: sum(won) / len(won) for start, won in games.items()}))
    return found
