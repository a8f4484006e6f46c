"""Vector forms: N episodes in step, with the infos of `SyncVectorEnv`.

Every environment has one without writing it: `natlang_envs.episodes`. An environment whose states fit into arrays may
write a faster one: it subclasses `NatLangVectorEnv` and writes the hooks, as `natlang_envs.dangerous_taxi.vector` does.
"""

# This class and NatLangEnv are two halves of one thing, so it may set the state of one.
# pyright: reportPrivateUsage=false

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from inspect import Parameter, Signature, signature
from numbers import Integral
from typing import Any, ClassVar, Final, NamedTuple, Self

import numpy as np
from gymnasium.error import ResetNeeded
from gymnasium.spaces import Space, Tuple
from gymnasium.vector import AutoresetMode, VectorEnv
from numpy.typing import NDArray

from natlang_envs.env import MAX_COMMAND_LENGTH, NatLangEnv, strip_unless_listed
from natlang_envs.errors import (
    UsageError,
    check_arguments,
    check_count,
    check_hooks,
    check_options,
    check_task_id,
    is_count,
)
from natlang_envs.spaces import CommandText, UnicodeText, escape_surrogates

Indices = NDArray[np.intp]
Infos = dict[str, Any]
_MISSING: Final = object()


class Outcomes(NamedTuple):
    """The results of one command in each of several episodes, as arrays."""

    feedback: NDArray[np.object_]
    rewards: NDArray[np.float64]
    terminated: NDArray[np.bool_]
    success: NDArray[np.bool_]
    why: NDArray[np.object_] | None = None  # where the environments explain


def object_array(values: Sequence[Any]) -> NDArray[np.object_]:
    """Return a one-dimensional array of Python objects (tuples stay tuples)."""
    array = np.empty(len(values), dtype=object)
    array[:] = values
    return array


