"""The commands `reflect-rl search`, `quote` and `mend`, and what `reflect-rl publish` does with their weights."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console
from rich.table import Table

from natlang_envs.errors import require_choice

if TYPE_CHECKING:
    from natlang_judges.learning import TrainedJudge

# Imports inside the functions: torch takes seconds, and `reflect-rl --help` loads this module.
Out = Annotated[Path, typer.Option(help="Gets seed0/imitation.safetensors, seed0/reward.safetensors and so on.")]
Seeds = Annotated[int, typer.Option(min=1, help="How many judges.")]
Updates = Annotated[int, typer.Option(min=0, help="Updates by reward.")]


def search(
    out: Out,
    seeds: Seeds = 3,
    epochs: Annotated[int, typer.Option(min=0, help="Passes over the training questions in imitation.")] = 5,
    updates: Updates = 80,
    dataset: Annotated[str, typer.Option(help="labelled, or embedded for a try in seconds.")] = "labelled",
    depth: Annotated[
        int | None, typer.Option(min=0, max=2, help="Do not search: walk to files so deep, 1 or 2, or 0 for any.")
    ] = None,
    start: Annotated[Path | None, typer.Option(help="Judges of another depth to begin from.")] = None,
    negatives: Annotated[bool, typer.Option(help="Imitation meets wrong files and folders, too.")] = True,
) -> None:
    """Train small judges for AutoExplore-Search, by imitation, then by reward; a seed that is there is left alone."""
    from natlang_envs.autoexplore.tasks import EMBEDDED, LABELLED
    from natlang_judges.searcher.training import SearcherSettings, train_searchers
    from reference_agent.run.command import bars, show_step

    require_choice("dataset", dataset, (LABELLED, EMBEDDED))
    settings = SearcherSettings(epochs=epochs, updates=updates, negatives=negatives)
    with bars() as progress:
        trained = train_searchers(out, seeds, settings, partial(show_step, progress, ""), dataset, depth, start)
    show_trained(trained)


def quote(
    out: Out,
    searcher: Annotated[Path, typer.Option(help="The searcher that finds the files: its weights, or a published one.")],
    seeds: Seeds = 1,
    epochs: Annotated[int, typer.Option(min=0, help="Passes over the training questions in imitation.")] = 15,
    updates: Updates = 240,
    dataset: Annotated[str, typer.Option(help="labelled, or embedded for a try in seconds.")] = "labelled",
) -> None:
    """Train small judges of passages and words for AutoExplore-Answer's listed form; a seed that is there stays."""
    from natlang_envs.autoexplore.tasks import EMBEDDED, LABELLED
    from natlang_judges.quoter.training import QuoterSettings, train_quoters
    from reference_agent.run.command import bars, show_step

    require_choice("dataset", dataset, (LABELLED, EMBEDDED))
    settings = QuoterSettings(epochs=epochs, updates=updates)
    with bars() as progress:
        show_trained(train_quoters(out, searcher, seeds, settings, partial(show_step, progress, ""), dataset))


def mend(
    out: Out,
    seeds: Seeds = 3,
    updates: Updates = 60,
    dataset: Annotated[str | None, typer.Option(help="embedded or public code; without it, both.")] = None,
    tasks: Annotated[int | None, typer.Option(min=1, help="Tasks of each split at most, for a try in seconds.")] = None,
) -> None:
    """Train small judges for AutoExplore-Change: imitation, then reward by its curriculum or without; it goes on."""
    from natlang_judges.mender.training import Bugs, MenderSettings, train_menders
    from reference_agent.run.command import bars, show_step

    train, validation = (Bugs(tasks, split=split, dataset=dataset) for split in ("train", "validation"))
    with bars() as progress:
        report = partial(show_step, progress, "")
        trained = train_menders(out, seeds, MenderSettings(updates=updates), report, train, validation)
    show_trained(trained)


def show_trained(trained: Sequence[TrainedJudge]) -> None:
    table = Table("weights", *trained[0].won, title="Validation games won, %")
    for weights, won in trained:
        table.add_row(str(weights), *(f"{100 * share:.1f}" for share in won.values()))
    Console(width=None if sys.stdout.isatty() else 140).print(table)


def publish(weights: Path, player: Path) -> str | None:
    """Write a judge's weights as the player `NAME.json`, and return the name of its agent; None for other weights.

    Raises `UsageError` if the weights are not finite.
    """
    from natlang_envs.evaluation import published
    from natlang_judges.mender.network import MENDER
    from natlang_judges.quoter.agent import QUOTER
    from natlang_judges.searcher.network import SEARCHER

    content = weights.read_bytes() if weights.is_file() else b""
    for kind in (SEARCHER, MENDER, QUOTER):
        if kind.fitting(content, weights) is not None:
            published.publish(player, kind.name, {kind.file: content})
            return kind.name
    return None
