"""Makes the change tasks that are shipped, and checks them: `python -m tools.change`."""

from __future__ import annotations

import random
import resource
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Annotated

import typer

from natlang_envs.change.free_edits.code_tasks import code_tasks
from natlang_envs.change.making.fork_runner import Runner
from natlang_envs.change.making.make_tasks import make
from natlang_envs.change.making.recheck import TaskSource, in_forks, recheck
from natlang_envs.change.making.usable_tests import describe
from natlang_envs.change.repositories import OWN, RepositoryEntry, change_repositories, change_repository
from natlang_envs.change.task_files import Row, read_journal, unpack, write_task_file
from natlang_envs.cli.support import run_app
from natlang_envs.errors import UsageError
from tools.change.make_free_tasks import differing, write_tasks

app = typer.Typer(help="Make the change tasks that are shipped, and check them.", pretty_exceptions_enable=False)
Names = Annotated[list[str] | None, typer.Argument(help="Names of repositories; all without any.")]
Pythons = Annotated[list[str] | None, typer.Option("--python", help="Other interpreters to check with.")]
Work = Annotated[Path, typer.Option("--work", help="The folder of the journals; making goes on with those there.")]


@app.command("make")
def make_command(
    names: Names = None,
    work: Work = Path("runs/change"),
    pythons: Pythons = None,
) -> None:
    """Make the tasks of repositories from their pinned sources: the same bytes each time."""
    work.mkdir(parents=True, exist_ok=True)
    for each in _chosen(names):
        journal = work / f"{each.name}.jsonl"
        for row in make(each.open(), journal, each.count, more=each.more, seconds=each.seconds, pythons=pythons or ()):
            if "scanned" in row:
                typer.echo(f"{each.name}: {row['scanned']} is scanned")
            for line in describe(row.get("left_out", {})):
                typer.echo(f"{each.name}: {line}")
        made = write_task_file(journal, each.listed, each.name, each.kind)
        used = resource.getrusage(resource.RUSAGE_CHILDREN)
        size = each.listed.stat().st_size // made
        seconds = used.ru_utime + used.ru_stime
        typer.echo(f"{each.name}: {made} tasks of {size:,} bytes; {seconds:.0f} s of tests so far")


@app.command("free")
def free_command(names: Names = None, work: Work = Path("runs/change-free"), pythons: Pythons = None) -> None:
    """Make the code tasks of AutoExplore-ChangeFree from our own services, which needs the lab."""
    work.mkdir(parents=True, exist_ok=True)
    for each in _chosen(names):
        if each.kind == OWN:
            typer.echo(f"{each.name}: {write_tasks(each, work, pythons or ())} tasks")


@app.command("check-free")
def check_free_command(pythons: Annotated[list[str], typer.Argument(help="Interpreters, with pytest.")]) -> None:
    """Run the code tasks of AutoExplore-ChangeFree under other interpreters, and compare what fails."""
    faults = 0
    for each in _chosen(None):
        tasks = [task for task in code_tasks(each.split).values() if task.repository.name == each.name]
        for python in pythons if tasks else ():
            found = list(differing(tasks, each, python))
            faults += len(found)
            typer.echo(f"{each.name}, {python}: {len(tasks)} tasks, {', '.join(found) or 'none'} differ")
    if faults:
        raise UsageError(f"{faults} tasks differ: make them again with --python")


@app.command("check")
def check_command(
    names: Names = None,
    count: Annotated[int, typer.Option("--change", min=1, help="How many edits of each repository.")] = 50,
) -> None:
    """Run edits of tasks again, with everything imported again, and compare their outcomes."""
    faults = 0
    for each in _chosen(names):
        source = TaskSource(each.folder, each.listed)
        with Runner(each.open(), each.seconds) as runner:
            for fault in filter(None, recheck(source, count, random.Random(0), in_forks(runner))):
                faults += 1
                typer.echo(f"{each.name}: {fault}")
    if faults:
        raise UsageError(f"{faults} outcomes differ: make the tasks again")
    typer.echo("as listed")


@app.command("sharpness")
def sharpness_command(journals: Annotated[list[Path], typer.Argument(help="The journals of makings.")]) -> None:
    """Say how many mutations a repository's tests notice."""
    for journal in journals:
        counts = sharpness(read_journal(journal))
        covered = max(1, counts["covered"])
        shares = ", ".join(f"{name} {100 * counts[name] / covered:.1f}%" for name in ("noticed", "by two"))
        typer.echo(f"{journal.stem}: {counts['listed']} mutations, {covered} covered, {shares}")


def sharpness(rows: Iterable[Row]) -> Counter[str]:
    """Count a journal's mutations: those that a test or the import reaches, and those that one or two tests notice."""
    counts: Counter[str] = Counter()
    for row in rows:
        if "scanned" in row:
            for outcome, covered in zip(unpack(row), row["covered"], strict=True):
                counts["listed"] += 1
                if covered == "1":
                    counts["covered"] += 1
                    counts["noticed"] += outcome.bit_count() >= 1
                    counts["by two"] += outcome.bit_count() >= 2
    return counts


@app.command("table")
def table_command() -> None:
    """Say how many tasks are shipped, of which operators, and how many are mended by one edit only."""
    for each in change_repositories().values():
        if each.listed.exists():
            rows = [row for row in read_journal(each.listed) if "issue" in row]
            operators = Counter(row["operator"] for row in rows)
            once = sum(unpack(row["table"]).count(0) == 1 for row in rows)
            most, times = operators.most_common(1)[0]
            typer.echo(
                f"{each.split} {each.name} {each.kind}: {len(rows)} tasks, {once} mended by one edit, "
                f"{100 * times / len(rows):.0f}% {most}, {each.listed.stat().st_size:,} bytes"
            )


def _chosen(names: list[str] | None) -> list[RepositoryEntry]:
    return [change_repository(name) for name in names] if names else list(change_repositories().values())


if __name__ == "__main__":
    run_app(app, "python -m tools.change")
