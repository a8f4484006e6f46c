"""Policy_Gradient of Algorithm 1, line 34: REINFORCE on the reward-to-go.

The paper leaves the estimator open and says that the steps of a trajectory are updated last to first; so does this.
A baseline, the batch's mean reward-to-go in the same state or at the same step, is taken off: it lowers the variance
and leaves the direction. It knows nothing of environments or reflections: it sees prompts, labels, choices and rewards.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray

from reference_agent.config import RLConfig
from reference_agent.model import LanguageModel
from reference_agent.players import Decision
from reference_agent.rollout import Episode


class Update(NamedTuple):
    """What an iteration's updates did: mean loss, mean entropy (nats) and mean norm of the gradient."""

    loss: float
    entropy: float
    gradient_norm: float


def rewards_to_go(rewards: Sequence[float], scale: float) -> NDArray[np.float64]:
    """Return Σ_{t ≥ h} r_t / scale for every step h."""
    return np.cumsum(np.asarray(rewards)[::-1])[::-1] / scale


def advantages(episodes: Sequence[Episode], config: RLConfig) -> list[tuple[int, Decision, float]]:
    """Return (step, decision, advantage) of every step of every episode, last steps first."""
    returns = [rewards_to_go(each.rewards, config.reward_scale) for each in episodes]
    groups: dict[object, list[float]] = {}
    for episode, gained in zip(episodes, returns, strict=True):
        for step, decision in enumerate(episode.decisions):
            for key in (step, decision.state):
                groups.setdefault(key, []).append(float(gained[step]))

    def baseline(step: int, decision: Decision) -> float:
        if config.baseline == "none":
            return 0.0
        same_state = groups[decision.state]
        return float(np.mean(same_state if config.baseline == "state" and len(same_state) > 1 else groups[step]))

    rows = [
        (step, decision, float(gained[step]) - baseline(step, decision))
        for episode, gained in zip(episodes, returns, strict=True)
        for step, decision in enumerate(episode.decisions)
    ]
    return sorted(rows, key=lambda row: -row[0])


def update(
    policy: LanguageModel, optimizer: torch.optim.Optimizer, episodes: Sequence[Episode], config: RLConfig
) -> Update:
    """Take one pass over the batch in minibatches, last steps first, with one update a minibatch."""
    rows = advantages(episodes, config)
    spread = float(np.std([row[2] for row in rows])) + 1e-6
    parts: list[tuple[float, float, float]] = []
    count = max(1, round(len(rows) / config.minibatch))
    for chunk in np.array_split(np.arange(len(rows)), count):
        batch = [rows[index] for index in chunk.tolist()]
        logits = policy.choice_logits([each.prompt for _, each, _ in batch], [each.labels for _, each, _ in batch])
        log_probabilities = torch.log_softmax(logits, dim=1)
        chosen = log_probabilities.gather(1, torch.tensor([[each.chosen] for _, each, _ in batch]))[:, 0]
        weight = torch.tensor([advantage / spread for _, _, advantage in batch])
        probabilities = log_probabilities.exp()
        entropy = -(probabilities * log_probabilities.masked_fill(probabilities == 0, 0.0)).sum(dim=1).mean()
        loss = -(weight * chosen).mean() - config.entropy * entropy
        norm = policy.descend(optimizer, loss, config.clip)
        parts.append((float(loss.detach()), float(entropy.detach()), norm))
    return Update(*np.asarray(parts).mean(axis=0).tolist())
