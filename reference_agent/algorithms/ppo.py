"""Policy_Gradient of Algorithm 1, line 34, by PPO: several updates on a batch, none far from the policy that sampled.

The ratio of what was chosen, now against when it was sampled, is clipped; the epochs over the batch end early when the
policies are too far apart. Without a critic the advantage is REINFORCE's; with one (`rl.critic`), a linear value head
on the last position of the policy's own model, it is the generalised advantage estimate, undiscounted. An episode that
ran out of time counts as ended. The authors' appendix A found PPO unstable: see `rl.dropout`.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor

from reference_agent.algorithms.policy_gradient import (
    Learner,
    Row,
    Update,
    advantages,
    choices,
    minibatches,
    scaled,
    step,
)
from reference_agent.models.language_model import LanguageModel
from reference_agent.rollout import Episode


def make_critic(policy: LanguageModel) -> torch.nn.Linear:
    """Return a value head that says 0 of every state until it is trained."""
    critic = torch.nn.Linear(policy.model.get_output_embeddings().weight.shape[1], 1)
    torch.nn.init.zeros_(critic.weight)
    torch.nn.init.zeros_(critic.bias)
    return critic


def update(learner: Learner, episodes: Sequence[Episode]) -> Update:
    """Take up to `rl.epochs` passes over the batch in shuffled minibatches."""
    rows = advantages(episodes, learner.config) if learner.critic is None else judged(learner, episodes)
    return several_passes(learner, scaled(rows))


@torch.no_grad()
def judged(learner: Learner, episodes: Sequence[Episode]) -> list[Row]:
    """Return every decision with the critic's advantage, and the value the critic should have named."""
    rows = [Row(number, decision, 0.0) for each in episodes for number, decision in enumerate(each.decisions)]
    size = learner.config.microbatch or len(rows)
    values: list[float] = []
    for first in range(0, len(rows), size):
        said = choices(learner, rows[first : first + size]).values
        assert said is not None
        values += said.tolist()
    first = 0
    for episode in episodes:
        following = advantage = 0.0
        for index in reversed(range(first, first + len(episode.rewards))):
            reward = episode.rewards[index - first] / learner.config.reward_scale
            advantage = reward + following - values[index] + learner.config.gae * advantage
            following = values[index]
            rows[index] = rows[index]._replace(advantage=advantage, target=advantage + values[index])
        first += len(episode.rewards)
    return rows


def several_passes(learner: Learner, everything: Sequence[Row]) -> Update:
    """Take up to `rl.epochs` passes over decisions whose advantages are used as they are."""
    config = learner.config
    # A choice that was all but certain has next to no gradient: it counts in the mean, and saves its forward pass.
    rows = [row for row in everything if config.skip >= 1 or row.decision.log_probability < np.log(config.skip)]
    kept = len(rows) / len(everything)

    def loss_of(part: Sequence[Row]) -> tuple[Tensor, tuple[float, ...]]:
        chosen, entropy, values = choices(learner, part)
        weight = chosen.new_tensor([row.advantage for row in part])
        moved = chosen - chosen.new_tensor([row.decision.log_probability for row in part])
        ratio = moved.exp()
        surrogate = torch.minimum(ratio * weight, ratio.clamp(1 - config.ratio, 1 + config.ratio) * weight)
        kl = (ratio - 1 - moved).detach().mean()
        clipped = ((ratio - 1).abs() > config.ratio).float().mean()
        loss = -surrogate.mean() - config.entropy * entropy
        if values is not None:
            targets = values.new_tensor([row.target for row in part])
            loss = loss + config.value_weight * (values - targets).square().mean()
        return kept * loss, (float(entropy.detach()), kept * float(kl), kept * float(clipped))

    parts: list[list[float]] = []
    for _ in range(config.epochs if rows else 0):
        order = learner.rng.permutation(len(rows))
        for chunk in minibatches(len(rows), learner):
            parts.append(step(learner, [rows[index] for index in order[chunk].tolist()], loss_of))
            if 0 < config.target_kl < parts[-1][3]:
                break
        else:
            continue
        break
    loss, norm, entropy, kl, clipped = np.asarray(parts or [[0.0] * 5]).mean(axis=0).tolist()
    return Update(loss, entropy, norm, kl, clipped, len(parts), 1 - kept)
