"""RLOO (REINFORCE leave-one-out) for line 34 of Algorithm 1.

The advantage of all decisions of an episode is its return minus the mean return of the group's other episodes. It is
not divided by the group's standard deviation, which would give most weight to tasks that are almost solved or almost
hopeless. Groups with equal returns are skipped. One update per minibatch.
"""

from __future__ import annotations

from collections.abc import Sequence

from reference_agent.algorithms.policy_gradient import Learner, Row, Update, whole_returns
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
    # The return less the mean of the others is the return less the mean of all, size / (size - 1) times.
    return whole_returns(episodes, size, lambda gained: (gained - gained.mean()) / scale * size / (size - 1))
