"""Wrappers for learners: scaled rewards, actions by index, milestones, chat messages.

All of them record their arguments, so `env.spec.to_json()` describes a wrapped environment too. A snapshot does not
contain what a wrapper adds: use `unwrap(env).snapshot()` for the environment alone. Tasks are those of the environment
inside: make what a learner plays with `split="train"`; an environment's own default is `"all"`.
"""

from __future__ import annotations

import operator
import warnings
from difflib import get_close_matches
from typing import Any, Literal, SupportsFloat

import gymnasium
import numpy as np
from gymnasium import spaces
from gymnasium.utils import RecordConstructorArgs

from natlang_envs.env import MAX_COMMAND_LENGTH, strip_unless_listed, unwrap
from natlang_envs.errors import UsageError, command_at, require_choice
from natlang_envs.prompt import CHAT_ROLE, History, PathStep, chat_messages, check_history, state_prompt
from natlang_envs.spaces import UnicodeText, check_commands, check_texts

Infos = dict[str, Any]
Messages = tuple[dict[str, str], ...]
_COMPARED = 200  # feedbacks that are looked at for a misspelt milestone, and characters of each


def refuse_second(scaling: type[Any], env: Any) -> None:
    """Raise `UsageError` for a second wrapper that divides by `reward_scale`."""
    while env is not None:
        if isinstance(env, scaling):
            raise UsageError("the rewards are divided already: leave the second ScaleReward out, or give its scale")
        env = getattr(env, "env", None)


class ScaleReward(gymnasium.RewardWrapper[Any, Any], RecordConstructorArgs):
    """Divides rewards, so that they are in [-1, 1].

    Args:
        env: An environment of the suite, wrapped or not.
        scale: The divisor; without it the environment's `reward_scale`, the largest size of its rewards.

    Raises:
        UsageError: The scale is not a positive number, or none is given and the rewards are divided already.
    """

    def __init__(self, env: gymnasium.Env[Any, Any], scale: float | None = None) -> None:
        if scale is None:
            refuse_second(ScaleReward, env)
        divisor = unwrap(env).reward_scale if scale is None else scale
        if not 0 < divisor < float("inf"):
            raise UsageError(f"scale must be a positive number, not {scale!r}")
        RecordConstructorArgs.__init__(self, scale=scale)
        super().__init__(env)
        self.scale = divisor

    def reward(self, reward: SupportsFloat) -> float:
        return float(reward) / self.scale


class ChoiceIndexActions(gymnasium.Wrapper[Any, Any, Any, Any], RecordConstructorArgs):
    """Actions become positions in `info["admissible_commands"]`.

    The action space is `Discrete(max_commands)`. Where fewer commands are listed, `info["action_mask"]` (int8, shape
    (max_commands,)) marks the numbers of commands; `env.action_space.sample(info["action_mask"])` keeps to them.

    Args:
        env: An environment of the suite whose actions are commands.
        invalid: What a number does at which no command is listed: `"raise"`, or `"noop"` for learners without masks.
            The environment then gets an empty command, which costs a step and does nothing.

    Raises:
        UsageError: The environment's actions are no commands, or `invalid` is neither.
    """

    def __init__(self, env: gymnasium.Env[Any, str], invalid: Literal["raise", "noop"] = "raise") -> None:
        RecordConstructorArgs.__init__(self, invalid=invalid)
        super().__init__(env)
        check_commands(env.action_space, "ChoiceIndexActions")
        self._inner = unwrap(env)
        self._noops = self._inner.max_commands if require_choice("invalid", invalid, ("raise", "noop")) == "noop" else 0
        self.action_space = spaces.Discrete(self._inner.max_commands)

    def reset(self, *, seed: int | None = None, options: Infos | None = None) -> tuple[Any, Infos]:
        observation, info = self.env.reset(seed=seed, options=options)
        return observation, self._with_mask(info)

    def step(self, action: int) -> tuple[Any, SupportsFloat, bool, bool, Infos]:
        """Apply the command at a position.

        Raises:
            TypeError: The action is not a whole number.
            UsageError: No command is listed at this position, and `invalid` is `"raise"` or the position is not in the
                action space.
        """
        # The commands of now, also after `restore`, which does not pass through here.
        commands = self._inner.action_space.commands
        command = command_at(commands, operator.index(action), self._noops)
        if command is None:
            raise UsageError(f"action {action} is none of the {len(commands)} listed: see info['action_mask']")
        observation, reward, terminated, truncated, info = self.env.step(command)
        return observation, reward, terminated, truncated, self._with_mask(info)

    def action_masks(self) -> np.ndarray[Any, np.dtype[np.bool_]]:
        """Return the mask of commands (shape (max_commands,)) for sb3-contrib's MaskablePPO."""
        return np.arange(self._inner.max_commands) < len(self._inner.action_space.commands)

    def _with_mask(self, info: Infos) -> Infos:
        return {**info, "action_mask": self.action_masks().astype(np.int8)}


