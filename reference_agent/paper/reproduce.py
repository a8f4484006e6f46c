"""`reflect-rl reproduce`: trains the cells of a table or figure, evaluates them, and writes the table and the curves.

DIR/stages/                    what cells share: base, data, reflector, policy-sft, by the settings that they depend on
DIR/cells/TASK/ROW/seed-N/     a training run, its `evaluation/` and `evaluation-drawn/` by the task's protocol, and
                               `seconds.json`
DIR/baselines/TASK/AGENT/      the recorded runs of agents that nobody trains
DIR/TARGET.md, TARGET.json     the table; TARGET.png, or TARGET-TASK.png, the learning curves

What has finished stays, whatever the target it was made for, so a killed run goes on where it was. Each cell is one
process; two that need the same stage wait for each other. It does not know what the rows are: that is `rows.py`.
"""

from __future__ import annotations

import json
import multiprocessing
import os
import queue
import shlex
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from natlang_envs.errors import UsageError
from natlang_envs.evaluation import evaluate, load_agent, load_protocol
from natlang_envs.evaluation.agents import Agent
from natlang_envs.evaluation.runner import RUN_FILE
from natlang_envs.trajectory import write_whole
from reference_agent.agent import ReflectRLAgent
from reference_agent.config import Config
from reference_agent.folders import lock_file
from reference_agent.paper.experiments import ROWS, TASKS, UNTUNED, Preset, Target, cell_config, why_not
from reference_agent.paper.plots import draw_curves
from reference_agent.paper.tables import Entry, entries, write_results
from reference_agent.pipeline import claim, load_or_make_base, train
from reference_agent.rlft import Stopped
from reference_agent.untuned.agents import ZeroShotAgent

Report = Callable[[str, str, int, int, float], None]  # cell, stage, step, steps, value


@dataclass(frozen=True)
class Cell:
    """One training run of the plan, or one agent that nobody trains.

    Attributes:
        task: The column.
        row: The row, or the name of an agent.
        seed: The training seed; None for an agent.
        config: The settings; None for an agent.
        folder: Where it is made.
    """

    task: str
    row: str
    seed: int | None
    config: Config | None
    folder: Path

    @property
    def name(self) -> str:
        """What to call it."""
        return f"{self.task} {self.row}" + ("" if self.seed is None else f" seed {self.seed}")

    @property
    def evaluation(self) -> Path:
        """The folder of its recorded run, whose commands are the likeliest."""
        return self.folder / "evaluation"

    @property
    def drawn(self) -> Path | None:
        """The folder of the run whose commands are drawn at temperature 1; None of an agent that nobody trains."""
        return self.folder / "evaluation-drawn" if self.is_trained else None

    @property
    def is_trained(self) -> bool:
        """Whether there is a policy that was fine-tuned."""
        return self.config is not None and self.row != UNTUNED

    @property
    def iterations(self) -> int:
        """How long its training is."""
        if self.config is None or not self.is_trained:
            return 0
        return sum(stage.iterations for stage in self.config.curriculum)

    @property
    def seconds(self) -> float | None:
        """What making it took, over all attempts that ended in an orderly way; None before."""
        path = self.folder / "seconds.json"
        return float(json.loads(path.read_text())) if path.exists() else None


@dataclass(frozen=True)
class Plan:
    """What is to be made.

    Attributes:
        target: The table or figure.
        preset: How long and how often.
        tasks: The columns.
        cells: What is trained, and the agents beside it.
        empty: Of each task and row that cannot be made: why.
        out: DIR.
        settings: `key=value` over all configs.
    """

    target: Target
    preset: Preset
    tasks: tuple[str, ...]
    cells: tuple[Cell, ...]
    empty: dict[tuple[str, str], str]
    out: Path
    settings: tuple[str, ...] = ()

    @property
    def command(self) -> str:
        """What makes it again."""
        words = ["reflect-rl", "reproduce", self.target.name, "--preset", self.preset.name]
        if self.tasks != self.target.tasks:
            words += [word for task in self.tasks for word in ("--task", task)]
        words += [word for setting in self.settings for word in ("--set", setting)]
        return shlex.join([*words, "--out", str(self.out)])


