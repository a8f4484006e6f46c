"""Plays a protocol with an agent, in lock-step batches, and keeps a run that anyone can replay."""

from __future__ import annotations

import json
import os
import platform
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, get_origin, get_type_hints

import gymnasium
import numpy as np

from natlang_envs.env import unwrap
from natlang_envs.errors import UsageError
from natlang_envs.evaluation.agents import Agent, AgentInput, Decision, decide, is_privileged, is_sampling
from natlang_envs.evaluation.protocols import Episode, Protocol, load_protocol
from natlang_envs.evaluation.statistics import Score, score
from natlang_envs.files import write_whole
from natlang_envs.prompt import PathStep
from natlang_envs.trajectory import Recorder, Trajectory, plan_length, read_trajectories, write_trajectories

RUN_FILE = "run.json"
TRAJECTORIES_FILE = "trajectories.jsonl.gz"
_PACKAGES = ("natlang-envs", "gymnasium", "pettingzoo", "numpy", "torch", "transformers")


@dataclass(frozen=True)
class Run:
    """What `run.json` holds: everything about an evaluation but its episodes, and no score.

    Attributes:
        protocol: The protocol's name.
        protocol_digest: Its digest when the run was made.
        agent: The agent's name.
        runs: How often each episode was played.
        versions: Versions of Python and of the packages that matter.
        hardware: The machine, in words.
        tokens: Tokens read and written by the agent.
        seconds: Wall-clock time.
    """

    protocol: str
    protocol_digest: str
    agent: str
    runs: int
    versions: dict[str, str]
    hardware: str
    tokens: int
    seconds: float


def evaluate(
    agent: Agent,
    protocol: Protocol | str,
    *,
    name: str = "agent",
    out: Path | None = None,
    batch: int = 64,
    progress: Callable[[int, int], None] | None = None,
) -> tuple[Run, list[Trajectory]]:
    """Play every episode of a protocol.

    Args:
        agent: The agent; one that says `sampling = True` plays all runs of the protocol, any other one run.
        protocol: A protocol, or its name.
        name: What to call the agent.
        out: A folder to write `run.json` and `trajectories.jsonl.gz` to.
        batch: The largest number of episodes in step; it does not change what an agent sees or draws.
        progress: Called with (episodes done, episodes in all).

    Returns:
        The run and its episodes, in the protocol's order, run by run.

    Raises:
        UsageError: There is no such protocol, or `out` already holds a run or cannot be made.
    """
    if isinstance(protocol, str):
        protocol = load_protocol(protocol)
    if out is not None:
        prepare_folder(out)
    runs = protocol.runs if is_sampling(agent) else 1
    todo = protocol.plays(runs)
    envs = [protocol.make_env() for _ in range(min(batch, len(todo)))]
    started = time.perf_counter()
    tokens = 0
    trajectories: list[Trajectory] = []
    for first in range(0, len(todo), len(envs)):
        for trajectory, used in _play(agent, envs, todo[first : first + len(envs)]):
            trajectories.append(trajectory)
            tokens += used
            if progress:
                progress(len(trajectories), len(todo))
    for env in envs:
        env.close()
    seconds = round(time.perf_counter() - started, 3)
    run = Run(protocol.name, protocol.digest, name, runs, _versions(), hardware(), tokens, seconds)
    if out is not None:
        write_trajectories(out / TRAJECTORIES_FILE, trajectories)
        write_whole(out / RUN_FILE, (json.dumps(asdict(run), indent=2) + "\n").encode())
    return run, trajectories


def prepare_folder(out: Path) -> None:
    """Make the folder that a run is to be written to, before anything is played.

    Raises:
        UsageError: It already holds a run, or cannot be made.
    """
    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UsageError(f"{out} cannot hold a run ({error.strerror}): choose another --out") from None
    if (out / RUN_FILE).exists():
        raise UsageError(f"{out} already holds a run: choose another --out, or delete it")


def _play(
    agent: Agent, envs: list[gymnasium.Env[str, str]], episodes: list[tuple[Episode, int]]
) -> Iterator[tuple[Trajectory, int]]:
    """Play a batch of episodes in step; yield each with the tokens it took."""
    privileged = is_privileged(agent)
    views: dict[int, AgentInput] = {}
    recorders: list[Recorder] = []
    tokens = [0] * len(episodes)
    for index, (episode, run) in enumerate(episodes):
        observation, info = envs[index].reset(seed=episode.seed, options={"task_id": episode.task_id})
        recorders.append(Recorder(episode.task_id, episode.seed, run, observation))
        inner = unwrap(envs[index]) if privileged else None
        rng = np.random.default_rng([episode.seed, run])
        views[index] = AgentInput(info["task"], (), observation, info["admissible_commands"], rng, inner)
    while views:
        decisions: list[Decision] = decide(agent, list(views.values()))
        for (index, view), decision in zip(list(views.items()), decisions, strict=True):
            observation, reward, terminated, truncated, info = envs[index].step(decision.action)
            success: bool = info["success"]
            recorders[index].add(
                decision.action, decision.reflection, observation, float(reward), terminated, truncated, success
            )
            tokens[index] += decision.tokens
            if terminated or truncated:
                del views[index]
                continue
            path = (*view.path, PathStep(decision.action, info["feedback"]))
            views[index] = AgentInput(view.task, path, observation, info["admissible_commands"], view.rng, view.env)
    for recorder, used in zip(recorders, tokens, strict=True):
        yield recorder.trajectory(), used


def plan_lengths(protocol: Protocol) -> dict[str, int]:
    """Return the number of steps of the environment's own plan for every task of a protocol."""
    env = protocol.make_env()
    return {episode.task_id: plan_length(env, episode.task_id) for episode in protocol.episodes}


def score_run(protocol: Protocol, trajectories: list[Trajectory]) -> Score:
    """Return what the episodes of a protocol earned."""
    return score(trajectories, plan_lengths(protocol))


def read_run(folder: Path) -> tuple[Run, list[Trajectory]]:
    """Read what `evaluate` wrote.

    Raises:
        UsageError: A file is missing or is not what it should be.
    """
    path = folder / RUN_FILE
    try:
        content: Any = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise UsageError(f"{path} is missing: make it with `natlang evaluate --out {folder}`") from None
    except (ValueError, OSError) as error:
        raise UsageError(f"{path} cannot be read ({error}): run `natlang evaluate` again") from None
    return _run_of(content, path), read_trajectories(folder / TRAJECTORIES_FILE)


def _run_of(content: Any, path: Path) -> Run:
    hints = get_type_hints(Run)
    if not isinstance(content, dict) or set(content) != set(hints):  # pyright: ignore[reportUnknownArgumentType]
        raise UsageError(f"{path} must have exactly the keys {', '.join(sorted(hints))}")
    for key, hint in hints.items():
        kinds = (int, float) if hint is float else get_origin(hint) or hint
        if not isinstance(content[key], kinds) or isinstance(content[key], bool):
            raise UsageError(
                f"{path}: {key} must be {hint.__name__}, not {content[key]!r}: run `natlang evaluate` again"
            )
    return Run(**content)  # pyright: ignore[reportUnknownArgumentType]


def hardware() -> str:
    """Return the machine in words: processor architecture, number of cores, system."""
    return f"{platform.machine()}, {os.cpu_count()} cores, {platform.system()}"


def _versions() -> dict[str, str]:
    found = {"python": platform.python_version()}
    for package in _PACKAGES:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            continue
    return found
