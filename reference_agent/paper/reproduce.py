"""The work of `reflect-rl reproduce`: train the cells of a plan, evaluate them, write the table and the curves.

Finished cells stay, whatever the target they were made for, so a killed run resumes. Each cell is one process; two that
need the same stage wait for each other.

DIR/stages/                    stages that cells share, by their settings: base, data, reflector, policy-sft
DIR/cells/TASK/METHOD/seed-N/  a training run with `evaluation/` (greedy) and `evaluation-sampled/` (sampled) on the
                               task's protocol, or `validation/` and `validation-sampled/`; and `seconds.json`
DIR/stages/recall/             of players who remember: memory, games, and lifts, those of the played games among them
DIR/baselines/TASK/AGENT/      the recorded runs of agents that are not trained
DIR/TARGET.md, TARGET.json     the table; TARGET.png, or TARGET-TASK.png, the learning curves
"""

from __future__ import annotations

import json
import multiprocessing
import os
import queue
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from multiprocessing.queues import SimpleQueue
from pathlib import Path
from typing import Any

import torch

from natlang_envs.errors import UsageError
from natlang_envs.evaluation import evaluate, load_agent
from natlang_envs.evaluation.agents import Agent
from natlang_envs.evaluation.runner import Progress
from natlang_envs.evaluation.runs import RUN_FILE
from natlang_envs.files import make_folder, only_process, write_whole
from reference_agent import processes
from reference_agent.baselines.agents import zero_shot_agent
from reference_agent.families.autoexplore.memory.questions import KNOWN, LEARNED, questions_about
from reference_agent.families.autoexplore.memory.run import LIFTS, STATES, claim_cell, train_cell
from reference_agent.memory.player import MEMORY, RecallAgent, remembering
from reference_agent.paper.experiments import METHODS, UNTUNED, Cell, Plan, protocol_for
from reference_agent.paper.tables import TableEntry, draw_curves, entries, write_results
from reference_agent.players import PlayersAgent
from reference_agent.rlft import TrainingInterrupted
from reference_agent.run.agent import trained_agent
from reference_agent.run.pipeline import load_or_make_base, train
from reference_agent.run.stages import claim

Report = Callable[[str, str, int, int, float], None]  # cell, stage, step, steps, value


def reproduce(plan: Plan, jobs: int, report: Report, done: Callable[[Cell], None]) -> list[TableEntry]:
    """Make what is missing of a plan in `jobs` processes, then its table and its pictures; return the table's entries.

    `report` is called with a cell's name and what its training reports, `done` with each cell that is whole.
    """
    make_folder(plan.out)
    with only_process(plan.out):
        for cell in plan.cells:
            if cell.config is not None:
                claim(cell.config, cell.folder)  # a preset that differs shows now, not in an hour
            elif cell.recall is not None and cell.seed is not None:
                claim_cell(cell.folder, cell.recall, cell.seed)
        # The longest first, so that no process is left alone with it at the end; one process shows its figures early.
        order = 1 if jobs == 1 else -1
        missing = sorted((cell for cell in plan.cells if not _is_whole(cell)), key=lambda cell: order * cell.iterations)
        for cell in filter(_is_whole, plan.cells):
            done(cell)
        if jobs == 1:
            for cell in missing:
                make_cell(cell, plan.out, lambda *told, name=cell.name: report(name, *told))
                done(cell)
        elif missing:
            _make_all(missing, plan.out, jobs, report, done)
        table = entries(plan)
        write_results(plan, table)
        if plan.target.picture:
            draw(plan)
    return table


def draw(plan: Plan) -> list[Path]:
    pictures: list[Path] = []
    for task in plan.tasks:
        runs: dict[str, list[Path]] = defaultdict(list)
        for cell in plan.cells:
            if cell.task == task and cell.iterations:
                runs[METHODS[cell.method].title].append(cell.folder)
        if runs:
            suffix = "" if len(plan.tasks) == 1 else f"-{task}"
            pictures.append(draw_curves(runs, plan.out / f"{plan.target.name}{suffix}.png"))
    return pictures


