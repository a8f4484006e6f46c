"""The fast vector form of DangerousTaxi: N episodes as arrays."""

# It sets the random numbers of single environments.
# pyright: reportPrivateUsage=false

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from typing import Any

import numpy as np
from gymnasium.utils import seeding
from gymnasium.vector import AutoresetMode
from numpy.typing import NDArray

from natlang_envs.dangerous_taxi.city import CLASSIC, ILLEGAL, City, load_city
from natlang_envs.dangerous_taxi.env import ILLEGAL_REWARD, DangerousTaxiEnv, outcomes
from natlang_envs.dangerous_taxi.render import render_ansi, render_rgb
from natlang_envs.dangerous_taxi.tasks import TaxiTasks, parse_task_id
from natlang_envs.dangerous_taxi.words import COMMAND_INDEX, COMMANDS, REFUSED, TASKS, descriptions, unknown_command
from natlang_envs.env import NatLangEnv, Outcome
from natlang_envs.vector import Indices, NatLangVectorEnv, Outcomes, object_array

_UNKNOWN = len(COMMANDS)  # the column of the tables that stands for any other text


class _Columns(dict[str, int]):
    """The column of a command in the tables, also with white space around it; any other text has the last column."""

    def __missing__(self, text: str) -> int:
        return self.get(text.strip(), _UNKNOWN)


_COLUMNS = _Columns(COMMAND_INDEX)


class _Uniforms:
    """The numbers of `np_random.random()`, generated in blocks, which is many times as fast."""

    def __init__(self, rng: np.random.Generator, seed: int) -> None:
        self._rng = rng
        self._seed = seed
        self._block: list[float] = []
        self._ahead = 32 if isinstance(rng.bit_generator, np.random.PCG64) else 1  # others cannot go back

    def __call__(self) -> float:
        if not self._block:
            self._block = self._rng.random(self._ahead).tolist()[::-1]
        return self._block.pop()

    def generator(self) -> tuple[np.random.Generator, int]:
        """Return the generator, moved back by the numbers not yet used, and its seed."""
        if self._block:
            self._rng.bit_generator.advance(-len(self._block))  # pyright: ignore
            self._block.clear()
        return self._rng, self._seed


