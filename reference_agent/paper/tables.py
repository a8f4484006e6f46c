"""The table of `reflect-rl reproduce`: success with 95% intervals beside the paper's; and the learning curves.

A trained policy has two rows, greedy and sampled at temperature 1 as in the paper (Table 3). One seed has the interval
of its episodes (Wilson's, or clustered by task if tasks are repeated), several seeds have one over seeds
and tasks, as on the leaderboard.
"""

from __future__ import annotations

import io
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from natlang_envs.errors import UsageError
from natlang_envs.evaluation import read_run
from natlang_envs.evaluation.runner import score_run
from natlang_envs.evaluation.statistics import Interval, over_seeds, two_level_interval
from natlang_envs.files import write_whole
from natlang_envs.trajectory import Trajectory
from reference_agent.paper.experiments import METHODS, PAPER_ONLY, TASKS, Cell, Plan, paper, protocol_for
from reference_agent.run.config_file import EXPERIMENTS

_SMOOTHING = 5  # iterations, the last ones, in the running mean
_MANY = 7  # curves of one panel at most
_LONG = 20  # letters of a name from which on the legend has two columns


@dataclass(frozen=True)
class TableEntry:
    """One field of the table: a method (or agent) on a task, greedy or `sampled`, over all seeds."""

    task: str
    method: str
    sampled: bool = False
    rates: tuple[float, ...] = ()  # success rates of the seeds
    seeds: tuple[int, ...] = ()
    mean: float | None = None
    interval: Interval | None = None  # of 95%
    kind: str = "episodes"  # what the interval is over, or "seeds"
    episodes: int = 0
    mean_return: float | None = None
    mean_steps: float | None = None
    regret: float | None = None  # steps beyond the plan, of successes
    seconds: float | None = None  # None if an attempt was killed
    hardware: str = ""
    paper: int | None = None
    note: str = ""  # why nothing was run

    @property
    def shown(self) -> str:
        if self.mean is None or self.interval is None:
            return "not run"
        return f"{100 * self.mean:.0f}% ({100 * self.interval.low:.0f} to {100 * self.interval.high:.0f})"


def entries(plan: Plan) -> list[TableEntry]:
    """Return the fields of a plan whose cells are whole: the agents first, then the methods, then the paper's alone."""
    table: list[TableEntry] = []
    for task in plan.tasks:
        made: dict[str, list[Cell]] = {}
        for cell in plan.cells:
            if cell.task == task:
                made.setdefault(cell.method, []).append(cell)
        methods = [each for each in METHODS if each in plan.target.methods or each in made]
        for method in (*TASKS[task].agents, *methods, *PAPER_ONLY):
            if method in made:
                ways = (False, True) if made[method][0].is_trained else (False,)
                table += [_entry(task, method, made[method], sampled) for sampled in ways]
            else:
                note = plan.empty.get((task, method), "the paper's alone")
                table.append(TableEntry(task, method, paper=paper(task, method), note=note))
    return table


def _entry(task: str, method: str, cells: list[Cell], sampled: bool) -> TableEntry:
    protocol = protocol_for(task, cells[0].split)
    runs = [read_run(cell.sampled if sampled and cell.sampled else cell.evaluation) for cell in cells]
    scores = [score_run(protocol, trajectories) for _, trajectories in runs]
    rates = tuple(each.success_rate for each in scores)
    regrets = [each.mean_regret for each in scores if each.mean_regret is not None]
    seconds, one = [cell.seconds for cell in cells], len(scores) == 1
    return TableEntry(
        *(task, method, sampled, rates),
        seeds=tuple(cell.seed for cell in cells if cell.seed is not None),
        mean=float(np.mean(rates)),
        interval=scores[0].interval if one else two_level_interval([_by_task(each) for _, each in runs]),
        kind="episodes" if one else "seeds",
        episodes=scores[0].episodes,
        mean_return=float(np.mean([each.mean_return for each in scores])),
        mean_steps=float(np.mean([each.mean_steps for each in scores])),
        regret=float(np.mean(regrets)) if regrets else None,
        seconds=None if None in seconds else round(sum(each or 0.0 for each in seconds), 1),
        hardware=runs[0][0].hardware,
        paper=paper(task, method) if sampled else None,
    )


def _by_task(trajectories: Sequence[Trajectory]) -> list[float]:
    found: dict[str, list[bool]] = {}
    for each in trajectories:
        found.setdefault(each.task_id, []).append(each.success)
    return [float(np.mean(each)) for each in found.values()]


