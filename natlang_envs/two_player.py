"""Two players in every environment: `reflector_0` speaks, `policy_0` acts (figure 1).

An adapter over the single-player environment. In each step the reflector sees p(s) and answers with free text; the
policy then sees p(s), that text and the enumerated actions, and answers with the position of one of them. Both get the
environment's reward.
"""

from __future__ import annotations

import operator
from typing import Any, Literal, cast

import gymnasium
import numpy as np
from gymnasium import spaces
from gymnasium.envs.registration import load_env_creator  # pyright: ignore[reportUnknownVariableType]
from pettingzoo import AECEnv  # pyright: ignore[reportMissingTypeStubs]
from pettingzoo.utils.conversions import turn_based_aec_to_parallel_wrapper  # pyright: ignore[reportMissingTypeStubs]
from pettingzoo.utils.wrappers import OrderEnforcingWrapper  # pyright: ignore[reportMissingTypeStubs]

from natlang_envs.env import unwrap
from natlang_envs.errors import MADE_WITH, UsageError, check_arguments, check_flag, command_at, require_choice
from natlang_envs.make_env import make_pinned
from natlang_envs.prompt import (
    History,
    PathStep,
    check_history,
    enumerate_actions,
    policy_prompt,
    reflection_prompt,
    state_prompt,
)
from natlang_envs.spaces import UnicodeText, escape_surrogates

REFLECTOR, POLICY = "reflector_0", "policy_0"
MAX_REFLECTION = 4_000
_OWN = ("history", "invalid", "equal_spaces")


