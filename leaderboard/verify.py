"""Plays every episode of a submission again and derives every number from what the environment does.

Nothing that the submitter wrote is trusted: neither rewards nor digests nor the list of episodes. Replay proves what
the actions earn; it cannot prove who chose them.
"""

from __future__ import annotations

import hashlib
import os
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from queue import SimpleQueue
from typing import Any

import gymnasium

from leaderboard.copies import refuse_copies
from leaderboard.result import ReplayResult
from leaderboard.rounds import check_live, protocol_of
from leaderboard.schema import MADE, SUBMISSION_FILE, SUBMISSIONS, Submission, naming, read_submission
from natlang_envs import SANDBOXED, __version__
from natlang_envs.env import strip_unless_listed
from natlang_envs.errors import UsageError
from natlang_envs.evaluation.causes import no_causes
from natlang_envs.evaluation.protocols import Protocol
from natlang_envs.evaluation.runner import plan_lengths
from natlang_envs.evaluation.runs import RUN_FILE, TRAJECTORIES_FILE
from natlang_envs.evaluation.statistics import Score, score
from natlang_envs.files import read_plain
from natlang_envs.trajectory import (
    Recorder,
    Trajectory,
    difference,
    line_of,
    parse_line,
    play_again,
    stream_lines,
    stream_trajectories,
)

MAX_TRAJECTORIES_BYTES = 32 * 1024 * 1024  # packed
_PLAIN_HEAD = b"\x1f\x8b\x08\0\0\0\0\0"  # gzip, deflate, no name, no comment, no time

CORES = min(2, os.cpu_count() or 1)  # that a replay or an audit may use: each holds an environment

_Key = tuple[str, int, int]
_Replay = tuple[Trajectory, int, list[dict[str, Any]]]  # the episode, its unlisted actions, the infos of its steps


class MissingDataError(UsageError):
    """The data of a protocol are not on this machine, so an entry can be neither accepted nor refused."""


@dataclass(frozen=True)
class Verified:
    """An entry that holds: what its submitter states, the protocol as installed here, and the result of replay."""

    submission: Submission
    protocol: Protocol
    result: ReplayResult

    @property
    def score(self) -> Score:
        return self.result.score(self.protocol)

    @property
    def by_task(self) -> dict[str, list[bool]]:
        return self.result.by_task(self.protocol)


def verify(folder: Path, *, copies: bool = False) -> Verified:
    """Verify an entry.

    Args:
        folder: Holds `submission.json` and `trajectories.jsonl.gz` and nothing else.
        copies: Accept episodes that another entry has too; `standings` decides which of them was there first.

    Returns:
        The entry, with what replay derived.

    Raises:
        MissingDataError: What the protocol needs is not on this machine.
        UsageError: Something is not as it should be; one line names the file, the episode and what differs.
    """
    with naming(folder):
        submission = opened(folder)
        recording = folder / TRAJECTORIES_FILE
        with recording.open("rb") as file:
            if file.read(len(_PLAIN_HEAD)) != _PLAIN_HEAD:
                raise UsageError(
                    f"{TRAJECTORIES_FILE} does not begin as the runner writes it, as a gzip file without a name, a "
                    "comment and a time: pack the run again"
                )
        submissions = submissions_of(folder)
        found = check(submission, protocol_of(submission.protocol, beside_of(folder)), recording)
        if not copies and submissions is not None:
            refuse_copies(submissions, submission, found.result, recording)
        return found


def submissions_of(folder: Path) -> Path | None:
    parts = folder.absolute().parts
    if SUBMISSIONS.name not in parts:
        return None
    return Path(*parts[: len(parts) - parts[::-1].index(SUBMISSIONS.name)])


def beside_of(folder: Path) -> Path:
    return (submissions_of(folder) or SUBMISSIONS).parent


