"""Makes change tasks from a repository with tests: `python -m tools.changing`."""

from __future__ import annotations

import json
import resource
from pathlib import Path
from typing import Annotated

import typer

from natlang_envs.autoexplore.changing.making import make, sharpness
from natlang_envs.autoexplore.changing.running import Runner, open_subject
from natlang_envs.cli.support import run_app
from natlang_envs.errors import UsageError

app = typer.Typer(help="Make change tasks from a repository with tests.", pretty_exceptions_enable=False)
Tests = Annotated[
    list[str], typer.Option("--tests", help="Files and folders of the tests, relative to the repository.")
]


@app.command("make")
def make_command(
    repository: Annotated[Path, typer.Argument(help="The repository.")],
    out: Annotated[Path, typer.Option("-o", "--out", help="The journal; making goes on with one that exists.")],
    count: Annotated[int, typer.Option("--count", min=1, help="How many tasks are wanted.")] = 100,
    tests: Tests = ["tests"],  # noqa: B006 - typer copies it
) -> None:
    """Break a repository, keep what its tests notice, and tabulate every listed edit."""
    subject = open_subject(repository, tests)
    with Runner(subject) as runner:
        made = 0
        for row in make(subject, runner, out, count):
            made += 1
            size = len(json.dumps(row, separators=(",", ":")))
            typer.echo(f"{row['id']} {row['file']}:{row['line']} {row['operator']}, {size} bytes")
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    typer.echo(f"{made} tasks, {used.ru_utime + used.ru_stime:.0f} s of processor time for the tests")


@app.command("sharpness")
def sharpness_command(journal: Annotated[Path, typer.Argument(help="The journal of a making.")]) -> None:
    """Say how many mutations a repository's tests notice."""
    if not journal.exists():
        raise UsageError(f"{journal} does not exist: make tasks first")
    counts = sharpness(json.loads(line) for line in journal.read_text(encoding="utf-8").splitlines())
    covered = max(1, counts["covered"])
    typer.echo(f"{counts['listed']} mutations, {counts['covered']} of them covered")
    for name in ("noticed", "by two"):
        typer.echo(f"{name} {counts[name]} ({100 * counts[name] / covered:.1f}%)")


if __name__ == "__main__":
    run_app(app, "python -m tools.changing")
