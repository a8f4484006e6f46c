"""Two updates of one's own for `RLConfig`: advantage-weighted regression, and preferences between choices as in DPO.

RLConfig(advantage_weighted, batch=64)
RLConfig(PREFERENCES, {"group": 8, "beta": 0.5}, batch=64)
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from math import exp

import numpy as np
import torch
from torch import Tensor

from reference_agent.algorithms import Algorithm, AlgorithmSettings
from reference_agent.algorithms import policy_gradient as pg
from reference_agent.algorithms.policy_gradient import Learner, Transition, Update
from reference_agent.rollout import Episode
from reference_agent.run.bounds import at_least, positive


def advantage_weighted(learner: Learner, episodes: Sequence[Episode]) -> Update:
    """Imitate every choice, weighted by e^advantage, at most 20 (Peng et al., 2019)."""

    def loss_of(part: Sequence[Transition]) -> tuple[Tensor, tuple[float, ...]]:
        now = pg.choices(learner, part)
        weight = now.chosen.new_tensor([min(exp(each.advantage), 20.0) for each in part])
        return -(weight * now.chosen).mean(), (float(now.entropy.detach()),)

    transitions = pg.centred(episodes, learner.config)
    done = [pg.step(learner, batch, loss_of) for batch in pg.minibatches(transitions, learner)]
    loss, norm, entropy = np.mean(done, axis=0).tolist()
    return Update(loss, entropy, norm, updates=len(done))


@dataclass(frozen=True)
class PreferenceSettings(AlgorithmSettings):
    """Settings of `preferences`.

    Attributes:
        group: Episodes of each task in a batch.
        beta: How strongly a preference moves the policy from the one that chose.
    """

    group: int = at_least(2, 8)
    beta: float = positive(0.5)


def preferences(learner: Learner, episodes: Sequence[Episode]) -> Update:
    """Where choices at one prompt led to different rewards, prefer the better one (Rafailov et al., 2023)."""
    gains = [pg.rewards_to_go(each.rewards, 1.0, learner.config.discount).tolist() for each in episodes]
    met: dict[str, list[Transition]] = {}
    for episode, gained in zip(episodes, gains, strict=True):
        for step, decision in enumerate(episode.decisions):
            met.setdefault(decision.prompt, []).append(Transition(step, decision, gained[step]))
    transitions = [each for those in met.values() if _pairs(those) for each in those]
    if not transitions:
        return Update(updates=0)

    def loss_of(part: Sequence[Transition]) -> tuple[Tensor, tuple[float, ...]]:
        now = pg.choices(learner, part)  # all choices at a prompt are in one part
        moved = now.chosen - now.chosen.new_tensor([each.decision.log_probability for each in part])
        better, worse = torch.tensor(_pairs(part)).T
        margin = learner.config.options.beta * (moved[better] - moved[worse])
        return -torch.nn.functional.logsigmoid(margin).sum() / len(part), (float(now.entropy.detach()),)

    loss, norm, entropy = pg.step(learner, transitions, loss_of)
    return Update(loss, entropy, norm, updates=1)


def _pairs(part: Sequence[Transition]) -> list[tuple[int, int]]:
    """Return the places of a better and a worse choice at one prompt, for all such pairs."""
    found = []
    for one, two in combinations(range(len(part)), 2):
        first, second = part[one], part[two]
        same = first.decision.prompt == second.decision.prompt and first.decision.chosen != second.decision.chosen
        if same and first.advantage != second.advantage:
            found.append((one, two) if first.advantage > second.advantage else (two, one))
    return found


PREFERENCES = Algorithm(preferences, PreferenceSettings, compares=True)
