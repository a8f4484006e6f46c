"""Curricula (the paper's section 4.2): which tasks a stage draws, and when it has taught enough.

A stage is an environment id with arguments, so a curriculum is extra reward first (Taxi pickup, then dropoff), easy
data first (AutoExplore's depth 1, depth 2, all; some of ALFWorld's task types, then all) or short plans first. Stages
only go forward.
"""

from __future__ import annotations

from collections.abc import Sequence

import gymnasium
import numpy as np

from natlang_envs import unwrap
from natlang_envs.errors import UsageError
from reference_agent.config import Config, StageConfig

_DRAWS = 1000


def passed(stage: StageConfig, number: int, curve: Sequence[dict[str, float]]) -> bool:
    """Return whether the last `advance_after` batches of stage `number` have succeeded often enough to go on."""
    recent = [row["success"] for row in curve if row["stage"] == number][-stage.advance_after :]
    return stage.advance_at > 0 and len(recent) == stage.advance_after and float(np.mean(recent)) >= stage.advance_at


class Tasks:
    """The training tasks of a stage.

    Args:
        stage: The stage.
        config: The settings of the run.
    """

    def __init__(self, stage: StageConfig, config: Config) -> None:
        self._stage = stage
        self._env = unwrap(gymnasium.make(stage.env, **config.arguments(stage)))
        self._lengths: dict[str, int] = {}

    def draw(self, rng: np.random.Generator) -> str:
        """Return the id of a task whose reference plan from the start is not longer than `longest_plan`.

        Raises:
            UsageError: There are hardly any such tasks.
        """
        for _ in range(_DRAWS):
            task_id = self._env.tasks.draw(rng.random)
            if not self._stage.longest_plan or self._length(task_id) <= self._stage.longest_plan:
                return task_id
        raise UsageError(
            f"none of {_DRAWS} tasks of {self._stage.env} has a plan of at most {self._stage.longest_plan} steps: "
            "raise the stage's longest_plan"
        )

    def _length(self, task_id: str) -> int:
        if task_id not in self._lengths:
            self._env.reset(options={"task_id": task_id})
            self._lengths[task_id] = len(self._env.reference())
        return self._lengths[task_id]

    def close(self) -> None:
        """Close the environment that plans."""
        self._env.close()
