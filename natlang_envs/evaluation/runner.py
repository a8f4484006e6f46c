"""Plays a protocol with an agent and keeps a run that anyone can replay."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import closing, nullcontext
from functools import partial
from pathlib import Path
from typing import NamedTuple

from natlang_envs.errors import UsageError, check_count, check_flag, require_type
from natlang_envs.evaluation.agents import (
    Agent,
    BatchAgent,
    check_agent,
    is_privileged,
    is_sampling,
    name_of,
    settings_of,
)
from natlang_envs.evaluation.chat_response import Bill
from natlang_envs.evaluation.model_requests import Budget, Requests, lost_by, unfinished
from natlang_envs.evaluation.playing import EpisodePlayer, PlayerThreads, play_with
from natlang_envs.evaluation.protocols import Protocol, load_protocol
from natlang_envs.evaluation.runs import (
    RUN_FILE,
    Journal,
    Place,
    PlayedEpisode,
    Provenance,
    Run,
    finished_run,
    prepare_folder,
    provenance,
)
from natlang_envs.evaluation.statistics import Score, score
from natlang_envs.evaluation.workers import Workers
from natlang_envs.files import only_process
from natlang_envs.trajectory import Trajectory, plan_length

_MOST_GROUPS = 50  # of tasks; one task of each is begun before the first request


class Progress(NamedTuple):
    """The progress of an evaluation.

    Attributes:
        done: Episodes that have ended, those of an earlier start included.
        total: Episodes in all.
        won: Episodes that ended in success.
        tokens: What the agent has read and written so far.
        unread: Episodes that answers lost which were not read, or which the model could not give.
        bill: The tokens in detail, those of unfinished episodes included.
    """

    done: int
    total: int
    won: int
    tokens: int
    unread: int = 0
    bill: Bill = Bill()


def evaluate(
    agent: Agent,
    protocol: Protocol | str,
    *,
    name: str = "agent",
    out: Path | str | None = None,
    batch: int = 64,
    concurrency: int = 1,
    episodes: int | None = None,
    resume: bool = False,
    workers: Workers | None = None,
    source: Provenance | None = None,
    budget: Budget | None = None,
    progress: Callable[[Progress], None] | None = None,
) -> tuple[Run, list[Trajectory]]:
    """Play every episode of a protocol.

    Each episode is kept when it ends, and each answer of a model when it comes. If the agent raises, both stay in
    `out`, and `resume` goes on there.

    Args:
        agent: The agent; one with `sampling = True` plays all runs of the protocol, any other one run.
        protocol: A protocol, or its name.
        name: What to call the agent.
        out: A folder to write `run.json` and `trajectories.jsonl.gz` to.
        batch: The largest number of episodes in step; it does not change what an agent sees or samples.
        concurrency: With 2 or more, that many episodes are played at a time, each in its own thread, for agents that
            wait for an endpoint. The recording is the same.
        episodes: The number of the protocol's first episodes to play, for a try: such a run cannot be packed.
        resume: Go on with the unfinished run in `out`, if there is one; a finished one is returned as it is. Either is
            refused if its weights have another digest than `source`.
        workers: Play in other processes, each with `concurrency` episodes at a time. The recording is the same.
        source: Where the agent came from, for `run.json`.
        budget: What the run may cost. When it is spent, the run stops as if the agent had raised.
        progress: Called with a `Progress` whenever episodes have ended.

    Returns:
        The run and its episodes, in the protocol's order, run by run.

    Raises:
        UsageError: There is no such protocol or agent, an argument is out of range, `out` already holds a run or cannot
            be made, or it holds a run of something else or of other weights, or another process works in it.
            Or something that the protocol needs is not here, or the budget is spent.
    """
    out = None if out is None else Path(out)
    check_agent(agent)
    if not isinstance(protocol, Protocol):
        protocol = load_protocol(protocol)
    require_type(name, str, "no name: give what the agent is to be called, a str")
    check_count("batch", batch)
    check_count("concurrency", concurrency)
    check_flag("resume", resume)
    if workers is not None:
        require_type(workers, Workers, "no workers: give workers=Workers(count)")
        if budget is not None:
            raise UsageError("other processes keep no budget: leave workers out, and give concurrency")
    if episodes is not None:
        protocol = protocol.first(episodes)
    runs = protocol.runs if is_sampling(agent) else 1
    source = source or provenance("object", name_of(agent))
    settings = settings_of(agent)
    if budget is not None and settings is None:
        raise UsageError(f"agent {name} asks no model that costs tokens: leave the budget out")
    budget = budget or Budget()
    if out is not None:
        prepare_folder(out, resume=resume)
    with only_process(out) if out is not None else nullcontext():
        if out is not None and resume and (out / RUN_FILE).exists():
            return finished_run(out, protocol, name, runs, source.checkpoint, settings)
        if settings is not None:
            _check_ready(protocol)
        journal = Journal(out, protocol, name, runs, source.checkpoint, settings)
        todo = journal.todo()
        for bill in (journal.bill, *(Requests(path).bill for path in (unfinished(out) if out is not None else ()))):
            budget.add(bill)
        now = Progress(0, len(journal.played) + len(todo), 0, 0)
        for played in journal.played.values():
            now = _after(now, played, budget)
        if progress and journal.played:
            progress(now)
        # One at a time where that costs nothing, so that as little as possible is in hand when something fails.
        together = batch if concurrency == 1 and (workers is None or isinstance(agent, BatchAgent)) else 1
        batches = [todo[first : first + together] for first in range(0, len(todo), together)]
        player = EpisodePlayer(lambda: agent, protocol, partial(Requests.beside, out, budget=budget))
        if workers is not None:
            play = play_with(workers.pool(agent, protocol, concurrency, partial(Requests.beside, out)), batches)
        elif concurrency > 1:
            play = play_with(PlayerThreads(player, concurrency), batches)
        else:
            play = _play_here(player, batches)
        for played in play:
            journal.append(played)
            if workers is not None:
                budget.add(played.bill)
            now = _after(now, played, budget)
            if progress:
                progress(now)
        return journal.finish(source, is_sampling(agent), is_privileged(agent)), journal.trajectories()


def _after(now: Progress, played: PlayedEpisode, budget: Budget) -> Progress:
    episode, asked = played.trajectory, bool(played.answers)
    won, unread = now.won + episode.success, now.unread + (asked and bool(lost_by(episode)))
    return Progress(now.done + 1, now.total, won, now.tokens + played.tokens, unread, budget.bill)


def _check_ready(protocol: Protocol) -> None:
    """Begin a task of each group, such as a repository: missing data raise `UsageError` before anything is paid for."""
    with closing(protocol.make_env()) as env:
        groups = {episode.task_id.partition("/")[0]: episode for episode in reversed(protocol.episodes)}
        for episode in list(groups.values())[:_MOST_GROUPS]:
            env.reset(seed=episode.seed, options={"task_id": episode.task_id})


def _play_here(player: EpisodePlayer, batches: Iterable[list[Place]]) -> Iterator[PlayedEpisode]:
    with closing(player):
        for each in batches:
            yield from player.play(each)


def plan_lengths(protocol: Protocol) -> dict[str, int]:
    """Return the number of steps of the environment's own plan for every task of a protocol that has one."""
    env = protocol.make_env()
    lengths = {episode.task_id: plan_length(env, episode.task_id) for episode in protocol.episodes}
    return {task_id: length for task_id, length in lengths.items() if length is not None}


def score_run(protocol: Protocol, trajectories: list[Trajectory]) -> Score:
    return score(trajectories, plan_lengths(protocol))