def make_plan(
    target: Target, preset: Preset, out: Path, tasks: Sequence[str] = (), settings: Sequence[str] = ()
) -> Plan:
    """Return the plan of a target.

    Args:
        target: The table or figure.
        preset: How long and how often.
        out: DIR.
        tasks: Columns in place of the target's own.
        settings: `key=value` over all configs, as in `reflect-rl train --set`.

    Raises:
        UsageError: A setting is wrong.
    """
    for setting in settings:
        if setting.partition("=")[0] == "seed":
            raise UsageError(
                f"{setting!r} would change nothing, since seeds are the preset's: choose another --preset, or train "
                "one config with `reflect-rl train`"
            )
    chosen = tuple(tasks) or target.tasks
    cells = [
        Cell(task, agent, None, None, out / "baselines" / task / agent)
        for task in chosen
        for agent in TASKS[task].agents
    ]
    empty: dict[tuple[str, str], str] = {}
    for task in chosen:
        cell_config(task, "best", preset, 0, list(settings))  # or a wrong setting would leave every cell empty
        for row in target.rows:
            reason = why_not(task, row, preset, list(settings))
            if reason:
                empty[task, row] = reason
                continue
            # The untuned model is the same for every training seed.
            for seed in preset.seeds[:1] if row == UNTUNED else preset.seeds:
                config = cell_config(task, row, preset, seed, list(settings))
                cells.append(Cell(task, row, seed, config, out / "cells" / task / row / f"seed-{seed}"))
    return Plan(target, preset, chosen, tuple(cells), empty, out, tuple(settings))


def reproduce(plan: Plan, jobs: int, report: Report, done: Callable[[Cell], None]) -> list[Entry]:
    """Make what is missing of a plan, then its table and its pictures.

    Args:
        plan: The plan.
        jobs: Processes at a time; one is this process itself.
        report: Called with a cell's name and what its training reports.
        done: Called with each cell that is whole, those that were before included.

    Returns:
        The table's entries.

    Raises:
        Stopped: Ctrl-C was pressed; what was trained is saved.
        UsageError: Another process is at work in DIR, DIR holds cells of other settings, or a cell cannot be made.
    """
    with _only_one(plan.out):
        for cell in plan.cells:
            if cell.config is not None:
                claim(cell.config, cell.folder)  # a preset that differs shows now, not in an hour
        # The longest first, so that no process is left alone with it at the end.
        missing = sorted((cell for cell in plan.cells if not _is_whole(cell)), key=lambda cell: -cell.iterations)
        for cell in plan.cells:
            if cell not in missing:
                done(cell)
        if jobs == 1:
            for cell in missing:
                _make(cell, plan.out, lambda *row, name=cell.name: report(name, *row))
                done(cell)
        elif missing:
            _make_all(missing, plan.out, jobs, report, done)
        table = entries(plan)
        write_results(plan, table)
        if plan.target.picture:
            draw(plan)
    return table


def draw(plan: Plan) -> list[Path]:
    """Draw the learning curves of each task; return the pictures."""
    pictures: list[Path] = []
    for task in plan.tasks:
        runs: dict[str, list[Path]] = {}
        for cell in plan.cells:
            if cell.task == task and cell.iterations:
                runs.setdefault(ROWS[cell.row].title, []).append(cell.folder)
        if runs:
            suffix = "" if len(plan.tasks) == 1 else f"-{task}"
            pictures.append(draw_curves(runs, plan.out / f"{plan.target.name}{suffix}.png"))
    return pictures


def _is_whole(cell: Cell) -> bool:
    return all((run / RUN_FILE).exists() for run in (cell.evaluation, cell.drawn) if run)


