"""How every benchmark shows what it measured: a table on the screen, and the same table as a page of Markdown."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
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
    show(headings, rows)
    lines = [*before, "", *markdown(headings, rows)]
    if after:
        lines += ["", *after]
    write_page(path, title, lines)


def show(headings: Sequence[str], rows: Iterable[Sequence[str]], title: str | None = None) -> None:
    """Print a table."""
    table = Table(*headings, title=title, box=box.SIMPLE)
    for row in rows:
        table.add_row(*row)
    Console().print(table)


def markdown(headings: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    """Return the lines of a table."""
    return [
        "| " + " | ".join(headings) + " |",
        "|" + " --- |" * len(headings),
        *("| " + " | ".join(row) + " |" for row in rows),
    ]


def write_page(path: Path, title: str, lines: Sequence[str]) -> None:
    """Write lines of Markdown to `path` under a title."""
    write_whole(path, ("\n".join([f"# {title}", "", *lines]) + "\n").encode())
