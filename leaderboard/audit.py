"""Runs an entry's agent again on episodes that nobody could foresee, and compares what it does with the recording."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from math import comb, log, sqrt
from pathlib import Path
from typing import NamedTuple

import numpy as np

from leaderboard.verify import opened
from natlang_envs.env import unwrap, without_margins
from natlang_envs.errors import UsageError
from natlang_envs.evaluation.agents import Agent, AgentInput, HasChances, decide, is_privileged
from natlang_envs.evaluation.protocols import Protocol, load_protocol
from natlang_envs.evaluation.runs import TRAJECTORIES_FILE
from natlang_envs.evaluation.statistics import paired_p
from natlang_envs.prompt import PathStep
from natlang_envs.trajectory import AsRecorded, Trajectory, stream_trajectories

EPISODES = 30  # of the protocol, and as many on tasks drawn again from its split, which are new on some boards only
DRIFT = 0.05  # nats by which the recorded action may be less likely than the one chosen now, on another machine
_DOUBT = 0.05
_FRESH_DOUBT = 0.01  # other tasks may be a little harder
_SURPRISE = 4.0  # standard deviations


@dataclass(frozen=True)
class Audit:
    """What an audit found.

    Attributes:
        same: Steps at which the agent chooses the recorded action, when it is led along the recorded episodes.
        drifted: Further steps at which the recorded action is all but as likely as the one chosen now.
        steps: The number of those steps.
        surprise: For an agent that draws and tells its chances: how much less likely the recorded actions are than
            draws are, in standard deviations; negative where they are more likely. None for others.
        recorded: Successes among the picked episodes in the recording.
        again: Successes when the agent plays them freely, with other random numbers.
        p: The p-value of both success rates being equal, by a paired test.
        fresh: Successes on as many tasks drawn afresh from the same split.
        fresh_p: The probability of so few successes, if these tasks were won as often as the recorded ones.
        sampling: Whether the entry says that its agent draws.
    """

    same: int
    drifted: int
    steps: int
    surprise: float | None
    recorded: int
    again: int
    p: float
    fresh: int
    fresh_p: float
    sampling: bool

    @property
    def problem(self) -> str:
        """Why the audit does not pass, or an empty string."""
        other = self.steps - self.same - self.drifted
        if not self.sampling and other:
            return f"{other} of {self.steps} actions of an agent that does not draw are other ones"
        if self.surprise is not None and abs(self.surprise) > _SURPRISE:
            how = "less" if self.surprise > 0 else "more"
            return f"the actions are {how} likely than draws are, by {abs(self.surprise):.1f} standard deviations"
        if self.p < _DOUBT and self.again < self.recorded:
            return f"the recording has {self.recorded} successes, and playing again has {self.again} (p = {self.p:.2g})"
        if self.fresh_p < _FRESH_DOUBT:
            return f"tasks drawn afresh are won {self.fresh} times in {EPISODES} (p = {self.fresh_p:.2g})"
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
    again = [_free(protocol, agent, each.task_id, each.seed, rng.spawn(1)[0]) for each in recorded]
    tasks = unwrap(protocol.make_env()).tasks
    drawn = [(tasks.draw(rng.random), int(rng.integers(2**31))) for _ in range(EPISODES)]
    fresh = sum(_free(protocol, agent, task_id, seed, rng.spawn(1)[0]) for task_id, seed in drawn)
    won = sum(each.success for each in stream_trajectories(folder / TRAJECTORIES_FILE))
    sampling = not submission.deterministic if submission.run.sampling is None else submission.run.sampling
    return Audit(
        same=sum(each.same for each in led),
        drifted=sum(each.drifted for each in led),
        surprise=_surprise([step for each in led for step in each.told]) if sampling else None,
        fresh=fresh,
        fresh_p=_so_few(fresh, EPISODES, won, total),
        steps=sum(len(each.actions) for each in recorded),
        recorded=sum(each.success for each in recorded),
        again=sum(again),
        p=paired_p(_by_episode([each.success for each in recorded]), _by_episode(again)),
        sampling=sampling,
    )


def _by_episode(successes: Sequence[bool]) -> dict[str, list[bool]]:
    return {str(number): [each] for number, each in enumerate(successes)}


def _so_few(won: int, played: int, others_won: int, others: int) -> float:
    """Return the chance of at most so many successes, if both groups win alike (Fisher's exact test, one side)."""
    successes = won + others_won
    ways = sum(comb(successes, each) * comb(played + others - successes, played - each) for each in range(won + 1))
    return ways / comb(played + others, played)


class _Told(NamedTuple):
    """What an agent tells of a step: the chances of all commands, and that of the recorded one."""

    chances: tuple[float, ...]
    chance: float


class _Led(NamedTuple):
    """What an agent does along a recorded episode."""

    same: int
    drifted: int
    told: tuple[_Told, ...]


def _surprise(steps: Sequence[_Told]) -> float | None:
    """Return by how many standard deviations -log p of the recorded actions exceeds that of draws."""
    excess = variance = 0.0
    for chances, chance in steps:
        logs = [(each, log(each)) for each in chances if each > 0]
        entropy = -sum(each * said for each, said in logs)
        variance += sum(each * said * said for each, said in logs) - entropy**2
        excess += -log(max(chance, 1e-12)) - entropy
    return excess / sqrt(variance) if variance > 0 else None


def _teller(agent: object) -> HasChances | None:
    return agent if isinstance(agent, HasChances) else None


def _led(protocol: Protocol, agent: Agent, recorded: Trajectory, rng: np.random.Generator) -> _Led:
    """Lead an agent along a recorded episode, and compare what it would do with what was done."""
    env = protocol.make_env()
    observation, info = env.reset(seed=recorded.seed, options={"task_id": recorded.task_id})
    given = AgentInput(info["task"], (), observation, info["admissible_commands"], rng)
    same = drifted = 0
    told: list[_Told] = []
    teller = _teller(agent)
    for action, reflection in zip(recorded.actions, recorded.reflections, strict=True):
        said = decide(agent, [given])[0].action
        chosen = said if said == action else without_margins(said, given.admissible_commands)
        same += chosen == action
        if teller is not None:
            chances = dict(zip(given.admissible_commands, teller.chances(given, reflection), strict=True))
            chance = chances.get(action, 0.0)
            told.append(_Told(tuple(chances.values()), chance))
            drifted += chosen != action and chance > 0 and log(chances.get(chosen, 1.0) / chance) <= DRIFT
        observation, _, _, _, info = env.step(AsRecorded(action))
        path = (*given.path, PathStep(action, info["feedback"]))
        given = AgentInput(given.task, path, observation, info["admissible_commands"], rng)
    env.close()
    return _Led(same, drifted, tuple(told))


def _free(protocol: Protocol, agent: Agent, task_id: str, seed: int, rng: np.random.Generator) -> bool:
    """Let an agent play a task; return whether it succeeds."""
    env = protocol.make_env()
    observation, info = env.reset(seed=seed, options={"task_id": task_id})
    given = AgentInput(info["task"], (), observation, info["admissible_commands"], rng)
    ended = False
    while not ended:
        action = without_margins(decide(agent, [given])[0].action, given.admissible_commands)
        observation, _, terminated, truncated, info = env.step(action)
        ended = terminated or truncated
        path = (*given.path, PathStep(action, info["feedback"]))
        given = AgentInput(given.task, path, observation, info["admissible_commands"], rng)
    env.close()
    return info["success"]
