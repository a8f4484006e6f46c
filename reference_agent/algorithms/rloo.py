"""Policy_Gradient of Algorithm 1, line 34, by leave-one-out: an episode is judged by the others of the same task.

All decisions of an episode get its return less the mean return of the group's other episodes. It is not divided by the
group's standard deviation, which would make tasks that are almost solved, or almost hopeless, weigh most. A group
whose episodes all earned the same teaches nothing and saves its forward passes. One update a minibatch.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from reference_agent.algorithms.policy_gradient import Learner, Row, Update, groups
from reference_agent.algorithms.reinforce import one_pass
from reference_agent.rollout import Episode


def update(learner: Learner, episodes: Sequence[Episode]) -> Update:
    """Take one pass over the groups whose returns differ, last steps first."""
    rows = leave_one_out(episodes, learner.config.group, learner.config.reward_scale)
    total = sum(len(each.decisions) for each in episodes)
    result = one_pass(learner, rows) if rows else Update(0.0, 0.0, 0.0)
    return result._replace(skipped=1 - len(rows) / total)


def leave_one_out(episodes: Sequence[Episode], size: int, scale: float) -> list[Row]:
    """Return the decisions of every group of `size` episodes whose returns differ, last steps first."""
    rows: list[Row] = []
    for group in groups(episodes, size):
        returns = np.array([sum(each.rewards) for each in group]) / scale
        if np.ptp(returns) == 0:
            continue
        better = (returns - returns.mean()) * size / (size - 1)  # the same as less the mean of the others
        rows += [
            Row(step, decision, float(advantage))
            for episode, advantage in zip(group, better, strict=True)
            for step, decision in enumerate(episode.decisions)
        ]
    return sorted(rows, key=lambda row: -row.step)
