"""The two engines behind the environment: our own, and TextWorld's, with one interface."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal, Protocol

from natlang_envs.alfworld.engine.world import World
from natlang_envs.alfworld.tasks import AlfredTasks
from natlang_envs.errors import one_of

Backend = Literal["native", "textworld"]
FIRST_COMMANDS = ("inventory", "look")  # understood in every game


class AnyWorld(Protocol):
    """One episode of a game, in either engine."""

    def intro(self) -> str:
        """Return the first observation."""
        ...

    @property
    def commands(self) -> tuple[str, ...]:
        """What can be done now, sorted as TextWorld does."""
        ...

    @property
    def won(self) -> bool:
        """Whether the task is done."""
        ...

    def step(self, command: str) -> str:
        """Apply a command and return the answer."""
        ...

    def state(self) -> tuple[Any, ...]:
        """Return what `set_state` needs, as JSON values."""
        ...

    def set_state(self, state: tuple[Any, ...]) -> None:
        """Return to a state of the same game."""
        ...


WorldMaker = Callable[[AlfredTasks, str], AnyWorld]


def _native(tasks: AlfredTasks, task_id: str) -> World:
    return World(tasks.game(task_id))


def _textworld(tasks: AlfredTasks, task_id: str) -> AnyWorld:
    # Imported here: nothing else in the package needs TextWorld.
    from natlang_envs.alfworld.textworld.backend import TextWorldWorld

    return TextWorldWorld(tasks.text(task_id))


_MAKERS: dict[Backend, WorldMaker] = {"native": _native, "textworld": _textworld}


def world_maker(backend: Backend) -> WorldMaker:
    """Return what makes a world at the start of a task."""
    one_of("backend", backend, _MAKERS)
    return _MAKERS[backend]


def native_twin(world: AnyWorld, tasks: AlfredTasks, task_id: str) -> World:
    """Return a world of our own engine in the same state, which plans are made with."""
    if isinstance(world, World):
        return world
    twin = World(tasks.game(task_id))
    for command in world.state():  # a state of TextWorld is the commands that led to it
        twin.step(command)
    return twin


def room_and_task(intro: str) -> str:
    """Return a first observation without the welcome on its first line: later ones tell neither room nor task."""
    return intro.partition("\n\n")[2]