class NatLangVectorEnv(VectorEnv[tuple[str, ...], Sequence[str], NDArray[Any]]):
    """A vector environment of texts: seeds, `reset_mask`, autoreset modes, infos.

    Observations are a tuple of `num_envs` strings, actions a sequence of as many. `reset` takes Gymnasium's seeds
    (an int means seed + index, or a list) and the options `task_id` (one id, or a list with one id an environment)
    and `reset_mask` (bool array). `call`, `get_attr` and `set_attr` work on single environments in the same states.

    Args:
        env: The single environment with the same arguments: its tasks, horizon, render mode and spaces count.
        num_envs: Number of episodes.
        autoreset_mode: `"NextStep"`, `"SameStep"` or `"Disabled"`.
        max_episode_steps: After how many steps an episode is truncated all the same, as by the `TimeLimit` that
            `gymnasium.make` puts around a single environment.

    Raises:
        UsageError: There is no such autoreset mode, `num_envs` is no whole number of at least 1, or
            `max_episode_steps` is not from 1 to the horizon.
    """

    single_class: ClassVar[type[NatLangEnv]]  # a fast form names it, and takes its arguments
    __signature__: ClassVar[Signature]

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if "single_class" in vars(cls):
            cls.__signature__ = _with_arguments_of(cls.single_class, cls)

    def __new__(cls, *args: Any, **kwargs: Any) -> Self:
        """Refuse an unknown argument by name, and a class without its hooks."""
        check_arguments(cls, kwargs)
        check_hooks(cls, "NatLangVectorEnv")
        return super().__new__(cls)

    def __init__(
        self,
        env: NatLangEnv,
        num_envs: int,
        autoreset_mode: str | AutoresetMode = AutoresetMode.NEXT_STEP,
        max_episode_steps: int | None = None,
    ) -> None:
        try:
            mode = AutoresetMode(autoreset_mode)
        except ValueError:
            modes = ", ".join(each.value for each in AutoresetMode)
            raise UsageError(f"unknown autoreset_mode {autoreset_mode!r}: choose one of {modes}") from None
        self.num_envs = check_count("num_envs", num_envs)
        self.changes = 0  # how often `call` or `set_attr` may have changed the episodes
        self._limit = _checked_limit(max_episode_steps, env.horizon)
        self._single = env
        self.tasks, self.horizon = env.tasks, env.horizon
        self.max_commands = env.max_commands
        self.reward_scale = env.reward_scale
        self.render_mode = env.render_mode
        self.autoreset_mode = mode
        self.metadata = {**env.metadata, "autoreset_mode": mode}
        longest, commands = env.observation_space.max_length, env.action_space.commands
        self.single_observation_space: Space[Any] = UnicodeText(longest)
        self.single_action_space: Space[Any] = CommandText(MAX_COMMAND_LENGTH, commands)
        self.observation_space = Tuple([UnicodeText(longest) for _ in range(num_envs)])
        self._action_spaces = [CommandText(MAX_COMMAND_LENGTH, commands) for _ in range(num_envs)]
        self._action_space = Tuple(self._action_spaces)
        self._task_ids, self._why = object_array([None] * num_envs), object_array([None] * num_envs)
        self._steps = np.zeros(num_envs, dtype=np.int64)
        self._ended = np.ones(num_envs, dtype=np.bool_)
        self._game_over = np.ones(num_envs, dtype=np.bool_)  # the same, were it not for `max_episode_steps`
        self._success = np.zeros(num_envs, dtype=np.bool_)
        self._feedback, self._observations = object_array([""] * num_envs), object_array([""] * num_envs)
        self._all: Indices = np.arange(num_envs)

    # What a subclass writes.

    @abstractmethod
    def _seed(self, index: int, seed: int) -> None:
        """Seed the random numbers of one episode as `reset(seed=seed)` of the single environment does."""

    @abstractmethod
    def _draw(self, index: int) -> str:
        """Draw a task for one episode, as `reset()` of the single environment does."""

    @abstractmethod
    def _begin(self, indices: list[int], task_ids: list[str]) -> Sequence[str] | NDArray[np.object_]:
        """Put the episodes `indices` at the start of these tasks and return their first observations."""

    @abstractmethod
    def _act(self, indices: Indices, commands: Sequence[str]) -> Outcomes:
        """Apply one command in each of the episodes `indices`."""

    @abstractmethod
    def _observe(self, indices: Indices, outcomes: Outcomes) -> Sequence[str] | NDArray[np.object_]:
        """Return the observations of the episodes `indices` after `outcomes`."""

    @abstractmethod
    def _admissible_commands(self) -> NDArray[np.object_]:
        """Return a fresh array with the tuple of admissible commands of every episode."""

    @abstractmethod
    def _single_at(self, index: int) -> NatLangEnv:
        """Return a single environment with the state and the random numbers of an episode; the rest is set here."""

    @abstractmethod
    def _update_from(self, index: int, env: NatLangEnv) -> None:
        """Set the state and the random numbers of an episode from a single environment."""

    @property
    @abstractmethod
    def _task_texts(self) -> NDArray[np.object_]:
        """A fresh array with what is asked in every episode."""

    # What a user calls.

    @property
    def action_space(self) -> Space[Any]:  # pyright: ignore[reportIncompatibleVariableOverride]
        """A tuple of `CommandText`; it holds the commands of the moment when it is asked for, not at every step."""
        if self._task_ids[0] is not None:
            for space, now in zip(self._action_spaces, self._admissible_commands(), strict=True):
                space.commands = now
        return self._action_space

    def reset(
        self, *, seed: int | Sequence[int | None] | None = None, options: dict[str, Any] | None = None
    ) -> tuple[tuple[str, ...], Infos]:
        """Begin an episode everywhere, or where `options["reset_mask"]` is True.

        Raises:
            UsageError: An option is unknown, a list has not `num_envs` entries, a seed is no whole number of at least
                0, or a task does not exist in this split.
        """
        checked = check_options(options, ("task_id", "reset_mask"), type(self._single))
        mask = self._reset_mask(checked.get("reset_mask"))
        seeds = self._seeds(seed)
        task_ids = self._each("task_id", checked.get("task_id"))
        begun = np.flatnonzero(mask)
        for index in begun.tolist():
            if task_ids[index] is not None:
                check_task_id(task_ids[index])
                self.tasks.check(task_ids[index])
        for index in begun.tolist():
            if (own := seeds[index]) is not None:
                self._seed(index, own)
        self._start(begun, task_ids)
        return tuple(self._observations), self._infos(mask)

    def step(
        self, actions: Sequence[str]
    ) -> tuple[tuple[str, ...], NDArray[np.float64], NDArray[np.bool_], NDArray[np.bool_], Infos]:
        """Apply one command in every episode.

        In the mode `NextStep`, an episode that ended in the step before is reset, and its command is ignored.

        Raises:
            TypeError: An action is not a string.
            ResetNeeded: An episode has not begun, or has ended in the mode `Disabled`.
            UsageError: There are not `num_envs` actions.
        """
        if len(actions) != self.num_envs:
            raise UsageError(f"step() takes {self.num_envs} actions, one an environment, not {len(actions)}")
        rewards = np.zeros(self.num_envs, dtype=np.float64)
        terminated = np.zeros(self.num_envs, dtype=np.bool_)
        restarting, active, commands = np.flatnonzero(self._ended), self._all, actions
        if len(restarting):
            first = int(restarting[0])
            if self._task_ids[first] is None or self.autoreset_mode is not AutoresetMode.NEXT_STEP:
                raise ResetNeeded(f"step() was called while environment {first} is not in an episode: call reset()")
            active = np.flatnonzero(~self._ended)
            commands = [actions[index] for index in active.tolist()]
        self._steps[active] += 1
        outcomes = self._act(active, self._strip(active, self._clean(commands)))
        rewards[active] = outcomes.rewards
        terminated[active] = outcomes.terminated
        self._success[active] = outcomes.success
        self._feedback[active] = outcomes.feedback
        if self._single.gives_reason:
            self._why[active] = outcomes.why
        self._observations[active] = self._observe(active, outcomes)
        truncated = ~terminated & (self._steps >= self.horizon)
        truncated[restarting] = False
        self._game_over = self._ended = terminated | truncated
        if self._limit is not None:
            truncated |= self._steps >= self._limit
            truncated[restarting] = False
            self._ended = terminated | truncated
        self._start(restarting)
        infos: Infos = {}
        if self.autoreset_mode is AutoresetMode.SAME_STEP and self._ended.any():
            infos = self._final_infos(self._ended.copy())
            self._start(np.flatnonzero(self._ended))
        infos.update(self._infos(np.ones(self.num_envs, dtype=np.bool_)))
        return tuple(self._observations), rewards, terminated, truncated, infos

    def call(self, name: str, *args: Any, **kwargs: Any) -> tuple[Any, ...]:
        """Call a method of every single environment, as in `call("snapshot")`; the episodes go on from what it did.

        Args:
            name: Of the method, or of an attribute, which is then returned.
            args: For the method.
            kwargs: For the method.

        Returns:
            One result an environment.
        """
        results: list[Any] = []
        for index in range(self.num_envs):
            env = self._whole_single_at(index)
            found = env.get_wrapper_attr(name)
            try:
                results.append(found(*args, **kwargs) if callable(found) else found)
            finally:
                self._update_whole_from(index, env)
        return tuple(results)

    def get_attr(self, name: str) -> tuple[Any, ...]:
        """Return an attribute of every single environment; as in `SyncVectorEnv`, a method is called."""
        return self.call(name)

    def set_attr(self, name: str, values: Any) -> None:
        """Set an attribute of every single environment.

        Args:
            name: Of the attribute.
            values: A list or tuple with one value an environment, or one value for all.

        Raises:
            UsageError: There are not `num_envs` values, or the episodes would not go by this attribute.
        """
        each = self._each(name, values) if isinstance(values, list | tuple) else [values] * self.num_envs
        for index, value in enumerate(each):
            env = self._whole_single_at(index)
            env.set_wrapper_attr(name, value)
            self._update_whole_from(index, env)
            kept = getattr(self._whole_single_at(index), name, _MISSING)
            if kept is not value and kept != value:
                raise UsageError(f"{name!r} cannot be set in {type(self).__name__}: make the environments with it")

    @property
    def np_random_seed(self) -> tuple[int, ...]:  # pyright: ignore[reportIncompatibleMethodOverride]
        """The seed of every episode's random numbers."""
        return self.get_attr("np_random_seed")

    @property
    def np_random(self) -> tuple[np.random.Generator, ...]:  # pyright: ignore[reportIncompatibleMethodOverride]
        """The random numbers of every episode."""
        return self.get_attr("np_random")

    def _whole_single_at(self, index: int) -> NatLangEnv:
        env = self._single_at(index)
        env.tasks, env.horizon, env.max_commands = self.tasks, self.horizon, self.max_commands
        env.render_mode, env.action_space = self.render_mode, self._action_spaces[index]
        env._task_id = self._task_ids[index]
        env._steps, env._success = int(self._steps[index]), bool(self._success[index])
        env._ended = bool(self._game_over[index])
        env._observation, env._feedback, env._why = self._observations[index], self._feedback[index], self._why[index]
        if env._task_id is not None:
            env.action_space.commands = env._admissible_commands()
        return env

    def _update_whole_from(self, index: int, env: NatLangEnv) -> None:
        self.changes += 1
        self._update_from(index, env)
        self._task_ids[index], self._steps[index], self._success[index] = env._task_id, env._steps, env._success
        self._game_over[index] = env._ended
        self._ended[index] = env._ended or (self._limit is not None and env._steps >= self._limit)
        self._observations[index], self._feedback[index], self._why[index] = env._observation, env._feedback, env._why

    def _strip(self, indices: Indices, commands: Sequence[str]) -> Sequence[str]:
        """Remove the white space around commands that are not listed with it."""
        if [command.strip() for command in commands] == list(commands):
            return commands
        listed = self._admissible_commands()[indices]
        return [strip_unless_listed(command, those) for command, those in zip(commands, listed, strict=True)]

    def _clean(self, commands: Sequence[str]) -> Sequence[str]:
        """Check and clean all commands, at the price of one `join` when they are plain."""
        try:
            if "".join(commands).isascii():
                return commands
        except TypeError:
            wrong = next(command for command in commands if not isinstance(command, str))  # pyright: ignore[reportUnnecessaryIsInstance]
            example = self._action_spaces[0].commands[0]
            raise TypeError(f"an action is a str such as {example!r}, not {wrong!r}") from None
        return [escape_surrogates(command) for command in commands]

    def _start(self, indices: Indices, task_ids: list[str | None] | None = None) -> None:
        """Begin the episodes `indices`; where `task_ids` (one an environment) has no task, draw one."""
        where: list[int] = indices.tolist()
        if not where:
            return
        given = task_ids or [None] * self.num_envs
        begun = [given[index] or self._draw(index) for index in where]
        self._task_ids[indices] = begun
        self._steps[indices] = 0
        self._ended[indices] = self._game_over[indices] = self._success[indices] = False
        self._feedback[indices], self._why[indices] = "", None
        self._observations[indices] = self._begin(where, begun)

    def _reset_mask(self, mask: Any) -> NDArray[np.bool_]:
        if mask is None:
            return np.ones(self.num_envs, dtype=np.bool_)
        array = np.asarray(mask)
        if array.shape != (self.num_envs,) or array.dtype != np.bool_ or not array.any():
            raise UsageError(f"reset_mask must be {self.num_envs} booleans with at least one True, not {mask!r}")
        return array

    def _seeds(self, seed: Any) -> list[int | None]:
        one = isinstance(seed, Integral)
        given = [check_count("a seed", seed, 0) + at for at in range(self.num_envs)] if one else seed
        return [None if each is None else check_count("a seed", each, 0) for each in self._each("seed", given)]

    def _each(self, name: str, values: Any) -> list[Any]:
        """Spread one value, or none, over all episodes; check the length of a list."""
        if values is None or isinstance(values, str):
            return [values] * self.num_envs
        if not isinstance(values, Sequence | np.ndarray):
            raise UsageError(f"{name} must be one value, or a list with one an environment, not {values!r}")
        each: list[Any] = list(values)  # pyright: ignore[reportUnknownArgumentType]
        if len(each) != self.num_envs:
            raise UsageError(f"{name} must have {self.num_envs} entries, one an environment, not {len(each)}")
        return each

    def _infos(self, mask: NDArray[np.bool_]) -> Infos:
        """Return the infos of the episodes in `mask` in Gymnasium's form: an array a key, and `_key` for who has it."""
        columns: Infos = {
            "admissible_commands": self._admissible_commands(),
            "success": self._success.copy(),
            "task_id": self._task_ids.copy(),
            "task": self._task_texts,
            "feedback": self._feedback.copy(),
        }
        if self._single.gives_reason:
            columns["why"] = self._why.copy()
        infos, everyone = dict[str, Any](), bool(mask.all())
        for key, column in columns.items():
            if not everyone:
                column[~mask] = False if column.dtype == np.bool_ else None
            infos[key], infos[f"_{key}"] = column, mask.copy()
        return infos

    def _final_infos(self, mask: NDArray[np.bool_]) -> Infos:
        last = self._observations.copy()
        last[~mask] = None
        return {"final_obs": last, "_final_obs": mask, "final_info": self._infos(mask), "_final_info": mask.copy()}


def _with_arguments_of(single_class: type[NatLangEnv], form: type[NatLangVectorEnv]) -> Signature:
    """Return the signature of a vector form whose `*arguments` and `**named` are those of the single environment."""
    own = list(signature(form.__init__).parameters.values())[1:]
    taken = list(signature(single_class.__init__).parameters.values())[1:]
    variadic = (Parameter.VAR_POSITIONAL, Parameter.VAR_KEYWORD)
    every = [*own[:1], *taken, *(each for each in own[1:] if each.kind not in variadic)]
    return Signature(sorted(every, key=lambda each: each.kind))


def _checked_limit(limit: Any, horizon: int) -> int | None:
    """Return `max_episode_steps`; -1 is Gymnasium's word for none."""
    if limit is None or limit == -1:
        return None
    if not is_count(limit, 1) or limit > horizon:
        raise UsageError(
            f"max_episode_steps must be from 1 to the horizon of {horizon} steps, not {limit!r}: pass horizon=… instead"
        )
    return int(limit)
