"""An optional wrapper that pays for subgoals: a curriculum for a sparse reward."""

from __future__ import annotations

from typing import Any, SupportsFloat

import gymnasium
from gymnasium.utils import RecordConstructorArgs

from natlang_envs.alfworld.engine.goals import TREATMENTS, Goal
from natlang_envs.alfworld.env import ALFWorldEnv
from natlang_envs.alfworld.observation_memory import ObservationMemory, type_of
from natlang_envs.env import unwrap
from natlang_envs.errors import UsageError


class SubgoalReward(gymnasium.Wrapper[Any, Any, Any, Any], RecordConstructorArgs):
    """Pays once an episode for each subgoal of a task, besides the task's reward.

    Subgoals are to hold an object that the task asks for, to have it cleaned, heated or cooled where the task asks for
    that, to have turned on the lamp, and of two objects to have placed one. What is reached is read from what a player
    is shown, and the goal from the game, so that it may be stated in anyone's words.

    Args:
        env: An environment of ALFWorld, wrapped or not.
        reward: What each subgoal pays.

    Raises:
        UsageError: The environment is another, or the reward is no positive number.
    """

    def __init__(self, env: gymnasium.Env[Any, Any], reward: float = 0.25) -> None:
        inner = unwrap(env)
        if not isinstance(inner, ALFWorldEnv):
            raise UsageError(f"{env} has no subgoals: SubgoalReward is for the environments of ALFWorld")
        if not 0 < reward < float("inf"):
            raise UsageError(f"reward must be a positive number, not {reward!r}")
        RecordConstructorArgs.__init__(self, reward=reward)
        super().__init__(env)
        self._inner = inner
        self._reward = reward
        self._goal: Goal
        self._memory: ObservationMemory
        self._reached: set[str] = set()

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        observation, info = self.env.reset(seed=seed, options=options)
        self._goal, self._memory = self._inner.goal, ObservationMemory(info["task"])
        self._reached = set()
        return observation, info

    def step(self, action: Any) -> tuple[Any, SupportsFloat, bool, bool, dict[str, Any]]:
        """Take a step; add the reward of the subgoals that are reached with it for the first time."""
        observation, reward, terminated, truncated, info = self.env.step(action)
        self._memory.read(info["feedback"])
        new = self._holding(info["feedback"]) - self._reached
        self._reached |= new
        return observation, float(reward) + self._reward * len(new), terminated, truncated, info

    def _holding(self, feedback: str) -> set[str]:
        goal, memory = self._goal, self._memory
        reached: set[str] = set()
        if memory.held is not None and type_of(memory.held) == goal.object_type:
            reached.add("held")
            if TREATMENTS.get(goal.task_type) in memory.states.get(memory.held, ()):
                reached.add("treated")
        if goal.toggle_type and feedback.startswith(f"You turn on the {goal.toggle_type} "):
            reached.add("lit")
        if goal.count > 1 and any(
            memory.count(goal.object_type, name) for name in memory.receptacles if type_of(name) == goal.receptacle_type
        ):
            reached.add("placed")
        return reached
