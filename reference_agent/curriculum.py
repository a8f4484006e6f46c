"""Curricula (the paper's section 4.4): the environments of the stages, their tasks, and when to go on.

A stage is an environment with arguments. A curriculum may thus add rewards first (Taxi's pickup, then its dropoff),
take easy data first (AutoExplore's depth 1, depth 2, all), or short plans first. Stages only go forward.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import gymnasium
import numpy as np

from natlang_envs.cli_support import make_env
from natlang_envs.env import NatLangEnv
from natlang_envs.episodes import EpisodesVectorEnv
from natlang_envs.errors import UsageError

_DRAWS = 1000

Environment = str | Callable[[], NatLangEnv]  # an id, or a function that makes an environment


def make_environment(env: Environment, **arguments: Any) -> NatLangEnv:
    """Return a new environment; the arguments are for an id. Raises `UsageError` if there is none such."""
    return make_env(env, **arguments) if isinstance(env, str) else env()


@dataclass(frozen=True)
class Stage:
    """One stage of a curriculum: an environment, and how long to train in it.

    Attributes:
        env: An environment's id, or a function that makes one; in a config an id.
        iterations: Largest number of iterations.
        advance_at: Mean success of the last batches, 0 to 1, at which the stage ends early; 0 for never.
        advance_after: Number of batches in that mean.
        longest_plan: Longest reference plan of the tasks that are drawn; 0 for any.
        env_kwargs: Arguments of an environment that is given by its id, such as ALFWorld's `{"task_types": [...]}`.
    """

    env: Environment = ""
    iterations: int = 100
    advance_at: float = 0.0
    advance_after: int = 5
    longest_plan: int = 0
    env_kwargs: dict[str, Any] = field(default_factory=dict[str, Any])

    def __post_init__(self) -> None:
        """Check what types cannot say."""
        if self.advance_after < 1:
            raise UsageError(f"curriculum.advance_after is {self.advance_after}: give 1 or more")

    def make(self) -> NatLangEnv:
        """Return one environment of the stage."""
        return make_environment(self.env, **self.env_kwargs)

    def make_many(self, count: int) -> gymnasium.vector.VectorEnv[Any, Any, Any]:
        """Return `count` environments of the stage that step together."""
        name = self.env.rpartition(":")[2] if isinstance(self.env, str) else ""
        if isinstance(self.env, str) and getattr(gymnasium.registry.get(name), "vector_entry_point", None):
            return gymnasium.make_vec(
                self.env, count, vectorization_mode="vector_entry_point", autoreset_mode="NextStep", **self.env_kwargs
            )
        return EpisodesVectorEnv(self.make(), count)


def passed(stage: Stage, number: int, curve: Sequence[dict[str, float]]) -> bool:
    """Return whether the last batches of stage `number` succeeded often enough to go on."""
    recent = [row["success"] for row in curve if row["stage"] == number][-stage.advance_after :]
    return stage.advance_at > 0 and len(recent) == stage.advance_after and float(np.mean(recent)) >= stage.advance_at


class Tasks:
    """The training tasks of a stage."""

    def __init__(self, stage: Stage) -> None:
        self._stage = stage
        self._env = stage.make()
        self._lengths: dict[str, int] = {}

    def draw(self, rng: np.random.Generator) -> str:
        """Return a task whose plan is within the stage's `longest_plan`. Raises `UsageError` if hardly any is."""
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
