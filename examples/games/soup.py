"""An order of steps, which the task gives in pairs."""

import random

from natlang_envs import NatLangEnv, Registration, register
from natlang_envs.env import Outcome
from natlang_envs.tasks import TaskList

COMMANDS = ("boil", "chop", "fry", "mix", "peel", "wash")


class SoupEnv(NatLangEnv):
    """Cook by a recipe of six steps in pairs. The first mistake ends the game."""

    family = "soup-example"

    def __init__(self, split="all", horizon=8, render_mode=None):
        tasks = TaskList(self.family, [f"day-{day}" for day in range(120)], split)
        sizes = {"max_observation": 200, "max_commands": 6, "fallback_commands": COMMANDS}
        super().__init__(tasks=tasks, horizon=horizon, render_mode=render_mode, **sizes)

    @property
    def task(self):
        return f"Cook the soup. First {self.order[0]}. " + " ".join(self.pairs)

    def _begin(self, task_id):
        draws = random.Random(task_id)
        self.order, self.done = draws.sample(COMMANDS, 6), 0
        self.pairs = [f"After {one} comes {two}." for one, two in zip(self.order, self.order[1:], strict=False)]
        draws.shuffle(self.pairs)
        return self._observe(Outcome("", 0.0))

    def _act(self, command):
        if command != self.oracle()[0]:
            return Outcome("Wrong.", -1.0, terminated=True)
        self.done += 1
        return Outcome("Right.", 1.0, terminated=self.done == 6, success=self.done == 6)

    def _observe(self, outcome):
        return f"{outcome.feedback} The last step was {self.order[self.done - 1] if self.done else 'none'}.".lstrip()

    def _admissible_commands(self):
        return COMMANDS

    def _get_state(self):
        return (self.done,)

    def _set_state(self, state):
        (self.done,) = state

    def oracle(self):
        return [] if self._ended else self.order[self.done :]


register(Registration("Game/Soup-v0", f"{__name__}:SoupEnv", "Cook by a recipe."))


def teacher(moment):
    """Say which step comes next."""
    env, action = moment.env, moment.env.oracle()[0]
    why = f"After {env.order[env.done - 1]} comes {action}" if env.done else f"The first step is {action}"
    return f"{why}. So I {action}.", action
