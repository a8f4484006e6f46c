"""Plays every episode of a submission again and derives every number from what the environment does.

Nothing that the submitter wrote is believed: not the rewards, not the observation hashes, not which episodes there
are. Replay proves what the actions earn; it cannot prove who chose them.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from leaderboard.schema import SUBMISSION_FILE, Submission, one_line, read_bounded, read_submission
from natlang_envs.errors import UsageError
from natlang_envs.evaluation.protocols import Protocol, load_protocol
from natlang_envs.evaluation.runner import TRAJECTORIES_FILE, score_run
from natlang_envs.evaluation.statistics import Score
from natlang_envs.trajectory import Trajectory, difference, read_trajectories, replay

MAX_TRAJECTORIES_BYTES = 32 * 1024 * 1024  # packed

_Key = tuple[str, int, int]


@dataclass(frozen=True)
class Verified:
    """An entry that held.

    Attributes:
        submission: What the submitter says about it.
        protocol: The protocol, as installed here.
        trajectories: The episodes as the environment played them now, in the protocol's order.
        score: What they earned.
    """

    submission: Submission
    protocol: Protocol
    trajectories: tuple[Trajectory, ...]
    score: Score


def verify(folder: Path) -> Verified:
    """Verify an entry.

    Args:
        folder: Holds `submission.json` and `trajectories.jsonl.gz` and nothing else.

    Returns:
        The entry, with its replayed episodes and its score.

    Raises:
        UsageError: Something is not as it should be; one line names the file, the episode and what differs.
    """
    try:
        return _verify(folder)
    except UsageError as error:
        said = str(error).removeprefix(f"{folder}/")
        raise UsageError(one_line(f"{folder}: {said}")) from None


def _verify(folder: Path) -> Verified:
    if not folder.is_dir():
        raise UsageError(f"is no folder: name the folder of an entry, which holds {SUBMISSION_FILE}")
    extra = sorted({path.name for path in folder.iterdir()} - {SUBMISSION_FILE, TRAJECTORIES_FILE})
    if extra:
        raise UsageError(f"{extra[0]} is no part of an entry: delete it")
    submission = read_submission(folder / SUBMISSION_FILE)
    digest = sha256(read_bounded(folder / TRAJECTORIES_FILE, MAX_TRAJECTORIES_BYTES))
    if digest != submission.trajectories_sha256:
        raise UsageError(
            f"{TRAJECTORIES_FILE} has the SHA-256 {digest[:12]}…, "
            f"but {SUBMISSION_FILE} says {submission.trajectories_sha256[:12]}…: pack the run again"
        )
    trajectories = read_trajectories(folder / TRAJECTORIES_FILE)
    return check(submission, load_protocol(submission.protocol), trajectories)


def sha256(content: bytes) -> str:
    """Return the digest as 64 hex digits."""
    return hashlib.sha256(content).hexdigest()


def check(submission: Submission, protocol: Protocol, trajectories: Sequence[Trajectory]) -> Verified:
    """Play all episodes again and derive the score.

    Args:
        submission: What the submitter says.
        protocol: The protocol it names, as installed here.
        trajectories: The episodes as recorded.

    Raises:
        UsageError: The protocol was another one when the run was made, or was not played as often as it asks; or an
            episode is missing, doubled, unknown or out of order, or is not what the environment does.
    """
    _check_protocol(submission, protocol)
    expected = [(task_id, seed, run) for (task_id, seed), run in protocol.plays(submission.run.runs)]
    _check_order([_key(each) for each in trajectories], expected, protocol)
    replayed = tuple(_replayed(protocol, trajectories))
    return Verified(submission, protocol, replayed, score_run(protocol, list(replayed)))


def _check_protocol(submission: Submission, protocol: Protocol) -> None:
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


def _replayed(protocol: Protocol, trajectories: Sequence[Trajectory]) -> Iterator[Trajectory]:
    env = protocol.make_env()
    try:
        for number, recorded in enumerate(trajectories, 1):
            played = replay(env, recorded)
            problem = difference(recorded, played)
            # Lone surrogates are written escaped, so a file that holds them raw was not written by the runner.
            if problem is None and played != recorded:
                problem = "its texts are not as the runner writes them"
            if problem is not None:
                raise UsageError(f"{TRAJECTORIES_FILE}, line {number}, {_name(_key(recorded))}: {problem}")
            yield played
    finally:
        env.close()
