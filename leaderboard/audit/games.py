"""Where an audited agent plays: games that it is led along, and games that it plays freely."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from math import log
from typing import NamedTuple, TypeVar

import gymnasium

from leaderboard.audit.outside import Outside, View
from natlang_envs.evaluation.playing import bounded
from natlang_envs.evaluation.protocols import Protocol
from natlang_envs.prompt import PathStep
from natlang_envs.trajectory import Trajectory

DRIFT = 0.05  # nats by which the recorded action may be less likely than the one chosen now, on another machine
CORES = min(2, os.cpu_count() or 1)  # that an audit may use
_TOGETHER = 64  # episodes, of an agent that decides for many
_T = TypeVar("_T")
_S = TypeVar("_S")


class Told(NamedTuple):
    """What an agent tells of a step: the chances of all commands, and that of the recorded one."""

    chances: tuple[float, ...]
    chance: float


@dataclass
class Led:
    """What an agent does along a recorded episode."""

    same: int
    drifted: int
    told: list[Told]


class Game:
    """An episode in play, and what its player sees next."""

    def __init__(self, env: gymnasium.Env[str, str], number: int, task_id: str, seed: int, own: list[int]) -> None:
        self._env = env
        observation, info = env.reset(seed=seed, options={"task_id": task_id})
        self.ended = self.success = False
        self.view = View(
            episode=number,
            seed=own,
            task=info["task"],
            path=(),
            observation=observation,
            admissible_commands=info["admissible_commands"],
            reflection=None,
        )

    def step(self, action: str) -> None:
        """Play an action."""
        observation, _, terminated, truncated, info = self._env.step(action)
        self.ended, self.success = terminated or truncated, info["success"]
        self.view["path"] = (*self.view["path"], PathStep(action, info["feedback"]))
        self.view["observation"], self.view["admissible_commands"] = observation, info["admissible_commands"]


Start = tuple[str, int, list[int]]  # the task, the seed of its reset, and that of the player's random numbers


class Place:
    """Where an agent plays; one that decides for many plays several episodes at a time, and `ended` hears how many."""

    def __init__(self, protocol: Protocol, agent: Outside, ended: Callable[[int], None]) -> None:
        self._agent, self._ended = agent, ended
        self._envs = [protocol.make_env() for _ in range(_TOGETHER if agent.facts.batch else 1)]
        self._begun = 0
        self._tells = agent.facts.chances and agent.shown.own_loader

    def __enter__(self) -> Place:
        return self

    def __exit__(self, *exception: object) -> None:
        for each in self._envs:
            each.close()

    def free(self, starts: Sequence[Start]) -> list[bool]:
        """Let the agent play; return whether each episode is a success."""
        won: list[bool] = []
        for games in self._games(starts):
            while playing := [each for each in games if not each.ended]:
                for game, action in zip(playing, self._agent.act([each.view for each in playing]), strict=True):
                    game.step(bounded(action, None, game.view["admissible_commands"])[0])
            won += [each.success for each in games]
            self._ended(len(games))
        return won

    def led(self, recorded: Sequence[Trajectory]) -> list[Led]:
        """Lead the agent along recorded episodes, and compare what it would do with what was done."""
        every: list[Led] = []
        starts = [(each.task_id, each.seed, [each.seed, each.run]) for each in recorded]
        for games in self._games(starts):
            those = recorded[len(every) : len(every) + len(games)]
            every += (found := [Led(0, 0, []) for _ in games])
            for at in range(max(len(each.actions) for each in those)):
                now = [each for each in zip(games, those, found, strict=True) if at < len(each[1].actions)]
                for game, each, _ in now:
                    game.view["reflection"] = each.reflections[at]
                self._compare([(game.view, each.actions[at], led) for game, each, led in now])
                for game, each, _ in now:
                    game.step(each.actions[at])
            self._ended(len(games))
        return every

    def _compare(self, now: Sequence[tuple[View, str, Led]]) -> None:
        views = [view for view, _, _ in now]
        hidden = [View({**view, "reflection": None}) for view in views]
        chosen = self._agent.act(hidden)
        told = self._agent.chances(views) if self._tells else [None] * len(views)
        for (view, action, led), said, chances in zip(now, chosen, told, strict=True):
            choice = said if said == action else bounded(said, None, view["admissible_commands"])[0]
            led.same += choice == action
            if chances is not None:
                by_command = dict(zip(view["admissible_commands"], chances, strict=True))
                chance = by_command.get(action, 0.0)
                led.told.append(Told(tuple(chances), chance))
                led.drifted += choice != action and chance > 0 and log(by_command.get(choice, 1.0) / chance) <= DRIFT

    def _games(self, starts: Sequence[Start]) -> Iterator[list[Game]]:
        together = len(self._envs)
        for first in range(0, len(starts), together):
            part = starts[first : first + together]
            numbers = range(self._begun, self._begun + len(part))
            self._begun += len(part)
            yield [Game(env, number, *start) for env, number, start in zip(self._envs, numbers, part, strict=False)]


class Dealt:
    """A place for each process of an agent, among which episodes are dealt out."""

    def __init__(self, places: Sequence[Place]) -> None:
        self._places = places

    def free(self, starts: Sequence[Start]) -> list[bool]:
        """Let the agent play; return whether each episode is a success."""
        return self._dealt(Place.free, starts)

    def led(self, recorded: Sequence[Trajectory]) -> list[Led]:
        """Lead the agent along recorded episodes, and compare what it would do with what was done."""
        return self._dealt(Place.led, recorded)

    def _dealt(self, play: Callable[[Place, Sequence[_T]], list[_S]], every: Sequence[_T]) -> list[_S]:
        count = len(self._places)
        with ThreadPoolExecutor(count) as pool:
            parts = list(pool.map(play, self._places, [every[first::count] for first in range(count)]))
        return [parts[number % count][number // count] for number in range(len(every))]
