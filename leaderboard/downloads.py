"""Files that the site offers: all rows as CSV and JSON, and each recording, compressed anew."""

from __future__ import annotations

import csv
import gzip
import io
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from leaderboard.rows import Row, Table
from natlang_envs.trajectory import stream_lines

# A spreadsheet would run a cell that begins like this; a quote before it makes it text.
_FORMULA = ("=", "+", "-", "@", "\t", "\r")


def repacked(recording: Path) -> bytes:
    """Return a recording compressed here, so that nothing but its lines is passed on."""
    return gzip.compress(b"".join(stream_lines(recording)), mtime=0)


def as_json(tables: Sequence[Table]) -> bytes:
    """Return all rows as JSON."""
    return (json.dumps(_all(tables), indent=1) + "\n").encode()


def as_csv(tables: Sequence[Table]) -> bytes:
    """Return all rows as CSV."""
    rows = _all(tables)
    text = io.StringIO()
    writer = csv.DictWriter(text, list(rows[0]) if rows else [], lineterminator="\n")
    writer.writeheader()
    for row in rows:
        writer.writerow({name: _cell(value) for name, value in row.items()})
    return text.getvalue().encode()


def _all(tables: Sequence[Table]) -> list[dict[str, Any]]:
    return [
        _facts(row) | {"series": line.entry.submission.name if line.members else None}
        for table in tables
        for line in table.rows
        for row in line.recordings
    ]


def _cell(value: Any) -> Any:
    return f"'{value}" if isinstance(value, str) and value.startswith(_FORMULA) else value


def _facts(row: Row) -> dict[str, Any]:
    submission, result = row.entry.submission, row.entry.result
    return {
        "protocol": submission.protocol,
        "name": submission.name,
        "group": row.group,
        "rank": row.rank,
        "tied": row.tied,
        "reason": row.reason,
        "success_rate": result.success_rate,
        "low": result.low,
        "high": result.high,
        "mean_return": result.mean_return,
        "mean_steps": result.mean_steps,
        "mean_regret": result.mean_regret,
        "invalid_rate": result.invalid_rate,
        "episodes": len(result.outcomes),
        "runs": submission.run.runs,
        "sampling": row.sampling,
        "tokens": submission.run.tokens,
        "seconds": submission.run.seconds,
        "model": submission.model,
        "parameters": submission.parameters,
        "rerun": row.rerun,
        "audited": row.audited,
        "replayed": result.date,
        "trajectories_sha256": submission.trajectories_sha256,
        "protocol_digest": submission.protocol_digest,
    }