def title(method: str, sampled: bool) -> str:
    if method in PAPER_ONLY:
        return f"{method} (the paper's)"
    return (METHODS[method].title if method in METHODS else method) + (", sampled" if sampled else "")


def lines(plan: Plan, table: list[TableEntry]) -> list[list[str]]:
    """Return the table as texts, the heading first: for each task our success and the paper's, or what RL adds."""
    found = {(entry.task, entry.method, entry.sampled): entry for entry in table}
    if plan.target.gain:
        return _gains(plan, found)
    shown: list[list[str]] = [["method", *(text for task in plan.tasks for text in (TASKS[task].title, "paper"))]]
    agents = [(agent, False) for task in plan.tasks for agent in TASKS[task].agents]
    for method, sampled in dict.fromkeys([*agents, *((each.method, each.sampled) for each in table)]):
        fields = [title(method, sampled)]
        for task in plan.tasks:
            entry = found.get((task, method, sampled))
            said = "" if entry is None or method in PAPER_ONLY else entry.shown
            fields += [said, "" if entry is None or entry.paper is None else f"{entry.paper}%"]
        if any(fields[1:]):
            shown.append(fields)
    return shown


def _gains(plan: Plan, found: dict[tuple[str, str, bool], TableEntry]) -> list[list[str]]:
    """Return a row for each method and each way of decoding: before RL, after it, and the difference of the two."""
    shown = [["method", "decoding", "SFT", "SFT + RL", "gain, points", "steps", "regret"]]
    for task in plan.tasks:
        for method in [each for each in plan.target.methods if f"{each}-sft" in plan.target.methods]:
            for sampled in (False, True):
                before, after = (found.get((task, name, sampled)) for name in (f"{method}-sft", method))
                if before and after and before.rates and after.rates:
                    decoding = "sampled" if sampled else "greedy"
                    steps = f"{before.mean_steps:.1f} to {after.mean_steps:.1f}"
                    regrets = ("-" if each is None else f"{each:.2f}" for each in (before.regret, after.regret))
                    row = [title(method, False), decoding, before.shown, after.shown, gain(before.rates, after.rates)]
                    shown.append([*row, steps, " to ".join(regrets)])
    return shown


def gain(before: Sequence[float], after: Sequence[float]) -> str:
    """Return the mean difference of two success rates in points, with Student's interval over paired seeds."""
    each = [late - early for early, late in zip(before, after, strict=True)]
    mean = f"{100 * float(np.mean(each)):+.0f}"
    if len(each) < 2:
        return mean
    low, high = over_seeds([(1 + one) / 2 for one in each])  # which is for rates, from 0 to 1
    return f"{mean} ({100 * (2 * low - 1):+.0f} to {100 * (2 * high - 1):+.0f})"


def notes(plan: Plan, table: list[TableEntry]) -> list[str]:
    """Return what a reader of the table has to know, a line each."""
    seeds, kind = ", ".join(map(str, plan.preset.seeds)), "of episodes"
    if len(plan.preset.seeds) > 1:
        kind = "over training seeds and tasks; of agents and of the untuned model, of episodes"
    said = [
        f"Success with its 95% interval ({kind}). Preset `{plan.preset.name}`, training seeds {seeds}.",
        "Sampled: commands are sampled at temperature 1, as in the paper (its Table 3); otherwise decoding is greedy.",
        *(f"{TASKS[task].title}: protocol `{protocol_for(task, plan.split).name}`." for task in plan.tasks),
        "Gain: of the same seeds and warm starts. Regret: steps beyond the shortest plan, of successes."
        if plan.target.gain
        else "The paper's numbers are of its table 2 and section 6, GPT-2 XL where it trains.",
    ]
    trained = [entry for entry in table if entry.seeds and entry.seconds is not None and not entry.sampled]
    if trained:
        minutes = sum(entry.seconds or 0.0 for entry in trained) / 60
        said.append(f"{minutes:.0f} minutes of one core for all that is trained, on {trained[0].hardware}.")
    reasons = {(entry.task, entry.note) for entry in table if entry.note and entry.method not in PAPER_ONLY}
    said += [f"Not run in {TASKS[task].title}: {note}." for task, note in sorted(reasons)]
    return said


def write_results(plan: Plan, table: list[TableEntry]) -> None:
    heading, *rows = lines(plan, table)
    target, preset = plan.target, plan.preset
    text = [
        f"# {target.title}",
        "",
        f"`{plan.command}`",
        "",
        "| " + " | ".join(heading) + " |",
        "|" + "---|" * len(heading),
        *("| " + " | ".join(row) + " |" for row in rows),
        "",
        *(f"- {note}" for note in notes(plan, table)),
    ]
    write_whole(plan.out / f"{target.name}.md", ("\n".join(text) + "\n").encode())
    content = {"target": target.name, "preset": asdict(preset), "entries": [asdict(entry) for entry in table]}
    results = json.dumps(content, indent=2, default=lambda path: path.relative_to(EXPERIMENTS).as_posix())
    write_whole(plan.out / f"{target.name}.json", (results + "\n").encode())


