"""The default vector form of any `NatLangEnv`, through its hooks.

Gymnasium names a vector form by a string `module:attribute`, without arguments. So `natlang_envs.episodes:a.b.MyEnv` is
the vector form of the class `MyEnv` in the module `a.b`; `registration.register` writes that string.
"""

# This class and NatLangEnv are two halves of one thing, so it may call the hooks.
# pyright: reportPrivateUsage=false

from __future__ import annotations

from collections.abc import Callable, Sequence
from copy import copy
from functools import partial
from importlib import import_module
from typing import Any

import numpy as np
from gymnasium.utils import seeding
from gymnasium.vector import AutoresetMode
from numpy.typing import NDArray

from natlang_envs.env import NatLangEnv, Outcome
from natlang_envs.errors import check_arguments
from natlang_envs.vector import Indices, NatLangVectorEnv, Outcomes, object_array


class EpisodesVectorEnv(NatLangVectorEnv):
    """N episodes in step, played by shallow copies of one environment.

    Args:
        env: The environment to copy; it is not played itself.
        num_envs: Number of episodes.
        autoreset_mode: `"NextStep"`, `"SameStep"` or `"Disabled"`.
        max_episode_steps: As `NatLangVectorEnv` takes it.
    """

    def __init__(
        self,
        env: NatLangEnv,
        num_envs: int,
        autoreset_mode: str | AutoresetMode = AutoresetMode.NEXT_STEP,
        max_episode_steps: int | None = None,
    ) -> None:
        super().__init__(env, num_envs, autoreset_mode, max_episode_steps)
        self.games: tuple[NatLangEnv, ...] = tuple(copy(env) for _ in range(num_envs))
        self._last: list[Outcome] = []
        self._tasks_asked = object_array([""] * num_envs)

    def _at(self, indices: Indices) -> Sequence[NatLangEnv]:
        if len(indices) == self.num_envs:
            return self.games
        where: list[int] = indices.tolist()
        return [self.games[index] for index in where]

    def _seed(self, index: int, seed: int) -> None:
        game = self.games[index]
        game._np_random, game._np_random_seed = seeding.np_random(seed)

    def _draw(self, index: int) -> str:
        return self.tasks.draw(self.games[index].np_random.random)

    def _begin(self, indices: list[int], task_ids: list[str]) -> list[str]:
        observations: list[str] = []
        for index, task_id in zip(indices, task_ids, strict=True):
            game = self.games[index]
            game._task_id, game._steps, game._ended = task_id, 0, False
            observations.append(game._begin(task_id))
            self._tasks_asked[index] = game.task
        return observations

    def _act(self, indices: Indices, commands: Sequence[str]) -> Outcomes:
        last: list[Outcome] = []
        for game, command in zip(self._at(indices), commands, strict=True):
            game._steps += 1
            outcome = game._act(command)
            last.append(game._with_why(command, outcome) if game.gives_reason else outcome)
        self._last = last
        feedback, rewards, terminated, success = zip(*last, strict=True) if last else ((), (), (), ())
        return Outcomes(
            object_array(feedback),
            np.array(rewards, dtype=np.float64),
            np.array(terminated, dtype=np.bool_),
            np.array(success, dtype=np.bool_),
            object_array([game._why for game in self._at(indices)]) if self._single.gives_reason else None,
        )

    def _observe(self, indices: Indices, outcomes: Outcomes) -> list[str]:
        return [game._observe(each) for game, each in zip(self._at(indices), self._last, strict=True)]

    def _admissible_commands(self) -> NDArray[np.object_]:
        nothing = self._action_spaces[0].commands
        return object_array([nothing if game._task_id is None else game._listed() for game in self.games])

    def _single_at(self, index: int) -> NatLangEnv:
        return self.games[index]

    def _update_from(self, index: int, env: NatLangEnv) -> None:
        self._tasks_asked[index] = env.task if env._task_id is not None else ""

    @property
    def _task_texts(self) -> NDArray[np.object_]:
        return self._tasks_asked.copy()

    def render(self) -> tuple[Any, ...] | None:
        """Return the rendering of every episode in the mode `render_mode`, None without one."""
        if self.render_mode is None:
            return None
        for game, seen in zip(self.games, self._observations, strict=True):
            game._observation = seen  # kept here while the games are played through their hooks
        return tuple(game.render() for game in self.games)


def _make(
    environment: Callable[..., NatLangEnv],
    num_envs: int = 1,
    autoreset_mode: str | AutoresetMode = AutoresetMode.NEXT_STEP,
    max_episode_steps: int | None = None,
    **kwargs: Any,
) -> EpisodesVectorEnv:
    if isinstance(environment, type):
        check_arguments(environment, kwargs, ("autoreset_mode", "max_episode_steps"))
    return EpisodesVectorEnv(environment(**kwargs), num_envs, autoreset_mode, max_episode_steps)


def __getattr__(name: str) -> Callable[..., EpisodesVectorEnv]:
    """Return the vector form of the class that `name` gives with its module, such as `a.b.MyEnv`."""
    module, _, attribute = name.rpartition(".")
    if not module:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return partial(_make, getattr(import_module(module), attribute))
