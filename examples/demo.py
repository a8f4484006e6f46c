"""What reward adds to imitation, on a CPU: train on DangerousTaxi with three seeds, evaluate, verify, show a table.

python examples/demo.py [--out runs/demo] [--jobs 2] [--target demo] [--preset tiny]

The teacher of 100 demonstrations says the right thing and does another in one step of five. Each seed's policy is
fine-tuned on them, then trained by reward. Before and after, it plays the 100 held-out starts of
`dangerous-taxi-pickup/v1`, greedily and with commands sampled at temperature 1, as the paper's (its Table 3). Every
recording is packed as a submission, which replays it, and the leaderboard's pages are built. A demo that was stopped
resumes. It is one setting of benchmarks/results/gain.md. `make demo-smollm2` does the same with a pretrained model
after one step of imitation (benchmarks/results/smollm2.md).
"""

from __future__ import annotations

import time
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from leaderboard.copies import CopiedEntry
from leaderboard.pack import pack, read_curve
from leaderboard.site import build
from leaderboard.verify import verify
from natlang_envs.cli.support import run_app
from natlang_envs.evaluation.runs import RUN_FILE
from reference_agent.paper.experiments import METHODS, PRESETS, TARGETS, TASKS, Cell, make_plan
from reference_agent.run.command import reproduce

TRAINED_ON = "Trained on the split `train` of the classic map; the protocol's starts are in the split `test`."

app = typer.Typer(add_completion=False, pretty_exceptions_enable=False)
console = Console()


def submit(cell: Cell, submissions: Path) -> None:
    """Pack and verify the recorded runs of a cell: each is replayed action by action."""
    disclosure = TRAINED_ON if cell.is_trained else "Nothing was trained."
    seed = "" if cell.seed is None else f"-seed-{cell.seed}"
    curve = read_curve(cell.folder / "curve.json") if cell.is_trained else ()
    method = None if not cell.is_trained else "rl" if curve else "imitation"
    track = {"method": method, "reflection": cell.is_trained, "curve": curve if len(curve) > 1 else None}
    for run, decoding in ((cell.evaluation, "greedy"), (cell.sampled, "sampled")):
        if run is None or not (run / RUN_FILE).exists():
            continue
        name = f"{cell.method}-{decoding}{seed}" if cell.is_trained else cell.method
        entry = submissions / TASKS[cell.task].protocol / name
        title = METHODS[cell.method].title if cell.is_trained else cell.method
        try:
            if not entry.exists():
                pack(run, name=name, out=submissions, description=title, disclosure=disclosure, track=track)
            verify(entry)
        except CopiedEntry as error:  # two policies that play every game alike
            console.print(f"{name} has no entry of its own: {error}", style="dim")


@app.command()
def demo(
    out: Annotated[Path, typer.Option(help="Where everything goes.")] = Path("runs/demo"),
    jobs: Annotated[int, typer.Option(min=1, help="Seeds at a time, a core each.")] = 2,
    target: Annotated[str, typer.Option(help="What `reflect-rl reproduce` makes.")] = "demo",
    preset: Annotated[str, typer.Option(help="As of `reflect-rl reproduce`.")] = "tiny",
) -> None:
    """Train, evaluate, verify and show."""
    started = time.perf_counter()
    reproduce(target, out, preset, jobs=jobs)
    console.print("Packing and replaying …")
    for cell in make_plan(TARGETS[target], PRESETS[preset], out).cells:
        submit(cell, out / "submissions")
    index = build(out / "submissions", out / "site")
    console.print(f"Every episode was replayed action by action. {time.perf_counter() - started:.0f} seconds.")
    console.print(f"Learning curves: {out / target}.png")
    console.print(f"Leaderboard:     {index}")


if __name__ == "__main__":
    run_app(app, "demo")
