"""`reflect-rl`: collect reflections, train the two players, look at a run."""

from __future__ import annotations

import sys
import time
from functools import partial
from importlib.metadata import entry_points
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Column, Table

from natlang_envs.errors import UsageError, require_choice
from reference_agent import processes
from reference_agent.run.memory_command import memory_app
from reference_agent.start.command import start_app

if TYPE_CHECKING:
    from reference_agent.run.config import Config

app = typer.Typer(no_args_is_help=True, add_completion=False, pretty_exceptions_enable=False, help=__doc__)
models = typer.Typer(no_args_is_help=True, help="Models that are fetched once and kept in the cache folder.")
app.add_typer(models, name="models")
app.registered_commands += memory_app.registered_commands + start_app.registered_commands

Preset = Annotated[Path | None, typer.Argument(help="A TOML file or a preset's name.")]
Out = Annotated[Path, typer.Option(help="The run's folder. A run that was stopped there is resumed.")]
Settings = Annotated[
    list[str] | None, typer.Option("--set", help="key=value, for example rl.batch=64; repeatable, over all configs.")
]
_OUT = Path("runs/reflect-rl")
# Entry-point groups: functions that become commands, and functions `(weights, player)` that publish the weights of an
# agent and return its name, or None where they do not know the weights.
COMMANDS, PUBLISHERS = "reflect_rl.commands", "reflect_rl.publishers"


def show_step(progress: Progress, run: str, stage: str, step: int, steps: int, value: float) -> None:
    """Show that `step` of a stage's `steps` is done; `value` is the loss, accuracy or success rate."""
    name = f"{run} {stage}".strip()
    bar = next((each.id for each in progress.tasks if each.description == name), None)
    if bar is None:
        bar = progress.add_task(name, total=steps, value="", run=run)
    progress.update(bar, completed=step, total=steps, value=f"{value:.3f}")


def bars() -> Progress:
    return Progress(
        TextColumn("{task.description:>28}"),
        BarColumn(),
        TextColumn("{task.completed:.0f}/{task.total:.0f}"),
        TextColumn("{task.fields[value]}"),
        TimeElapsedColumn(),
        console=Console(stderr=True),
        disable=processes.number() > 0,
    )


def settings_of(config: Path | None, out: Path, setting: list[str] | None, over: Path | None = None) -> Config:
    """Return the settings of a run: those of the run in `out`, where none are given."""
    from reference_agent.run.config_file import load_config
    from reference_agent.run.stages import CONFIG, read_config

    resuming = config is None and not (setting or over) and (out / CONFIG).exists()
    return read_config(out) if resuming else load_config(config, setting, over)


@app.command()
def train(
    config: Preset = None,
    out: Out = _OUT,
    model: Annotated[
        str | None, typer.Option(help="A preset of a model over the config, for example qwen2.5-0.5b.")
    ] = None,
    setting: Settings = None,
) -> None:
    """Run Algorithm 1: warm up (tiny model), collect, fine-tune both players, reinforce the policy, draw the curve.

    Without a config, the run in --out goes on with its own settings.
    """
    # Imported here: torch takes seconds, and `--help` should not.
    from natlang_envs.errors import require_choice
    from reference_agent.paper.experiments import protocol_of
    from reference_agent.paper.tables import draw_curves, read_curve
    from reference_agent.rlft import TrainingInterrupted
    from reference_agent.run.config_file import EXPERIMENTS
    from reference_agent.run.pipeline import train as run_training

    models = [each.stem for each in sorted((EXPERIMENTS / "presets").glob("*.toml")) if each.stem != "shipped"]
    over = EXPERIMENTS / "presets" / f"{require_choice('model', model, models)}.toml" if model else None
    settings = settings_of(config, out, setting, over)
    with bars() as progress:
        try:
            policy = run_training(settings, out, partial(show_step, progress, ""))
        except TrainingInterrupted:
            progress.stop()
            typer.echo(f"Stopped and saved. Go on with: reflect-rl train --out {out}")
            raise typer.Exit(130) from None
    if processes.number() > 0:
        return
    curve = read_curve(out)
    cut, written = (int(sum(row.get(name, 0) for row in curve)) for name in ("reflections_cut", "reflections"))
    if cut:
        told = f"{cut} of {written} reflections were cut at {settings.reflection_tokens} tokens"
        typer.echo(f"{told}: raise reflection_tokens")
    typer.echo(f"Policy:         {policy} ({kept(curve)})" if curve else f"Policy:         {policy}")
    if curve:
        typer.echo(f"Learning curve: {draw_curves({out.name: out}, out / 'curve.png')}")
    evaluation = f"natlang evaluate --agent reflect-rl:{out} --out {out}/evaluation --protocol"
    typer.echo(f"Evaluate it:    {evaluation} {protocol_of(settings) or '... (one of those of `natlang protocols`)'}")


