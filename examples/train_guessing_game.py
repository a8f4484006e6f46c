"""Reflect-RL on an environment of your own, with a plain function as the teacher.

python examples/train_guessing_game.py
"""

from __future__ import annotations

from typing import Any

import reference_agent as rrl
from natlang_envs import NatLangEnv
from natlang_envs.env import Outcome
from natlang_envs.tasks import TaskList

STATED = 0.9  # success after training; guessing at random wins a third of the games


class HalvingEnv(NatLangEnv):
    """Find a number between 1 and 15 by guessing higher or lower, each time by half as much."""

    metadata = {"render_modes": []}  # noqa: RUF012
    family = "halving"
    task = "Find the hidden number."  # pyright: ignore[reportAssignmentType]

    def __init__(self) -> None:
        numbers = TaskList("halving", map(str, (2, 4, 6, 10, 12, 14)), "all")
        limits: Any = {"max_observation": 20, "max_commands": 2, "fallback_commands": ("higher", "lower")}
        super().__init__(tasks=numbers, horizon=2, render_mode=None, **limits)

    def _begin(self, task_id: str) -> str:
        self.guess, self.move, self.number = 8, 4, int(task_id)
        return self._observe(Outcome("", 0.0))

    def _act(self, command: str) -> Outcome:
        self.guess += {"higher": self.move, "lower": -self.move}.get(command, 0)
        self.move //= 2
        won = self.guess == self.number
        return Outcome("", float(won), terminated=won, success=won)

    def _observe(self, outcome: Outcome) -> str:
        return f"{self.guess} is too {'small' if self.guess < self.number else 'large'}."

    def _admissible_commands(self) -> tuple[str, ...]:
        return "higher", "lower"

    def _get_state(self) -> tuple[Any, ...]:
        return self.guess, self.move

    def _set_state(self, state: tuple[Any, ...]) -> None:
        self.guess, self.move = state


def teacher(moment: rrl.Moment) -> tuple[str, str]:
    """Reflect on the last guess, and say the next."""
    action = "higher" if "small" in moment.observation else "lower"
    return f"{moment.observation} So I guess {action}.", action


def main(steps: int = 120, iterations: int = 15) -> float:
    """Train both players on four games of the teacher, then the policy by reward; return its success rate."""
    base = rrl.load_model("tiny")
    examples = rrl.collect(HalvingEnv, teacher, rrl.CollectConfig(trajectories=4, policy_trajectories=4, negatives=0))
    reflector = rrl.fine_tune_reflector(base.copy(), examples, rrl.SFTConfig(steps, batch=8))
    policy = rrl.fine_tune_policy(base.copy(), examples, rrl.PolicySFTConfig(steps, batch=8))
    print("It learns and plays the same six games: this environment has no splits.")
    print(f"before RL: {rrl.success_rate(rrl.play(HalvingEnv, policy, reflector)):.0%}")
    settings = rrl.RLConfig(batch=48, minibatch=16, learning_rate=1e-4)
    rrl.reinforce(policy, reflector, rrl.Stage(HalvingEnv, iterations), settings, report=print)
    return rrl.success_rate(rrl.play(HalvingEnv, policy, reflector))


if __name__ == "__main__":
    print(f"after RL: {main():.0%}")
