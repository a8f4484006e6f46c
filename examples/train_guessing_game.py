"""Reflect-RL on an environment of your own, with a plain function as the teacher.

python examples/train_guessing_game.py
"""

from __future__ import annotations

from typing import Any

import reference_agent as rrl
from natlang_envs import NatLangEnv
from natlang_envs.env import Outcome
from natlang_envs.tasks import TaskList

GUESSES = tuple(f"guess {number}" for number in range(1, 8))


class HalvingEnv(NatLangEnv):
    """Find a number between 1 and 7 in three guesses."""

    metadata, family, task = {"render_modes": []}, "halving", "Find the hidden number."  # type: ignore[assignment]

    def __init__(self) -> None:
        limits: Any = {"max_observation": 40, "max_commands": 7, "fallback_commands": GUESSES}
        super().__init__(tasks=TaskList("halving", "1234567", "all"), horizon=3, render_mode=None, **limits)

    def _begin(self, task_id: str) -> str:
        self.low, self.high, self.number = 1, 7, int(task_id)
        return "It is between 1 and 7."

    def _act(self, command: str) -> Outcome:
        guess = int(command.removeprefix("guess ")) if command in GUESSES else 0
        self.low = max(self.low, guess + 1) if guess < self.number else self.low
        self.high = min(self.high, guess - 1) if guess > self.number else self.high
        won = guess == self.number
        return Outcome(f"It is between {self.low} and {self.high}.", float(won), terminated=won, success=won)

    def _observe(self, outcome: Outcome) -> str:
        return outcome.feedback

    def _admissible_commands(self) -> tuple[str, ...]:
        return GUESSES

    def _get_state(self) -> tuple[Any, ...]:
        return self.low, self.high

    def _set_state(self, state: tuple[Any, ...]) -> None:
        self.low, self.high = state


def teacher(moment: rrl.Moment) -> tuple[str, str]:
    """Guess the middle of what is left; the environment's attributes are the teacher's privilege."""
    env: Any = moment.env
    middle = (env.low + env.high) // 2
    return f"I guess {middle}.", f"guess {middle}"


def main(steps: int = 300, iterations: int = 15) -> float:
    """Train both players on all seven games, then the policy by reward; return its success rate."""
    base = rrl.load_model("tiny")
    examples = rrl.collect(HalvingEnv, teacher, rrl.CollectConfig(trajectories=7, policy_trajectories=7, negatives=6))
    reflector = rrl.fine_tune_reflector(base.copy(), examples, rrl.SFTConfig(steps // 2, batch=16))
    policy = rrl.fine_tune_policy(base.copy(), examples, rrl.PolicySFTConfig(steps, batch=16))
    print(f"before RL: {rrl.success_rate(rrl.play(HalvingEnv, policy, reflector)):.0%}")
    settings = rrl.RLConfig(batch=32, learning_rate=6e-4)
    rrl.reinforce(
        policy, reflector, rrl.Stage(HalvingEnv, iterations), settings, report=lambda row: print(row["success"])
    )
    return rrl.success_rate(rrl.play(HalvingEnv, policy, reflector))


if __name__ == "__main__":
    print(f"after RL: {main():.0%}")
