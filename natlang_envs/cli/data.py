"""`natlang data`: the repositories of the dataset; the commands about labels are in `labels`, `mutate` in its own."""

from __future__ import annotations

from functools import cache
from typing import Annotated

import typer
from rich import box
from rich.console import Console
from rich.progress import BarColumn, DownloadColumn, Progress, TaskID, TextColumn, TransferSpeedColumn
from rich.table import Column, Table

from natlang_envs.autoexplore.dataset.catalogue import PinnedRepository, catalogue
from natlang_envs.autoexplore.dataset.fetch import fetch, problem_of
from natlang_envs.autoexplore.dataset.package_index import Index
from natlang_envs.change.free_edits.pinned_pytest import ABOUT, LAB, WHEELS, fetch_lab, lab_folder, problem_of_lab
from natlang_envs.change.repositories import pinned_for_changes
from natlang_envs.cli.keys import keys_command
from natlang_envs.cli.labels import labels_app
from natlang_envs.cli.mutate import mutate_command
from natlang_envs.cli.support import printable
from natlang_envs.errors import UsageError, require_choice
from natlang_envs.files import cache_folder

data_app = typer.Typer(help="The labelled dataset of AutoExplore: fetch its repositories, make and check labels.")

data_app.registered_commands += labels_app.registered_commands
data_app.command("keys")(keys_command)
data_app.command("mutate")(mutate_command)

Names = Annotated[list[str] | None, typer.Argument(help="Names of repositories, or lab; all without any.")]


class Lab:
    """The lab, as a repository is named, fetched and verified."""

    name = LAB

    @property
    def is_cached(self) -> bool:
        """Whether it is here as it should be."""
        return lab_folder().is_dir() and problem_of_lab(lab_folder()) is None


Entry = PinnedRepository | Lab


@data_app.command("list")
def list_command() -> None:
    """List the repositories, their splits and whether they are in the cache."""
    table = Table(Column("repository", no_wrap=True), "version", "licence", "split", "files", "here", "what it is")
    table.box = box.SIMPLE
    for each in _pinned().values():
        here = "yes" if each.is_cached else "no"
        table.add_row(each.name, each.version, each.licence, each.split, f"{each.files:,}", here, each.about)
    wheel = WHEELS[0]
    table.add_row(LAB, wheel.version, "MIT, BSD", "", "", "yes" if Lab().is_cached else "no", ABOUT)
    Console().print(table)
    typer.echo(f"The cache is {cache_folder()}; natlang data fetch brings what is not here.")


@data_app.command("fetch")
def fetch_command(names: Names = None) -> None:
    """Fetch repositories and the lab from the packaging index that pip is set to: verified, and what is not here."""
    entries = _entries(names)
    missing = [each for each in entries if not each.is_cached]
    typer.echo(f"{len(entries) - len(missing)} of {len(entries)} are in {cache_folder()}.")
    problems: list[str] = []
    columns = (TextColumn("{task.description}"), BarColumn(), DownloadColumn(), TransferSpeedColumn())
    with Progress(*columns, console=Console(stderr=True)) as progress:
        bars = {each.name: progress.add_task(each.name, total=None, start=False) for each in missing}
        index = cache(Index)
        for each in missing:
            bar = bars[each.name]
            progress.start_task(bar)

            def show(done: int, whole: int | None, bar: TaskID = bar) -> None:
                progress.update(bar, completed=done, total=whole)

            try:
                fetch_lab(index, show) if isinstance(each, Lab) else fetch(each, index, show)
            except UsageError as error:
                problems.append(str(error))
                progress.console.print(f"{each.name}: {error}", style="red", markup=False, highlight=False)
            else:
                task = progress.tasks[bar]
                progress.update(bar, total=task.total or 1, completed=task.total or 1)
    if problems:
        raise UsageError(f"{len(problems)} of {len(missing)} repositories were not fetched; the first: {problems[0]}")
    typer.echo(f"All {len(entries)} are here.")


@data_app.command("verify")
def verify_command(names: Names = None) -> None:
    """Compare every file in the cache with what is pinned."""
    wrong = 0
    for each in _entries(names):
        of_lab = isinstance(each, Lab)
        if not (lab_folder().is_dir() if of_lab else each.is_cached):
            typer.echo(f"{each.name}: not here (natlang data fetch {each.name})")
            continue
        problem = problem_of_lab(lab_folder()) if of_lab else problem_of(each)
        wrong += problem is not None
        remedy = f"; {'' if of_lab else 'delete that folder and '}run natlang data fetch {each.name}"
        typer.echo(f"{each.name}: as pinned" if problem is None else f"{each.name}: {printable(problem)}{remedy}")
    if wrong:
        raise typer.Exit(1)


@data_app.command("path")
def path_command(name: Annotated[str, typer.Argument(help="The name of a repository.")]) -> None:
    """Print the folder of a repository's files, which has to be in the cache."""
    entry = _pinned()[require_choice("repository", name, _pinned())]
    if not (entry.is_cached or entry.is_shipped):
        raise UsageError(f"the files of {name} {entry.version} are not here: run natlang data fetch {name}")
    typer.echo(str(fetch(entry, cache(Index))))


def _pinned() -> dict[str, PinnedRepository]:
    return {**catalogue(), **pinned_for_changes()}


def _entries(names: list[str] | None) -> list[Entry]:
    known: dict[str, Entry] = {**_pinned(), LAB: Lab()}
    return [known[require_choice("repository", name, known)] for name in names or known]
