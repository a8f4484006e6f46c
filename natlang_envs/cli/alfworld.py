"""`natlang alfworld`: games written for the alfworld package."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from natlang_envs.alfworld.engine.grammar import GRAMMARS
from natlang_envs.alfworld.textworld.export import export_game, folder_of, game_of

export_app = typer.Typer(help="ALFWorld's games.", no_args_is_help=True)


@export_app.callback()
def alfworld() -> None:
    """ALFWorld's games."""


@export_app.command("export")
def export_command(
    folder: Annotated[Path, typer.Argument(help="Where the games go, a folder each.")],
    task_ids: Annotated[list[str], typer.Argument(help="Ids of generated, realistic or mixed games.")],
    grammar: Annotated[str, typer.Option(help=f"One of {', '.join(GRAMMARS)}.")] = GRAMMARS[0],
    overwrite: Annotated[bool, typer.Option(help="Replace games that are there.")] = False,
) -> None:
    """Write games that the alfworld package reads, and source="folder" plays."""
    for task_id in task_ids:
        print(export_game(game_of(task_id, grammar), folder / folder_of(task_id), overwrite))
