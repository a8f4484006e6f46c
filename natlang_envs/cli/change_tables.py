"""`natlang data check --change N`: edits of change tasks, run again in the sandbox."""

from __future__ import annotations

import random
from pathlib import Path

import typer

from natlang_envs.change.free_edits.sandbox_tests import LIMITS, in_sandbox
from natlang_envs.change.making.recheck import OutcomeDifference, TaskSource, listed, recheck
from natlang_envs.cli.support import progress_bar
from natlang_envs.errors import UsageError
from natlang_envs.sandbox import AutoExploreSandbox


def check_tables(count: int, tables: Path | None, repository: Path | None, labels: Path | None) -> None:
    """Run random edits again, spread over the files of tasks, and say where a run here and a table there differ."""
    if labels is not None or (tables is None) != (repository is None):
        raise UsageError("--change goes alone, or with --tables FILE and --repo FOLDER, and never with --labels")
    files, missing = listed()
    if tables is not None and repository is not None:
        files, missing = [TaskSource(repository, tables)], []
    if not files:
        raise UsageError("this version has no listed change tasks: name yours with --tables FILE and --repo FOLDER")
    generator = random.Random()
    drawn = [generator.choice(files) for _ in range(count)]
    found: list[OutcomeDifference] = []
    with progress_bar() as progress:
        bar = progress.add_task("edits", total=count)
        for source in files:
            with AutoExploreSandbox(source.root, limits=LIMITS) as sandbox:
                for each in recheck(source, drawn.count(source), generator, in_sandbox(sandbox, source.arguments)):
                    progress.advance(bar)
                    found += [each] if each is not None else []
    if missing:
        typer.echo(f"NOT CHECKED: {', '.join(missing)}. Run natlang data fetch, then check.")
    for each in found:
        typer.echo(str(each))
    if found:
        typer.echo(f"{len(found)} of {count} edits differ.")
        raise typer.Exit(1)
    typer.echo(f"{count} edits of change tasks run again, as their tables say.")
