"""The commands `reflect-rl search` and `reflect-rl mend`, and what `reflect-rl publish` does with their weights."""

from __future__ import annotations

import sys
from functools import partial
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

from natlang_envs.errors import require_choice


def search(
    out: Annotated[Path, typer.Option(help="Gets seed0/imitation.safetensors, seed0/reward.safetensors and so on.")],
    seeds: Annotated[int, typer.Option(min=1, help="How many judges.")] = 3,
    epochs: Annotated[int, typer.Option(min=0, help="Passes over the training questions in imitation.")] = 5,
    updates: Annotated[int, typer.Option(min=0, help="Updates by reward.")] = 80,
    dataset: Annotated[str, typer.Option(help="labelled, or embedded for a try in seconds.")] = "labelled",
    depth: Annotated[
        int | None, typer.Option(min=0, max=2, help="Do not search: walk to files so deep, 1 or 2, or 0 for any.")
    ] = None,
    start: Annotated[Path | None, typer.Option(help="Judges of another depth to begin from.")] = None,
    negatives: Annotated[bool, typer.Option(help="Imitation meets wrong files and folders, too.")] = True,
) -> None:
    """Train small judges for AutoExplore-Search, by imitation, then by reward; a seed that is there is left alone."""
    from natlang_envs.autoexplore.tasks import EMBEDDED, LABELLED
    from natlang_judges.searcher.run import train_searchers
    from natlang_judges.searcher.training import Settings
    from reference_agent.run.command import bars, show_step

    require_choice("dataset", dataset, (LABELLED, EMBEDDED))
    settings = Settings(epochs=epochs, updates=updates, negatives=negatives)
    with bars() as progress:
        found = train_searchers(out, seeds, settings, partial(show_step, progress, ""), dataset, depth, start)
    console = Console(width=None if sys.stdout.isatty() else 140)
    table = Table("weights", "validation, natural and hard, %", "sampled, %")
    for weights, *won in found:
        table.add_row(str(weights), *(" and ".join(f"{100 * share:.1f}" for share in each) for each in won))
    console.print(table)


def mend(
    out: Annotated[Path, typer.Option(help="Gets seed0/imitation.safetensors, seed0/reward.safetensors and so on.")],
    seeds: Annotated[int, typer.Option(min=1, help="How many judges.")] = 3,
    updates: Annotated[int, typer.Option(min=0, help="Updates by reward.")] = 60,
    dataset: Annotated[str | None, typer.Option(help="embedded or public code; without it, both.")] = None,
    tasks: Annotated[int | None, typer.Option(min=1, help="Tasks of each split at most, for a try in seconds.")] = None,
) -> None:
    """Train small judges for AutoExplore-Change: imitation, then reward by its curriculum or without; it goes on."""
    from natlang_judges.mender.training import Bugs, Settings, train_menders
    from reference_agent.run.command import bars, show_step

    train, validation = (Bugs(tasks, split=split, dataset=dataset) for split in ("train", "validation"))
    with bars() as progress:
        tell = partial(show_step, progress, "")
        found = train_menders(out, seeds, Settings(updates=updates), tell, train, validation)
    console = Console(width=None if sys.stdout.isatty() else 140)
    table = Table("weights", *(f"validation from the {start}, %" for start in found[0].won))
    for weights, won in found:
        table.add_row(str(weights), *(f"{100 * share:.1f}" for share in won.values()))
    console.print(table)


def publish(weights: Path, player: Path) -> str | None:
    """Write the weights of a judge as a published player, and return the name of its agent; None for other weights."""
    from natlang_judges.mender.judge import MENDER
    from natlang_judges.searcher.walking import SEARCHER
    from natlang_judges.weights import publish as write

    return write(weights, player, (SEARCHER, MENDER))
