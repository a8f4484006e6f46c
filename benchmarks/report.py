"""Shows what a benchmark measured: a table on the screen, and the same table as a page of Markdown."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

from rich import box
from rich.console import Console
from rich.table import Table

from natlang_envs.files import write_whole


def publish(
    path: Path,
    title: str,
    conclusion: str,
    measured: Sequence[str],
    headings: Sequence[str],
    rows: Sequence[Sequence[str]],
    after: Sequence[str] = (),
) -> None:
    """Print a table, and write it to `path`: the conclusion, the table, remarks after it, how it was measured."""
    show(headings, rows)
    lines = [conclusion, "", *markdown(headings, rows), ""]
    if after:
        lines += [*after, ""]
    write_page(path, title, [*lines, *measured])


def floors(rows: Sequence[Sequence[str]]) -> str:
    """Say in a sentence which floors hold; a row ends in `yes`, `NO`, or nothing where it has no floor."""
    verdicts = [row[-1] for row in rows if row[-1]]
    if "NO" not in verdicts:
        return f"All {len(verdicts)} floors hold."
    missed = "; ".join(row[0] for row in rows if row[-1] == "NO")
    return f"{verdicts.count('yes')} of {len(verdicts)} floors hold. Missed: {missed}."


def factor(cell: str) -> str:
    """Return the number of a ratio's cell, as in `2.73 x`."""
    return cell.removesuffix(" x")


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
