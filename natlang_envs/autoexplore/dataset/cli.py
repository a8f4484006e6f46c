"""`natlang data`: fetch the dataset's repositories, make labels, check and measure them."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import Annotated

import typer
from rich import box
from rich.console import Console
from rich.progress import BarColumn, DownloadColumn, Progress, TaskID, TextColumn, TransferSpeedColumn
from rich.table import Column, Table

from natlang_envs.autoexplore.dataset.catalogue import COFFEE, Entry, cache_folder, catalogue, entry_of
from natlang_envs.autoexplore.dataset.drafts import Filled, fill_file, write_filled
from natlang_envs.autoexplore.dataset.fetch import fetch, problem_of
from natlang_envs.autoexplore.dataset.index import Index
from natlang_envs.cli_support import printable
from natlang_envs.errors import UsageError

data_app = typer.Typer(help="The labelled dataset of AutoExplore: fetch its repositories, make and check labels.")

Names = Annotated[list[str] | None, typer.Argument(help="Names of repositories; all without any.")]


@data_app.command("list")
def list_command() -> None:
    """List the repositories, their splits and whether they are in the cache."""
    table = Table(Column("repository", no_wrap=True), "version", "licence", "split", "files", "here", "what it is")
    table.box = box.SIMPLE
    for each in catalogue().values():
        here = "yes" if each.is_cached else "no"
        table.add_row(each.name, each.version, each.licence, each.split, f"{each.files:,}", here, each.about)
    Console().print(table)
    typer.echo(f"The cache is {cache_folder()}; natlang data fetch brings what is not here.")


@data_app.command("fetch")
def fetch_command(names: Names = None) -> None:
    """Fetch repositories from the packaging index that pip is set to; verified, and only what is not here."""
    entries = _entries(names)
    missing = [each for each in entries if not each.is_cached]
    typer.echo(f"{len(entries) - len(missing)} of {len(entries)} repositories are in {cache_folder()}.")
    problems: list[str] = []
    columns = (TextColumn("{task.description}"), BarColumn(), DownloadColumn(), TransferSpeedColumn())
    with Progress(*columns, console=Console(stderr=True)) as progress:
        bars = {each.name: progress.add_task(each.name, total=None, start=False) for each in missing}
        index = cache(Index)
        for each in missing:
            bar = bars[each.name]
            progress.start_task(bar)
            try:
                fetch(each, index, lambda done, total, bar=bar: _advance(progress, bar, done, total))
            except UsageError as error:
                problems.append(str(error))
                progress.console.print(f"{each.name}: {error}", style="red", markup=False, highlight=False)
            else:
                task = progress.tasks[bar]
                progress.update(bar, total=task.total or 1, completed=task.total or 1)
    if problems:
        raise UsageError(f"{len(problems)} of {len(missing)} repositories could not be fetched; the first: {problems[0]}")
    typer.echo(f"All {len(entries)} are here.")


def _advance(progress: Progress, bar: TaskID, done: int, total: int | None) -> None:
    progress.update(bar, completed=done, total=total)


@data_app.command("verify")
def verify_command(names: Names = None) -> None:
    """Compare every file in the cache with what is pinned."""
    wrong = 0
    for each in _entries(names):
        if not each.is_cached:
            typer.echo(f"{each.name}: not here (natlang data fetch {each.name})")
            continue
        problem = problem_of(each)
        wrong += problem is not None
        remedy = f"; delete that folder and run natlang data fetch {each.name}"
        typer.echo(f"{each.name}: as pinned" if problem is None else f"{each.name}: {printable(problem)}{remedy}")
    if wrong:
        raise typer.Exit(1)


@data_app.command("path")
def path_command(name: Annotated[str, typer.Argument(help="The name of a repository.")]) -> None:
    """Print the folder of a repository's files, which has to be in the cache."""
    entry = entry_of(name)
    if not entry.is_cached and name != COFFEE:
        raise UsageError(f"the files of {name} {entry.version} are not here: run natlang data fetch {name}")
    typer.echo(str(fetch(entry, cache(Index))))


@data_app.command("draft")
def draft_command(
    drafts: Annotated[Path, typer.Argument(help="A file with one draft a line, which is filled in in place.")],
    out: Annotated[Path | None, typer.Option("-o", "--out", help="Write here instead.")] = None,
) -> None:
    """Fill in drafts of labels, and say for each line what is still wrong with it."""
    filled = fill_file(drafts)
    write_filled(drafts if out is None else out, filled)
    for each in filled:
        for problem in each.problems:
            typer.echo(f"line {each.number}: {printable(problem)}")
    _print_counts(filled)
    if any(each.problems for each in filled):
        raise typer.Exit(1)


def _print_counts(filled: list[Filled]) -> None:
    clean = [each for each in filled if not each.problems]
    typer.echo(f"{len(clean)} of {len(filled)} lines are finished.")
    if not filled:
        return
    for name in ("depth", "kind", "difficulty"):
        values = [str(each.content[name]) for each in filled if name in each.content]
        typer.echo(f"  {name}: {_shares(values)}")
    first = [each.content["bm25"][0]["path"] in each.content["targets"] for each in filled if each.content.get("bm25")]
    if first:
        typer.echo(f"  BM25 ranks a target first in {sum(first) / len(first):.0%}")


def _shares(values: list[str]) -> str:
    return ", ".join(f"{value} {values.count(value)} ({values.count(value) / len(values):.0%})" for value in _known(values))


def _known(values: Iterable[str]) -> list[str]:
    return sorted(set(values))


def _entries(names: list[str] | None) -> list[Entry]:
    return [entry_of(name) for name in names] if names else list(catalogue().values())
