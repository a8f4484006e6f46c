"""Policy_Gradient of Algorithm 1, line 34, with credit at two levels: the episode's, and each repeated state's.

In the manner of GiGPO: within the episodes of a task, an episode's return is compared with the group's, and where
several steps of the group met the same p(s), their rewards-to-go are compared with one another as well, so that one
wrong step does not blame the right ones before it. Our own simplification: neither level is divided by its standard
deviation, and rewards are not discounted. The updates are PPO's. With a long `history` p(s) rarely repeats.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from reference_agent.algorithms.policy_gradient import Learner, Row, Update, groups, rewards_to_go, scaled
from reference_agent.algorithms.ppo import several_passes
from reference_agent.config import RLConfig
from reference_agent.rollout import Episode


def update(learner: Learner, episodes: Sequence[Episode]) -> Update:
    """Take PPO's passes over the batch with the credit of both levels."""
    return several_passes(learner, scaled(credit(episodes, learner.config)))


def credit(episodes: Sequence[Episode], config: RLConfig) -> list[Row]:
    """Return every decision with its episode's advantage plus `rl.step_weight` times its state's."""
    rows: list[Row] = []
    for group in groups(episodes, config.group):
        gained = [rewards_to_go(each.rewards, config.reward_scale) for each in group]
        mean = float(np.mean([each[0] for each in gained]))
        met: dict[str, list[float]] = {}
        for episode, togo in zip(group, gained, strict=True):
            for decision, value in zip(episode.decisions, togo.tolist(), strict=True):
                met.setdefault(decision.state, []).append(value)
        rows += [
            Row(
                step,
                decision,
                float(togo[0]) - mean + config.step_weight * (float(togo[step]) - float(np.mean(met[decision.state]))),
            )
            for episode, togo in zip(group, gained, strict=True)
            for step, decision in enumerate(episode.decisions)
        ]
    return sorted(rows, key=lambda row: -row.step)