def _make(cell: Cell, out: Path, report: Callable[[str, int, int, float], None]) -> None:
    """Train a cell and let it play its protocol; what is there already is not made again."""
    started = time.perf_counter()
    before = cell.seconds or 0.0
    cell.folder.mkdir(parents=True, exist_ok=True)
    try:
        agent = _agent(cell, out / "stages", report)
        protocol = load_protocol(TASKS[cell.task].protocol)
        runs: dict[Path, Agent] = {cell.evaluation: agent}
        if cell.drawn and isinstance(agent, ReflectRLAgent):
            runs[cell.drawn] = agent.drawing()
        for number, (run, player) in enumerate(runs.items()):
            if not (run / RUN_FILE).exists():
                evaluate(
                    player,
                    protocol,
                    name=cell.name + (", drawn" if number else ""),
                    out=run,
                    progress=lambda played, of: report("playing", played, of, played / of),
                )
    except UsageError as error:
        raise UsageError(f"{cell.name}: {error}") from None
    finally:
        write_whole(cell.folder / "seconds.json", json.dumps(round(before + time.perf_counter() - started, 1)).encode())


def _agent(cell: Cell, stages: Path, report: Callable[[str, int, int, float], None]) -> Agent:
    if cell.config is None:
        return load_agent(cell.row)
    torch.set_num_threads(cell.config.threads)
    if cell.row == UNTUNED:
        return ZeroShotAgent(load_or_make_base(cell.config, cell.folder, report, stages), cell.config)
    train(cell.config, cell.folder, report, stages)
    return ReflectRLAgent(cell.folder)


def _make_all(cells: Sequence[Cell], out: Path, jobs: int, report: Report, done: Callable[[Cell], None]) -> None:
    """Make cells in `jobs` processes; the first that fails stops those that have not begun."""
    context = multiprocessing.get_context("spawn")
    with context.Manager() as manager, ProcessPoolExecutor(jobs, context, _end_with_parent, (os.getpid(),)) as pool:
        news: Any = manager.Queue()
        futures: dict[Future[None], Cell] = {pool.submit(_make_apart, cell, out, news): cell for cell in cells}
        interrupted = False
        failure: BaseException | None = None
        while futures:
            try:
                _relay(news, report)
                for future in [each for each in futures if each.done()]:
                    cell = futures.pop(future)
                    error = None if future.cancelled() else future.exception()
                    if error is not None:
                        failure = failure or error
                        pool.shutdown(wait=False, cancel_futures=True)
                    elif not future.cancelled():
                        done(cell)
            except KeyboardInterrupt:
                interrupted = True  # each process got it too, and ends after a whole iteration
                pool.shutdown(wait=False, cancel_futures=True)
    if interrupted:
        raise Stopped
    if isinstance(failure, BrokenProcessPool):
        raise UsageError(
            "a process of a cell was killed, by the system for its memory perhaps: try again with --jobs 1"
        )
    if failure is not None:
        raise failure


def _relay(news: Any, report: Report) -> None:
    """Hand on what the processes say, for half a second or until there is nothing."""
    until = time.monotonic() + 0.5
    while time.monotonic() < until:
        try:
            report(*news.get(timeout=0.1))
        except queue.Empty:
            return


def _make_apart(cell: Cell, out: Path, news: Any) -> None:
    _make(cell, out, lambda *row: news.put((cell.name, *row)))


def _end_with_parent(parent: int) -> None:
    """Let this process end when the one that started it is gone: two must never train one cell."""

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(0.5)
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


@contextmanager
def _only_one(out: Path) -> Iterator[None]:
    out.mkdir(parents=True, exist_ok=True)
    with (out / ".lock").open("w") as file:
        if not lock_file(file, wait=False):
            raise UsageError(
                f"another `reflect-rl reproduce` is at work in {out}: wait for it, or choose another --out"
            )
        yield
