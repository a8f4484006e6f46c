"""Policy_Gradient of Algorithm 1, line 34: REINFORCE on the reward-to-go.

The paper leaves the estimator open and says that the steps of a trajectory are updated last to first; so does this.
A baseline, the batch's mean reward-to-go in the same state or at the same step, is taken off: it lowers the variance
and leaves the direction.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
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
from reference_agent.rollout import Episode


def update(learner: Learner, episodes: Sequence[Episode]) -> Update:
    """Take one pass over the batch in minibatches, last steps first, with one update a minibatch."""
    return one_pass(learner, scaled(advantages(episodes, learner.config)))


def one_pass(learner: Learner, rows: Sequence[Row]) -> Update:
    """Take one update a minibatch, in the order of the rows, whose advantages are used as they are."""

    def loss_of(part: Sequence[Row]) -> tuple[Tensor, tuple[float, ...]]:
        chosen, entropy, _ = choices(learner, part)
        weight = chosen.new_tensor([row.advantage for row in part])
        return -(weight * chosen).mean() - learner.config.entropy * entropy, (float(entropy.detach()),)

    parts = [
        step(learner, [rows[index] for index in chunk.tolist()], loss_of) for chunk in minibatches(len(rows), learner)
    ]
    loss, norm, entropy = np.asarray(parts).mean(axis=0).tolist()
    return Update(loss, entropy, norm)