def _is_whole(cell: Cell) -> bool:
    return all((run / RUN_FILE).exists() for run in (cell.evaluation, cell.sampled) if run)


def make_cell(cell: Cell, out: Path, report: Callable[[str, int, int, float], None]) -> None:
    """Train a cell and let it play its protocol; what is there already is not made again."""
    started = time.perf_counter() - (cell.seconds or 0.0)
    cell.folder.mkdir(parents=True, exist_ok=True)

    def playing(now: Progress) -> None:
        report("playing", now.done, now.total, now.done / now.total)

    try:
        agent = _agent(cell, out, report)
        protocol = protocol_for(cell.task, cell.split)
        runs: dict[Path, Agent] = {cell.evaluation: agent}
        if cell.sampled and isinstance(agent, PlayersAgent | RecallAgent):
            runs[cell.sampled] = agent.sampled()
        for number, (run, player) in enumerate(runs.items()):
            if not (run / RUN_FILE).exists():
                name = cell.name + (", sampled" if number else "")
                evaluate(player, protocol, name=name, out=run, progress=playing, resume=True)
    except UsageError as error:
        raise UsageError(f"{cell.name}: {error}") from None
    finally:
        write_whole(cell.folder / "seconds.json", json.dumps(round(time.perf_counter() - started, 1)).encode())


def _agent(cell: Cell, out: Path, report: Callable[[str, int, int, float], None]) -> Agent:
    stages = out / "stages"
    if cell.recall is not None and cell.seed is not None:
        train_cell(cell.folder, stages / "recall", questions_about([KNOWN]), cell.recall, cell.seed, report)
        plan = cell.method == UNTUNED
        learned = cell.recall.judge == LEARNED and not plan
        source = cell.folder / MEMORY if plan else cell.folder
        table = stages / "recall" / (STATES if learned else LIFTS)
        return remembering(source, cell.recall.model, table, precision=cell.recall.precision)
    if cell.config is None:
        return load_agent(cell.method)
    torch.set_num_threads(cell.config.threads)
    if cell.method == UNTUNED:
        return zero_shot_agent(load_or_make_base(cell.config, cell.folder, report, stages), cell.config)
    train(cell.config, cell.folder, report, stages)
    return trained_agent(cell.folder)


def _make_all(cells: Sequence[Cell], out: Path, jobs: int, report: Report, done: Callable[[Cell], None]) -> None:
    """Make cells in `jobs` processes; the first that fails stops those that have not begun."""
    context = multiprocessing.get_context("spawn")
    numbers: SimpleQueue[int] = context.SimpleQueue()
    for number in range(jobs):
        numbers.put(number)
    with context.Manager() as manager, ProcessPoolExecutor(jobs, context, _begin, (os.getpid(), numbers)) as pool:
        news: Any = manager.Queue()
        futures: dict[Future[None], Cell] = {pool.submit(_make_apart, cell, out, news): cell for cell in cells}
        interrupted, failure = False, None
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
        raise TrainingInterrupted
    if isinstance(failure, BrokenProcessPool):
        raise UsageError("a process of a cell was killed, perhaps by the system for its memory: try --jobs 1")
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
    make_cell(cell, out, lambda *told: news.put((cell.name, *told)))


def take_gpu(numbers: SimpleQueue[int]) -> None:
    """Let this process, one of those that get a number each, use the GPU of its number, if there are any."""
    if gpus := torch.cuda.device_count():
        os.environ[processes.GPU] = str(numbers.get() % gpus)


def _begin(parent: int, numbers: SimpleQueue[int]) -> None:
    """Let this process take a GPU, and end when the one that started it is gone: two must never train one cell."""

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(0.5)
        os._exit(1)

    take_gpu(numbers)
    threading.Thread(target=watch, daemon=True).start()
