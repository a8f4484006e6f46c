"""Plays a protocol with an agent and keeps a run that anyone can replay."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import asdict, replace
from pathlib import Path

import gymnasium
import numpy as np

from natlang_envs.env import unwrap
from natlang_envs.errors import UsageError
from natlang_envs.evaluation.agents import (
    Agent,
    AgentInput,
    Decision,
    decide,
    is_privileged,
    is_sampling,
    name_of,
)
from natlang_envs.evaluation.protocols import Episode, Protocol, load_protocol
from natlang_envs.evaluation.runs import (
    RUN_FILE,
    TRAJECTORIES_FILE,
    Journal,
    Played,
    Provenance,
    Run,
    hardware,
    installed_versions,
    prepare_folder,
    provenance,
    read_run,
)
from natlang_envs.evaluation.statistics import Score, score
from natlang_envs.prompt import PathStep
from natlang_envs.trajectory import (
    MAX_ACTION_CHARACTERS,
    MAX_REFLECTION_BYTES,
    Recorder,
    Trajectory,
    plan_length,
)

__all__ = [
    "RUN_FILE",
    "TRAJECTORIES_FILE",
    "Run",
    "evaluate",
    "hardware",
    "plan_lengths",
    "prepare_folder",
    "read_run",
    "score_run",
]

Progress = Callable[[int, int], None]
_Place = tuple[int, Episode, int]  # the position in the run, the episode, and which of its runs


def evaluate(
    agent: Agent,
    protocol: Protocol | str,
    *,
    name: str = "agent",
    out: Path | None = None,
    batch: int = 64,
    concurrency: int = 1,
    episodes: int | None = None,
    resume: bool = False,
    source: Provenance | None = None,
    progress: Progress | None = None,
) -> tuple[Run, list[Trajectory]]:
    """Play every episode of a protocol.

    Each episode is kept when it ends. If the agent raises, what has ended stays in `out`, and `resume` goes on there.

    Args:
        agent: The agent; one that says `sampling = True` plays all runs of the protocol, any other one run.
        protocol: A protocol, or its name.
        name: What to call the agent.
        out: A folder to write `run.json` and `trajectories.jsonl.gz` to.
        batch: The largest number of episodes in step; it does not change what an agent sees or draws.
        concurrency: With 2 or more, that many episodes are played at a time, each in its own thread, for agents that
            wait for an endpoint. The recording is the same.
        episodes: Play only so many of the protocol's episodes, for a try; the run is then no run of the protocol.
        resume: Go on with the unfinished run in `out`, if there is one.
        source: Where the agent came from, for `run.json`.
        progress: Called with (episodes done, episodes in all).

    Returns:
        The run and its episodes, in the protocol's order, run by run.

    Raises:
        UsageError: There is no such protocol, an argument is out of range, `out` already holds a run or cannot be
            made, or it holds an unfinished run of something else.
    """
    if isinstance(protocol, str):
        protocol = load_protocol(protocol)
    for what, value in (("batch", batch), ("concurrency", concurrency), ("episodes", episodes)):
        if value is not None and value < 1:
            raise UsageError(f"{what} must be at least 1, not {value}")
    if episodes is not None and episodes < len(protocol.episodes):
        protocol = replace(protocol, name=f"{protocol.name}+first{episodes}", episodes=protocol.episodes[:episodes])
    if out is not None:
        prepare_folder(out, resume=resume)
    runs = protocol.runs if is_sampling(agent) else 1
    journal = Journal(out, protocol, name, runs)
    places = [(position, *place) for position, place in enumerate(protocol.plays(runs))]
    todo = [place for place in places if place[0] not in journal.played]
    if progress and journal.played:
        progress(len(journal.played), len(places))
    play = (
        _play_in_step(agent, protocol, todo, batch)
        if concurrency == 1
        else _play_in_threads(agent, protocol, todo, concurrency)
    )
    for played in play:
        journal.append(played)
        if progress:
            progress(len(journal.played), len(places))
    run = Run(
        protocol=protocol.name,
        protocol_digest=protocol.digest,
        agent=name,
        runs=runs,
        versions=installed_versions(),
        hardware=hardware(),
        tokens=sum(each.tokens for each in journal.played.values()),
        seconds=round(sum(each.seconds for each in journal.played.values()), 3),
        sampling=is_sampling(agent),
        privileged=is_privileged(agent),
        provenance=asdict(source if source is not None else provenance("object", name_of(agent))),
    )
    journal.finish(run)
    return run, journal.trajectories()


def _play_in_step(agent: Agent, protocol: Protocol, todo: list[_Place], batch: int) -> Iterator[Played]:
    """Play in batches whose episodes take their steps together."""
    envs = [protocol.make_env() for _ in range(min(batch, len(todo)))]
    try:
        for first in range(0, len(todo), batch):
            started = time.perf_counter()
            places = todo[first : first + batch]
            games = [_Game(env, place, is_privileged(agent)) for env, place in zip(envs, places, strict=False)]
            while playing := [game for game in games if not game.ended]:
                for game, decision in zip(playing, decide(agent, [game.given for game in playing]), strict=True):
                    game.step(decision)
                for game in playing:
                    if game.ended:
                        now = time.perf_counter()
                        yield game.played(now - started)
                        started = now
    finally:
        for env in envs:
            env.close()


def _play_in_threads(agent: Agent, protocol: Protocol, todo: list[_Place], concurrency: int) -> Iterator[Played]:
    """Play several episodes at a time. When one fails, the others in flight are still played to their end."""
    failed = threading.Event()

    def play(place: _Place) -> Played:
        started = time.perf_counter()
        env = protocol.make_env()
        try:
            game = _Game(env, place, is_privileged(agent))
            while not game.ended:
                game.step(decide(agent, [game.given])[0])
            return game.played((time.perf_counter() - started) / concurrency)
        except BaseException:
            failed.set()
            raise
        finally:
            env.close()

    waiting = iter(todo)
    errors: list[BaseException] = []
    with ThreadPoolExecutor(concurrency) as pool:
        running: set[Future[Played]] = set()
        while True:
            while len(running) < concurrency and not failed.is_set() and (place := next(waiting, None)) is not None:
                running.add(pool.submit(play, place))
            if not running:
                break
            done, running = wait(running, return_when=FIRST_COMPLETED)
            for each in done:
                error = each.exception()
                if error is None:
                    yield each.result()
                else:
                    errors.append(error)
    if errors:
        raise errors[0]


class _Game:
    """One episode in play: what the agent is given next, and what was recorded so far."""

    def __init__(self, env: gymnasium.Env[str, str], place: _Place, privileged: bool) -> None:
        self._env = env
        self._position, episode, run = place
        observation, info = env.reset(seed=episode.seed, options={"task_id": episode.task_id})
        self._recorder = Recorder(episode.task_id, episode.seed, run, observation)
        self._tokens = 0
        self.ended = False
        rng = np.random.default_rng([episode.seed, run])
        inner = unwrap(env) if privileged else None
        self.given = AgentInput(info["task"], (), observation, info["admissible_commands"], rng, inner)

    def step(self, decision: Decision) -> None:
        """Play what an agent decided. Texts beyond the limits of a recording are cut before they are played."""
        action, reflection = bounded(decision.action, decision.reflection)
        observation, reward, terminated, truncated, info = self._env.step(action)
        success: bool = info["success"]
        self._recorder.add(action, reflection, observation, float(reward), terminated, truncated, success)
        self._tokens += decision.tokens
        self.ended = terminated or truncated
        given = self.given
        path = (*given.path, PathStep(action, info["feedback"]))
        self.given = AgentInput(given.task, path, observation, info["admissible_commands"], given.rng, given.env)

    def played(self, seconds: float) -> Played:
        """Return the episode that has ended."""
        return Played(self._position, self._recorder.trajectory(), self._tokens, seconds)


def bounded(action: str, reflection: str | None) -> tuple[str, str | None]:
    """Return an action and a reflection cut to what a recording may hold."""
    # A lone surrogate is recorded as six characters, so the limit is kept for what is recorded.
    if reflection is not None:
        reflection = reflection.encode("utf-8", "backslashreplace")[:MAX_REFLECTION_BYTES].decode("utf-8", "ignore")
    if len(action) > MAX_ACTION_CHARACTERS // 6:
        action = action.encode("utf-8", "backslashreplace").decode()[:MAX_ACTION_CHARACTERS]
    return action, reflection


def plan_lengths(protocol: Protocol) -> dict[str, int]:
    """Return the number of steps of the environment's own plan for every task of a protocol."""
    env = protocol.make_env()
    return {episode.task_id: plan_length(env, episode.task_id) for episode in protocol.episodes}


def score_run(protocol: Protocol, trajectories: list[Trajectory]) -> Score:
    """Return what the episodes of a protocol earned."""
    return score(trajectories, plan_lengths(protocol))
