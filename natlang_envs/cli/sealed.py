"""The commands of `natlang data` that hold labels back: publish a root, open labels later, check what was opened."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from natlang_envs.autoexplore.dataset.labels import write_labels
from natlang_envs.autoexplore.dataset.sealed import open_labels, read_opened, read_sealed, seal, write_opened
from natlang_envs.cli.labels import Out
from natlang_envs.errors import UsageError

Labels = Annotated[Path, typer.Argument(help="The labels (JSONL), which stay secret.")]
SealedOption = Annotated[Path, typer.Option("--sealed", help="What was published of the labels.")]


sealed_app = typer.Typer()


@sealed_app.command("seal")
def seal_command(
    labels: Labels,
    key: Annotated[Path, typer.Option(help="The file for the key, which stays secret.")],
    out: Out,
) -> None:
    """Write the root of labels that are held back, to publish it: it binds them and tells nothing of them."""
    sealed = seal(labels, key, out)
    typer.echo(f"{out} holds the root of {sealed.labels} labels: publish it. Keep {labels} and {key}.")


@sealed_app.command("open")
def open_command(
    labels: Labels,
    key: Annotated[Path, typer.Option(help="The key that natlang data seal wrote.")],
    sealed: SealedOption,
    out: Out,
    only: Annotated[list[str] | None, typer.Option(help="The id of a label to open; all by default.")] = None,
) -> None:
    """Write sealed labels with what proves that they were sealed."""
    opened = open_labels(labels, key, read_sealed(sealed), only or ())
    write_opened(out, opened)
    typer.echo(f"{out} holds {len(opened)} labels: publish it. The key stays secret while others are held back.")


@sealed_app.command("check-opened")
def check_opened_command(
    opened: Annotated[Path, typer.Argument(help="What natlang data open wrote.")],
    sealed: SealedOption,
    out: Annotated[Path | None, typer.Option("-o", "--out", help="Write the labels, to play them.")] = None,
) -> None:
    """Check that opened labels are those that were sealed."""
    seal_ = read_sealed(sealed)
    found = read_opened(opened, seal_)
    if not found:
        raise UsageError(f"{opened} holds no label: name the file that natlang data open wrote")
    if out is not None:
        write_labels(out, [each.label for each in found])
    typer.echo(f"{len(found)} of {seal_.labels} labels are opened, and each is as it was sealed on {seal_.date}.")
