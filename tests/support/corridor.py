"""A small environment that keeps every promise: rooms in a row, and a lamp to light in one of them."""

from __future__ import annotations

from typing import Any, ClassVar

from natlang_envs.env import NatLangEnv, Outcome
from natlang_envs.tasks import Shares, Split, TaskList

ROOMS = 7


class CorridorTasks(TaskList):
    """A room to start in and a room with a lamp."""

    def __init__(self, split: str) -> None:
        self.split = split
        everything = [f"room-{a}/room-{b}" for a in range(ROOMS) for b in range(ROOMS) if a != b]
        super().__init__("corridor", everything, split, Shares(0.4, 0.3))


class Corridor(NatLangEnv):
    """Walk to the lamp and light it."""

    metadata: ClassVar[dict[str, Any]] = {"render_modes": []}
    family = "corridor"

    def __init__(
        self, split: Split = "all", horizon: int = 9, render_mode: str | None = None, max_observation: int = 300
    ) -> None:
        super().__init__(
            tasks=CorridorTasks(split),
            horizon=horizon,
            render_mode=render_mode,
            max_observation=max_observation,
            max_commands=3,
            fallback_commands=("go west", "go east", "light the lamp"),
        )
        self._room = self._lamp = 0

    @property
    def task(self) -> str:
        return "Light the lamp."

    def _begin(self, task_id: str) -> str:
        self._room, self._lamp = (int(part.removeprefix("room-")) for part in task_id.split("/"))
        return self._text()

    def _text(self) -> str:
        return f"You are in room {self._room}. The lamp stands in room {self._lamp}."

    def _act(self, command: str) -> Outcome:
        if command not in self._admissible_commands():
            return Outcome(f"You cannot {command[:40]!r} here.", -1.0)
        if command == "light the lamp":
            found = self._room == self._lamp
            return Outcome("It shines." if found else "There is none here.", 1.0 if found else -1.0, found, found)
        self._room += 1 if command == "go east" else -1
        return Outcome("You walk on.", -1.0)

    def _observe(self, outcome: Outcome) -> str:
        return f"{outcome.feedback} {self._text()}"

    def _admissible_commands(self) -> tuple[str, ...]:
        west = ("go west",) if self._room > 0 else ()
        east = ("go east",) if self._room < ROOMS - 1 else ()
        return (*west, *east, "light the lamp")

    def oracle(self) -> list[str]:
        if self._ended:
            return []
        step = "go east" if self._lamp > self._room else "go west"
        return [*[step] * abs(self._lamp - self._room), "light the lamp"]

    def _get_state(self) -> tuple[Any, ...]:
        return (self._room,)

    def _set_state(self, state: tuple[Any, ...]) -> None:
        (self._room,) = state