def opened(folder: Path) -> Submission:
    """Return an entry's `submission.json` after its files and its place are checked; nothing is replayed."""
    if folder.is_symlink() or not folder.is_dir():
        raise UsageError(f"is no folder: name the folder of an entry, which holds {SUBMISSION_FILE}")
    extra = sorted({path.name for path in folder.iterdir()} - {SUBMISSION_FILE, TRAJECTORIES_FILE})
    if extra and not (folder / SUBMISSION_FILE).exists():
        if RUN_FILE in extra:
            raise UsageError("is a run and no entry: pack it first, with natlang-leaderboard pack RUN --name NAME")
        raise UsageError(f"holds no {SUBMISSION_FILE}: name the folder of one entry")
    if extra:
        raise UsageError(f"{extra[0]} is no part of an entry: delete it")
    submission = read_submission(folder / SUBMISSION_FILE)
    digest = sha256(read_plain(folder / TRAJECTORIES_FILE, MAX_TRAJECTORIES_BYTES, MADE))
    if digest != submission.trajectories_sha256:
        raise UsageError(
            f"{TRAJECTORIES_FILE} has the SHA-256 {digest[:12]}…, "
            f"but {SUBMISSION_FILE} says {submission.trajectories_sha256[:12]}…: pack the run again"
        )
    protocol = protocol_of(submission.protocol, beside_of(folder))
    belongs = f"{protocol.name}/{submission.name}"
    submissions = submissions_of(folder)
    if submissions is not None and folder.absolute() != submissions / belongs:
        raise UsageError(f"its {SUBMISSION_FILE} says {belongs}: move it to {submissions / belongs}")
    check_live(submission, beside_of(folder))
    return submission


def sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def check(submission: Submission, protocol: Protocol, recording: Path) -> Verified:
    """Play all episodes again, one at a time, and derive the score.

    Raises:
        MissingDataError: The data of the protocol are not on this machine.
        UsageError: The protocol was another one when the run was made, or was not played as often as it asks; or an
            episode is missing, doubled, unknown or out of order, or is not what the environment does.
    """
    check_protocol(submission, protocol)
    expected = [(task_id, seed, run) for (task_id, seed), run in protocol.plays(submission.run.runs)]
    _check_order(_keys(recording, 2 * len(expected)), expected, protocol)
    return Verified(submission, protocol, _replayed(protocol, recording, submission.trajectories_sha256))


def check_protocol(submission: Submission, protocol: Protocol) -> None:
    """Raise `UsageError` unless a run was made with this protocol and was played as often as it asks."""
    if submission.protocol_digest != protocol.digest:
        raise UsageError(
            f"protocol {protocol.name} has the digest {protocol.digest[:12]}… here, but the run was made with "
            f"{submission.protocol_digest[:12]}…: evaluate again with this version of natlang_envs"
        )
    runs = submission.run.runs
    if runs not in (1, protocol.runs):
        wanted = "once" if protocol.runs == 1 else f"once or {protocol.runs} times"
        raise UsageError(f"runs is {runs}, but {protocol.name} is played {wanted}: evaluate again")
    if not submission.deterministic and runs != protocol.runs:
        raise UsageError(
            f"an agent that draws plays {protocol.name} {protocol.runs} times, not once: evaluate again, "
            "or pack it as deterministic if it is"
        )


def _key(trajectory: Trajectory) -> _Key:
    return (trajectory.task_id, trajectory.seed, trajectory.run)


def _keys(recording: Path, limit: int) -> list[_Key]:
    found: list[_Key] = []
    for number, episode in enumerate(stream_trajectories(recording), 1):
        if number > limit:
            raise UsageError(f"{TRAJECTORIES_FILE} has more than {limit} lines: there are not so many episodes")
        found.append(_key(episode))
    return found


def _name(key: _Key) -> str:
    return f"the episode (task {key[0]!r:.80}, seed {key[1]!s:.20}, run {key[2]!s:.20})"


def _check_order(found: list[_Key], expected: list[_Key], protocol: Protocol) -> None:
    if found == expected:
        return
    wanted, counts = Counter(expected), Counter(found)
    for number, key in enumerate(found, 1):
        if key not in wanted:
            raise UsageError(f"{TRAJECTORIES_FILE}, line {number}: {_name(key)} is none of protocol {protocol.name}")
        if counts[key] > wanted[key]:
            raise UsageError(f"{TRAJECTORIES_FILE}, line {number}: {_name(key)} is there {counts[key]} times")
    for number, key in enumerate(expected, 1):
        if counts[key] < wanted[key]:
            raise UsageError(f"{TRAJECTORIES_FILE}: {_name(key)} is missing; it is number {number} of the protocol")
    number = next(n for n, pair in enumerate(zip(found, expected, strict=True), 1) if pair[0] != pair[1])
    is_, should = found[number - 1], expected[number - 1]
    raise UsageError(f"{TRAJECTORIES_FILE}, line {number}: {_name(is_)} stands where {_name(should)} belongs")