def kept(curve: list[dict[str, float]]) -> str:
    """Return in words which weights a run with this learning curve ended with."""
    from reference_agent.curriculum import best_iteration, validations

    last, stage = curve[-1], int(curve[-1]["stage"])
    scores = validations(stage, curve)
    if "best" not in last:
        return f"the last weights: {'an older version trained it' if scores else 'rl.validate_every is 0'}"
    best = best_iteration(stage, curve)
    told = f"the best of {len(scores)} validations, {max(scores)[0]:.0%} after iteration {best} of stage {stage}"
    others = "" if best == last["iteration"] else f"; the last weights, {last['validation']:.0%}, are in policy-last"
    return told + others


@app.command()
def reproduce(
    target: Annotated[
        str,
        typer.Argument(
            help="table2, figure2 to figure4, algorithms, appendix-a, appendix-e2, gain, gain-alfworld, gain-smollm2"
        ),
    ],
    out: Annotated[Path, typer.Option(help="Where everything goes. A stopped run there resumes.")],
    preset: Annotated[
        str, typer.Option(help="quick: one seed, short RL. tiny, smollm2: three seeds. smoke: to try it.")
    ] = "quick",
    task: Annotated[
        list[str] | None,
        typer.Option(help="A task instead of the target's own, such as taxi-dropoff; several with commas or repeated."),
    ] = None,
    method: Annotated[
        list[str] | None, typer.Option(help="Of the target's methods this one alone; several with commas or repeated.")
    ] = None,
    seed: Annotated[
        list[int] | None, typer.Option(min=0, help="A training seed instead of the preset's own; may be repeated.")
    ] = None,
    jobs: Annotated[int, typer.Option(min=1, help="Cells at a time, a core or a GPU each.")] = 2,
    split: Annotated[
        str, typer.Option(help="test plays the tasks' protocols. validation is for choosing settings.")
    ] = "test",
    setting: Settings = None,
) -> None:
    """Train and evaluate the methods of one of the paper's tables or figures, and show them beside its numbers."""
    from reference_agent.paper.experiments import PRESETS, TARGETS, TASKS, Cell, make_plan
    from reference_agent.paper.tables import lines, notes
    from reference_agent.rlft import TrainingInterrupted

    require_choice("target", target, TARGETS)
    require_choice("preset", preset, PRESETS)
    require_choice("split", split, ("test", "validation"))
    tasks, methods = ([name for each in given or [] for name in each.split(",")] for given in (task, method))
    for each in tasks:
        require_choice("task", each, TASKS)
    from reference_agent.paper.reproduce import reproduce as run_plan

    plan = make_plan(TARGETS[target], PRESETS[preset], out, tasks, setting or [], split, methods, seed or [])
    console = Console(width=None if sys.stdout.isatty() else 140)  # a file is as wide as the table
    started = time.perf_counter()
    with bars() as progress:
        every = progress.add_task("all", total=len(plan.cells), value="", run="")

        def done(cell: Cell) -> None:
            progress.advance(every)
            shown = [bar.id for bar in progress.tasks if bar.fields["run"] == cell.name]
            for bar in shown:
                progress.remove_task(bar)
            if shown:
                minutes = (time.perf_counter() - started) / 60
                progress.console.print(f"{minutes:5.1f} minutes: {cell.name} is done", highlight=False)

        try:
            entries = run_plan(plan, jobs, partial(show_step, progress), done)
        except (TrainingInterrupted, KeyboardInterrupt):
            progress.stop()
            typer.echo("Stopped and saved. Run the same command to go on.")
            raise typer.Exit(130) from None
    heading, *rows = lines(plan, entries)
    columns = [Column(each, justify="right" if number else "left") for number, each in enumerate(heading)]
    table = Table(*columns, title=plan.target.title)
    for row in rows:
        table.add_row(*row)
    console.print(table)
    for note in notes(plan, entries):
        typer.echo(note)
    typer.echo(f"Written to {out / target}.md and .json" + (", its curves to .png" if plan.target.picture else ""))


@app.command("warm-up")
def warm_up(
    out: Annotated[Path, typer.Argument(help="Where the model goes; must not exist.")],
    config: Annotated[Path, typer.Option(help="A TOML file or a preset's name.")] = Path("taxi-pickup/best"),
) -> None:
    """Make the tiny model that both players start from, and teach it to read labels and to tell directions."""
    from reference_agent.run.config_file import load_config
    from reference_agent.tiny.making import make_tiny

    if out.exists():
        raise UsageError(f"{out} already exists: choose another folder")
    settings = load_config(config)
    with bars() as progress:
        make_tiny(settings, partial(show_step, progress, "")).save(out)
    typer.echo(f"Model: {out}")