class TwoPlayerEnv(AECEnv[str, dict[str, Any], Any]):
    """The AEC environment; make it with `pettingzoo.make("aec", id)` or `aec_env(id)`.

    Observations are dicts: `text` (p(s) for the reflector; p(s), the reflection and the enumerated actions for the
    policy) and, for the policy, `action_mask` (int8, shape (max_commands,)). The reflector's action is a string, the
    policy's an index into `info["admissible_commands"]`. After the end the observation is the last one.

    Args:
        env: The single-player environment.
        history: How much of the previous path p(s) shows; see `prompt.state_prompt`.
        invalid: What an index does at which no command is listed: `"raise"`, or `"noop"` for learners without masks.
            The environment then gets an empty command, which costs a step.
        equal_spaces: Whether both players have the policy's observation space, for libraries that ask for one space.
            The reflector's mask is then all ones, since any text is legal. Their actions differ in kind all the same:
            PettingZoo's `TerminateIllegalWrapper`, which looks an action up in the mask, takes no texts.

    Raises:
        UsageError: `history` or `invalid` is none of what it can be.
    """

    metadata: dict[str, Any] = {"name": "natlang_two_player_v0", "render_modes": []}  # noqa: RUF012 - the environment's

    def __init__(
        self,
        env: gymnasium.Env[str, str],
        history: History = "full",
        invalid: Literal["raise", "noop"] = "raise",
        equal_spaces: bool = False,
    ) -> None:
        super().__init__()
        check_history(history)
        require_choice("invalid", invalid, ("raise", "noop"))
        check_flag("equal_spaces", equal_spaces)
        self._equal = equal_spaces
        self.env = env
        self.render_mode = env.render_mode
        self._history: History = history
        inner = unwrap(env)
        self.metadata = {**self.metadata, "render_modes": list(inner.metadata["render_modes"])}
        self._slots = inner.max_commands
        self._noops = self._slots if invalid == "noop" else 0
        # p(s) holds at most `horizon` answers, each no longer than an observation, besides the task and the actions.
        bound = (inner.horizon + 2) * (inner.action_space.max_length + inner.observation_space.max_length)
        self.possible_agents = [REFLECTOR, POLICY]
        self.agents = []
        policy = spaces.Dict(
            {"text": UnicodeText(bound + MAX_REFLECTION), "action_mask": spaces.MultiBinary(self._slots)}
        )
        self._observation_spaces: dict[str, spaces.Space[Any]] = {
            REFLECTOR: policy if equal_spaces else spaces.Dict({"text": UnicodeText(bound)}),
            POLICY: policy,
        }
        self._action_spaces: dict[str, spaces.Space[Any]] = {
            REFLECTOR: UnicodeText(MAX_REFLECTION),
            POLICY: spaces.Discrete(self._slots),
        }

    def observation_space(self, agent: str) -> spaces.Space[Any]:
        """Return the observation space of a player, the same object every time."""
        return self._observation_spaces[agent]

    def action_space(self, agent: str) -> spaces.Space[Any]:
        """Return the action space of a player, the same object every time."""
        return self._action_spaces[agent]

    def reset(self, seed: int | None = None, options: dict[str, Any] | None = None) -> None:
        """Begin an episode; `seed` and `options` go to the environment.

        The option `options`, which PettingZoo's `api_test` gives every environment, is passed over.

        Raises:
            UsageError: An option is unknown, or the task does not exist.
        """
        if isinstance(options, dict):  # pyright: ignore[reportUnnecessaryIsInstance] - anything else is refused there
            options = {name: value for name, value in options.items() if name != "options"}
        observation, info = self.env.reset(seed=seed, options=options)
        self.agents = list(self.possible_agents)
        self.agent_selection = REFLECTOR
        self.rewards = dict.fromkeys(self.agents, 0.0)
        self._cumulative_rewards = dict.fromkeys(self.agents, 0.0)
        self.terminations = dict.fromkeys(self.agents, False)
        self.truncations = dict.fromkeys(self.agents, False)
        self._path: list[PathStep] = []
        self._reflection: str = ""
        self._arrive(observation, info)

    def step(self, action: Any) -> None:
        """Let the selected player speak (reflector) or act (policy).

        Raises:
            TypeError: The reflector's action is not a string, or the policy's is not a whole number.
            UsageError: The policy's action is not the position of a listed command.
        """
        agent = self.agent_selection
        if self.terminations[agent] or self.truncations[agent]:
            self._was_dead_step(action)
            return
        self._cumulative_rewards[agent] = 0.0
        self._clear_rewards()
        if agent == REFLECTOR:
            if not isinstance(action, str):
                raise TypeError(f"the reflector's action is a str, not {action!r}")
            self._reflection = escape_surrogates(action)[:MAX_REFLECTION]
            self.agent_selection = POLICY
            return
        commands = self._info["admissible_commands"]
        command = command_at(commands, operator.index(action), self._noops)
        if command is None:
            raise UsageError(f"the policy's action {action} is none of the {len(commands)} listed: see action_mask")
        observation, reward, terminated, truncated, info = self.env.step(command)
        self._path.append(PathStep(command, info["feedback"]))
        for each in self.agents:
            self.rewards[each] = float(reward)
            self.terminations[each], self.truncations[each] = terminated, truncated
        self._accumulate_rewards()
        self._reflection = ""
        self._arrive(observation, info)
        self.agent_selection = REFLECTOR

    def _arrive(self, observation: str, info: dict[str, Any]) -> None:
        self._info = info
        self._state = state_prompt(info["task"], self._path, observation, history=self._history)
        self.infos = {agent: dict(info) for agent in self.agents}

    def observe(self, agent: str) -> dict[str, Any]:
        """Return the observation of a player; the policy's has the reflection once it is spoken."""
        if agent not in self._action_spaces:
            require_choice("player", agent, self.possible_agents)
        if agent == REFLECTOR:
            text = {"text": reflection_prompt(self._state)}
            return {**text, "action_mask": np.ones(self._slots, dtype=np.int8)} if self._equal else text
        commands = self._info["admissible_commands"]
        mask = np.zeros(self._slots, dtype=np.int8)
        mask[: len(commands)] = 1
        return {"text": policy_prompt(self._state, self._reflection, enumerate_actions(commands)), "action_mask": mask}

    def render(self) -> Any:
        return self.env.render()

    def close(self) -> None:
        self.env.close()


def aec_env(
    id: str,
    history: History = "full",
    invalid: Literal["raise", "noop"] = "raise",
    equal_spaces: bool = False,
    **kwargs: Any,
) -> AECEnv[str, dict[str, Any], Any]:
    """Return the two-player form of a registered environment.

    Args:
        id: A Gymnasium id of the suite.
        history: How much of the previous path p(s) shows.
        invalid: What an index does at which no command is listed; see `TwoPlayerEnv`.
        equal_spaces: Whether both players have one observation space; see `TwoPlayerEnv`.
        **kwargs: For `gymnasium.make`.

    Raises:
        UsageError: An argument is unknown, or has a value that it cannot have.
    """
    if (spec := gymnasium.registry.get(id)) is not None and isinstance(spec.entry_point, str):
        check_arguments(cast("type", load_env_creator(spec.entry_point)), kwargs, (*MADE_WITH, *_OWN))
    return OrderEnforcingWrapper(TwoPlayerEnv(make_pinned(id, **kwargs), history, invalid, equal_spaces))


def parallel_env(id: str, history: History = "full", **kwargs: Any) -> Any:
    """Return the turn-based parallel form, in which one player acts in each step.

    After a step `infos[agent]["active_agent"]` names who is next; after a reset it is the reflector.
    """
    return turn_based_aec_to_parallel_wrapper(aec_env(id, history, **kwargs))