def _replayed(protocol: Protocol, recording: Path, digest: str) -> ReplayResult:
    episodes, actions = hashlib.sha256(), hashlib.sha256()
    played_steps = invalid = 0
    causes = no_causes(protocol)
    outcomes: list[Trajectory] = []
    for number, (line, recorded, (played, unlisted, infos)) in enumerate(_replays(protocol, recording), 1):
        problem = difference(recorded, played)
        # The same values can be written differently: lone surrogates, -0.0, spaces, doubled keys.
        if problem is None and line_of(played) != line:
            problem = "its line is not as the runner writes it"
        if problem is not None:
            raise UsageError(f"{TRAJECTORIES_FILE}, line {number}, {_name(_key(recorded))}: {problem}")
        episodes.update(line)
        actions.update(repr((_key(played), played.actions)).encode())
        played_steps += len(played.actions)
        invalid += unlisted
        if protocol.explains:
            causes.add(played, [info["why"] for info in infos], [info["feedback"] for info in infos])
        # The score needs no texts, which would fill the memory.
        outcomes.append(replace(played, actions=("",) * len(played.actions), reflections=()))
    earned = score(outcomes, plan_lengths(protocol))
    return ReplayResult(
        trajectories_sha256=digest,
        protocol_digest=protocol.digest,
        env_id=protocol.env_id,
        package=__version__,
        date=datetime.now(UTC).date().isoformat(),
        episodes_sha256=episodes.hexdigest(),
        actions_sha256=actions.hexdigest(),
        success_rate=earned.success_rate,
        low=earned.interval.low,
        high=earned.interval.high,
        mean_return=earned.mean_return,
        mean_steps=earned.mean_steps,
        mean_regret=earned.mean_regret,
        invalid_rate=invalid / max(1, played_steps),
        outcomes="".join("1" if each.success else "0" for each in outcomes),
        failed_commands=dict(sorted(causes.commands.items())) if protocol.explains else None,
        failed_episodes=dict(sorted(causes.episodes.items())) if protocol.explains else None,
    )


def _replays(protocol: Protocol, recording: Path) -> Iterator[tuple[bytes, Trajectory, _Replay]]:
    """Yield each line with its episode and its replay, in order; what runs in sandboxes uses two cores."""
    cores = CORES if protocol.env_id in {each.id for each in SANDBOXED} else 1
    envs = [_make(protocol) for _ in range(cores)]
    idle: SimpleQueue[gymnasium.Env[str, str]] = SimpleQueue()
    for env in envs:
        idle.put(env)

    def replay(line: bytes) -> tuple[bytes, Trajectory, _Replay]:
        recorded = parse_line(line)
        env = idle.get()
        try:
            return line, recorded, _replay(env, recorded)
        finally:
            idle.put(env)

    pool = ThreadPoolExecutor(cores)
    try:
        yield from (map if cores == 1 else pool.map)(replay, stream_lines(recording))
    finally:
        pool.shutdown(cancel_futures=True)
        for env in envs:
            env.close()


def _make(protocol: Protocol) -> gymnasium.Env[str, str]:
    """Return the environment, once each task of the protocol is known to be on this machine."""
    try:
        env = protocol.make_env(**({"explain": True} if protocol.explains else {}))
        env.reset(seed=protocol.episodes[0].seed, options={"task_id": protocol.episodes[0].task_id})
    except UsageError as error:
        raise MissingDataError(f"cannot be replayed on this machine: {error}") from None
    return env


def _replay(env: gymnasium.Env[str, str], recorded: Trajectory) -> _Replay:
    """Play the actions again; return the episode, the number of unlisted actions, and the info of each step."""
    steps = play_again(env, recorded)
    try:
        observation, _, _, _, info = next(steps)
    except UsageError as error:  # the task is of the protocol, so its data are missing
        raise MissingDataError(f"cannot be replayed on this machine: {error}") from None
    recorder = Recorder(recorded.task_id, recorded.seed, recorded.run, observation)
    unlisted, infos = 0, list[dict[str, Any]]()
    for action, reflection, step in zip(recorded.actions, recorded.reflections, steps, strict=False):
        listed = info["admissible_commands"]  # of the step before
        unlisted += action not in listed
        action = strip_unless_listed(action, listed)
        observation, reward, terminated, truncated, info = step
        recorder.add(action, reflection, observation, reward, terminated, truncated, info["success"])
        infos.append(info)
    return recorder.trajectory(), unlisted, infos
