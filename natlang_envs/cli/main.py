"""The `natlang` command: list the environments, play one, evaluate an agent, replay a run, explore, get data."""

from __future__ import annotations

import json
import time
from importlib import import_module
from pathlib import Path
from typing import Annotated, Any, cast

import typer
from rich import box
from rich.console import Console
from rich.progress import TextColumn
from rich.table import Column, Table
from typer.core import TyperGroup
from typer.main import get_group

from natlang_envs.cli.support import (
    LabelsOption,
    RepositoryOption,
    TasksOption,
    counted,
    print_some,
    printable,
    progress_bar,
    run_app,
)
from natlang_envs.errors import UsageError, require_choice
from natlang_envs.evaluation.agents import find_agent
from natlang_envs.evaluation.chat_response import Bill
from natlang_envs.evaluation.live import find_round
from natlang_envs.evaluation.model_requests import AnswerReport, Budget, report_answers
from natlang_envs.evaluation.protocols import Protocol, load_protocol, protocol_names, split_shortened
from natlang_envs.evaluation.runner import Progress, evaluate, score_run
from natlang_envs.evaluation.runs import Run, prepare_folder, provenance, read_run
from natlang_envs.evaluation.statistics import Score
from natlang_envs.evaluation.workers import Backend, Workers
from natlang_envs.make_env import make_env
from natlang_envs.registration import ENVIRONMENTS, SANDBOXED
from natlang_envs.tasks import SPLITS
from natlang_envs.trajectory import Trajectory, difference, replay

# All commands, in the order of the help. Those of other modules are here by name, so that the core imports no
# environment's package, and are imported on first use, so that no other command waits for them.
_COMMANDS: dict[str, tuple[str, str] | None] = {
    "explore": ("natlang_envs.cli.explore", "explore_command"),
    "envs": None,
    "protocols": None,
    "protocol": ("natlang_envs.cli.protocol", "protocol_app"),
    "play": ("natlang_envs.cli.play", "play_command"),
    "evaluate": None,
    "replay": None,
    "serve": ("natlang_envs.cli.serve", "serve_command"),
    "data": ("natlang_envs.cli.data", "data_app"),
    "alfworld": ("natlang_envs.cli.alfworld", "export_app"),
    "doctor": ("natlang_envs.cli.doctor", "doctor_command"),
    "check-sandbox": ("natlang_envs.cli.check_sandbox", "check_sandbox_command"),
}


class _Commands(TyperGroup):
    """The commands of this module, and those of other modules, which are imported on first use."""

    def list_commands(self, ctx: Any) -> list[str]:
        return list(dict.fromkeys((*_COMMANDS, *super().list_commands(ctx))))

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """Return a command. A name that none has imports them all, for the message then suggests the closest."""
        for name in [cmd_name] if cmd_name in self.list_commands(ctx) else _COMMANDS:
            where = _COMMANDS.get(name)
            if where is not None and name not in self.commands:
                self.commands[name] = _import_command(name, *where)
        return super().get_command(ctx, cmd_name)


def _import_command(name: str, module: str, attribute: str) -> Any:
    found = getattr(import_module(module), attribute)
    only = typer.Typer()
    if isinstance(found, typer.Typer):
        only.add_typer(found, name=name)
    else:
        only.command(name)(found)
    return get_group(only).commands[name]


def _of_today(name: str) -> str:
    """Return the name of an option: `--repo` was `--repository` in some commands."""
    return "repo" if name == "repository" else name


app = typer.Typer(
    cls=_Commands,
    help="Natural-language environments: list them, play them, evaluate agents, replay runs, explore a repository.",
    add_completion=False,
    context_settings={"token_normalize_func": _of_today},
    pretty_exceptions_enable=False,
)


@app.command("envs")
def envs_command(
    as_json: Annotated[bool, typer.Option("--json", help="Write JSON instead of a table.")] = False,
) -> None:
    """List the environments."""
    rows = [
        {
            "id": entry.id,
            "horizon": env.horizon,
            "max_commands": env.max_commands,
            "summary": entry.summary,
            "splits": list(SPLITS),
        }
        for entry in (*ENVIRONMENTS, *SANDBOXED)
        for env in (make_env(entry.id),)
    ]
    if as_json:
        typer.echo(json.dumps(rows, indent=2))
        return
    table = Table(Column("id", no_wrap=True), "horizon", "commands", "what it asks", box=box.SIMPLE)
    for row in rows:
        table.add_row(*(str(row[name]) for name in ("id", "horizon", "max_commands", "summary")))
    Console().print(table)
    typer.echo(f"Each has the splits {', '.join(SPLITS)}; horizon in steps; at most so many commands are listed.")


@app.command("protocols")
def protocols_command() -> None:
    """List the protocols an agent can be evaluated on."""
    for name in protocol_names():
        protocol = load_protocol(name)
        played = f"{counted(len(protocol.episodes), 'episode')}, {counted(protocol.runs, 'run')}"
        live = "" if protocol.development else ", live"
        typer.echo(f"{name:33} {played} of at most {protocol.horizon} steps{live}\n    {protocol.description}")
    typer.echo("live: a month's tasks can be drawn anew, by natlang protocol live; the others are for development.")


