"""GiGPO for line 34 of Algorithm 1: advantages at two levels, the episode and each repeated state.

An episode's return is compared with its group's. Where several steps of the group met the same p(s), their
rewards-to-go are compared too, so that one wrong step does not blame the right ones before it. Simplified: neither
level is divided by its standard deviation, and rewards are not discounted. Updates are PPO's. With a long `history`,
p(s) rarely repeats.
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
    """Return every decision with its episode's advantage plus its state's."""
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
                float(togo[0]) - mean + (float(togo[step]) - float(np.mean(met[decision.state]))),
            )
            for episode, togo in zip(group, gained, strict=True)
            for step, decision in enumerate(episode.decisions)
        ]
    return sorted(rows, key=lambda row: -row.step)
