"""Runs an entry's agent again on episodes that nobody could foresee, and compares what it does with the recording.

The agent is in a process of its own that sees what a player sees, as text: see `leaderboard.audit.agent_process`.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass
from math import comb, log, sqrt
from pathlib import Path
from threading import Lock
from typing import Unpack

import numpy as np

from leaderboard.audit.agent_process import AgentOptions, AgentProcess, start_agent
from leaderboard.audit.sessions import AuditSession, StepChances, in_parallel
from leaderboard.rounds import check_committed_agent
from leaderboard.schema import Submission
from leaderboard.verify import CORES, beside_of, verify
from natlang_envs.env import unwrap
from natlang_envs.errors import UsageError
from natlang_envs.evaluation.agents import agent_names
from natlang_envs.evaluation.live import find_round
from natlang_envs.evaluation.protocols import Protocol
from natlang_envs.evaluation.runs import TRAJECTORIES_FILE
from natlang_envs.evaluation.statistics import paired_p
from natlang_envs.tasks import DrawnTasks
from natlang_envs.trajectory import stream_trajectories

EPISODES = 200  # of the protocol, and up to as many on tasks that it does not list
_MOST_DRIFT = 0.05  # of the steps: rounding seldom decides
_MOST_OTHERS = 0.02  # of the episodes of a live round: a random number between two actions is rarer still
_FEWEST = 30  # unlisted tasks from which anything follows
_DOUBT = 0.05
_FRESH_DOUBT = 0.01  # other tasks may be a little harder
_SURPRISE = 4.0  # standard deviations
_NEVER = 1e-9  # the probability of an action that an agent cannot have sampled


@dataclass(frozen=True)
class Audit:
    entry: str  # the entry, `<protocol>/<name>`
    recording: str  # the SHA-256 of its recording
    # Steps at which the agent chooses the recorded action, when it is guided along the recorded episodes with the
    # random numbers that the runner gives.
    same: int
    drifted: int  # further steps at which the recorded action is nearly as likely as the one chosen now
    impossible: int  # steps at which the agent gives the recorded action no probability
    steps: int  # the number of those steps
    # For an agent that samples and states probabilities: how much less likely the recorded actions are than samples
    # are, in standard deviations; negative where they are more likely. None for others.
    surprise: float | None
    recorded: int  # successes in the recording, of the selected episodes
    again: int  # successes in the same episodes when the agent plays by its own choices, with other random numbers
    p: float  # the p-value of both success rates being equal, by a paired test
    fresh: int  # successes on tasks of the same split that the protocol does not list
    played_fresh: int  # the number of these tasks; 0 where the protocol lists nearly all of the split
    # The probability of at most that number of successes, if these tasks were won as often as the others.
    fresh_p: float
    sampling: bool  # whether the entry and its agent say that it samples
    exact: bool  # whether the recorded actions must be those that the runner's random numbers give
    others: int  # the selected episodes in which the agent chooses another action than the recorded one
    episodes: int  # the number of the selected episodes
    open: tuple[str, ...]  # what the agent can reach on this machine

    @property
    def problem(self) -> str:
        """Why the audit does not pass, or an empty string."""
        other, borne = self.steps - self.same - self.drifted, max(3, _MOST_DRIFT * self.steps)
        if not self.sampling and other:
            return f"{other} of {self.steps} actions of an agent that does not draw are other ones"
        if not self.sampling and self.drifted > borne:
            return f"{self.drifted} of {self.steps} actions are only all but as likely as those chosen now"
        if self.exact and self.others > _MOST_OTHERS * self.episodes:
            return f"{self.others} of {self.episodes} episodes are not what the round's random numbers give"
        if self.impossible:
            return f"{self.impossible} of {self.steps} actions are none that the agent can draw"
        if self.surprise is not None and abs(self.surprise) > _SURPRISE:
            how = "less" if self.surprise > 0 else "more"
            return f"the actions are {how} likely than draws are, by {abs(self.surprise):.1f} standard deviations"
        if self.p < _DOUBT and self.again < self.recorded:
            return f"the recording has {self.recorded} successes, and playing again has {self.again} (p = {self.p:.2g})"
        if self.fresh_p < _FRESH_DOUBT:
            return f"tasks drawn afresh are won {self.fresh} times in {self.played_fresh} (p = {self.fresh_p:.2g})"
        if self.open and self.open != ("the network",):
            return f"open to the agent were {' and '.join(self.open)}: audit it on Linux, where bubblewrap works"
        return ""

    @property
    def summary(self) -> str:
        """The findings in one line."""
        fresh = f"{self.fresh} of {self.played_fresh} on tasks drawn afresh (p = {self.fresh_p:.2g})"
        return (
            f"{self.same} of {self.steps} actions are the recorded ones, {self.drifted} more all but as likely; "
            f"{self.recorded} successes in the recording, {self.again} again (p = {self.p:.2g}); "
            f"{fresh if self.played_fresh else 'no tasks are left to draw afresh: the board lists them all'}"
            f"{f'; open to the agent: {chr(44).join(self.open)}' if self.open else ''}"
        )


def audit(
    folder: Path,
    agent: str,
    beacon: str,
    *,
    jobs: int | None = None,
    progress: Callable[[int, int], None] = lambda done, total: None,
    **options: Unpack[AgentOptions],
) -> Audit:
    """Run an entry's agent again, in a process of its own that sees what a player sees.

    Args:
        folder: The entry.
        agent: Its agent, as `natlang evaluate --agent` takes it.
        beacon: A public text that was fixed only after the entry was committed, such as the digest of a later commit;
            with the recording's digest it selects the episodes and seeds the random numbers.
        jobs: Processes that share the episodes of one of our players, two by default; others get all in order.
        progress: Called with the number of episodes that have ended and that of all.
        options: What the agent may use: see `leaderboard.audit.agent_process.AgentOptions`.
    """
    if not beacon.strip() or beacon.startswith("--"):
        raise UsageError(
            f"the beacon is {beacon!a}: give a public text fixed after the entry, such as a commit's digest"
        )
    entry = verify(folder)
    submission, protocol = entry.submission, entry.protocol
    digest = hashlib.sha256(f"{beacon}\n{submission.trajectories_sha256}".encode()).digest()
    rng = np.random.default_rng(list(digest))
    total = len(protocol.episodes) * submission.run.runs
    selected = {int(each) for each in rng.choice(total, size=min(EPISODES, total), replace=False)}
    every = list(stream_trajectories(folder / TRAJECTORIES_FILE))
    recorded = [each for number, each in enumerate(every) if number in selected]
    fresh = unlisted(protocol, rng)
    done, whole, one = 0, 2 * len(recorded) + len(fresh), Lock()

    def ended(count: int) -> None:
        nonlocal done
        with one:
            done += count
            progress(done, whole)

    with ExitStack() as held:
        process = held.enter_context(start_agent(agent, **options))
        check_agent(submission, process, beside_of(folder))
        if options.get("files") is None and not options.get("network"):
            _check_learned(submission, process)
        # Weights remember no episode, so that two processes may share the work; other agents get all in order.
        alone = not (process.files.own_loader and process.files.checkpoint)
        if alone and jobs is not None:
            raise UsageError("this agent gets all episodes in order, in one process: leave out --jobs")
        more = 0 if alone else (jobs or CORES) - 1
        processes = [process, *(held.enter_context(start_agent(agent, **options)) for _ in range(more))]
        sessions = [held.enter_context(closing(AuditSession(protocol, each, ended))) for each in processes]
        sampling = submission.samples and process.facts.sampling
        guided = in_parallel(AuditSession.guide, sessions, recorded)
        starts = [(each.task_id, each.seed, _seed(rng)) for each in recorded]
        again = in_parallel(AuditSession.play, sessions, starts)
        starts = [(task_id, int(rng.integers(2**31)), _seed(rng)) for task_id in fresh]
        won_fresh = sum(in_parallel(AuditSession.play, sessions, starts))
    return Audit(
        entry=f"{protocol.name}/{submission.name}",
        recording=submission.trajectories_sha256,
        same=sum(each.same for each in guided),
        drifted=sum(each.drifted for each in guided),
        impossible=sum(step.recorded < _NEVER for each in guided for step in each.chances),
        surprise=_surprise([step for each in guided for step in each.chances]) if sampling else None,
        fresh=won_fresh,
        played_fresh=len(fresh),
        fresh_p=_at_most_p(won_fresh, len(fresh), sum(each.success for each in every), total),
        steps=sum(len(each.actions) for each in recorded),
        recorded=sum(each.success for each in recorded),
        again=sum(again),
        p=paired_p(_by_episode([each.success for each in recorded]), _by_episode(again)),
        sampling=sampling,
        exact=sampling and not options.get("network") and find_round(protocol.name) is not None,
        others=sum(one.same < len(each.actions) for one, each in zip(guided, recorded, strict=True)),
        episodes=len(recorded),
        open=process.open,
    )


def check_agent(submission: Submission, agent: AgentProcess, beside: Path) -> None:
    """Raise `UsageError` unless an agent can be audited, and has the entry's weights and committed files."""
    check_committed_agent(submission, agent.files, beside)
    if agent.facts.privileged:
        raise UsageError("an agent that sees the environment itself is a reference line: there is nothing to audit")
    stated, found = submission.checkpoint, agent.files.checkpoint
    if stated != found:
        of_entry, of_agent = (f"SHA-256 {each[:12]}…" if each else "none" for each in (stated, found))
        raise UsageError(
            f"the entry played the checkpoint {of_entry}, and this agent has {of_agent}: "
            "audit the weights that were committed, as `natlang evaluate --agent name:PATH` played them"
        )


