"""What both agents share in learning: RL by REINFORCE with a leave-one-out baseline, and a folder of trained seeds."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import torch
from safetensors.torch import save
from torch import Tensor, nn
from torch.optim.lr_scheduler import LinearLR, LRScheduler

from natlang_envs.files import only_process, write_whole
from natlang_judges.judges import JudgeKind
from reference_agent.run.fingerprint import claim_inputs

Report = Callable[[int, int, float], None]  # step, steps, share of games won
SeedReport = Callable[[str, int, int, float], None]  # the same after the name of a stage


@dataclass(frozen=True, kw_only=True)
class RewardSettings:
    """How an agent learns from the reward of its own games."""

    updates: int
    samples: int = 4  # games of a task in an update; each is compared with the others
    reward_rate: float = 1e-3  # learning rate at the start; it decays linearly to 0


class TrainedJudge(NamedTuple):
    """Weights after a stage, and the shares of validation games that they win, by the kind of game."""

    weights: Path
    won: dict[str, float]


def reward_optimizer(
    parameters: Iterable[nn.Parameter], settings: RewardSettings, updates: int
) -> tuple[torch.optim.Optimizer, LRScheduler]:
    optimizer = torch.optim.AdamW(parameters, settings.reward_rate, weight_decay=1e-3)
    return optimizer, LinearLR(optimizer, 1.0, 0.0, total_iters=max(1, updates))


def take_step(network: nn.Module, optimizer: torch.optim.Optimizer, loss: Tensor) -> None:
    optimizer.zero_grad()
    loss.backward()
    torch.nn.utils.clip_grad_norm_(network.parameters(), 1.0)
    optimizer.step()


def advantages(won: Tensor) -> Tensor:
    """Return each game's advantage over the mean of the other games of its task (RLOO); rows are tasks."""
    return won - (won.sum(1, keepdim=True) - won) / (won.shape[1] - 1)


def train_seeds(
    out: Path,
    seeds: int,
    about: dict[str, Any],
    kind: JudgeKind[Any],
    stages: Mapping[str, Callable[[Path, int, Report], nn.Module]],
    measure: Callable[[Any], dict[str, float]],
    report: SeedReport,
) -> list[TrainedJudge]:
    """Train a network for each seed, one stage after another, and play validation games after each stage.

    `out` gets `seed0/STAGE.safetensors` and so on; a stage whose weights are there is not trained again. A stage is a
    function `(folder, seed, report)` that returns the trained network, and finds the weights of earlier stages in the
    folder. `measure` returns the shares of validation games that a network wins. `about` has the settings and the data:
    `UsageError` is raised if `settings.json` in `out` has others.
    """
    torch.set_num_threads(1)
    out.mkdir(parents=True, exist_ok=True)
    with only_process(out):
        claim_inputs(out / "settings.json", about)
        trained: list[TrainedJudge] = []
        for seed in range(seeds):
            for stage, train in stages.items():
                weights = out / f"seed{seed}" / f"{stage}.safetensors"
                if not weights.exists():
                    torch.manual_seed(seed)
                    network = train(weights.parent, seed, partial(report, f"seed {seed}, {stage}"))
                    write_whole(weights, save(dict(network.state_dict())))
                trained.append(TrainedJudge(weights, measure(kind.read(weights))))
        return trained
