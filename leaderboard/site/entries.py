"""What an entry's page shows besides its episodes: causes of failures, and the published player.

A player is found by the SHA-256 that the entry names.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from leaderboard.result import ReplayResult
from leaderboard.schema import CHECKPOINTS
from leaderboard.standings.rows import Row
from natlang_envs.errors import UsageError
from natlang_envs.evaluation.causes import reason_in_words
from natlang_envs.evaluation.model_requests import report_answers
from natlang_envs.evaluation.published import FILES, published_files
from natlang_envs.files import write_whole
from natlang_envs.trajectory import parse_line, stream_lines
from natlang_envs.why import CAUSES


class Failure(NamedTuple):
    name: str
    words: str
    times: int
    share: float


def failures(result: ReplayResult) -> dict[str, list[Failure]]:
    """Return the tables of a page by what failed, the most frequent first; none where nothing failed or was counted."""
    counted = {"episodes": result.failed_episodes, "commands": result.failed_commands}
    return {what: _lines(counts, what == "episodes") for what, counts in counted.items() if counts}


def answers_told(answers: dict[str, int] | None, recording: Path) -> str:
    """Return how a model's answers were read and what lost its episodes, in words; empty where none was asked."""
    if answers is None:
        return ""
    return "; ".join(report_answers(answers, map(parse_line, stream_lines(recording))).lines)


def _lines(counts: dict[str, int], episodes: bool) -> list[Failure]:
    total = sum(counts.values())
    return [
        Failure(name, reason_in_words(name) if episodes else CAUSES[name], count, count / total)
        for name, count in sorted(counts.items(), key=lambda each: (-each[1], each[0]))
    ]


def player_of(row: Row) -> Path | None:
    found = sorted((row.folder.parents[3] / CHECKPOINTS.name).glob("*.json"))
    players = {hashlib.sha256(each.read_bytes()).hexdigest(): each for each in found if not each.is_symlink()}
    return players.get(row.entry.submission.checkpoint)


def write_players(rows: Sequence[Row], folder: Path) -> None:
    for player in sorted({found for row in rows if (found := player_of(row)) is not None}):
        write_whole(folder / player.name, player.read_bytes())
        for each in files_of(player):
            if not (written := folder / FILES / each.name).exists():
                write_whole(written, each.read_bytes())


def files_of(player: Path) -> list[Path]:
    try:
        return list(published_files(player)[1].values())
    except UsageError:
        return []
