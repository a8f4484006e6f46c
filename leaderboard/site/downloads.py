"""Files that the site offers: rows as CSV and JSON, and each recording, compressed anew."""

from __future__ import annotations

import csv
import gzip
import io
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from leaderboard.standings.columns import columns_of
from leaderboard.standings.rows import Table
from natlang_envs.trajectory import stream_lines

# A spreadsheet would run a cell that begins like this; a quote before it makes it text.
_FORMULA = ("=", "+", "-", "@", "\t", "\r")


def repacked(recording: Path) -> bytes:
    """Return a recording compressed here, so that nothing but its lines is passed on."""
    return gzip.compress(b"".join(stream_lines(recording)), mtime=0)


def as_json(tables: Sequence[Table], as_of: str) -> bytes:
    """Return all rows of tables as JSON; `as_of` is the commit that they are of."""
    return (json.dumps(_all(tables, as_of), indent=1) + "\n").encode()


def as_csv(tables: Sequence[Table], as_of: str) -> bytes:
    rows = _all(tables, as_of)
    text = io.StringIO()
    writer = csv.DictWriter(text, list(rows[0]) if rows else [], lineterminator="\n")
    writer.writeheader()
    for row in rows:
        writer.writerow({name: _cell(value) for name, value in row.items()})
    return text.getvalue().encode()


def _all(tables: Sequence[Table], as_of: str) -> list[dict[str, Any]]:
    """Return the facts of all rows; of one that stands for several seeds its own, then those of each seed."""
    columns = columns_of("download")
    rows = (row for table in tables for line in table.rows for row in (line, *line.members))
    return [{column.name: column.value(row) for column in columns} | {"as_of": as_of} for row in rows]


def _cell(value: Any) -> Any:
    if isinstance(value, (dict, list)):
        return json.dumps(value)
    return f"'{value}" if isinstance(value, str) and value.startswith(_FORMULA) else value