class DangerousTaxiVectorEnv(NatLangVectorEnv):
    """The vector form of `DangerousTaxiEnv`, with `num_envs` and `autoreset_mode`.

    Every episode has a row in one table of transitions, or all share a row on the classic map.
    """

    single_class = DangerousTaxiEnv

    def __init__(
        self,
        num_envs: int = 1,
        *arguments: Any,
        autoreset_mode: str | AutoresetMode = AutoresetMode.NEXT_STEP,
        max_episode_steps: int | None = None,
        **named: Any,
    ) -> None:
        env = self.single_class(*arguments, **named)
        assert isinstance(env, DangerousTaxiEnv)
        super().__init__(env, num_envs, autoreset_mode, max_episode_steps)
        self._chance = [_Uniforms(*seeding.np_random()) for _ in range(num_envs)]
        self._env = env
        self.stage = env.stage
        legal = outcomes(env.stage)
        self._legal_rewards = np.array([each.reward for each in legal] + [0.0])
        self._legal_ends = np.array([each.terminated for each in legal] + [False])
        self._legal_answers = object_array([each.feedback for each in legal] + [""])
        self._refusals = object_array([*REFUSED, ""])
        self._states = np.zeros(num_envs, dtype=np.int64)
        # Known as long as every episode is in this one city; None on generated maps.
        self._only_city = load_city(CLASSIC) if isinstance(env.tasks, TaxiTasks) and env.tasks.classic else None
        self._cities = [load_city(CLASSIC)] * num_envs
        # The last column, of unknown text, stays illegal everywhere.
        self._tables = np.full((1, 0, _UNKNOWN + 1), ILLEGAL, dtype=np.int32)
        self._set_table(0, load_city(CLASSIC).next_states)

    def _seed(self, index: int, seed: int) -> None:
        self._chance[index] = _Uniforms(*seeding.np_random(seed))

    def _draw(self, index: int) -> str:
        return self.tasks.draw(self._chance[index])

    def _begin(self, indices: list[int], task_ids: list[str]) -> NDArray[np.object_]:
        parsed = list(map(parse_task_id, task_ids))
        states = np.array([state for _, state in parsed])
        self._states[indices] = states
        if self._only_city is None:
            for index, (city, _) in zip(indices, parsed, strict=True):
                self._move_to(index, city)
        return self._describe(indices, states)

    def _single_at(self, index: int) -> NatLangEnv:
        env = copy(self._env)
        env._np_random, env._np_random_seed = self._chance[index].generator()
        env.enter(self._cities[index], int(self._states[index]))
        return env

    def _update_from(self, index: int, env: NatLangEnv) -> None:
        assert isinstance(env, DangerousTaxiEnv)
        self._chance[index] = _Uniforms(env.np_random, env.np_random_seed)
        self._states[index] = env.state
        self._move_to(index, env.city)

    def _move_to(self, index: int, city: City) -> None:
        if city is not self._cities[index]:
            self._cities[index] = city
            self._set_table(index, city.next_states)

    def _describe(self, indices: Sequence[int] | Indices, states: NDArray[np.int64]) -> NDArray[np.object_]:
        if self._only_city is not None:
            return descriptions(self._only_city).array[states]
        cities = self._cities
        return object_array([descriptions(cities[i])[state] for i, state in zip(indices, states.tolist(), strict=True)])

    def _set_table(self, index: int, table: NDArray[np.int32]) -> None:
        rows, states = self._tables.shape[:2]
        needed = self.num_envs if self._only_city is None else 1
        if rows < needed or states < len(table):
            grown = np.full((needed, max(states, len(table)), _UNKNOWN + 1), ILLEGAL, dtype=np.int32)
            grown[:rows, :states] = self._tables
            self._tables = grown
        self._tables[index, : len(table), :_UNKNOWN] = table

    def _strip(self, indices: Indices, commands: Sequence[str]) -> Sequence[str]:
        return commands  # `_Columns` does it, for the few that are not known as they stand

    def _act(self, indices: Indices, commands: Sequence[str]) -> Outcomes:
        actions = np.array(list(map(_COLUMNS.__getitem__, commands)), dtype=np.intp)
        rows = indices if self._only_city is None else 0
        after = self._tables[rows, self._states[indices], actions]
        legal = after != ILLEGAL
        self._states[indices] = np.where(legal, after, self._states[indices])
        feedback = np.where(legal, self._legal_answers[actions], self._refusals[actions])
        for position in np.flatnonzero(actions == _UNKNOWN).tolist():
            feedback[position] = unknown_command(commands[position].strip())
        ends = self._legal_ends[actions]
        reasons = self._reasons(indices, commands, legal, feedback) if self._env.gives_reason else None
        return Outcomes(
            feedback=feedback,
            why=reasons,
            rewards=np.where(legal, self._legal_rewards[actions], ILLEGAL_REWARD),
            terminated=~legal | ends,
            success=legal & ends,
        )

    def _reasons(
        self, indices: Indices, commands: Sequence[str], legal: NDArray[np.bool_], feedback: NDArray[np.object_]
    ) -> NDArray[np.object_]:
        """Return why commands are illegal; with `feedback="explained"`, add the reasons to `feedback`."""
        reasons = object_array([None] * len(commands))
        for position in np.flatnonzero(~legal).tolist():
            index = int(indices[position])
            env = self._single_at(index)
            shown = env._with_why(commands[position].strip(), Outcome(feedback[position], 0.0, terminated=True))
            feedback[position], reasons[position] = shown.feedback, env._why
        return reasons

    def _observe(self, indices: Indices, outcomes: Outcomes) -> NDArray[np.object_]:
        texts = self._describe(indices, self._states[indices])
        ends = outcomes.terminated
        texts[ends] = outcomes.feedback[ends] + "\n" + texts[ends]
        return texts

    def _admissible_commands(self) -> NDArray[np.object_]:
        return self._for_all(COMMANDS)

    @property
    def _task_texts(self) -> NDArray[np.object_]:
        return self._for_all(TASKS[self.stage])

    def _for_all(self, value: object) -> NDArray[np.object_]:
        array = np.empty(self.num_envs, dtype=object)
        array.fill(value)
        return array

    def render(self) -> tuple[Any, ...] | None:
        """Return the rendering of every city in the mode `render_mode`, None without one."""
        draw = {"ansi": render_ansi, "rgb_array": render_rgb}.get(self.render_mode or "")
        if draw is None:
            return None
        return tuple(draw(city, state) for city, state in zip(self._cities, self._states.tolist(), strict=True))
