"""`reflect-rl search`: train a searcher of repositories and its policies, on a CPU, in pieces."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Annotated

import typer

from natlang_envs.errors import one_of

app = typer.Typer(no_args_is_help=True, help="A learned searcher of repositories (AutoExplore).")
_OUT = typer.Option(help="The run's folder. Training that was stopped there is resumed.")


def _tell(stage: str, step: int, steps: int, value: float) -> None:
    if step % 25 == 0 or step == steps:
        typer.echo(f"{time.strftime('%H:%M:%S')} {stage}: {step} of {steps}, right {value:.2f}", err=True)


@app.command()
def train(
    out: Annotated[Path, _OUT] = Path("runs/search"),
    weak: Annotated[
        Path | None, typer.Option(help="questions.jsonl.gz of `reflect-rl data autoexplore`; without it, labels only.")
    ] = None,
    repositories: Annotated[Path | None, typer.Option(help="repositories.json, by default beside --weak.")] = None,
    minutes: Annotated[float, typer.Option(help="Stop and save after so many minutes; run again to go on.")] = 110.0,
    steps: Annotated[int | None, typer.Option(min=1, help="Updates of each judge of listings.")] = None,
) -> None:
    """Train the judges of listings and the networks over them: what `--agent search:RUN` plays with."""
    from reference_agent.search.train import TrainConfig, open_workshop

    config = TrainConfig()
    if steps is not None:
        config = config.shortened(steps)
    if open_workshop(out, weak, repositories, config).train_searcher(_tell, minutes * 60) is None:
        typer.echo(f"Stopped and saved. Go on with the same command: reflect-rl search train --out {out} …")
        raise typer.Exit(130)
    typer.echo(f"Searcher: {out}")
    typer.echo(f"Evaluate it: natlang evaluate --agent search:{out}/depth1 --protocol autoexplore-depth1/paper --out …")


@app.command()
def practice(
    out: Annotated[Path, _OUT] = Path("runs/search"),
    kind: Annotated[str, typer.Option(help="depth1, depth2 or any.")] = "depth1",
    seeds: Annotated[str, typer.Option(help="Numbers with commas between.")] = "0,1,2",
    curriculum: Annotated[
        bool, typer.Option(help="Start from the policies of the kind before: any from depth2, depth2 from depth1.")
    ] = True,
    negatives: Annotated[
        bool, typer.Option(help="Let the teacher's games hold wrong steps, from which it goes on.")
    ] = True,
    updates: Annotated[int | None, typer.Option(min=1, help="Updates of REINFORCE.")] = None,
) -> None:
    """Train policies on a trained searcher: imitation, then RL, with the reflector's sentence and without."""
    from dataclasses import replace

    from reference_agent.search.practice import config_of
    from reference_agent.search.recipes import Recipe
    from reference_agent.search.run import KINDS, Searcher
    from reference_agent.search.train import TrainConfig, open_workshop, practise

    one_of("kind", kind, KINDS)
    shop = open_workshop(out, None, None, TrainConfig())
    exercises = shop.exercises(kind, Searcher.load(out))
    for seed in map(int, seeds.split(",")):
        for reflects in (False, True):
            recipe = Recipe(kind, reflects, negatives, curriculum)
            config = config_of(recipe)
            if updates is not None:
                config = replace(config, updates=updates)
            practise(exercises, recipe, seed, config, out, _tell)
    shop.keep_cache()
    typer.echo(f"Policies: {out}")
