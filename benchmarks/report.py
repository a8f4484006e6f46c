"""How every benchmark shows what it measured: a table on the screen, and the same table as a page of Markdown."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from rich import box
from rich.console import Console
from rich.table import Table

from natlang_envs.trajectory import write_whole


def publish(
    path: Path,
    title: str,
    before: Sequence[str],
    headings: Sequence[str],
    rows: Sequence[Sequence[str]],
    after: Sequence[str] = (),
) -> None:
    """Print a table, and write it to `path` under a title, between the lines `before` and `after` it."""
    table = Table(*headings, box=box.SIMPLE)
    for row in rows:
        table.add_row(*row)
    Console().print(table)
    lines = [
        f"# {title}",
        "",
        *before,
        "",
        "| " + " | ".join(headings) + " |",
        "|" + " --- |" * len(headings),
        *("| " + " | ".join(row) + " |" for row in rows),
    ]
    if after:
        lines += ["", *after]
    write_whole(path, ("\n".join(lines) + "\n").encode())
