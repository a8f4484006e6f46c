"""Replay of successes (`rl.replay`): a second update of each iteration, on earlier episodes that went well.

Not in the paper. Each replayed decision is imitated by as much as its reward-to-go was above what this iteration's
episodes got at the same step, and never pushed away: a decision of a policy that is gone says what can work, not what
fails. So it is biased, more the older the episode; the buffer is bounded and forgets the oldest.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

import numpy as np

from reference_agent.algorithms.policy_gradient import Learner, Row, rewards_to_go
from reference_agent.algorithms.reinforce import one_pass
from reference_agent.config import RLConfig
from reference_agent.players import Decision
from reference_agent.rollout import Episode


class Replay:
    """The last `rl.replay_size` successes.

    Args:
        config: The settings.
        saved: What `state` returned, to go on from.
    """

    def __init__(self, config: RLConfig, saved: Sequence[Any] = ()) -> None:
        self.episodes: deque[Episode] = deque(maxlen=config.replay_size)
        for each in saved:
            decisions = [Decision(*values) for values in each["decisions"]]
            self.episodes.append(Episode(decisions, list(each["rewards"]), bool(each["success"])))

    def state(self) -> list[Any]:
        """Return the buffer as JSON values."""
        return [asdict(each) for each in self.episodes]

    def update(self, learner: Learner, sampled: Sequence[Episode]) -> int:
        """Learn from up to `rl.replay` of the episodes kept so far, then keep this iteration's successes.

        Returns:
            How many episodes were replayed.
        """
        config = learner.config
        count = min(config.replay, len(self.episodes))
        drawn = [self.episodes[index] for index in learner.rng.permutation(len(self.episodes))[:count].tolist()]
        rows = imitation(drawn, sampled, config.reward_scale)
        if rows:
            one_pass(learner, rows)
        self.episodes.extend(each for each in sampled if each.success)
        return count


def imitation(old: Sequence[Episode], sampled: Sequence[Episode], scale: float) -> list[Row]:
    """Return the old episodes' decisions that earned more than the sampled ones did on average at the same step."""
    reached: dict[int, list[float]] = {}
    for episode in sampled:
        for step, value in enumerate(rewards_to_go(episode.rewards, scale).tolist()):
            reached.setdefault(step, []).append(value)
    rows = [
        Row(step, decision, value - float(np.mean(reached.get(step, [0.0]))))
        for episode in old
        for step, (decision, value) in enumerate(
            zip(episode.decisions, rewards_to_go(episode.rewards, scale).tolist(), strict=True)
        )
    ]
    return sorted((row for row in rows if row.advantage > 0), key=lambda row: -row.step)
