"""A subtraction: how many jars are left."""

import random

from natlang_envs import NatLangEnv, Registration, register
from natlang_envs.env import Outcome
from natlang_envs.tasks import TaskList

COMMANDS = tuple(f"write {number}" for number in range(20))


class JarsEnv(NatLangEnv):
    """Say how many jars are left after each of three customers. The first mistake ends the game."""

    family = "jars-example"

    def __init__(self, split="all", horizon=6, render_mode=None):
        tasks = TaskList(self.family, [f"day-{day}" for day in range(120)], split)
        sizes = {"max_observation": 200, "max_commands": 20, "fallback_commands": COMMANDS}
        super().__init__(tasks=tasks, horizon=horizon, render_mode=render_mode, **sizes)

    @property
    def task(self):
        return "Write how many jars are left on the shelf."

    def _begin(self, task_id):
        draws = random.Random(task_id)
        self.jars, self.taken, self.done = [draws.randint(12, 19)], [], 0
        for _ in range(3):
            self.taken.append(draws.randint(1, min(6, self.jars[-1])))
            self.jars.append(self.jars[-1] - self.taken[-1])
        return self._observe(Outcome("", 0.0))

    def _act(self, command):
        if command != self.oracle()[0]:
            return Outcome("Wrong.", -1.0, terminated=True)
        self.done += 1
        return Outcome("Right.", 1.0, terminated=self.done == 3, success=self.done == 3)

    def _observe(self, outcome):
        now = min(self.done, 2)
        return f"{outcome.feedback} There are {self.jars[now]} jars. {self.taken[now]} are sold.".lstrip()

    def _admissible_commands(self):
        return COMMANDS

    def _get_state(self):
        return (self.done,)

    def _set_state(self, state):
        (self.done,) = state

    def oracle(self):
        return [] if self._ended else [f"write {left}" for left in self.jars[self.done + 1 :]]


register(Registration("Game/Jars-v0", f"{__name__}:JarsEnv", "Say how many jars are left."))


def teacher(moment):
    """Say the sum."""
    env, action = moment.env, moment.env.oracle()[0]
    return f"{env.jars[env.done]} minus {env.taken[env.done]} is {env.jars[env.done + 1]}. So I {action}.", action