@app.command("evaluate")
def evaluate_command(
    agent: Annotated[str, typer.Option(help="An agent's name, name:argument, or module:function.")],
    out: Annotated[Path, typer.Option(help="The folder for the run.")],
    protocol: Annotated[str | None, typer.Option(help="Its name, see natlang protocols, or a round's file.")] = None,
    labels: LabelsOption = None,
    tasks: TasksOption = None,
    repository: RepositoryOption = None,
    name: Annotated[str | None, typer.Option(help="What to call the agent; by default as --agent does.")] = None,
    batch: Annotated[int, typer.Option(min=1, help="The largest number of episodes in step.")] = 64,
    concurrency: Annotated[int, typer.Option(min=1, help="Episodes at a time, for agents behind an endpoint.")] = 1,
    episodes: Annotated[int | None, typer.Option(min=1, help="Play only the first episodes, this number.")] = None,
    workers: Annotated[int | None, typer.Option(min=1, help="Play in this number of other processes.")] = None,
    backend: Annotated[str, typer.Option(help="Where they are: processes (of this machine) or ray.")] = "processes",
    address: Annotated[str | None, typer.Option(help="Of a Ray cluster: auto, host:6379 or ray://host:10001.")] = None,
    price: Annotated[str | None, typer.Option(help="Dollars a million tokens, or READ,WRITTEN.")] = None,
    max_tokens: Annotated[int | None, typer.Option(min=1, help="Stop when this number of tokens is spent.")] = None,
    max_cost: Annotated[float | None, typer.Option(min=0, help="Stop when this number of dollars is spent.")] = None,
    resume: Annotated[bool, typer.Option("--resume", help="Go on with the unfinished run in --out.")] = False,
) -> None:
    """Evaluate an agent on a protocol, or on labels or tasks of a repository of your own, and keep the run."""
    chosen = _protocol(protocol, labels, tasks, repository)
    player, origin = find_agent(agent)
    require_choice("backend", backend, ("processes", "ray"))
    others = None
    if workers is not None or backend == "ray":
        others = Workers(workers or 1, cast("Backend", backend), address, agent)
    elif address is not None:
        raise UsageError("--address is of a Ray cluster: add --backend ray")
    prices = _prices(price)
    if max_cost is not None and prices is None:
        raise UsageError("--max-cost needs the prices: add --price READ,WRITTEN, in dollars a million tokens")
    limited = max_tokens is not None or max_cost is not None
    budget = Budget(max_tokens, max_cost, prices or (0.0, 0.0)) if limited else None
    if episodes is not None:
        chosen = chosen.first(episodes)
    prepare_folder(out, resume=resume)
    with progress_bar(TextColumn("{task.fields[pace]}")) as progress:
        bar = progress.add_task(chosen.name, total=None, pace="")
        begun = time.monotonic()
        first: list[Progress] = []

        def show(now: Progress) -> None:
            first[:] = first or [now]
            words = _pace(now, first[0], time.monotonic() - begun, prices)
            progress.update(bar, completed=now.done, total=now.total, pace=words)

        run, trajectories = evaluate(
            player,
            chosen,
            name=agent if name is None else name,
            out=out,
            batch=batch,
            concurrency=concurrency,
            resume=resume,
            workers=others,
            source=provenance(origin, agent),
            budget=budget,
            progress=show,
        )
    _print_score(run, score_run(chosen, trajectories), out)
    _print_answers(run, report_answers(run.answers or {}, trajectories), prices)


def _prices(price: str | None) -> tuple[float, float] | None:
    if price is None:
        return None
    try:
        given = [float(each) for each in price.split(",")]
    except ValueError:
        given = []
    if len(given) not in (1, 2) or not all(0 <= each < float("inf") for each in given):
        raise UsageError(f"--price {price} is no price: give dollars a million tokens, or READ,WRITTEN")
    return given[0], given[-1]


def _pace(now: Progress, first: Progress, seconds: float, prices: tuple[float, float] | None) -> str:
    """Return the text beside the progress bar: `62% won, 3.1 episodes/s, 1,204,000 tokens, $0.60`."""
    parts = [f"{now.won / now.done:.0%} won", f"{(now.done - first.done + 1) / max(seconds, 1e-6):.2g} episodes/s"]
    if now.unread:
        parts.insert(1, f"{now.unread / (now.done - now.won):.0%} of losses unreadable")
    if now.tokens:
        parts.append(f"{now.tokens:,} tokens")
    if prices is not None:
        parts.append(_dollars(now.bill if any(now.bill) else Bill(other=now.tokens), prices))
    return ", ".join(parts)


def _dollars(bill: Bill, prices: tuple[float, float]) -> str:
    if bill.uncounted:
        return f"{bill.uncounted:,} answers without a count of tokens"
    return f"${bill.cost(*prices):.2f}"


