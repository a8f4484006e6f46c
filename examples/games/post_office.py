"""A look-up in the task: which shelf a letter's street belongs to."""

import random

from natlang_envs import NatLangEnv, Registration, register
from natlang_envs.env import Outcome
from natlang_envs.tasks import TaskList

STREETS = ("Ash Road", "Bell Lane", "Canal Street", "Dove Hill", "East Row", "Ferry Street")
COMMANDS = tuple(f"put it into the {shelf} shelf" for shelf in ("red", "blue", "green"))


class PostOfficeEnv(NatLangEnv):
    """Sort three letters into the shelves of their streets. The first mistake ends the game."""

    family = "post-office-example"

    def __init__(self, split="all", horizon=6, render_mode=None):
        tasks = TaskList(self.family, [f"day-{day}" for day in range(120)], split)
        sizes = {"max_observation": 200, "max_commands": 3, "fallback_commands": COMMANDS}
        super().__init__(tasks=tasks, horizon=horizon, render_mode=render_mode, **sizes)

    @property
    def task(self):
        return "Sort the letters. " + " ".join(f"{each}: {self.of[each]}." for each in STREETS)

    def _begin(self, task_id):
        draws = random.Random(task_id)
        self.of = {each: draws.choice(("red", "blue", "green")) for each in STREETS}
        self.letters, self.done = draws.sample(STREETS, 3), 0
        return self._observe(Outcome("", 0.0))

    def _act(self, command):
        if command != self.oracle()[0]:
            return Outcome("Wrong.", -1.0, terminated=True)
        self.done += 1
        return Outcome("Right.", 1.0, terminated=self.done == 3, success=self.done == 3)

    def _observe(self, outcome):
        return f"{outcome.feedback} The letter is for {self.letters[min(self.done, 2)]}.".lstrip()

    def _admissible_commands(self):
        return COMMANDS

    def _get_state(self):
        return (self.done,)

    def _set_state(self, state):
        (self.done,) = state

    def oracle(self):
        return [] if self._ended else [f"put it into the {self.of[each]} shelf" for each in self.letters[self.done :]]


register(Registration("Game/PostOffice-v0", f"{__name__}:PostOfficeEnv", "Sort letters into shelves."))


def teacher(moment):
    """Say which shelf the street belongs to."""
    env, action = moment.env, moment.env.oracle()[0]
    street = env.letters[env.done]
    return f"{street} belongs to {env.of[street]}. So I {action}.", action
