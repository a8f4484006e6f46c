"""Train players on an environment of your own: the 20 lines of GuessEnv, and a teacher that is a plain function."""

from natlang_envs import NatLangEnv
from natlang_envs.env import Outcome
from natlang_envs.tasks import TaskList
from reference_agent import CollectConfig, Lesson, Moment, PolicySFTConfig, RLConfig, SFTConfig, Stage
from reference_agent import collect, fine_tune_policy, fine_tune_reflector, load_model, play, reinforce, success_rate


class GuessEnv(NatLangEnv):
    """Find a number between 1 and 15 in four guesses."""

    metadata, family, task = {"render_modes": []}, "guess", "Find the hidden number."
    every = tuple(f"guess {number}" for number in range(1, 16))

    def __init__(self):
        numbers = TaskList("guess", map(str, range(1, 16)), "all")
        limits = {"max_observation": 60, "max_commands": 15, "fallback_commands": self.every}
        super().__init__(tasks=numbers, horizon=4, render_mode=None, **limits)

    def _begin(self, task_id):
        self.low, self.high, self.number = 1, 15, int(task_id)
        return "It is between 1 and 15."

    def _act(self, command):
        guess = int(command.removeprefix("guess ")) if command in self.every else 0
        self.low, self.high = (max(self.low, guess + 1), self.high) if guess < self.number else (self.low, min(self.high, guess - 1))
        return Outcome(f"It is between {self.low} and {self.high}.", 1.0 if guess == self.number else 0.0, guess == self.number, guess == self.number)
