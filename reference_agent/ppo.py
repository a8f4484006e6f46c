"""Policy_Gradient of Algorithm 1, line 34, by PPO: several updates on a batch, none far from the policy that sampled.

The ratio of what was chosen, now against when it was sampled, is clipped; the epochs over the batch end early when the
policies are too far apart. There is no critic: the advantage is REINFORCE's.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor

from reference_agent.policy_gradient import Learner, Row, Update, advantages, choices, minibatches, scaled, step
from reference_agent.rollout import Episode


def update(learner: Learner, episodes: Sequence[Episode]) -> Update:
    """Take up to `rl.epochs` passes over the batch in shuffled minibatches."""
    config = learner.config
    everything = scaled(advantages(episodes, config))
    # A choice that was all but certain has next to no gradient: it counts in the mean, and saves its forward pass.
    rows = [row for row in everything if config.skip >= 1 or row.decision.log_probability < np.log(config.skip)]
    kept = len(rows) / len(everything)

    def loss_of(part: Sequence[Row]) -> tuple[Tensor, tuple[float, ...]]:
        chosen, entropy = choices(learner.policy, part)
        weight = chosen.new_tensor([row.advantage for row in part])
        moved = chosen - chosen.new_tensor([row.decision.log_probability for row in part])
        ratio = moved.exp()
        surrogate = torch.minimum(ratio * weight, ratio.clamp(1 - config.ratio, 1 + config.ratio) * weight)
        kl = (ratio - 1 - moved).detach().mean()
        clipped = ((ratio - 1).abs() > config.ratio).float().mean()
        loss = -surrogate.mean() - config.entropy * entropy
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
