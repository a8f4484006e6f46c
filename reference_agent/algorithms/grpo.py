"""GRPO for line 34 of Algorithm 1: returns compared within a task's group, and PPO's clipped updates.

The advantage of all decisions of an episode is its return minus the group's mean, divided by the group's standard
deviation. Groups with equal returns say nothing and are skipped. `rl.reference_kl` holds the policy near the one before
RL. Rewards count for the whole episode: with long ones, "gigpo" tells right steps from wrong ones.
"""

from __future__ import annotations

from collections.abc import Sequence

from reference_agent.algorithms.policy_gradient import Learner, Row, Update, whole_returns
from reference_agent.algorithms.ppo import several_passes
from reference_agent.rollout import Episode


def update(learner: Learner, episodes: Sequence[Episode]) -> Update:
    """Take PPO's passes over the groups whose returns differ."""
    rows = compared(episodes, learner.config.group)
    total = sum(len(each.decisions) for each in episodes)
    result = several_passes(learner, rows) if rows else Update(0.0, 0.0, 0.0)
    return result._replace(skipped=1 - len(rows) / total)


def compared(episodes: Sequence[Episode], size: int) -> list[Row]:
    """Return the decisions of every group of `size` episodes whose returns differ, last steps first."""
    return whole_returns(episodes, size, lambda gained: (gained - gained.mean()) / gained.std())
