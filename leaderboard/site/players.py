"""Published players of entries: found by the SHA-256 that an entry names, and put on the site."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from pathlib import Path

from leaderboard.schema import CHECKPOINTS
from leaderboard.standings.rows import Row
from natlang_envs.errors import UsageError
from natlang_envs.evaluation.published import FILES, published_files
from natlang_envs.files import write_whole


def player_of(row: Row) -> Path | None:
    made = row.entry.submission.run.provenance
    return _players(row.folder.parents[3]).get(made.checkpoint) if made is not None and made.checkpoint else None


def write_players(rows: Sequence[Row], folder: Path) -> None:
    for player in sorted({found for row in rows if (found := player_of(row)) is not None}):
        write_whole(folder / player.name, player.read_bytes())
        for each in files_of(player):
            if not (written := folder / FILES / each.name).exists():
                write_whole(written, each.read_bytes())


def files_of(player: Path) -> list[Path]:
    """Return the files of a published player; none where one is missing or damaged."""
    try:
        return list(published_files(player)[1].values())
    except UsageError:
        return []


def _players(beside: Path) -> dict[str, Path]:
    found = sorted((beside / CHECKPOINTS.name).glob("*.json"))
    return {hashlib.sha256(each.read_bytes()).hexdigest(): each for each in found if not each.is_symlink()}