def _check_learned(submission: Submission, agent: AgentProcess) -> None:
    """Refuse a function that is called a model, although nothing that it has can have been learned."""
    if agent.files.kind not in agent_names() and not submission.is_hand_written:
        raise UsageError(
            "the entry says that a model plays, and this agent has neither weights nor an endpoint: name its folder by "
            "--files, let it use the --network, or pack it as hand-written"
        )


def unlisted(protocol: Protocol, rng: np.random.Generator) -> list[str]:
    """Return different tasks that a protocol does not list; none where its split has fewer than 30 of them.

    A board with live rounds has tasks that no list holds; those of any other are from the protocol's split.
    """
    listed = {each.task_id for each in protocol.episodes}
    tasks = unwrap(protocol.make_env()).tasks
    live = find_round(protocol.name) or not protocol.development
    draw = tasks.draw_new if live and isinstance(tasks, DrawnTasks) else tasks.draw
    found: dict[str, None] = {}
    for _ in range(20 * EPISODES):
        if (task_id := draw(rng.random)) not in listed:
            found[task_id] = None
        if len(found) == EPISODES:
            break
    return list(found) if len(found) >= _FEWEST else []


def _seed(rng: np.random.Generator) -> list[int]:
    return [int(each) for each in rng.integers(2**31, size=4)]


def _by_episode(successes: Sequence[bool]) -> dict[str, list[bool]]:
    return {str(number): [each] for number, each in enumerate(successes)}


def _at_most_p(won: int, played: int, others_won: int, others: int) -> float:
    """Return the probability of at most `won` successes, if both groups win alike (Fisher's exact test, one side)."""
    successes = won + others_won
    ways = sum(comb(successes, each) * comb(played + others - successes, played - each) for each in range(won + 1))
    return ways / comb(played + others, played)


def _surprise(steps: Sequence[StepChances]) -> float | None:
    """Return by how many standard deviations -log p of the recorded actions exceeds that of samples."""
    excess = variance = 0.0
    for chances, recorded in steps:
        logs = [(each, log(each)) for each in chances if each > 0]
        entropy = -sum(each * nats for each, nats in logs)
        variance += sum(each * nats * nats for each, nats in logs) - entropy**2
        excess += -log(max(recorded, 1e-12)) - entropy
    return excess / sqrt(variance) if variance > 0 else None
