"""Sampling of a batch of trajectories: Algorithm 1, lines 24 to 33.

One vector environment plays all episodes; at each step the players decide for all running episodes together. The
policy does not change meanwhile, so each different question is put to it once.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import chain
from math import isfinite
from typing import Any

import gymnasium
import numpy as np

from natlang_envs.errors import UsageError, check_count, check_flag
from natlang_envs.prompt import History, PathStep
from reference_agent import processes
from reference_agent.curriculum import Environment, Stage, StageTasks, for_playing
from reference_agent.models.language_model import LanguageModel
from reference_agent.players import PolicyAnswers, PolicyDecision, Reflector, check_players, decide, fitting_state
from reference_agent.state import Shown, StateFunction, shown_by


@dataclass
class Episode:
    """One sampled trajectory: its decisions, rewards and success."""

    decisions: list[PolicyDecision] = field(default_factory=list[PolicyDecision])
    rewards: list[float] = field(default_factory=list[float])
    success: bool = False


def make_envs(stage: Stage, batch: int) -> gymnasium.vector.VectorEnv[Any, Any, Any]:
    """Return the vector environment of a stage, as wide as this process's part of the `batch` episodes."""
    if batch < processes.count():
        raise UsageError(f"rl.batch {batch} is less than {processes.count()} processes: raise it")
    return stage.make_many(len(processes.part(range(batch))))


def sample_episodes(
    envs: gymnasium.vector.VectorEnv[Any, Any, Any],
    task_ids: Sequence[str],
    policy: LanguageModel,
    reflector: Reflector | None,
    shown: Shown,
    rng: np.random.Generator | None,
) -> list[Episode]:
    """Play one episode in each environment, without gradient; greedily if `rng` is None."""
    observations, infos = envs.reset(options={"task_id": list(task_ids)})
    episodes = [Episode() for _ in task_ids]
    paths: list[list[PathStep]] = [[] for _ in task_ids]
    running = list(range(len(task_ids)))
    known: PolicyAnswers = {}
    if policy.origin is not None:
        policy.origin.check(chain.from_iterable(infos["admissible_commands"]))
    while running:  # line 26
        commands = [infos["admissible_commands"][index] for index in running]
        states = [  # line 27
            fitting_state(policy, reflector, infos["task"][index], paths[index], observations[index], listed, shown)
            for index, listed in zip(running, commands, strict=True)
        ]
        decisions = decide(policy, reflector, states, commands, rng, known=known)  # lines 28 and 29
        # An episode that has ended restarts unseen, and takes any text as an action.
        actions = [""] * len(episodes)
        for index, decision, listed in zip(running, decisions, commands, strict=True):
            actions[index] = decision.command(listed)
        observations, rewards, terminated, truncated, infos = envs.step(actions)  # line 30
        for index, decision in zip(running, decisions, strict=True):
            episode, action, reward = episodes[index], actions[index], float(rewards[index])
            if not isfinite(reward):
                what = f"the environment's reward for {action!r} in task {task_ids[index]!r} is {reward}"
                raise UsageError(f"{what}: mend the environment")
            episode.decisions.append(decision)
            episode.rewards.append(reward)
            episode.success = bool(infos["success"][index])
            paths[index].append(PathStep(action, infos["feedback"][index]))
        running = [index for index in running if not (terminated[index] or truncated[index])]
    return episodes


@contextmanager
def _without_dropout(*players: object) -> Iterator[None]:
    """Play without dropout, which would make greedy games differ; then the models are as they were."""
    training = [(each.model, each.model.training) for each in players if isinstance(each, LanguageModel)]
    for model, _ in training:
        model.eval()
    try:
        yield
    finally:
        for model, before in training:
            model.train(before)


def play(
    env: Environment | Stage,
    policy: LanguageModel,
    reflector: Reflector | None = None,
    *,
    split: str | None = None,
    episodes: int = 100,
    greedy: bool = False,
    history: History = 1,
    seed: int = 0,
    one_model: bool = False,
    state: StateFunction | None = None,
) -> list[Episode]:
    """Let both players play, without learning.

    Args:
        env: An environment's id, a function that makes one, or a stage with arguments.
        policy: The policy.
        reflector: The reflector, or None.
        split: The split of an id's tasks, such as `"test"`; an id whose environment has splits needs one.
        episodes: Number of episodes, of random tasks.
        greedy: Whether the policy decodes greedily, or samples at temperature 1.
        history: How much of the path p(s) shows; see `natlang_envs.prompt.state_prompt`.
        seed: Seed of tasks and choices.
        one_model: Whether one model is both players (appendix E.2).
        state: A function of task, path, observation and commands that returns p(s), in place of `history`.

    Raises:
        UsageError: The split is not named or does not exist, or both players are one model unasked.
    """
    episodes = check_count("episodes", episodes)
    check_players(policy, reflector, one_model)
    check_flag("greedy", greedy)
    shown = shown_by(history, state)
    stage = for_playing(env, split)
    rng = np.random.default_rng(check_count("seed", seed, 0))
    envs, tasks = stage.make_many(episodes), StageTasks(stage)
    sampled = [tasks.draw(rng) for _ in range(episodes)]
    with _without_dropout(policy, reflector.model if reflector else None):
        played = sample_episodes(envs, sampled, policy, reflector, shown, None if greedy else rng)
    envs.close()
    tasks.close()
    return played


def success_rate(episodes: Iterable[Episode]) -> float:
    """Return the share of won episodes; raises `UsageError` if there are none."""
    episodes = list(episodes)
    if not episodes:
        raise UsageError("no episodes were played: play some to count their successes")
    return sum(each.success for each in episodes) / len(episodes)
