"""Reflect-RL on DangerousTaxi from beginning to end, on a CPU: train, evaluate, verify by replay, show the table.

python examples/demo.py [--out runs/demo] [--seeds 0] [--set key=value]

For each seed two runs are trained side by side, one with a reflector and one without; then the agents play the 100
held-out starts of `dangerous-taxi-pickup/paper`. Trained policies draw their commands at temperature 1, as the paper's
do (its Table 3); the rows called greedy are the same policies when they take the likeliest. Every recording is packed
as a submission, which replays it, and the leaderboard's page is built. A demo that was stopped goes on where it was.
"""

from __future__ import annotations

import multiprocessing
import queue
import time
from concurrent.futures import Future, ProcessPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.table import Table

from leaderboard.copies import CopiedEntry
from leaderboard.pack import pack
from leaderboard.site import build
from leaderboard.verify import verify
from natlang_envs.cli_support import run_app
from natlang_envs.evaluation import Score, evaluate, load_agent, load_protocol, read_run
from natlang_envs.evaluation.runner import RUN_FILE, score_run
from natlang_envs.evaluation.statistics import over_seeds
from reference_agent.cli import Bars, bars
from reference_agent.config import Config
from reference_agent.config_file import EXPERIMENTS, load_config
from reference_agent.paper.plots import draw_curves
from reference_agent.pipeline import train
from reference_agent.rlft import Stopped

PROTOCOL = "dangerous-taxi-pickup/paper"
TRAINED_ON = "Trained on the split `train` of the classic map; the protocol's starts are in the split `test`."
BUILT_IN = ("random", "random-legal", "oracle")
PAPER = {"SFT only": "7%", "Reflect-RL": "58%"}  # its table 2, GPT-2 XL

app = typer.Typer(add_completion=False, pretty_exceptions_enable=False)
console = Console()


def train_both(config: Config, out: Path) -> None:
    """Train with and without a reflector, a process and a core each.

    Raises:
        Stopped: Ctrl-C was pressed; both runs are saved.
    """
    runs = {"with reflection": config, "without reflection": replace(config, reflect=False)}
    context = multiprocessing.get_context("spawn")
    with context.Manager() as manager, bars() as progress, ProcessPoolExecutor(2, mp_context=context) as pool:
        news: Any = manager.Queue()
        show = {name: Bars(progress, name) for name in runs}
        futures: list[Future[None]] = [
            pool.submit(train_one, settings, out / name.replace(" ", "-"), name, news)
            for name, settings in runs.items()
        ]
        while not all(future.done() for future in futures) or not news.empty():
            try:
                name, *row = news.get(timeout=0.5)
            except queue.Empty:
                continue
            except KeyboardInterrupt:
                continue  # the two processes got it too, and end after a whole iteration
            show[name](*row)
        for future in futures:
            future.result()


def train_one(config: Config, out: Path, name: str, news: Any) -> None:
    """Train one run and report to the process that shows the bars."""
    train(config, out, lambda *row: news.put((name, *row)))


def play(out: Path, seed: int) -> dict[str, Score]:
    """Let every agent play the protocol, pack and verify what it did; return the scores, by name."""
    protocol = load_protocol(PROTOCOL)
    run = out / f"seed-{seed}"
    agents = {
        "random": "random",
        "random-legal": "random-legal",
        "SFT only": f"reflect-rl-sample:{run}/with-reflection/policy-sft",
        "SFT only, greedy": f"reflect-rl:{run}/with-reflection/policy-sft",
        "Reflect-RL without reflection": f"reflect-rl-sample:{run}/without-reflection",
        "Reflect-RL": f"reflect-rl-sample:{run}/with-reflection",
        "Reflect-RL, greedy": f"reflect-rl:{run}/with-reflection",
        "oracle": "oracle",
    }
    scores: dict[str, Score] = {}
    for title, agent in agents.items():
        name = title.lower().replace(",", "").replace(" ", "-")
        folder = run / "evaluation" / name
        if not (folder / RUN_FILE).exists():
            evaluate(load_agent(agent), protocol, name=title, out=folder, resume=True)
        scores[title] = score_run(protocol, read_run(folder)[1])
        entry = out / "submissions" / PROTOCOL / (name if title in BUILT_IN else f"{name}-seed-{seed}")
        if not entry.exists():
            disclosure = "Nothing was trained." if title in BUILT_IN else TRAINED_ON
            try:
                pack(folder, name=entry.name, out=out / "submissions", description=title, disclosure=disclosure)
            except CopiedEntry as error:  # two greedy agents that play every game alike
                console.print(f"{title} has no entry of its own: {error}", style="dim")
                continue
        verify(entry)
    return scores


def show(scores: dict[int, dict[str, Score]]) -> None:
    """Print one table: a seed's Wilson intervals, or the mean over seeds with Student's."""
    seeds = list(scores)
    table = Table(
        title=f"{PROTOCOL}: 100 held-out starts" + (f", {len(seeds)} training seeds" if len(seeds) > 1 else "")
    )
    for column in ("agent", "success", "95% interval", "mean return", "mean steps", "the paper"):
        table.add_column(column, justify="left" if column == "agent" else "right")
    for title in scores[seeds[0]]:
        rows = [scores[seed][title] for seed in seeds]
        rates = [row.success_rate for row in rows]
        interval = rows[0].interval if len(rows) == 1 or title in BUILT_IN else over_seeds(rates)
        mean = [
            sum(values) / len(rows) for values in (rates, [r.mean_return for r in rows], [r.mean_steps for r in rows])
        ]
        each = (
            f" ({', '.join(f'{100 * rate:.0f}' for rate in rates)})" if len(rows) > 1 and title not in BUILT_IN else ""
        )
        table.add_row(
            title,
            f"{100 * mean[0]:.0f}%{each}",
            f"{100 * interval.low:.0f} to {100 * interval.high:.0f}%",
            f"{mean[1]:.1f}",
            f"{mean[2]:.1f}",
            PAPER.get(title, ""),
        )
    console.print(table)


@app.command()
def demo(
    out: Annotated[Path, typer.Option(help="Where everything goes.")] = Path("runs/demo"),
    seeds: Annotated[str, typer.Option(help="Training seeds, for example 0,1,2.")] = "0",
    setting: Annotated[list[str] | None, typer.Option("--set", help="key=value of the config.")] = None,
) -> None:
    """Train, evaluate, verify and show."""
    started = time.perf_counter()
    config = load_config(EXPERIMENTS / "demo.toml", setting)
    scores: dict[int, dict[str, Score]] = {}
    run = out
    for seed in [int(each) for each in seeds.split(",")]:
        run = out / f"seed-{seed}"
        console.print(f"Seed {seed}: training with and without a reflector, in {run}")
        try:
            train_both(replace(config, seed=seed), run)
        except Stopped:
            console.print("Stopped and saved. Run the same command to go on.")
            raise typer.Exit(130) from None
        console.print("Playing, recording, replaying …")
        scores[seed] = play(out, seed)
        draw_curves({name: run / name for name in ("with-reflection", "without-reflection")}, run / "curves.png")
    index = build(out / "submissions", out / "site")
    show(scores)
    console.print(f"Every row above was replayed action by action. {time.perf_counter() - started:.0f} seconds.")
    console.print(f"Learning curves: {run / 'curves.png'}")
    console.print(f"Leaderboard:     {index}")


if __name__ == "__main__":
    run_app(app, "demo")