@models.command()
def fetch(name: Annotated[str, typer.Argument(help="smollm2")]) -> None:
    """Fetch a model by its name in configs (`model.name`); one that is there already is left alone."""
    from reference_agent.models.named import fetch_model

    typer.echo(fetch_model(name, lambda line: typer.echo(line, err=True)))


@app.command()
def collect(config: Preset = None, out: Out = _OUT, setting: Settings = None) -> None:
    """Let the teacher play and reflect: the data set of a run and its card. Stopped, it goes on where it was.

    Without a config, the run in --out goes on with its own settings.
    """
    from natlang_envs.files import make_folder, only_process
    from reference_agent.data_set import CARD, describe, read_card
    from reference_agent.run.pipeline import check_environments, collected
    from reference_agent.run.stages import claim

    settings = settings_of(config, out, setting)
    check_environments(settings)
    make_folder(out)
    with only_process(out), bars() as progress:
        claim(settings, out)
        data = collected(settings, out, partial(show_step, progress, ""))
    typer.echo(describe(read_card(data.parent / CARD)))
    typer.echo(f"Data: {data}")


@app.command()
def publish(
    run: Annotated[
        Path,
        typer.Argument(help="A run's folder; RUN/policy-sft is the policy before RL. Or weights of a judge, a memory."),
    ],
    player: Annotated[Path, typer.Argument(metavar="NAME.json", help="The player; weights go to files/ beside it.")],
) -> None:
    """Write a trained player as small files that a repository can hold; weights of a run are rounded."""
    from reference_agent.memory.player import KIND, recalls
    from reference_agent.memory.player import publish as remember_player
    from reference_agent.run.published import publish as write
    from reference_agent.run.stages import CONFIG, POLICIES

    if player.suffix != ".json":
        raise UsageError(f"{player} is to be the name of a JSON file: write {player.name}.json")
    before = run.name in POLICIES and not (run / CONFIG).exists()
    agent = "reflect-rl"
    if recalls(run):
        agent = KIND
        remember_player(run, player)
    elif run.suffix == ".safetensors":
        agent = publish_weights(run, player)
    elif before:
        write(run.parent, run.name, player)
    else:
        write(run, "policy", player)
    typer.echo(f"Player:      {player}")
    typer.echo(f"Evaluate it: natlang evaluate --agent {agent}:{player} --out runs/{player.stem} --protocol ...")


def publish_weights(weights: Path, player: Path) -> str:
    """Publish weights by the installed package that knows them, and return the name of the agent that plays them."""
    for entry in entry_points(group=PUBLISHERS):
        if agent := entry.load()(weights, player):
            return agent
    raise UsageError(
        f"{weights} holds no player: name a .safetensors file of `reflect-rl remember`, or of `reflect-rl search` or "
        "`reflect-rl mend`, which come with `pip install -e examples/judges`"
    )


@app.command()
def show(
    run: Annotated[Path, typer.Argument(help="A run's folder.")], examples: Annotated[int, typer.Option(min=0)] = 4
) -> None:
    """Print a run's settings and some of what the teacher said, mistakes included."""
    from reference_agent.data_set import CARD, EXAMPLES, describe, read_card, read_examples
    from reference_agent.run.config_file import dump_config
    from reference_agent.run.stages import read_config

    typer.echo(dump_config(read_config(run)))
    collected = read_examples(run / "data" / EXAMPLES)
    if (run / "data" / CARD).exists():
        typer.echo(describe(read_card(run / "data" / CARD)))
    for when, wanted in (("on the way", False), ("after a mistake", True)):
        for each in [each for each in collected if each.negative is wanted][:examples]:
            typer.echo(f"{when}: {each.reflection} -> {each.action}")


@app.command()
def plot(
    runs: Annotated[list[Path], typer.Argument(help="Folders of finished runs.")],
    out: Annotated[Path, typer.Option(help="The picture.")] = Path("curve.png"),
) -> None:
    """Draw the learning curves of several runs into one picture."""
    from reference_agent.paper.tables import draw_curves

    names = {run.name: run for run in runs}
    if len(names) < len(runs):
        raise UsageError("two runs have the same folder name: rename one, the names are the legend")
    typer.echo(draw_curves(names, out))


def not_installed(context: typer.Context) -> None:
    raise UsageError(f"`reflect-rl {context.info_name}` comes with an example: pip install -e examples/judges")


def add_commands(to: typer.Typer) -> None:
    """Add the commands of installed packages; those of the example are known without it, to say how it is installed."""
    anything = {"ignore_unknown_options": True, "allow_extra_args": True}
    for name in ("search", "mend"):
        to.command(name, hidden=True, context_settings=anything)(not_installed)
    for entry in entry_points(group=COMMANDS):
        to.command(entry.name)(entry.load())


add_commands(app)
