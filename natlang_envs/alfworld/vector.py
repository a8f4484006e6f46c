"""ALFWorld, many episodes at a time."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np
from gymnasium.vector import AutoresetMode
from numpy.typing import NDArray

from natlang_envs.alfworld.backends import FIRST_COMMANDS, AnyWorld, Backend, room_and_task, world_maker
from natlang_envs.alfworld.games.size_limits import MAX_OBSERVATION
from natlang_envs.alfworld.games.splits import AlfredSplit
from natlang_envs.alfworld.tasks import Source, make_tasks
from natlang_envs.vector import Indices, NatLangVectorEnv, Outcomes, object_array


class ALFWorldVectorEnv(NatLangVectorEnv):
    """The vector form of `ALFWorldEnv`; the arguments are the same, and `num_envs` and `autoreset_mode`.

    An episode is a state of the engine; the facts of a game, and what can be done where, are shared by all episodes.
    """

    metadata: ClassVar[dict[str, Any]] = {"render_modes": []}  # pyright: ignore[reportIncompatibleVariableOverride]

    def __init__(
        self,
        num_envs: int = 1,
        split: AlfredSplit = "all",
        task_types: Sequence[str] | None = None,
        goal: str | None = None,
        source: Source = "generated",
        grammar: str | None = None,
        game: str | None = None,
        backend: Backend = "native",
        horizon: int = 50,
        render_mode: str | None = None,
        autoreset_mode: str | AutoresetMode = AutoresetMode.NEXT_STEP,
    ) -> None:
        self._tasks = make_tasks(split, task_types, goal, source, grammar, game)
        self._make_world = world_maker(backend)
        super().__init__(
            num_envs,
            tasks=self._tasks,
            horizon=horizon,
            render_mode=render_mode,
            max_observation=MAX_OBSERVATION,
            fallback_commands=FIRST_COMMANDS,
            autoreset_mode=autoreset_mode,
        )
        self._worlds: list[Any] = [None] * num_envs  # a world in every episode that has begun
        self._commands = object_array([FIRST_COMMANDS] * num_envs)
        self._texts = object_array([""] * num_envs)

    @property
    def worlds(self) -> tuple[AnyWorld, ...]:
        """The states of the games, of all episodes that have begun (privileged knowledge)."""
        return tuple(world for world in self._worlds if world is not None)

    def _begin(self, indices: list[int], task_ids: list[str]) -> list[str]:
        observations: list[str] = []
        for index, task_id in zip(indices, task_ids, strict=True):
            world = self._worlds[index] = self._make_world(self._tasks, task_id)
            intro = world.intro()
            self._commands[index] = world.commands
            self._texts[index] = room_and_task(intro)
            observations.append(intro)
        return observations

    def _act(self, indices: Indices, commands: Sequence[str]) -> Outcomes:
        worlds: list[AnyWorld] = self._worlds
        if len(indices) < self.num_envs:
            worlds = [worlds[index] for index in indices.tolist()]
        feedback = [world.step(command) for world, command in zip(worlds, commands, strict=True)]
        self._commands[indices] = object_array([world.commands for world in worlds])
        won = np.array([world.won for world in worlds], dtype=np.bool_)
        return Outcomes(object_array(feedback), won.astype(np.float64), won, won)

    def _observe(self, indices: Indices, outcomes: Outcomes) -> NDArray[np.object_]:
        return outcomes.feedback

    def _admissible_commands(self) -> NDArray[np.object_]:
        return self._commands.copy()

    @property
    def _task_texts(self) -> NDArray[np.object_]:
        return self._texts.copy()
