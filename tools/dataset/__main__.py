"""Commands for who maintains the labelled dataset: `python -m tools.dataset`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from natlang_envs.autoexplore.dataset.blind_review import sample, write_readings
from natlang_envs.autoexplore.dataset.card import card
from natlang_envs.autoexplore.dataset.catalogue import data_folder
from natlang_envs.autoexplore.dataset.report import all_parts
from natlang_envs.autoexplore.dataset.shipped import digest, load_labels
from natlang_envs.cli.support import run_app
from natlang_envs.errors import UsageError
from natlang_envs.files import write_whole

app = typer.Typer(help="Maintain the labelled dataset.", pretty_exceptions_enable=False)
Out = Annotated[Path, typer.Option("-o", "--out", help="The file to write.")]


@app.command("card")
def card_command(
    out: Annotated[Path | None, typer.Option("-o", "--out", help="The file; by default the dataset's own.")] = None,
) -> None:
    """Write the dataset card, with counts and measurements filled in."""
    path = data_folder() / "README.md" if out is None else out
    write_whole(path, card(all_parts(load_labels), digest()).encode())
    typer.echo(str(path))


@app.command("sample")
def sample_command(out: Out) -> None:
    """Write a tenth of the questions, without their answers, for a second, blind reading."""
    if out.exists():
        raise UsageError(f"{out} exists: choose another file, it may hold readings")
    chosen = sample(label for labels in all_parts(load_labels).values() for label in labels)
    write_readings(out, chosen)
    typer.echo(f"{len(chosen)} questions are in {out}: write the path of a file into each line's file.")


if __name__ == "__main__":
    run_app(app, "python -m tools.dataset")
