"""The table that `reflect-rl reproduce` ends in: success with 95% intervals beside the paper's, as Markdown and JSON.

A trained policy has two rows: it takes the likeliest command, or draws at temperature 1 as the paper's do (Table 3).

One seed has the interval of its episodes (Wilson's, or over tasks where a task is played more than once), several have
Student's over seeds. It reads recorded runs and makes none.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

import numpy as np

from natlang_envs.evaluation import load_protocol, read_run
from natlang_envs.evaluation.runner import score_run
from natlang_envs.evaluation.statistics import Interval, over_seeds
from natlang_envs.trajectory import write_whole
from reference_agent.paper.experiments import PAPER_ONLY, ROWS, TASKS, paper

if TYPE_CHECKING:
    from reference_agent.paper.reproduce import Cell, Plan


@dataclass(frozen=True)
class Entry:
    """One field of the table.

    Attributes:
        task: The column.
        row: The row, or the name of an agent.
        drawn: Whether a trained policy drew its commands.
        rates: The success rate of each seed; none where nothing was run.
        seeds: The training seeds; none for agents that nobody trains.
        mean: Their mean.
        interval: The 95% interval, and how it was made.
        kind: `"episodes"` or `"seeds"`.
        episodes: Episodes a seed.
        mean_return: Mean sum of rewards.
        mean_steps: Mean length.
        seconds: Training and playing, all seeds; None where an attempt was killed before it could tell.
        hardware: The machine.
        paper: The paper's success in per cent, None where it gives none.
        note: Why nothing was run.
    """

    task: str
    row: str
    drawn: bool = False
    rates: tuple[float, ...] = ()
    seeds: tuple[int, ...] = ()
    mean: float | None = None
    interval: Interval | None = None
    kind: str = "episodes"
    episodes: int = 0
    mean_return: float | None = None
    mean_steps: float | None = None
    seconds: float | None = None
    hardware: str = ""
    paper: int | None = None
    note: str = ""

    @property
    def shown(self) -> str:
        """The field's text, such as `58% (48 to 67)`."""
        if self.mean is None or self.interval is None:
            return "not run"
        return f"{100 * self.mean:.0f}% ({100 * self.interval.low:.0f} to {100 * self.interval.high:.0f})"


def entries(plan: Plan) -> list[Entry]:
    """Return the fields of a plan whose cells are whole: the agents first, then the rows, then the paper's alone."""
    table: list[Entry] = []
    for task in plan.tasks:
        made: dict[str, list[Cell]] = {}
        for cell in plan.cells:
            if cell.task == task:
                made.setdefault(cell.row, []).append(cell)
        names = [*TASKS[task].agents, *(row for row in ROWS if row in plan.target.rows), *PAPER_ONLY]
        for row in names:
            if row in made:
                table.append(_entry(task, row, made[row], False))
                if made[row][0].is_trained:
                    table.append(_entry(task, row, made[row], True))
            else:
                note = plan.empty.get((task, row), "the paper's alone")
                table.append(Entry(task, row, paper=paper(task, row), note=note))
    return table


def _entry(task: str, row: str, cells: list[Cell], drawn: bool) -> Entry:
    protocol = load_protocol(TASKS[task].protocol)
    runs = [read_run(cell.drawn if drawn and cell.drawn else cell.evaluation) for cell in cells]
    scores = [score_run(protocol, trajectories) for _, trajectories in runs]
    rates = tuple(each.success_rate for each in scores)
    seconds = [cell.seconds for cell in cells]
    return Entry(
        task,
        row,
        drawn,
        rates,
        tuple(cell.seed for cell in cells if cell.seed is not None),
        float(np.mean(rates)),
        scores[0].interval if len(scores) == 1 else over_seeds(rates),
        "episodes" if len(scores) == 1 else "seeds",
        scores[0].episodes,
        float(np.mean([each.mean_return for each in scores])),
        float(np.mean([each.mean_steps for each in scores])),
        None if None in seconds else round(sum(each or 0.0 for each in seconds), 1),
        runs[0][0].hardware,
        paper(task, row) if drawn else None,
    )


def title(row: str, drawn: bool) -> str:
    """Return a row's name for people."""
    if row in PAPER_ONLY:
        return f"{row} (the paper's)"
    return (ROWS[row].title if row in ROWS else row) + (", drawn" if drawn else "")


def lines(plan: Plan, table: list[Entry]) -> list[list[str]]:
    """Return the table as texts, the heading first: for each task our success and the paper's."""
    found = {(entry.task, entry.row, entry.drawn): entry for entry in table}
    shown: list[list[str]] = [["row", *(text for task in plan.tasks for text in (TASKS[task].title, "paper"))]]
    agents = [agent for task in plan.tasks for agent in TASKS[task].agents]
    for row, drawn in dict.fromkeys([*((agent, False) for agent in agents), *((e.row, e.drawn) for e in table)]):
        fields = [title(row, drawn)]
        for task in plan.tasks:
            entry = found.get((task, row, drawn))
            said = "" if entry is None or row in PAPER_ONLY else entry.shown
            fields += [said, "" if entry is None or entry.paper is None else f"{entry.paper}%"]
        if any(fields[1:]):
            shown.append(fields)
    return shown


def notes(plan: Plan, table: list[Entry]) -> list[str]:
    """Return what a reader of the table has to know, a line each."""
    seeds = ", ".join(map(str, plan.preset.seeds))
    several = len(plan.preset.seeds) > 1
    kind = (
        "Student's over training seeds; of agents and of the untuned model, of episodes" if several else "of episodes"
    )
    said = [
        f"Success with its 95% interval ({kind}). Preset `{plan.preset.name}`, training seeds {seeds}.",
        "Drawn: commands are drawn at temperature 1, as the paper's are (its Table 3); else the likeliest are taken.",
        *(f"{TASKS[task].title}: protocol `{TASKS[task].protocol}`." for task in plan.tasks),
        "The paper's numbers are of its table 2 and section 6, GPT-2 XL where it trains.",
    ]
    trained = [entry for entry in table if entry.seeds and entry.seconds is not None and not entry.drawn]
    if trained:
        minutes = sum(entry.seconds or 0.0 for entry in trained) / 60
        said.append(f"{minutes:.0f} minutes of one core for all rows that are trained, on {trained[0].hardware}.")
    reasons = {(entry.task, entry.note) for entry in table if entry.note and entry.row not in PAPER_ONLY}
    said += [f"Not run in {TASKS[task].title}: {note}." for task, note in sorted(reasons)]
    return said


def write_results(plan: Plan, table: list[Entry]) -> None:
    """Write the table to DIR/TARGET.md and DIR/TARGET.json."""
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
    write_whole(plan.out / f"{target.name}.json", (json.dumps(content, indent=2) + "\n").encode())
