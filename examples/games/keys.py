"""A look-up of two labels: where a room's key hangs, by its wing and its floor."""

import random

from natlang_envs import NatLangEnv, Registration, register
from natlang_envs.env import Outcome
from natlang_envs.tasks import TaskList

WINGS, FLOORS = ("north", "south", "west"), ("first", "second", "third")
SIDES, ROWS = ("left", "middle", "right"), ("upper", "centre", "lower")
COMMANDS = tuple(f"open the {row} {side} box" for row in ROWS for side in SIDES)


class KeysEnv(NatLangEnv):
    """Fetch the keys of three rooms from their boxes. The first mistake ends the game."""

    family = "keys-example"

    def __init__(self, split="all", horizon=6, render_mode=None):
        tasks = TaskList(self.family, [f"day-{day}" for day in range(120)], split)
        sizes = {"max_observation": 200, "max_commands": 9, "fallback_commands": COMMANDS}
        super().__init__(tasks=tasks, horizon=horizon, render_mode=render_mode, **sizes)

    @property
    def task(self):
        return "Fetch the keys. " + " ".join(f"The {each} keys are {self.of[each]}." for each in WINGS + FLOORS)

    def _begin(self, task_id):
        draws = random.Random(task_id)
        self.of = dict(zip(WINGS + FLOORS, draws.sample(SIDES, 3) + draws.sample(ROWS, 3), strict=True))
        self.rooms, self.done = [(draws.choice(WINGS), draws.choice(FLOORS)) for _ in range(3)], 0
        return self._observe(Outcome("", 0.0))

    def _act(self, command):
        if command != self.oracle()[0]:
            return Outcome("Wrong.", -1.0, terminated=True)
        self.done += 1
        return Outcome("Right.", 1.0, terminated=self.done == 3, success=self.done == 3)

    def _observe(self, outcome):
        wing, floor = self.rooms[min(self.done, 2)]
        return f"{outcome.feedback} A guest of the {wing} wing, {floor} floor.".lstrip()

    def _admissible_commands(self):
        return COMMANDS

    def _get_state(self):
        return (self.done,)

    def _set_state(self, state):
        (self.done,) = state

    def oracle(self):
        rooms = [] if self._ended else self.rooms[self.done :]
        return [f"open the {self.of[floor]} {self.of[wing]} box" for wing, floor in rooms]


register(Registration("Game/Keys-v0", f"{__name__}:KeysEnv", "Fetch keys from their boxes."))


def teacher(moment):
    """Say what the wing and the floor stand for."""
    env, action = moment.env, moment.env.oracle()[0]
    wing, floor = env.rooms[env.done]
    return f"{wing} is {env.of[wing]} and {floor} is {env.of[floor]}. So I {action}.", action
