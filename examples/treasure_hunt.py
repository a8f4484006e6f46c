"""A treasure hunt: four rooms, a key and a chest. `docs/new_environment.md` trains an agent for it."""

from __future__ import annotations

from itertools import product
from typing import Any, ClassVar

from natlang_envs import NatLangEnv, Registration, register
from natlang_envs.env import Outcome
from natlang_envs.tasks import Split, TaskList

ROOMS = ("attic", "cellar", "garden", "kitchen")
COMMANDS = (*(f"go to {room}" for room in ROOMS), "take key", "open chest")


class TreasureHuntEnv(NatLangEnv):
    """Fetch the key, carry it to the chest, and open it. A task is a start, the key's room and the chest's."""

    metadata: ClassVar[dict[str, Any]] = {"render_modes": []}
    family = "treasure-hunt"

    def __init__(self, split: Split = "all", horizon: int = 8, render_mode: str | None = None) -> None:
        tasks = ["/".join(each) for each in product(ROOMS, ROOMS, ROOMS) if each[1] != each[2]]
        super().__init__(
            tasks=TaskList(self.family, tasks, split),
            horizon=horizon,
            render_mode=render_mode,
            max_observation=120,
            max_commands=5,
            fallback_commands=COMMANDS,
        )

    @property
    def task(self) -> str:
        return f"Open the chest. It is in the {self.chest}, its key in the {self.key}."

    def _begin(self, task_id: str) -> str:
        self.room, self.key, self.chest = task_id.split("/")
        self.has_key = False
        return self._observe(Outcome("", 0.0))

    def _act(self, command: str) -> Outcome:
        if command.removeprefix("go to ") in ROOMS:
            self.room = command.removeprefix("go to ")
        elif command == "take key" and self.room == self.key:
            self.has_key = True
        elif command == "open chest" and self.has_key and self.room == self.chest:
            return Outcome("The chest opens.", 1.0, terminated=True, success=True)
        else:
            return Outcome("That does not work.", 0.0)
        return Outcome("Done.", 0.0)

    def _observe(self, outcome: Outcome) -> str:
        carried = "the key" if self.has_key else "nothing"
        return f"{outcome.feedback} You are in the {self.room}. You carry {carried}.".lstrip()

    def _admissible_commands(self) -> tuple[str, ...]:
        return tuple(each for each in COMMANDS if each != f"go to {self.room}")

    def _get_state(self) -> tuple[Any, ...]:
        return self.room, self.has_key

    def _set_state(self, state: tuple[Any, ...]) -> None:
        self.room, self.has_key = state

    def oracle(self) -> list[str]:
        plan, room = list[str](), self.room
        for goal, command in ((self.key, "take key"), (self.chest, "open chest"))[self.has_key :]:
            plan += [f"go to {goal}"] * (room != goal) + [command]
            room = goal
        return [] if self._ended else plan


register(Registration("Example/TreasureHunt-v0", f"{__name__}:TreasureHuntEnv", "Fetch a key, and open a chest."))
