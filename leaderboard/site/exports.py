"""The files of a board: its rows as CSV and JSON, its table in LaTeX and Markdown, BibTeX, and the recordings."""

from __future__ import annotations

import csv
import gzip
import io
import json
from collections.abc import Sequence
from importlib import metadata
from pathlib import Path
from typing import Any

from leaderboard.git import git
from leaderboard.result import LEDGER_FILE
from leaderboard.standings.badges import ADJUDICATIONS_FILE, BADGES_FILE
from leaderboard.standings.columns import columns_of
from leaderboard.standings.rows import Table
from natlang_envs.evaluation.protocols import Protocol
from natlang_envs.trajectory import stream_lines

# A spreadsheet would run a cell that begins like this; a quote before it makes it text.
_FORMULA = ("=", "+", "-", "@", "\t", "\r")
_SPECIAL = str.maketrans({each: f"\\{each}" for each in "&%$#_{}"})


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
    """Return the facts of all rows; of a row of several seeds its own, then those of each seed."""
    columns = columns_of("download")
    rows = (row for table in tables for line in table.rows for row in (line, *line.members))
    return [{column.name: column.value(row) for column in columns} | {"as_of": as_of} for row in rows]


def _cell(value: Any) -> Any:
    if isinstance(value, (dict, list)):
        return json.dumps(value)
    return f"'{value}" if isinstance(value, str) and value.startswith(_FORMULA) else value


def as_of(submissions: Path) -> str:
    """Return the commit that the entries are of, or an empty text where Git does not know."""
    commit = git(["rev-parse", "HEAD"], submissions) or ""
    beside = [f"../{each}" for each in (ADJUDICATIONS_FILE, BADGES_FILE, LEDGER_FILE)]
    changed = git(["status", "--porcelain", "--", ".", *beside], submissions)
    return f"{commit} with changes" if changed else commit


def markdown(table: Table, commit: str) -> str:
    head, *rows = (f"| {' | '.join(cells)} |" for cells in _lines(table))
    lines = [head, "|---|" + "---:|" * (len(columns_of("paper")) - 1), *rows]
    return "\n".join(lines) + f"\n\n{_source(table, commit)}\n"


def latex(table: Table, commit: str) -> str:
    rows = [" & ".join(each.translate(_SPECIAL) for each in cells) for cells in _lines(table)]
    return "\n".join(
        [
            r"\begin{table}",
            r"\centering",
            rf"\caption{{{_source(table, commit).translate(_SPECIAL)}}}",
            rf"\begin{{tabular}}{{l{'r' * (len(columns_of('paper')) - 1)}}}",
            r"\hline",
            rf"{rows[0]} \\",
            r"\hline",
            *(rf"{each} \\" for each in rows[1:]),
            r"\hline",
            r"\end{tabular}",
            r"\end{table}",
            "",
        ]
    )


def bibtex(protocol: Protocol | None, commit: str, repository: str = "") -> str:
    """Return the entry of a bibliography: a board by its version and digest, or the whole leaderboard without one."""
    about = metadata.metadata("natlang-envs")
    notes = [
        f"protocol {protocol.name}, SHA-256 {protocol.digest}" if protocol else "",
        commit and f"as of commit {commit}",
    ]
    fields = {
        "title": f"{{natlang\\_envs leaderboard{f': {protocol.name}' if protocol else ''}}}",
        "author": f"{{{str(about['Author']).translate(_SPECIAL)}}}",
        "version": about["Version"],
        "note": ", ".join(filter(None, notes)),
        "url": repository,
    }
    key = "-".join(["natlang-envs", *(protocol.name.split("/") if protocol else ())])
    lines = [f"  {field} = {{{value}}}," for field, value in fields.items() if value]
    return "\n".join([f"@misc{{{key},", *lines, "}", ""])


def _lines(table: Table) -> list[list[str]]:
    columns = columns_of("paper")
    return [[column.title for column in columns], *([column.ascii(row) for column in columns] for row in table.rows)]


def _source(table: Table, commit: str) -> str:
    """Return the caption of a table: board, version, commit, and the kind of interval."""
    protocol = table.protocol
    facts = [f"{protocol.name} of natlang_envs {metadata.version('natlang-envs')}", f"protocol {protocol.digest[:12]}"]
    facts += [f"as of commit {commit[:12]}{commit[40:]}"] if commit else []
    return (
        f"{', '.join(facts)}; {len(protocol.episodes)} tasks. The 95% intervals are Wilson's, over tasks where these "
        "are repeated, and over seeds and tasks for several seeds."
    )
