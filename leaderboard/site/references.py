"""Reference lines for boards that have none, as in a build from a pip install, where the committed entries are not."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from leaderboard.baselines import note_rerun, play_baseline
from leaderboard.schema import REFERENCE_LINES
from leaderboard.standings.rows import Row, Table
from leaderboard.standings.tables import standings
from natlang_envs.errors import UsageError
from natlang_envs.evaluation.agents import baseline_names
from natlang_envs.evaluation.live import find_round
from natlang_envs.evaluation.protocols import Protocol


def with_references(tables: list[Table], folder: Path) -> list[Table]:
    """Add the built-in players to every table that has no reference line and is of no live round.

    Their entries go into `folder`, which must exist as long as the rows are used.
    """
    return [
        table
        if any(row.reference for row in table.rows) or find_round(table.protocol.name)
        else replace(table, rows=(*table.rows, *_rows(table.protocol, folder / table.protocol.name.replace("/", "-"))))
        for table in tables
    ]


def _rows(protocol: Protocol, folder: Path) -> list[Row]:
    names = [name for name in baseline_names(protocol.env_id) if name in (*REFERENCE_LINES, "random")]
    try:
        made = [play_baseline(protocol, name, folder) for name in names]
    except UsageError:  # the data of this protocol are not on this machine: its table has no reference line
        return []
    note_rerun(folder / "submissions", made)
    return [row for table in standings(folder / "submissions") for row in table.rows] if made else []
