"""`natlang protocol`: protocols that are sampled from a public text."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

import typer

from natlang_envs.errors import UsageError
from natlang_envs.evaluation.live import checked_round, live_protocol
from natlang_envs.files import write_whole

protocol_app = typer.Typer(help="Make the protocol of a live round.", no_args_is_help=True)


@protocol_app.callback()
def protocol() -> None:
    """Make the protocol of a live round."""


@protocol_app.command("live")
def live_command(
    board: Annotated[str, typer.Argument(help="A board with live rounds: see natlang protocols.")],
    beacon: Annotated[str, typer.Option(help="A public text that nobody knew before the round.")],
    month: Annotated[str | None, typer.Option(help="The round, YYYY-MM; by default the month of today.")] = None,
    out: Annotated[Path | None, typer.Option("-o", "--out", help="The file to write, .json; else it is shown.")] = None,
) -> None:
    """Draw the tasks and seeds of a month's round from a beacon; anywhere, offline, always the same."""
    today = datetime.now(UTC).date()
    made = live_protocol(checked_round(board, month if month is not None else f"{today:%Y-%m}"), beacon)
    if out is None:
        typer.echo(made.to_json(), nl=False)
    elif out.suffix != ".json" or out.is_dir():
        raise UsageError(f"--out {out} is no name of a file that ends in .json, as protocols of your own do")
    elif out.exists():
        raise UsageError(f"{out} is there: choose another --out, or delete it")
    else:
        write_whole(out, made.to_json().encode())
        typer.echo(f"{out} holds {made.name}, {len(made.episodes)} tasks, digest {made.digest}")
