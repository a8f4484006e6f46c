"""Episodes of an audited agent: guided along a recording, or played by its own choices."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from math import log
from typing import NamedTuple, TypeVar

import gymnasium

from leaderboard.audit.agent_process import AgentProcess, InputJson
from natlang_envs.evaluation.playing import bounded
from natlang_envs.evaluation.protocols import Protocol
from natlang_envs.prompt import PathStep
from natlang_envs.trajectory import Trajectory

DRIFT = 0.05  # nats by which the recorded action may be less likely than the one chosen now, on another machine
_BATCH = 64  # episodes at a time, of an agent that decides for many
_T = TypeVar("_T")
_S = TypeVar("_S")


class StepChances(NamedTuple):
    """The probabilities that an agent states for a step: of all commands, and of the recorded one."""

    commands: tuple[float, ...]
    recorded: float


@dataclass
class GuidedEpisode:
    """What an agent chooses along a recorded episode; for the numbers see `Audit`."""

    same: int = 0
    drifted: int = 0
    chances: list[StepChances] = field(default_factory=list[StepChances])


class AuditedEpisode:
    def __init__(self, env: gymnasium.Env[str, str], number: int, task_id: str, seed: int, own: list[int]) -> None:
        self._env = env
        observation, info = env.reset(seed=seed, options={"task_id": task_id})
        self.ended = self.success = False
        self.given = InputJson(
            episode=number,
            seed=own,
            task=info["task"],
            path=(),
            observation=observation,
            admissible_commands=info["admissible_commands"],
            reflection=None,
        )

    def step(self, action: str) -> None:
        observation, _, terminated, truncated, info = self._env.step(action)
        self.ended, self.success = terminated or truncated, info["success"]
        self.given["path"] = (*self.given["path"], PathStep(action, info["feedback"]))
        self.given["observation"], self.given["admissible_commands"] = observation, info["admissible_commands"]


Start = tuple[str, int, list[int]]  # the task, the seed of its reset, and that of the agent's random numbers


class AuditSession:
    """One agent process with its environments: 64 for an agent that decides for many episodes at a time, else one.

    `ended` is called with the number of episodes that have ended.
    """

    def __init__(self, protocol: Protocol, agent: AgentProcess, ended: Callable[[int], None]) -> None:
        self._agent, self._ended = agent, ended
        self._envs = [protocol.make_env() for _ in range(_BATCH if agent.facts.batch else 1)]
        self._begun = 0
        self._states_chances = agent.facts.chances and agent.files.own_loader

    def close(self) -> None:
        for env in self._envs:
            env.close()

    def play(self, starts: Sequence[Start]) -> list[bool]:
        """Play episodes by the agent's own choices; return whether each is a success."""
        won: list[bool] = []
        for episodes in self._episodes(starts):
            while running := [episode for episode in episodes if not episode.ended]:
                actions = self._agent.act([episode.given for episode in running])
                for episode, action in zip(running, actions, strict=True):
                    episode.step(bounded(action, None, episode.given["admissible_commands"])[0])
            won += [episode.success for episode in episodes]
            self._ended(len(episodes))
        return won

    def guide(self, recorded: Sequence[Trajectory]) -> list[GuidedEpisode]:
        """Play recorded actions, and compare each with what the agent would choose."""
        every: list[GuidedEpisode] = []
        starts = [(each.task_id, each.seed, [each.seed, each.run]) for each in recorded]
        for episodes in self._episodes(starts):
            those = recorded[len(every) : len(every) + len(episodes)]
            every += (found := [GuidedEpisode() for _ in episodes])
            for at in range(max(len(each.actions) for each in those)):
                now = [each for each in zip(episodes, those, found, strict=True) if at < len(each[1].actions)]
                for episode, each, _ in now:
                    episode.given["reflection"] = each.reflections[at]
                self._compare([(episode.given, each.actions[at], guided) for episode, each, guided in now])
                for episode, each, _ in now:
                    episode.step(each.actions[at])
            self._ended(len(episodes))
        return every

    def _compare(self, now: Sequence[tuple[InputJson, str, GuidedEpisode]]) -> None:
        inputs = [given for given, _, _ in now]
        chosen = self._agent.act([InputJson({**given, "reflection": None}) for given in inputs])
        stated = self._agent.chances(inputs) if self._states_chances else [None] * len(inputs)
        for (given, action, guided), choice, chances in zip(now, chosen, stated, strict=True):
            if choice != action:
                choice = bounded(choice, None, given["admissible_commands"])[0]
            guided.same += choice == action
            if chances is not None:
                by_command = dict(zip(given["admissible_commands"], chances, strict=True))
                chance = by_command.get(action, 0.0)
                guided.chances.append(StepChances(tuple(chances), chance))
                guided.drifted += choice != action and chance > 0 and log(by_command.get(choice, 1.0) / chance) <= DRIFT

    def _episodes(self, starts: Sequence[Start]) -> Iterator[list[AuditedEpisode]]:
        batch = len(self._envs)
        for first in range(0, len(starts), batch):
            part = starts[first : first + batch]
            numbers = range(self._begun, self._begun + len(part))
            self._begun += len(part)
            yield [AuditedEpisode(env, n, *start) for env, n, start in zip(self._envs, numbers, part, strict=False)]


def in_parallel(
    method: Callable[[AuditSession, Sequence[_T]], list[_S]], sessions: Sequence[AuditSession], items: Sequence[_T]
) -> list[_S]:
    """Return the results of a method of `AuditSession` in the order of the items, which all sessions share."""
    count = len(sessions)
    with ThreadPoolExecutor(count) as pool:
        parts = list(pool.map(method, sessions, [items[first::count] for first in range(count)]))
    return [parts[number % count][number // count] for number in range(len(items))]
