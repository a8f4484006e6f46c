"""Plays episodes with an agent: several in step, for agents that decide for many at a time, by one or more players."""

from __future__ import annotations

import threading
import typing
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import replace
from itertools import chain, islice

import gymnasium
import numpy as np

from natlang_envs.env import strip_unless_listed, unwrap
from natlang_envs.evaluation.agents import Agent, AgentInput, Decision, decide, is_privileged
from natlang_envs.evaluation.model_requests import Requests
from natlang_envs.evaluation.protocols import Protocol
from natlang_envs.evaluation.runs import Place, Played
from natlang_envs.prompt import PathStep
from natlang_envs.trajectory import MAX_ACTION_CHARACTERS, MAX_REFLECTION_BYTES, Recorder, as_recorded

Answer = tuple[list[Played], Exception | None]  # the episodes that have ended, and what stopped the others


class Player:
    """An agent, made when the first unit comes, and the environments that it plays in: each thread has its own."""

    def __init__(
        self,
        make: Callable[[], Agent],
        protocol: Protocol,
        requests: Callable[[int], Requests] = lambda position: Requests(),
    ) -> None:
        self._make, self._protocol, self._requests = make, protocol, requests
        self._agent: Agent | None = None
        self._envs: dict[int, list[gymnasium.Env[str, str]]] = {}
        self._lock = threading.Lock()

    def play(self, unit: Sequence[Place]) -> Iterator[Played]:
        """Play a unit of episodes, each in an environment of its own, that take their steps together."""
        with self._lock:
            agent = self._agent = self._agent or self._make()
        envs = self._envs.setdefault(threading.get_ident(), [])
        envs += [self._protocol.make_env() for _ in range(len(unit) - len(envs))]
        privileged = is_privileged(agent)
        pairs = zip(envs, unit, strict=False)
        playing: list[Game] = [Game(env, place, privileged, self._requests(place[0])) for env, place in pairs]
        while playing:
            for game, decision in zip(playing, decide(agent, [game.given for game in playing]), strict=True):
                game.step(decision)
            for game in playing:
                if game.ended:
                    yield game.played()
            playing = [game for game in playing if not game.ended]

    def answer(self, unit: Sequence[Place]) -> Answer:
        """Return the episodes of a unit that have ended, and what the agent or an environment raised."""
        done: list[Played] = []
        try:
            done.extend(self.play(unit))
        except Exception as error:
            return done, error
        return done, None

    def close(self) -> None:
        """Close the environments."""
        for env in chain.from_iterable(self._envs.values()):
            env.close()


class Crew(typing.Protocol):
    """Players that each play one unit of episodes at a time: threads, processes, or actors of a Ray cluster."""

    slots: int

    def submit(self, unit: list[Place]) -> Future[Answer]:
        """Have a unit played by a player that is free."""
        ...

    def close(self) -> None:
        """Let all players go."""
        ...


class Threads:
    """A player in threads of this process, for agents that wait for an endpoint and bear being asked from several."""

    def __init__(self, player: Player, slots: int) -> None:
        self.slots = slots
        self._pool = ThreadPoolExecutor(slots)
        self._player = player

    def submit(self, unit: list[Place]) -> Future[Answer]:
        """Have a unit played."""
        return self._pool.submit(self._player.answer, unit)

    def close(self) -> None:
        """Wait for the threads."""
        self._pool.shutdown()
        self._player.close()


def play_with(crew: Crew, units: Iterable[list[Place]]) -> Iterator[Played]:
    """Play units with a crew; when one fails, those in flight are still played to their end, and then it is raised."""
    waiting = iter(units)
    errors: list[BaseException] = []
    running: set[Future[Answer]] = set()
    try:
        while True:
            if not errors:
                running.update(map(crew.submit, islice(waiting, crew.slots - len(running))))
            if not running:
                break
            ended, running = wait(running, return_when=FIRST_COMPLETED)
            for each in ended:
                played, error = each.result()
                yield from played
                if error is not None:
                    errors.append(error)
    finally:
        crew.close()
    if errors:
        raise errors[0]


class Game:
    """One episode in play: what the agent is given next, what it has earned, and what was recorded so far."""

    def __init__(
        self, env: gymnasium.Env[str, str], place: Place, privileged: bool, requests: Requests | None = None
    ) -> None:
        self._env = env
        self._position, episode, run = place
        observation, info = env.reset(seed=episode.seed, options={"task_id": episode.task_id})
        self._recorder = Recorder(episode.task_id, episode.seed, run, observation)
        self._tokens = 0
        self.earned = 0.0
        self.ended = False
        rng = np.random.default_rng([episode.seed, run])
        inner = unwrap(env) if privileged else None
        given = (info["task"], (), observation, info["admissible_commands"], rng, inner)
        self.given = AgentInput(*given, unwrap(env).free_commands, requests or Requests())

    def step(self, decision: Decision) -> None:
        """Play what an agent decided. Texts beyond the limits of a recording are cut before they are played."""
        action, reflection = bounded(decision.action, decision.reflection, self.given.admissible_commands)
        observation, reward, terminated, truncated, info = self._env.step(action)
        self._recorder.add(action, reflection, observation, float(reward), terminated, truncated, info["success"])
        self._tokens += decision.tokens
        self.earned += float(reward)
        self.ended = terminated or truncated
        path = (*self.given.path, PathStep(action, info["feedback"]))
        listed = info["admissible_commands"]
        self.given = replace(self.given, path=path, observation=observation, admissible_commands=listed)

    def played(self) -> Played:
        """Return the episode that has ended."""
        asked = self.given.requests
        recorded = as_recorded(self._env, self._recorder.trajectory())
        return Played(self._position, recorded, self._tokens, dict(asked.answers), asked.bill)


def bounded(action: str, reflection: str | None, listed: Sequence[str]) -> tuple[str, str | None]:
    """Return an action and a reflection as they are played and recorded: cut to what a recording may hold.

    The action is without the white space around it that `step` would remove.
    """
    action = strip_unless_listed(action, listed)
    # A lone surrogate is recorded as six characters, so the limit is kept for what is recorded.
    if reflection is not None:
        reflection = reflection.encode("utf-8", "backslashreplace")[:MAX_REFLECTION_BYTES].decode("utf-8", "ignore")
    if len(action) > MAX_ACTION_CHARACTERS // 6:
        action = action.encode("utf-8", "backslashreplace").decode()[:MAX_ACTION_CHARACTERS].rstrip()
    return action, reflection
