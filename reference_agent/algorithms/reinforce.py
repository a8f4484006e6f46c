"""REINFORCE on the reward-to-go for line 34 of Algorithm 1.

The paper leaves the estimator open and updates the steps of a trajectory last to first, as this does. An optional
baseline, the batch's mean reward-to-go at the same step, reduces the variance. Advantages with a baseline are divided
by their standard deviation.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from torch import Tensor

from reference_agent.algorithms.policy_gradient import (
    Learner,
    Transition,
    Update,
    centred,
    choices,
    known_entropy,
    minibatches,
    step,
)
from reference_agent.rollout import Episode


def update(learner: Learner, episodes: Sequence[Episode]) -> Update:
    """Take one pass over the batch in minibatches, last steps first, with one update a minibatch."""
    return one_pass(learner, centred(episodes, learner.config))


def one_pass(learner: Learner, transitions: Sequence[Transition]) -> Update:
    """Take one update a minibatch, in the order of the transitions, whose advantages are used as they are."""

    def loss_of(part: Sequence[Transition]) -> tuple[Tensor, tuple[float, ...]]:
        chosen, entropy, _ = choices(learner, part)
        weight = chosen.new_tensor([transition.advantage for transition in part])
        return -(weight * chosen).mean() - learner.config.entropy * entropy, (float(entropy.detach()),)

    parts = [
        step(learner, [transitions[index] for index in chunk.tolist()], loss_of)
        for chunk in minibatches(len(transitions), learner)
    ]
    loss, norm, entropy = np.asarray(parts).mean(axis=0).tolist()
    return Update(loss, known_entropy(learner, entropy), norm)
