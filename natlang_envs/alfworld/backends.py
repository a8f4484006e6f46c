"""The two engines behind the environment: our own, and TextWorld's, with one interface."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, TypeAlias

from natlang_envs.alfworld.engine.world import World
from natlang_envs.alfworld.tasks import AlfredTasks

if TYPE_CHECKING:
    from natlang_envs.alfworld.textworld.backend import TextWorldWorld

Backend = Literal["native", "textworld"]
AnyWorld: TypeAlias = "World | TextWorldWorld"
FIRST_COMMANDS = ("inventory", "look")  # understood in every game


def make_world(backend: Backend, tasks: AlfredTasks, task_id: str) -> AnyWorld:
    if backend == "native":
        return World(tasks.game(task_id))
    # Imported here: nothing else in the package needs TextWorld.
    from natlang_envs.alfworld.textworld.backend import TextWorldWorld

    return TextWorldWorld(tasks.text(task_id))


def native_twin(world: AnyWorld, tasks: AlfredTasks, task_id: str) -> World:
    """Return a world of our own engine in the same state, which plans are made with."""
    if isinstance(world, World):
        return world
    twin = World(tasks.game(task_id))
    for command in world.state():  # a state of TextWorld is the commands that led to it
        twin.step(command)
    return twin


def room_and_task(intro: str) -> str:
    """Return a first observation without its first line, the welcome: later ones have neither room nor task."""
    return intro.partition("\n\n")[2]