class MilestoneReward(gymnasium.Wrapper[Any, Any, Any, Any], RecordConstructorArgs):
    """Pays once an episode for a milestone: a curriculum for sparse rewards.

    If an episode succeeds before the milestone was ever reached, a warning shows the nearest feedback.

    `MilestoneReward(env, "The passenger got into the taxi.", 21)` makes `DangerousTaxi-v0`, which pays -1 for the
    pickup, pay 20 for it as `DangerousTaxi-Dropoff-v0` does.

    Args:
        env: An environment of the suite, wrapped or not.
        feedback: The `info["feedback"]` that marks the milestone, word for word.
        reward: What is added to the reward of the first step that shows it.
    """

    def __init__(self, env: gymnasium.Env[Any, Any], feedback: str, reward: float) -> None:
        RecordConstructorArgs.__init__(self, feedback=feedback, reward=reward)
        super().__init__(env)
        self._feedback = feedback
        self._reward = reward
        self._paid = False
        self._shown: set[str] | None = set()  # until it was reached once, or the warning given

    def reset(self, *, seed: int | None = None, options: Infos | None = None) -> tuple[Any, Infos]:
        self._paid = False
        return self.env.reset(seed=seed, options=options)

    def step(self, action: Any) -> tuple[Any, SupportsFloat, bool, bool, Infos]:
        """Take a step; add the milestone's reward when it is reached."""
        observation, reward, terminated, truncated, info = self.env.step(action)
        if not self._paid and info["feedback"] == self._feedback:
            self._paid, self._shown = True, None
            reward = float(reward) + self._reward
        elif self._shown is not None:
            if len(self._shown) < _COMPARED:
                self._shown.add(info["feedback"][:_COMPARED])
            if info["success"]:
                (near,) = get_close_matches(self._feedback, self._shown, 1, 0)
                warnings.warn(
                    f"an episode succeeded, and no step so far said {self._feedback!r}; nearest to it was {near!r}",
                    stacklevel=2,
                )
                self._shown = None
        return observation, reward, terminated, truncated, info


class ChatMessages(gymnasium.Wrapper[Any, Any, Any, Any], RecordConstructorArgs):
    """Observations become the messages that a chat model answers.

    An observation is a tuple of two dicts with `role` (`"system"`, `"user"`) and `content`. Actions stay commands.

    Args:
        env: An environment of the suite whose actions are commands.
        history: How much of the previous path p(s) shows; see `prompt.state_prompt`.

    Raises:
        UsageError: The environment's actions are numbers, or its observations no texts: put what changes them around
            this wrapper.
    """

    def __init__(self, env: gymnasium.Env[str, str], history: History = "full") -> None:
        check_history(history)
        RecordConstructorArgs.__init__(self, history=history)
        super().__init__(env)
        check_commands(env.action_space, "ChatMessages")
        check_texts(env.observation_space, "ChatMessages")
        self._history: History = history
        inner = unwrap(env)
        lines = inner.horizon + 2 + inner.max_commands
        longest = len(CHAT_ROLE) + lines * (MAX_COMMAND_LENGTH + inner.observation_space.max_length)
        message = spaces.Dict({"role": UnicodeText(len("system")), "content": UnicodeText(longest)})
        self.observation_space: spaces.Space[Any] = spaces.Tuple([message, message])
        self._path: list[PathStep] = []

    def reset(self, *, seed: int | None = None, options: Infos | None = None) -> tuple[Messages, Infos]:
        observation, info = self.env.reset(seed=seed, options=options)
        self._path.clear()
        return self._messages(observation, info), info

    def step(self, action: str) -> tuple[Messages, SupportsFloat, bool, bool, Infos]:
        """Apply one command."""
        listed = unwrap(self.env).action_space.commands
        observation, reward, terminated, truncated, info = self.env.step(action)
        self._path.append(PathStep(strip_unless_listed(action, listed), info["feedback"]))
        return self._messages(observation, info), reward, terminated, truncated, info

    def _messages(self, observation: str, info: Infos) -> Messages:
        state = state_prompt(info["task"], self._path, observation, history=self._history)
        # Gymnasium wants a tuple where the space is one.
        return tuple(chat_messages(state, info["admissible_commands"]))
