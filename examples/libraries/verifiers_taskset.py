"""An environment of the suite as a taskset of verifiers: vf-eval @ verifiers_taskset.toml"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import verifiers.v1 as vf

from natlang_envs.learners.tested_versions import warn_if_untested
from natlang_envs.learners.trl import tasks
from natlang_envs.make_env import make_env
from natlang_envs.prompt import CHAT_ROLE, listed, state_prompt

__all__ = ["NatLangEnv", "NatLangTaskset"]
warn_if_untested("verifiers")


class NatLangData(vf.TaskData):
    env_id: str
    split: str
    task_id: str


class NatLangConfig(vf.TasksetConfig):
    env_id: str = "NatLang/DangerousTaxi-Pickup-v0"
    split: str = "train"
    count: int = 512
    allow_test: bool = False


class NatLangTask(vf.Task[NatLangData]):
    pass


class NatLangTaskset(vf.Taskset[NatLangTask, NatLangConfig]):
    def load(self) -> Iterator[NatLangTask]:
        given = self.config
        for row in tasks(given.env_id, given.count, split=given.split, allow_test=given.allow_test):
            told = {"task_id": row["prompt"], "name": row["prompt"], "system_prompt": CHAT_ROLE}
            data = NatLangData(env_id=given.env_id, split=given.split, **told)
            yield NatLangTask(data, self.config.task)


class NatLangEnvConfig(vf.EnvConfig):
    player: vf.AgentConfig = vf.AgentConfig()


class NatLangEnv(vf.Env[NatLangEnvConfig]):
    """A model answers with a command in its last line; what it has earned is kept when its endpoint fails."""

    async def run(self, task: NatLangTask, agents: Any) -> None:
        env = make_env(task.data.env_id, split=task.data.split)
        observation, info = env.reset(options={"task_id": task.data.task_id})
        text, earned, ended = state_prompt(info["task"], [], observation), 0.0, False
        async with agents.player.interaction(task) as interaction:
            while not ended:
                segment = await interaction.turn(f"{text}\n\n{listed(info['admissible_commands'])}")
                if segment.terminated:
                    break
                text, reward, terminated, truncated, info = env.step((segment.last_reply.splitlines() or [""])[-1])
                earned, ended = earned + float(reward), terminated or truncated
        interaction.trace.record_reward("natlang", earned / env.reward_scale)
        interaction.trace.record_metric("success", float(info["success"]))
