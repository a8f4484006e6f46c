"""`natlang data mutate`: breaks a repository of the user's own, place by place, into tasks of AutoExplore-Change."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.progress import TaskID

from natlang_envs.change.making.fork_runner import SECONDS, open_tested
from natlang_envs.change.making.make_tasks import mutate
from natlang_envs.change.making.usable_tests import describe
from natlang_envs.cli.support import counted, print_some, printable, progress_bar

_TESTS = Annotated[list[str], typer.Option("--tests", help="Files and folders of the tests, in the repository.")]


def mutate_command(
    repo: Annotated[Path, typer.Option(help="The repository to break; it is never modified.")],
    out: Annotated[Path, typer.Option("-o", "--out", help="The file to write, .jsonl.")],
    tests: _TESTS = ["tests"],  # noqa: B006 - typer copies it
    count: Annotated[int, typer.Option(min=1, help="The largest number of tasks.")] = 20,
    seconds: Annotated[float, typer.Option(min=0.1, help="Of processor time, for a run of all tests.")] = SECONDS,
) -> None:
    """Make change tasks of a repository of your own with pytest tests; a making that was stopped goes on."""
    subject = open_tested(repo, tests)
    made = 0
    with progress_bar() as progress:
        bars: dict[str, TaskID] = {}

        def tell(what: str, done: int, total: int) -> None:
            if what not in bars:
                for each in bars.values():
                    progress.update(each, visible=False)
                bars[what] = progress.add_task(what, total=total)
            progress.update(bars[what], completed=done)

        for row in mutate(subject, out, count, seconds, tell):
            if "left_out" in row:
                print_some(describe(row["left_out"]), most=20)
            made += "issue" in row
    typer.echo(f"{counted(made, 'task')} of {printable(subject.root.name)} {'is' if made == 1 else 'are'} in {out}.")