def read_curve(run: Path) -> list[dict[str, float]]:
    """Return the learning curve of a finished run. Raises `UsageError` if there is none."""
    try:
        rows = json.loads((run / "curve.json").read_text(encoding="utf-8"))
        return [{"success": row["success"], "episodes": row["episodes"], **row} for row in rows]
    except (OSError, ValueError, TypeError, KeyError):
        again = f"`reflect-rl train --out {run}`"
        if (run / "policy").exists():
            said = f"{run / 'curve.json'} is missing or damaged: delete it and {run / 'policy'}, and {again} makes both"
            raise UsageError(f"{said} from the last checkpoint") from None
        raise UsageError(f"{run} has no learning curve: finish it with {again}") from None


def draw_curves(runs: Mapping[str, Path | Sequence[Path]], picture: Path) -> Path:
    """Draw the training success of each run over the episodes played, as a running mean.

    Where a name has several runs, one a seed, the line is their mean, in a band of Student's 95% interval over them.
    Many curves stand side by side, by what their names say before the last comma.
    """
    if picture.suffix != ".png":
        raise UsageError(f"{picture} is to be the name of a PNG file: write {picture.stem or 'curve'}.png")
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot
    from PIL import Image

    panels: dict[str, dict[str, Path | Sequence[Path]]] = {"": dict(runs)}
    if len(runs) > _MANY:
        panels = {}
        for name, run in runs.items():
            what, _, detail = name.rpartition(", ")
            panels.setdefault(what, {})[detail] = run
    # Long names' legend stands beside the curves.
    long = any(len(name) > _LONG for panel in panels.values() for name in panel)
    size = (4.6 * len(panels), 4) if len(panels) > 1 else (10, 4) if long else (7, 4)
    figure, all_axes = pyplot.subplots(
        ncols=len(panels), figsize=size, layout="constrained", sharey=True, squeeze=False
    )
    for axes, (what, panel) in zip(all_axes[0], panels.items(), strict=True):
        for name, run in panel.items():
            _draw_curve(axes, name, [run] if isinstance(run, Path) else run)
        axes.set(title=what, xlabel="episodes", ylim=(0, 100))
        axes.grid(alpha=0.2)
        if len(panels) > 1:
            axes.legend(frameon=False)
    all_axes[0, 0].set_ylabel("success of sampled episodes, %")
    if len(panels) == 1:
        place: Any = {"loc": "outside right upper"} if long else {"loc": "outside upper center", "ncols": 3}
        figure.legend(**place, frameon=False)
    content = io.BytesIO()
    figure.savefig(content, format="png", dpi=120)
    pyplot.close(figure)
    small = io.BytesIO()
    drawn = Image.open(content).convert("RGB")
    few_colours = drawn.quantize(64, Image.Quantize.MEDIANCUT, kmeans=3, dither=Image.Dither.NONE)
    few_colours.save(small, "png", optimize=True)  # a quarter of the bytes, and the eye sees no difference
    write_whole(picture, small.getvalue())
    return picture


def _draw_curve(axes: Any, name: str, folders: Sequence[Path]) -> None:
    """Draw one line of `draw_curves`, with its band and dotted lines where a stage of the curriculum begins."""
    curves = [read_curve(each) for each in folders]
    curve = min(curves, key=len)
    if not curve:
        raise UsageError(f"{name} has no learning curve, since it took no iterations of RL: leave it out")
    success = np.array([[row["success"] for row in each[: len(curve)]] for each in curves])
    parts = [success[:, max(0, end - _SMOOTHING) : end] for end in range(1, len(curve) + 1)]
    means = np.array([part.mean(axis=1) for part in parts]).T
    played = np.array([row["episodes"] for row in curve])
    (line,) = axes.plot(played, 100 * means.mean(axis=0), label=name)
    if len(folders) > 1:
        low, high = 100 * np.array([over_seeds(each) for each in means.T.tolist()]).T
        axes.fill_between(played, low, high, color=line.get_color(), alpha=0.12, linewidth=0)
    for at in range(1, len(curve)):
        if curve[at]["stage"] != curve[at - 1]["stage"]:
            axes.axvline(played[at - 1 : at + 1].mean(), color="0.7", linestyle=":")
