"""Plays episodes with an agent: in batches, for agents that decide for many at a time, and by one or more workers."""

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
from natlang_envs.evaluation.runs import Place, PlayedEpisode
from natlang_envs.prompt import PathStep
from natlang_envs.trajectory import MAX_ACTION_CHARACTERS, MAX_REFLECTION_BYTES, Recorder, as_recorded

BatchResult = tuple[list[PlayedEpisode], Exception | None]  # the episodes that have ended, and what stopped the others


class EpisodePlayer:
    """An agent, which is made for the first batch, and its environments: each thread has its own."""

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

    def play(self, batch: Sequence[Place]) -> Iterator[PlayedEpisode]:
        with self._lock:
            agent = self._agent = self._agent or self._make()
        envs = self._envs.setdefault(threading.get_ident(), [])
        envs += [self._protocol.make_env() for _ in range(len(batch) - len(envs))]
        privileged = is_privileged(agent)
        running = [
            RunningEpisode(env, place, privileged, self._requests(place[0]))
            for env, place in zip(envs, batch, strict=False)
        ]
        while running:
            decisions = decide(agent, [episode.given for episode in running])
            for episode, decision in zip(running, decisions, strict=True):
                episode.step(decision)
            yield from (episode.played() for episode in running if episode.ended)
            running = [episode for episode in running if not episode.ended]

    def result(self, batch: Sequence[Place]) -> BatchResult:
        done: list[PlayedEpisode] = []
        try:
            done.extend(self.play(batch))
        except Exception as error:
            return done, error
        return done, None

    def close(self) -> None:
        for env in chain.from_iterable(self._envs.values()):
            env.close()


class WorkerPool(typing.Protocol):
    """Workers that play up to `slots` batches at a time: threads, processes, or actors of a Ray cluster."""

    slots: int

    def submit(self, batch: list[Place]) -> Future[BatchResult]: ...

    def close(self) -> None: ...


class PlayerThreads:
    """Threads of this process, for an agent that waits for an endpoint and may be asked from several threads."""

    def __init__(self, player: EpisodePlayer, slots: int) -> None:
        self.slots = slots
        self._pool = ThreadPoolExecutor(slots)
        self._player = player

    def submit(self, batch: list[Place]) -> Future[BatchResult]:
        return self._pool.submit(self._player.result, batch)

    def close(self) -> None:
        self._pool.shutdown()
        self._player.close()


def play_with(pool: WorkerPool, batches: Iterable[list[Place]]) -> Iterator[PlayedEpisode]:
    """Play batches with a pool. When one fails, those that have begun are played to their end before it is raised."""
    waiting = iter(batches)
    errors: list[BaseException] = []
    running: set[Future[BatchResult]] = set()
    try:
        while True:
            if not errors:
                running.update(map(pool.submit, islice(waiting, pool.slots - len(running))))
            if not running:
                break
            ended, running = wait(running, return_when=FIRST_COMPLETED)
            for each in ended:
                played, error = each.result()
                yield from played
                if error is not None:
                    errors.append(error)
    finally:
        pool.close()
    if errors:
        raise errors[0]


class RunningEpisode:
    """An episode that runs: what the agent is given next, the return so far, and the recording so far."""

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
        inner = unwrap(env)
        self.given = AgentInput(
            info["task"],
            (),
            observation,
            info["admissible_commands"],
            rng=np.random.default_rng([episode.seed, run]),
            env=inner if privileged else None,
            free=inner.free_commands,
            requests=requests or Requests(),
        )

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

    def played(self) -> PlayedEpisode:
        asked = self.given.requests
        recorded = as_recorded(self._env, self._recorder.trajectory())
        return PlayedEpisode(self._position, recorded, self._tokens, dict(asked.answers), asked.bill)


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
