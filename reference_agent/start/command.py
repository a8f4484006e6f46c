"""The command `reflect-rl start`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from natlang_envs.errors import UsageError, require_choice

start_app = typer.Typer()
_LEFT = 60.0  # seconds for the evaluation and the board


@start_app.command()
def start(
    file: Annotated[Path, typer.Argument(help="The Python file of your game, which registers it.")],
    out: Annotated[Path | None, typer.Option(help="A new folder, by default runs/NAME.")] = None,
    env: Annotated[str, typer.Option(help="Its id, if the file registers several.")] = "",
    model: Annotated[str | None, typer.Option(help="tiny or smollm2; by default both are tried for a minute.")] = None,
    minutes: Annotated[
        float, typer.Option(min=2, help="The most that all of it computes, one minute for the board included.")
    ] = 15.0,
) -> None:
    """Train players for a game of your own, and make a board of it."""
    # Imported here: torch takes seconds, and `--help` should not.
    from reference_agent.run.progress import ProgressLines, say
    from reference_agent.start.game import broken_promises, check_board, history_of, make_board, read_game
    from reference_agent.start.training import GOAL, MODELS, Trainer, advice, models_here

    told = ProgressLines(say)
    names = models_here() if model is None else [require_choice("model", model, MODELS)]
    game = read_game(file, env)
    folder = out or Path("runs") / game.name
    if folder.exists():
        raise UsageError(f"{folder} is there: choose another --out, or delete it")
    if game.written:
        told.line(f"{game.written} is written: a teacher that names the plan's command; make it say why")
    check_board()
    if broken := list(broken_promises(game)):
        raise UsageError(f"{game.id} breaks its contract ({len(broken)} checks fail): {broken[0]}")
    told.line(f"{game.id} passes the conformance kit")
    history, hidden = history_of(game)
    if hidden:
        told.line(hidden)
    if model is None and len(names) < len(MODELS):
        told.line("tiny alone is tried: `reflect-rl models fetch smollm2` brings the other one")
    trainer = Trainer(game, history, names, 60 * minutes - _LEFT, told)
    made, result = trainer.train()
    made.players.save(folder / "players")
    facts = {
        "--name": f"reflect-rl-{made.name}",
        "--description": f"reflect-rl start {file}",
        "--model": made.name,
        "--weights": "open",
        "--method": "imitation",
        "--teacher": f"a function, {result.trajectories} trajectories",
        "--training-minutes": f"{trainer.clock.seconds() / 60:.1f}",
        "--disclosure": "It learned from the split train.",
    }
    options = ["--deterministic", "--reflection", *(text for each in facts.items() for text in each)]
    won = make_board(game, folder, options, typer.echo)
    typer.echo(f"Test games won: {won:.0%}")
    if result.won < GOAL:
        typer.echo(f"Not more, since {advice(result, made.name, len(game.tasks('train')))}")
    typer.echo(f"Players:  {folder / 'players'}")
    typer.echo(f"Protocol: {folder / 'protocol.json'}")
    typer.echo(f"Board:    {folder / 'board' / 'site' / 'index.html'}")
