"""Samples a batch of trajectories in step: Algorithm 1, lines 24 to 33.

One vector environment holds all episodes; at each step the episodes that still run are put to the players together.
The policy does not change meanwhile, so that it is asked once for each p(s), however many episodes come by.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import gymnasium
import numpy as np

from natlang_envs.errors import UsageError
from natlang_envs.prompt import PathStep
from reference_agent import processes
from reference_agent.config import Config, StageConfig
from reference_agent.models.language_model import LanguageModel
from reference_agent.players import Answers, Decision, Reflector, decide, fitting_state


@dataclass
class Episode:
    """One sampled trajectory: what was decided at each step, what it earned, and whether it succeeded."""

    decisions: list[Decision] = field(default_factory=list[Decision])
    rewards: list[float] = field(default_factory=list[float])
    success: bool = False


def make_envs(stage: StageConfig, config: Config) -> gymnasium.vector.VectorEnv[Any, Any, Any]:
    """Return the vector environment of a stage, as wide as this process's part of the `rl.batch` episodes."""
    if config.rl.batch < processes.count():
        raise UsageError(f"rl.batch {config.rl.batch} is less than {processes.count()} processes: raise it")
    return gymnasium.make_vec(
        stage.env,
        len(processes.part(range(config.rl.batch))),
        vectorization_mode="vector_entry_point",
        autoreset_mode="NextStep",
        **config.arguments(stage),
    )


def sample_episodes(
    envs: gymnasium.vector.VectorEnv[Any, Any, Any],
    task_ids: Sequence[str],
    policy: LanguageModel,
    reflector: Reflector | None,
    history: int,
    rng: np.random.Generator,
    explore: float = 0.0,
) -> list[Episode]:
    """Play one episode in each environment with the current policy, without gradient."""
    observations, infos = envs.reset(options={"task_id": list(task_ids)})
    episodes = [Episode() for _ in task_ids]
    paths: list[list[PathStep]] = [[] for _ in task_ids]
    running = list(range(len(task_ids)))
    known: Answers = {}
    while running:
        commands = [infos["admissible_commands"][index] for index in running]
        states = [
            fitting_state(policy, reflector, infos["task"][index], paths[index], observations[index], listed, history)
            for index, listed in zip(running, commands, strict=True)
        ]
        decisions = decide(policy, reflector, states, commands, rng, explore, known=known)
        # An episode that has ended begins anew in its place and is not looked at; its action must only be some text.
        actions = [""] * len(episodes)
        for index, decision, listed in zip(running, decisions, commands, strict=True):
            actions[index] = listed[decision.chosen]
        observations, rewards, terminated, truncated, infos = envs.step(actions)
        for index, decision in zip(running, decisions, strict=True):
            episodes[index].decisions.append(decision)
            episodes[index].rewards.append(float(rewards[index]))
            episodes[index].success = bool(infos["success"][index])
            paths[index].append(PathStep(actions[index], infos["feedback"][index]))
        ended = terminated | truncated
        running = [index for index in running if not ended[index]]
    return episodes
