"""Runs an entry's agent again on episodes that nobody could foresee, and compares what it does with the recording.

The agent is in a process of its own that sees what a player sees, as text: see `leaderboard.outside`.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import comb, log, sqrt
from pathlib import Path
from typing import NamedTuple

import gymnasium
import numpy as np

from leaderboard.outside import PATIENCE, Outside, View, outside
from leaderboard.rounds import check_committed_agent
from leaderboard.schema import Submission
from leaderboard.verify import beside_of, verify
from natlang_envs.env import unwrap
from natlang_envs.errors import UsageError
from natlang_envs.evaluation.live import find_round, why_development
from natlang_envs.evaluation.playing import bounded
from natlang_envs.evaluation.protocols import Protocol
from natlang_envs.evaluation.runs import TRAJECTORIES_FILE
from natlang_envs.evaluation.statistics import paired_p
from natlang_envs.prompt import PathStep
from natlang_envs.tasks import DrawnTasks
from natlang_envs.trajectory import AsRecorded, Trajectory, stream_trajectories

EPISODES = 200  # of the protocol, and as many on tasks that it does not list, where there are so many
DRIFT = 0.05  # nats by which the recorded action may be less likely than the one chosen now, on another machine
_MOST_DRIFT = 0.05  # of the steps: rounding seldom decides
_MOST_OTHERS = 0.02  # of the episodes of a live round: a draw that lies between two actions is rarer still
_FEWEST = 30  # unlisted tasks that say something
_DOUBT = 0.05
_FRESH_DOUBT = 0.01  # other tasks may be a little harder
_SURPRISE = 4.0  # standard deviations
_NEVER = 1e-9  # the chance of an action that an agent cannot have drawn
_TOGETHER = 64  # episodes, of an agent that decides for many


@dataclass(frozen=True)
class Audit:
    """What an audit found.

    Attributes:
        entry: The entry, `<protocol>/<name>`.
        recording: The SHA-256 of its recording.
        same: Steps at which the agent chooses the recorded action, when it is led along the recorded episodes with the
            random numbers that the runner gives.
        drifted: Further steps at which the recorded action is all but as likely as the one chosen now.
        impossible: Steps at which the agent never draws the recorded action.
        steps: The number of those steps.
        surprise: For an agent that draws and tells its chances: how much less likely the recorded actions are than
            draws are, in standard deviations; negative where they are more likely. None for others.
        recorded: Successes among the picked episodes in the recording.
        again: Successes when the agent plays them freely, with other random numbers.
        p: The p-value of both success rates being equal, by a paired test.
        fresh: Successes on tasks of the same split that the protocol does not list.
        played_fresh: How many these are; 0 where hardly any are left, since the protocol lists the split.
        fresh_p: The probability of so few successes, if these tasks were won as often as the recorded ones.
        sampling: Whether the entry and its agent say that it draws.
        exact: Whether the recorded draws must be those that the agent makes of the runner's random numbers.
        others: The picked episodes in which it chooses another action than the recorded one.
        episodes: The number of the picked episodes.
        open: What could not be shut off from the agent on this machine.
    """

    entry: str
    recording: str
    same: int
    drifted: int
    impossible: int
    steps: int
    surprise: float | None
    recorded: int
    again: int
    p: float
    fresh: int
    played_fresh: int
    fresh_p: float
    sampling: bool
    exact: bool
    others: int
    episodes: int
    open: tuple[str, ...]

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
    def said(self) -> str:
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
    files: Path | None = None,
    patience: float = PATIENCE,
    network: bool = False,
    variables: Sequence[str] = (),
    isolated: bool = True,
) -> Audit:
    """Run an entry's agent again, in a process of its own that sees what a player sees.

    Args:
        folder: The entry.
        agent: Its agent, as `natlang evaluate --agent` takes it.
        beacon: A public text that was fixed only after the entry was committed, such as the digest of a later commit;
            with the recording's digest it picks the episodes and seeds the random numbers.
        files: A folder with everything that the agent needs; without it, what `agent` names is shown to it alone.
        patience: Seconds that it may take for one answer.
        network: Let it use the network, as one that asks an endpoint must.
        variables: Names of environment variables that it is shown.
        isolated: Use bubblewrap where it works; without it no audit passes.

    Raises:
        UsageError: It is no entry; the agent asks for the environment itself, is not of the weights that the entry
            names, or does not answer as it should.
    """
    entry = verify(folder)
    submission, protocol = entry.submission, entry.protocol
    digest = hashlib.sha256(f"{beacon}\n{submission.trajectories_sha256}".encode()).digest()
    rng = np.random.default_rng(list(digest))
    total = len(protocol.episodes) * submission.run.runs
    picked = {int(each) for each in rng.choice(total, size=min(EPISODES, total), replace=False)}
    every = list(stream_trajectories(folder / TRAJECTORIES_FILE))
    recorded = [each for number, each in enumerate(every) if number in picked]
    fresh = unlisted(protocol, rng)
    starting = outside(agent, files=files, patience=patience, network=network, variables=variables, isolated=isolated)
    with starting as player, _Table(protocol, player) as table:
        check_agent(submission, player, beside_of(folder))
        stated = not submission.deterministic if submission.run.sampling is None else submission.run.sampling
        sampling = stated and player.facts.sampling
        led = table.led(recorded)
        again = table.free([(each.task_id, each.seed, _seed(rng)) for each in recorded])
        won_fresh = sum(table.free([(task_id, int(rng.integers(2**31)), _seed(rng)) for task_id in fresh]))
        open_ = player.open
    return Audit(
        entry=f"{protocol.name}/{submission.name}",
        recording=submission.trajectories_sha256,
        same=sum(each.same for each in led),
        drifted=sum(each.drifted for each in led),
        impossible=sum(told.chance < _NEVER for each in led for told in each.told),
        surprise=_surprise([step for each in led for step in each.told]) if sampling else None,
        fresh=won_fresh,
        played_fresh=len(fresh),
        fresh_p=_so_few(won_fresh, len(fresh), sum(each.success for each in every), total),
        steps=sum(len(each.actions) for each in recorded),
        recorded=sum(each.success for each in recorded),
        again=sum(again),
        p=paired_p(_by_episode([each.success for each in recorded]), _by_episode(again)),
        sampling=sampling,
        exact=sampling and not network and find_round(protocol.name) is not None,
        others=sum(one.same < len(each.actions) for one, each in zip(led, recorded, strict=True)),
        episodes=len(recorded),
        open=open_,
    )


def check_agent(submission: Submission, player: Outside, beside: Path) -> None:
    """Check that an agent can be audited, and is of the weights that an entry names and of what was committed.

    Args:
        submission: What the entry's submitter says.
        player: The agent.
        beside: The folder of `commitments`.

    Raises:
        UsageError: It is not.
    """
    check_committed_agent(submission, player.shown, beside)
    if player.facts.privileged:
        raise UsageError("an agent that sees the environment itself is a reference line: there is nothing to audit")
    stated = submission.run.provenance.checkpoint if submission.run.provenance is not None else ""
    found = player.shown.checkpoint
    if stated != found:
        of_entry, of_agent = (f"SHA-256 {each[:12]}…" if each else "none" for each in (stated, found))
        raise UsageError(
            f"the entry played the checkpoint {of_entry}, and this agent has {of_agent}: "
            "audit the weights that were committed, as `natlang evaluate --agent name:PATH` played them"
        )


def unlisted(protocol: Protocol, rng: np.random.Generator) -> list[str]:
    """Return different tasks of a protocol's kind that it does not list; none where there are hardly any.

    Where tasks can be drawn anew, no list has them; else they are others of the protocol's split.
    """
    listed = {each.task_id for each in protocol.episodes}
    tasks = unwrap(protocol.make_env()).tasks
    live = find_round(protocol.name) or not why_development(protocol.name)
    draw = tasks.draw_new if live and isinstance(tasks, DrawnTasks) else tasks.draw
    found: dict[str, None] = {}
    for _ in range(20 * EPISODES):
        if (drawn := draw(rng.random)) not in listed:
            found[drawn] = None
        if len(found) == EPISODES:
            break
    return list(found) if len(found) >= _FEWEST else []


def _seed(rng: np.random.Generator) -> list[int]:
    return [int(each) for each in rng.integers(2**31, size=4)]


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


@dataclass
class _Led:
    """What an agent does along a recorded episode."""

    same: int
    drifted: int
    told: list[_Told]


def _surprise(steps: Sequence[_Told]) -> float | None:
    """Return by how many standard deviations -log p of the recorded actions exceeds that of draws."""
    excess = variance = 0.0
    for chances, chance in steps:
        logs = [(each, log(each)) for each in chances if each > 0]
        entropy = -sum(each * said for each, said in logs)
        variance += sum(each * said * said for each, said in logs) - entropy**2
        excess += -log(max(chance, 1e-12)) - entropy
    return excess / sqrt(variance) if variance > 0 else None


class _Game:
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

    def step(self, action: AsRecorded) -> None:
        observation, _, terminated, truncated, info = self._env.step(action)
        self.ended, self.success = terminated or truncated, info["success"]
        self.view["path"] = (*self.view["path"], PathStep(action, info["feedback"]))
        self.view["observation"], self.view["admissible_commands"] = observation, info["admissible_commands"]


_Start = tuple[str, int, list[int]]  # the task, the seed of its reset, and that of the player's random numbers


class _Table:
    """Where an agent plays; an agent that decides for many plays several episodes at a time."""

    def __init__(self, protocol: Protocol, agent: Outside) -> None:
        self._agent = agent
        self._envs = [protocol.make_env() for _ in range(_TOGETHER if agent.facts.batch else 1)]
        self._begun = 0
        self._tells = agent.facts.chances and agent.shown.own_loader

    def __enter__(self) -> _Table:
        return self

    def __exit__(self, *exception: object) -> None:
        for each in self._envs:
            each.close()

    def free(self, starts: Sequence[_Start]) -> list[bool]:
        """Let the agent play; return whether each episode is a success."""
        won: list[bool] = []
        for games in self._games(starts):
            while playing := [each for each in games if not each.ended]:
                for game, action in zip(playing, self._agent.act([each.view for each in playing]), strict=True):
                    game.step(bounded(action, None, game.view["admissible_commands"])[0])
            won += [each.success for each in games]
        return won

    def led(self, recorded: Sequence[Trajectory]) -> list[_Led]:
        """Lead the agent along recorded episodes, and compare what it would do with what was done."""
        every: list[_Led] = []
        starts = [(each.task_id, each.seed, [each.seed, each.run]) for each in recorded]
        for games in self._games(starts):
            those = recorded[len(every) : len(every) + len(games)]
            every += (found := [_Led(0, 0, []) for _ in games])
            for at in range(max(len(each.actions) for each in those)):
                now = [each for each in zip(games, those, found, strict=True) if at < len(each[1].actions)]
                for game, each, _ in now:
                    game.view["reflection"] = each.reflections[at]
                self._compare([(game.view, each.actions[at], led) for game, each, led in now])
                for game, each, _ in now:
                    game.step(AsRecorded(each.actions[at]))
        return every

    def _compare(self, now: Sequence[tuple[View, str, _Led]]) -> None:
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
                led.told.append(_Told(tuple(chances), chance))
                led.drifted += choice != action and chance > 0 and log(by_command.get(choice, 1.0) / chance) <= DRIFT

    def _games(self, starts: Sequence[_Start]) -> Iterator[list[_Game]]:
        together = len(self._envs)
        for first in range(0, len(starts), together):
            part = starts[first : first + together]
            numbers = range(self._begun, self._begun + len(part))
            self._begun += len(part)
            yield [_Game(env, number, *start) for env, number, start in zip(self._envs, numbers, part, strict=False)]
