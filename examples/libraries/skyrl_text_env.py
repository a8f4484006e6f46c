"""A text environment of SkyRL-gym from one of the suite: python examples/libraries/skyrl_text_env.py"""

from __future__ import annotations

from typing import Any

import gymnasium
import skyrl_gym
from skyrl_gym.envs.base_text_env import BaseTextEnv, BaseTextEnvStepOutput

from natlang_envs import unwrap
from natlang_envs.learners.tested_versions import warn_if_untested
from natlang_envs.prompt import chat_messages, listed, state_prompt

warn_if_untested("skyrl-gym")


class NatLangText(BaseTextEnv):
    """One task; `extras` is a row of the data set with `env_id`, `task_id` and perhaps `split`, "train" unless told.

    A model answers with a command in its last line.
    """

    def __init__(self, env_config: Any = None, extras: dict[str, Any] | None = None) -> None:
        super().__init__()
        row = extras or {}
        self.env = unwrap(gymnasium.make(row["env_id"], split=row.get("split", "train")))
        self.task_id = row["task_id"]
        self.max_turns = self.env.horizon

    def init(self, prompt: list[dict[str, str]]) -> tuple[list[dict[str, str]], dict[str, Any]]:
        observation, info = self.env.reset(options={"task_id": self.task_id})
        return [*prompt, *chat_messages(state_prompt(info["task"], [], observation), info["admissible_commands"])], {}

    def step(self, action: str) -> BaseTextEnvStepOutput:
        self.turns += 1
        command = (action.strip().splitlines() or [""])[-1]
        observation, reward, terminated, truncated, info = self.env.step(command)
        said = f"{observation}\n\n{listed(info['admissible_commands'])}"
        return BaseTextEnvStepOutput(
            observations=[] if terminated or truncated else [{"role": "user", "content": said}],
            reward=float(reward) / self.env.reward_scale,
            done=terminated or truncated,
            metadata={"success": info["success"]},
        )


def main(env_id: str = "NatLang/DangerousTaxi-v0") -> tuple[float, bool]:
    """Return what the environment's own plan earns through SkyRL-gym, and whether it wins."""
    if "natlang" not in skyrl_gym.registry:
        skyrl_gym.register(id="natlang", entry_point=NatLangText)
    task_id = next(iter(gymnasium.make(env_id, split="train").unwrapped.tasks.ids()))
    env = skyrl_gym.make("natlang", extras={"env_id": env_id, "task_id": task_id})
    conversation, _ = env.init([])
    assert [each["role"] for each in conversation] == ["system", "user"]
    outputs = [env.step(f"I go on.\n{command}") for command in env.env.reference()]
    return sum(each["reward"] for each in outputs), outputs[-1]["done"] and outputs[-1]["metadata"]["success"]


if __name__ == "__main__":
    print("reward of the plan: {:.2f}, success: {}".format(*main()))
