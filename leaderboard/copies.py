"""Recordings that two entries share: a copy is refused, and the same actions under another text are pointed out."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

from leaderboard.result import ReplayResult
from leaderboard.schema import SUBMISSION_FILE, Submission, look, read_submission
from natlang_envs.errors import UsageError
from natlang_envs.evaluation.runs import TRAJECTORIES_FILE
from natlang_envs.trajectory import stream_lines, stream_trajectories


class CopiedEntry(UsageError):  # noqa: N818 - a UsageError that says what happened
    """An entry's episodes are those of another one; the message names it."""


def refuse_copies(submissions: Path, submission: Submission, result: ReplayResult, recording: Path) -> None:
    """Raise `CopiedEntry` if an entry's episodes, reflections included, are those of another entry of its protocol.

    Reference lines are left out: an agent that plays as well as the oracle is not accused of being it.
    """
    if submission.is_reference:
        return
    board = submissions / submission.protocol
    for other in sorted(board.iterdir()) if board.is_dir() else ():
        theirs = other / TRAJECTORIES_FILE
        if other.name == submission.name or other.name.startswith(".") or not theirs.is_file() or theirs.is_symlink():
            continue
        # The end of a gzip file holds the checksum and the length of its content: most others differ there already.
        if _end(theirs) != _end(recording):
            continue
        if episodes_digest(theirs) != result.episodes_sha256 or _is_reference(other):
            continue
        if not is_optimal_and_silent(result, recording):
            raise CopiedEntry(
                f"its episodes are those of the entry {submission.protocol}/{other.name}: an entry is a run of its own"
            )


def is_optimal_and_silent(result: ReplayResult, recording: Path) -> bool:
    """Return whether a run plays every plan of the environment's without a word: two agents may well do the same."""
    if result.success_rate < 1 or result.mean_regret is None or result.mean_regret > 0:
        return False
    return all(text is None for each in stream_trajectories(recording) for text in each.reflections)


def refuse_look_alike(submissions: Path, protocol: str, name: str) -> None:
    """Raise `UsageError` if a new entry's name is easily taken for that of another one of its protocol."""
    board = submissions / protocol
    for other in sorted(each.name for each in board.iterdir()) if board.is_dir() else ():
        if other != name and look(other) == look(name):
            raise UsageError(f"the name {name} is easily taken for {other}: choose another --name")


def _end(recording: Path) -> bytes:
    with recording.open("rb") as file:
        file.seek(-min(8, recording.stat().st_size), os.SEEK_END)
        return file.read()


def _is_reference(entry: Path) -> bool:
    try:
        return read_submission(entry / SUBMISSION_FILE).is_reference
    except UsageError:
        return False


def episodes_digest(recording: Path) -> str:
    digest = hashlib.sha256()
    try:
        for line in stream_lines(recording):
            digest.update(line)
    except UsageError:
        return ""
    return digest.hexdigest()
