"""The plan of `reflect-rl reproduce`: which cells a table or figure has, and their folders.

DIR/stages/                    stages that cells share, by their settings: base, data, reflector, policy-sft
DIR/cells/TASK/METHOD/seed-N/  a training run with `evaluation/` (greedy) and `evaluation-drawn/` (sampled) on the
                               task's protocol, or `validation/` and `validation-drawn/`; and `seconds.json`
DIR/baselines/TASK/AGENT/      the recorded runs of agents that are not trained
DIR/TARGET.md, TARGET.json     the table; TARGET.png, or TARGET-TASK.png, the learning curves
"""

from __future__ import annotations

import json
import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from natlang_envs.errors import UsageError
from reference_agent.config import Config
from reference_agent.paper.experiments import TASKS, UNTUNED, Preset, Target, cell_config, why_not


@dataclass(frozen=True)
class Cell:
    """One training run of the plan, or one agent that is not trained, which has no seed and no config.

    `method` may be an agent's name; `split` is `"test"`, the task's protocol, or `"validation"`, for choosing settings.
    """

    task: str
    method: str
    seed: int | None
    config: Config | None
    folder: Path
    split: str = "test"

    @property
    def name(self) -> str:
        """Its name for people."""
        return f"{self.task} {self.method}" + ("" if self.seed is None else f" seed {self.seed}")

    @property
    def evaluation(self) -> Path:
        """The folder of its recorded run under greedy decoding."""
        return self.folder / ("evaluation" if self.split == "test" else self.split)

    @property
    def drawn(self) -> Path | None:
        """The folder of its recorded run with commands sampled at temperature 1; None for an agent."""
        return self.evaluation.with_name(f"{self.evaluation.name}-drawn") if self.is_trained else None

    @property
    def is_trained(self) -> bool:
        """Whether it is a fine-tuned policy."""
        return self.config is not None and self.method != UNTUNED

    @property
    def iterations(self) -> int:
        """Number of its RL iterations."""
        if self.config is None or not self.is_trained:
            return 0
        return sum(stage.iterations for stage in self.config.curriculum)

    @property
    def seconds(self) -> float | None:
        """Seconds of training and playing, over all attempts that ended in order; None before."""
        path = self.folder / "seconds.json"
        return float(json.loads(path.read_text())) if path.exists() else None


@dataclass(frozen=True)
class Plan:
    """The cells of a table or figure in the folder `out`, and why a task and method has none (`empty`)."""

    target: Target
    preset: Preset
    tasks: tuple[str, ...]
    cells: tuple[Cell, ...]
    empty: dict[tuple[str, str], str]
    out: Path
    settings: tuple[str, ...] = ()
    split: str = "test"

    @property
    def command(self) -> str:
        """The command that makes it."""
        words = ["reflect-rl", "reproduce", self.target.name, "--preset", self.preset.name]
        if self.tasks != self.target.tasks:
            words += [word for task in self.tasks for word in ("--task", task)]
        words += [word for setting in self.settings for word in ("--set", setting)]
        words += ["--split", self.split] if self.split != "test" else []
        return shlex.join([*words, "--out", str(self.out)])


def make_plan(
    target: Target,
    preset: Preset,
    out: Path,
    tasks: Sequence[str] = (),
    settings: Sequence[str] = (),
    split: str = "test",
) -> Plan:
    """Return the plan of a target; `tasks` replace its own, `settings` are `key=value` over all configs.

    Raises `UsageError` if a setting is wrong.
    """
    for setting in settings:
        if setting.partition("=")[0] == "seed":
            raise UsageError(
                f"{setting!r} would change nothing, since seeds are the preset's: choose another --preset, or train "
                "one config with `reflect-rl train`"
            )
    chosen = tuple(tasks) or target.tasks
    cells = [
        Cell(task, agent, None, None, out / "baselines" / task / agent, split)
        for task in chosen
        for agent in TASKS[task].agents
    ]
    empty: dict[tuple[str, str], str] = {}
    for task in chosen:
        cell_config(task, "best", preset, 0, list(settings))  # or a wrong setting would leave every cell empty
        for method in target.methods:
            reason = why_not(task, method, preset, list(settings))
            if reason:
                empty[task, method] = reason
                continue
            # The untuned model is the same for every training seed.
            for seed in preset.seeds[:1] if method == UNTUNED else preset.seeds:
                config = cell_config(task, method, preset, seed, list(settings))
                cells.append(Cell(task, method, seed, config, out / "cells" / task / method / f"seed-{seed}", split))
    return Plan(target, preset, chosen, tuple(cells), empty, out, tuple(settings), split)
