"""Vector forms of the wrappers for learners.

`ChoiceIndexActions(gymnasium.make_vec(ID, 64))` gives what a `SyncVectorEnv` of 64 wrapped environments gives, infos
included. The classes have the names of those in `natlang_envs.learners.wrappers` and `natlang_envs.learners.encoders`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
from gymnasium import spaces
from gymnasium.vector import AutoresetMode, VectorActionWrapper, VectorEnv, VectorRewardWrapper, VectorWrapper
from gymnasium.vector.utils import batch_space
from numpy.typing import NDArray

from natlang_envs.errors import UsageError, command_at, require_choice
from natlang_envs.learners.encoders import SIZE, TextEncoder
from natlang_envs.learners.wrappers import refuse_second
from natlang_envs.spaces import check_commands, check_texts
from natlang_envs.vector import NatLangVectorEnv, object_array

Infos = dict[str, Any]


class ScaleReward(VectorRewardWrapper):
    """Divides rewards, so that they are in [-1, 1].

    Args:
        env: A vector environment of the suite, wrapped or not.
        scale: The divisor; without it the environment's `reward_scale`, the largest size of its rewards.

    Raises:
        UsageError: The scale is not a positive number, or none is given and the rewards are divided already, or the
            environment is none of the suite.
    """

    def __init__(self, env: VectorEnv[Any, Any, Any], scale: float | None = None) -> None:
        if scale is None:
            refuse_second(ScaleReward, env)
        divisor = _inner(env).reward_scale if scale is None else scale
        if not 0 < divisor < float("inf"):
            raise UsageError(f"scale must be a positive number, not {scale!r}")
        super().__init__(env)
        self.scale = divisor

    def rewards(self, rewards: NDArray[Any]) -> NDArray[Any]:
        return rewards / self.scale


class EncodedObservations(VectorWrapper):
    """Observations become float32 vectors of a `TextEncoder`, of shape (num_envs, size).

    Args:
        env: A vector environment whose observations are texts.
        size: The length of the vectors.
    """

    def __init__(self, env: VectorEnv[Any, Any, Any], size: int = SIZE) -> None:
        super().__init__(env)
        inner: Any = env
        check_texts(inner.single_observation_space, "EncodedObservations")
        self._encode = TextEncoder(size)
        self.single_observation_space = spaces.Box(0.0, 3.0, (size,), np.float32)
        self.observation_space = batch_space(self.single_observation_space, self.num_envs)

    def reset(self, *, seed: int | None = None, options: Infos | None = None) -> tuple[NDArray[np.float32], Infos]:
        """Begin an episode everywhere, or where `options["reset_mask"]` is True."""
        observations, infos = self.env.reset(seed=seed, options=options)
        return self._vectors(observations), infos

    def step(self, actions: Any) -> tuple[NDArray[np.float32], NDArray[Any], NDArray[Any], NDArray[Any], Infos]:
        """Apply one action in every episode; the last observations of episodes that ended are vectors, too."""
        observations, rewards, terminated, truncated, infos = self.env.step(actions)
        if "final_obs" in infos:
            last = [None if each is None else self._encode(each) for each in infos["final_obs"]]
            infos = {**infos, "final_obs": object_array(last)}
        return self._vectors(observations), rewards, terminated, truncated, infos

    def _vectors(self, observations: Sequence[str]) -> NDArray[np.float32]:
        return np.stack([self._encode(each) for each in observations])


class ChoiceIndexActions(VectorActionWrapper):
    """Actions become positions in `infos["admissible_commands"]`.

    The action space is `MultiDiscrete` with `max_commands` numbers an episode, and `infos["action_mask"]` (int8, shape
    (num_envs, max_commands)) marks those of commands.

    Args:
        env: A vector environment of the suite whose actions are commands.
        invalid: What a number does at which no command is listed; see `wrappers.ChoiceIndexActions`.

    Raises:
        UsageError: The environment is none of the suite, its actions are no commands, or `invalid` is neither `"raise"`
            nor `"noop"`.
    """

    def __init__(self, env: VectorEnv[Any, Any, Any], invalid: Literal["raise", "noop"] = "raise") -> None:
        super().__init__(env)
        require_choice("invalid", invalid, ("raise", "noop"))
        inner: Any = env
        check_commands(inner.single_action_space, "ChoiceIndexActions")
        self._max_commands = _inner(env).max_commands
        self._noops = self._max_commands if invalid == "noop" else 0
        self._commands: list[tuple[str, ...]] = [()] * self.num_envs
        self._changes = _inner(env).changes
        # Where an episode ended and the next step resets it, the number is ignored.
        self._unread: NDArray[np.bool_] = np.zeros(self.num_envs, np.bool_)
        self.single_action_space = spaces.Discrete(self._max_commands)
        self.action_space = batch_space(self.single_action_space, self.num_envs)

    def reset(self, *, seed: int | None = None, options: Infos | None = None) -> tuple[Any, Infos]:
        """Begin an episode everywhere, or where `options["reset_mask"]` is True."""
        observations, infos = self.env.reset(seed=seed, options=options)
        self._unread = self._unread & ~infos["_admissible_commands"]
        return observations, self._with_mask(infos)

    def step(self, actions: Sequence[int]) -> tuple[Any, NDArray[Any], NDArray[Any], NDArray[Any], Infos]:
        """Apply the commands at these positions.

        Raises:
            UsageError: There are not `num_envs` actions; or no command is listed at one of the positions, and `invalid`
                is `"raise"` or the position is not in the action space.
        """
        observations, rewards, terminated, truncated, infos = self.env.step(self.actions(actions))
        if self.metadata.get("autoreset_mode") is AutoresetMode.NEXT_STEP:
            self._unread = terminated | truncated
        return observations, rewards, terminated, truncated, self._with_mask(infos)

    def actions(self, actions: Sequence[int]) -> list[str]:
        """Return the commands at these positions."""
        if len(actions) != self.num_envs:
            raise UsageError(f"step() takes {self.num_envs} actions, one an environment, not {len(actions)}")
        self._follow()
        return [self._command(index, position) for index, position in enumerate(np.asarray(actions).tolist())]

    def action_masks(self) -> NDArray[np.bool_]:
        """Return the mask of commands, of shape (num_envs, max_commands)."""
        self._follow()
        listed = np.array([len(each) for each in self._commands])
        return np.arange(self._max_commands) < listed[:, None]

    def _follow(self) -> None:
        """Take the commands of now where `call`, as in `call("restore", saved)`, changed the episodes unseen."""
        inner: Any = _inner(self.env)
        if self._changes != inner.changes:
            self._commands = [space.commands for space in inner.action_space.spaces]
            self._changes = inner.changes

    def _command(self, index: int, position: int) -> str:
        commands = self._commands[index]
        command = command_at(commands, position, self._noops)
        if command is None and not self._unread[index]:
            listed = f"the {len(commands)} listed in environment {index}"
            raise UsageError(f"action {position} is none of {listed}: see infos['action_mask']")
        return command or ""

    def _with_mask(self, infos: Infos) -> Infos:
        if "final_info" in infos:
            last = infos["final_info"]
            infos = {**infos, "final_info": {**last, **self._mask_of(last)}}
        for index in np.flatnonzero(infos["_admissible_commands"]).tolist():
            self._commands[index] = infos["admissible_commands"][index]
        return {**infos, **self._mask_of(infos)}

    def _mask_of(self, infos: Infos) -> Infos:
        listed = np.array([len(each or ()) for each in infos["admissible_commands"]])
        mask = (np.arange(self._max_commands) < listed[:, None]).astype(np.int8)
        return {"action_mask": mask, "_action_mask": infos["_admissible_commands"].copy()}


def _inner(env: VectorEnv[Any, Any, Any]) -> NatLangVectorEnv:
    inner = env.unwrapped
    if not isinstance(inner, NatLangVectorEnv):
        raise UsageError(f"{inner} is no vector environment of the suite: make it by gymnasium.make_vec")
    return inner
