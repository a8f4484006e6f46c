"""Runs an entry's agent again on episodes that nobody could foresee, and compares what it does with the recording."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from leaderboard.verify import opened
from natlang_envs.errors import UsageError
from natlang_envs.evaluation.agents import Agent, AgentInput, decide, is_privileged
from natlang_envs.evaluation.protocols import Protocol, load_protocol
from natlang_envs.evaluation.runs import TRAJECTORIES_FILE
from natlang_envs.evaluation.statistics import paired_p
from natlang_envs.prompt import PathStep
from natlang_envs.trajectory import Trajectory, stream_trajectories

EPISODES = 30
_DOUBT = 0.05


@dataclass(frozen=True)
class Audit:
    """What an audit found.

    Attributes:
        same: Steps at which the agent chooses the recorded action, when it is led along the recorded episodes.
        steps: The number of those steps.
        recorded: Successes among the picked episodes in the recording.
        again: Successes when the agent plays them freely, with other random numbers.
        p: The p-value of both success rates being equal, by a paired test.
        sampling: Whether the entry says that its agent draws.
    """

    same: int
    steps: int
    recorded: int
    again: int
    p: float
    sampling: bool

    @property
    def problem(self) -> str:
        """Why the audit does not pass, or an empty string."""
        if not self.sampling and self.same < self.steps:
            return f"{self.steps - self.same} of {self.steps} actions of an agent that does not draw are other ones"
        if self.p < _DOUBT and self.again < self.recorded:
            return f"the recording has {self.recorded} successes, and playing again has {self.again} (p = {self.p:.2g})"
        return ""


def audit(folder: Path, agent: Agent, beacon: str) -> Audit:
    """Run an entry's agent again.

    Args:
        folder: The entry.
        agent: Its agent, made of the published checkpoint or endpoint.
        beacon: A public text that was fixed only after the entry was committed, such as the digest of a later commit;
            with the recording's digest it picks the episodes and seeds the random numbers.

    Raises:
        UsageError: It is no entry, or the agent asks for the environment itself.
    """
    if is_privileged(agent):
        raise UsageError("an agent that sees the environment itself is a reference line: there is nothing to audit")
    submission = opened(folder)
    protocol = load_protocol(submission.protocol)
    digest = hashlib.sha256(f"{beacon}\n{submission.trajectories_sha256}".encode()).digest()
    rng = np.random.default_rng(list(digest))
    total = len(protocol.episodes) * submission.run.runs
    picked = {int(each) for each in rng.choice(total, size=min(EPISODES, total), replace=False)}
    recorded = [each for number, each in enumerate(stream_trajectories(folder / TRAJECTORIES_FILE)) if number in picked]
    led = [_led(protocol, agent, each, rng.spawn(1)[0]) for each in recorded]
    again = [_free(protocol, agent, each, rng.spawn(1)[0]) for each in recorded]
    sampling = not submission.deterministic if submission.run.sampling is None else submission.run.sampling
    return Audit(
        same=sum(led),
        steps=sum(len(each.actions) for each in recorded),
        recorded=sum(each.success for each in recorded),
        again=sum(again),
        p=paired_p(_by_episode([each.success for each in recorded]), _by_episode(again)),
        sampling=sampling,
    )


def _by_episode(successes: Sequence[bool]) -> dict[str, list[bool]]:
    return {str(number): [each] for number, each in enumerate(successes)}


def _led(protocol: Protocol, agent: Agent, recorded: Trajectory, rng: np.random.Generator) -> int:
    """Lead an agent along a recorded episode; return at how many steps it chooses the recorded action."""
    env = protocol.make_env()
    observation, info = env.reset(seed=recorded.seed, options={"task_id": recorded.task_id})
    given = AgentInput(info["task"], (), observation, info["admissible_commands"], rng)
    same = 0
    for action in recorded.actions:
        same += decide(agent, [given])[0].action == action
        observation, _, _, _, info = env.step(action)
        path = (*given.path, PathStep(action, info["feedback"]))
        given = AgentInput(given.task, path, observation, info["admissible_commands"], rng)
    env.close()
    return same


def _free(protocol: Protocol, agent: Agent, recorded: Trajectory, rng: np.random.Generator) -> bool:
    """Let an agent play the task of a recorded episode; return whether it succeeds."""
    env = protocol.make_env()
    observation, info = env.reset(seed=recorded.seed, options={"task_id": recorded.task_id})
    given = AgentInput(info["task"], (), observation, info["admissible_commands"], rng)
    ended = False
    while not ended:
        action = decide(agent, [given])[0].action
        observation, _, terminated, truncated, info = env.step(action)
        ended = terminated or truncated
        path = (*given.path, PathStep(action, info["feedback"]))
        given = AgentInput(given.task, path, observation, info["admissible_commands"], rng)
    env.close()
    return info["success"]
