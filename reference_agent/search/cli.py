"""`reflect-rl search`: train a searcher of repositories and its policies, on a CPU, in pieces."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Annotated

import typer

from natlang_envs.errors import one_of

app = typer.Typer(no_args_is_help=True, help="A learned searcher of repositories (AutoExplore).")
_OUT = typer.Option(help="The run's folder. Training that was stopped there is resumed.")


def _say(line: str) -> None:
    typer.echo(f"{time.strftime('%H:%M:%S')} {line}", err=True)


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
    from dataclasses import replace

    from reference_agent.search.train import TrainConfig, Workshop, further_questions, labelled

    config = TrainConfig()
    if steps is not None:
        judge, aside = (replace(each, steps=steps, decay=steps // 2) for each in (config.judge, config.aside))
        config = TrainConfig(judge, aside)
    written, ruled = further_questions(weak, repositories or weak.parent / "repositories.json") if weak else ([], [])
    _say(f"{len(written):,} written questions and {len(ruled):,} made by rules")
    shop = Workshop(out, labelled("train"), written, ruled, config, _say)
    if not shop.train_judges(minutes * 60):
        typer.echo(f"Stopped and saved. Go on with the same command: reflect-rl search train --out {out} …")
        raise typer.Exit(130)
    shop.count_words()
    networks = shop.fit_networks(labelled("validation"))
    shop.keep_cache()
    shop.searcher(networks).save(out)
    typer.echo(f"Searcher: {out}")
    typer.echo(f"Evaluate it: natlang evaluate --agent search:{out}/depth1 --protocol autoexplore-depth1/paper --out …")


@app.command()
def practice(
    out: Annotated[Path, _OUT] = Path("runs/search"),
    kind: Annotated[str, typer.Option(help="depth1, depth2 or any.")] = "depth1",
    seeds: Annotated[str, typer.Option(help="Numbers with commas between.")] = "0,1,2",
    start: Annotated[str, typer.Option(help="The kind whose policies to start from: the curriculum.")] = "",
    weak: Annotated[Path | None, typer.Option(help="As for train.")] = None,
    updates: Annotated[int | None, typer.Option(min=1, help="Updates of REINFORCE.")] = None,
    step_cost: Annotated[
        float, typer.Option(help="What a step costs in RL; 1 is the environment's reward, 0 pays success alone.")
    ] = 0.1,
    rate: Annotated[float, typer.Option(help="The learning rate of REINFORCE.")] = 3e-3,
) -> None:
    """Train policies on a trained searcher: imitation, then RL, with the reflector's sentence and without."""
    from dataclasses import replace

    from reference_agent.search.practice import PracticeConfig
    from reference_agent.search.run import KINDS, Searcher
    from reference_agent.search.train import TrainConfig, Workshop, fits, further_questions, labelled, practise

    one_of("kind", kind, KINDS)
    config = PracticeConfig(step_cost=step_cost, rl_rate=rate)
    if updates is not None:
        config = replace(config, updates=updates)
    networks = Searcher.load(out).networks
    written, ruled = further_questions(weak, weak.parent / "repositories.json") if weak else ([], [])
    shop = Workshop(out, labelled("train"), written, ruled, TrainConfig(), _say)
    shop.read_judges()
    shop.count_words()
    exercises = [shop.exercise(each, kind, networks) for each in shop.practice if fits(each, KINDS[kind])]
    for seed in map(int, seeds.split(",")):
        for reflects in (False, True):
            form = "reflect" if reflects else "policy"
            if (out / f"{form}-{kind}-{seed}.pt").exists():
                _say(f"{form}-{kind}-{seed} is there")
                continue
            before = out / f"{form}-{start}-{seed}.pt" if start else None
            practise(exercises, kind, reflects, seed, config, out, _say, before)
    shop.keep_cache()
    typer.echo(f"Policies: {out}")