def _print_answers(run: Run, found: AnswerReport, prices: tuple[float, float] | None) -> None:
    """Print how a model's answers were read and what they took, and a line where many were not read."""
    if run.answers is None:
        return
    for line in found.lines:
        typer.echo(f"  answers {line}")
    bill = Bill(**run.bill or {})
    failed = run.answers.get("failed", 0)
    typer.echo(f"  bill    {bill.words}" + (f", {_dollars(bill, prices)}" if prices and not bill.uncounted else ""))
    if failed:
        typer.echo(f"  asked again {failed:,} times, where the provider failed")
    if found.warning:
        typer.echo(printable(found.warning), err=True)


def _protocol(name: str | None, labels: Path | None, tasks: Path | None, repository: Path | None) -> Protocol:
    own = [(family, file) for family, file in (("autoexplore", labels), ("change", tasks)) if file is not None]
    if name is not None and not own and repository is None:
        if live := find_round(name):
            made = f"natlang protocol live --beacon TEXT --month {live.month} {live.board} --out ROUND.json"
            raise UsageError(f"{name} is a live round: write it to a file by {made}, and name it by --protocol")
        return load_protocol(name)
    if name is None and len(own) == 1 and repository is not None:
        family, file = own[0]
        return import_module(f"natlang_envs.{family}.protocols").own_protocol(file, repository)
    raise UsageError("say what is played: --protocol NAME, or --labels or --tasks FILE and --repo FOLDER together")


def _print_score(run: Run, score: Score, out: Path) -> None:
    low, high = score.interval
    none = "the environment has no plan" if score.success_rate else "none succeeded"
    regret = none if score.mean_regret is None else f"{score.mean_regret:.2f} steps beyond the plan"
    typer.echo(f"{run.agent} on {run.protocol}, {score.episodes} episodes of {score.tasks} tasks")
    typer.echo(f"  success {score.success_rate:.1%} (95% interval {low:.1%} to {high:.1%})")
    typer.echo(f"  return  {score.mean_return:.2f}")
    typer.echo(f"  steps   {score.mean_steps:.2f}")
    typer.echo(f"  regret  {regret}")
    typer.echo(f"  tokens  {run.tokens}")
    typer.echo(f"  seconds {run.seconds:.1f}")
    typer.echo(f"  folder  {out}")


@app.command("replay")
def replay_command(
    folder: Annotated[Path, typer.Argument(help="A folder that natlang evaluate wrote.")],
    protocol: Annotated[str | None, typer.Option(help="The file of the live round that was played.")] = None,
    labels: LabelsOption = None,
    tasks: TasksOption = None,
    repository: RepositoryOption = None,
) -> None:
    """Replay a run and say whether every text and reward holds."""
    run, trajectories = read_run(folder)
    whole, episodes = split_shortened(run.protocol)
    if labels is None and tasks is None and repository is None:
        if protocol is None and whole.startswith("own/"):
            raise UsageError(f"{folder} was played on your own {whole}: add --labels or --tasks FILE and --repo FOLDER")
        if protocol is None and whole not in protocol_names() and not find_round(whole):
            raise UsageError(f"{folder} was played on {whole}, a protocol of your own: add --protocol FILE")
        protocol = protocol or whole
    played = _protocol(protocol, labels, tasks, repository)
    problems = _replay_problems(run, played if episodes is None else played.first(episodes), trajectories)
    if problems:
        print_some(problems, most=10)
        known = run.protocol_digest == played.digest
        differ = f": {len(problems)} of {len(trajectories)} episodes differ" if known else ", and nothing was replayed"
        typer.echo(f"{folder} does not hold{differ}.")
        raise typer.Exit(1)
    steps = sum(len(each.actions) for each in trajectories)
    typer.echo(f"{folder} holds: {len(trajectories)} episodes, {steps} steps, every hash and reward is the same.")


def _replay_problems(run: Run, protocol: Protocol, trajectories: list[Trajectory]) -> list[str]:
    """Return one line for each thing in a run that is not what the protocol and the environment say."""
    whole, named = (split_shortened(each)[0] for each in (run.protocol, protocol.name))
    if whole != named and not (whole.startswith("own/") and named.startswith("own/")):
        return [f"it was played on {whole}, not on {protocol.name}: leave --protocol out, or name that one"]
    if run.protocol_digest != protocol.digest:
        was, now = run.protocol_digest[:12], protocol.digest[:12]
        return [
            f"{protocol.name} was {was}… when it was played and is {now}… now: restore what it is about, or play again"
        ]
    expected = [(task_id, seed, number) for (task_id, seed), number in protocol.plays(run.runs)]
    found = [(each.task_id, each.seed, each.run) for each in trajectories]
    if found != expected:
        return [f"these are not the {len(expected)} episodes of {run.runs} runs of {protocol.name}, in order"]
    env = protocol.make_env()
    compared = ((each, difference(each, replay(env, each))) for each in trajectories)
    return [f"task {each.task_id}, run {each.run}: {problem}" for each, problem in compared if problem]


def main() -> None:
    run_app(app, "natlang")


if __name__ == "__main__":
    main()
