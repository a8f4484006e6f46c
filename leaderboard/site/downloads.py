"""Files that the site offers: rows as CSV and JSON, and each recording, compressed anew."""

from __future__ import annotations

import csv
import gzip
import io
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from leaderboard.schema import Track
from leaderboard.standings.rows import Row, Table
from natlang_envs.trajectory import stream_lines

# A spreadsheet would run a cell that begins like this; a quote before it makes it text.
_FORMULA = ("=", "+", "-", "@", "\t", "\r")


def repacked(recording: Path) -> bytes:
    """Return a recording compressed here, so that nothing but its lines is passed on."""
    return gzip.compress(b"".join(stream_lines(recording)), mtime=0)


def as_json(tables: Sequence[Table], as_of: str) -> bytes:
    """Return all rows of tables as JSON.

    Args:
        tables: The tables.
        as_of: The commit that they were made from.
    """
    return (json.dumps(_all(tables, as_of), indent=1) + "\n").encode()


def as_csv(tables: Sequence[Table], as_of: str) -> bytes:
    """Return all rows of tables as CSV; arguments as those of `as_json`."""
    rows = _all(tables, as_of)
    text = io.StringIO()
    writer = csv.DictWriter(text, list(rows[0]) if rows else [], lineterminator="\n")
    writer.writeheader()
    for row in rows:
        writer.writerow({name: _cell(value) for name, value in row.items()})
    return text.getvalue().encode()


def _all(tables: Sequence[Table], as_of: str) -> list[dict[str, Any]]:
    """Return the facts of all rows; of one that stands for several seeds its own, then those of each seed."""
    return [
        _facts(row, line) | {"as_of": as_of} for table in tables for line in table.rows for row in (line, *line.members)
    ]


def _cell(value: Any) -> Any:
    if isinstance(value, (dict, list)):
        return json.dumps(value)
    return f"'{value}" if isinstance(value, str) and value.startswith(_FORMULA) else value


def _facts(row: Row, line: Row) -> dict[str, Any]:
    submission, result = row.entry.submission, row.entry.result
    run, source = submission.run, submission.run.provenance
    alone = not row.members
    track = submission.track if submission.track is not None else Track()
    return {
        "protocol": submission.protocol,
        "name": submission.name,
        "seeds": len(row.recordings),
        "series": line.entry.submission.name if line.members and alone else None,
        "group": row.group,
        "rank": row.rank,
        "tied": row.tied,
        "p_above": row.p_above,
        "reason": row.reason,
        "success_rate": result.success_rate,
        "low": result.low,
        "high": result.high,
        "mean_return": result.mean_return,
        "mean_steps": result.mean_steps,
        "mean_regret": result.mean_regret,
        "invalid_rate": result.invalid_rate,
        "episodes": len(result.outcomes),
        "runs": run.runs,
        "sampling": row.sampling,
        "tokens": run.tokens,
        "seconds": run.seconds,
        "hardware": run.hardware,
        "versions": run.versions,
        "model": submission.model,
        "parameters": submission.parameters,
        **track.model_dump(exclude={"curve"}),
        "description": submission.description,
        "authors": list(submission.authors),
        "contact": submission.contact,
        "link": submission.link,
        "date": submission.date,
        "disclosure": submission.disclosure,
        "command": row.command if alone else None,
        "commit": source.commit if source is not None and alone else None,
        "checkpoint": source.checkpoint if source is not None and alone else None,
        "rerun": row.rerun,
        "audited": row.audited,
        "replayed": result.date,
        "package": result.package,
        "trajectories_sha256": submission.trajectories_sha256 if alone else None,
        "protocol_digest": submission.protocol_digest,
    }
