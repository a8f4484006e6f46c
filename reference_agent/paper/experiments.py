"""Tasks, methods, presets and targets of `reflect-rl reproduce`, their cells, and the paper's own numbers.

A cell of a task and a method is the preset TASK/METHOD (see `load_config`). If there is none, or the environment cannot
be made on this machine, the cell stays empty and says why.
"""

from __future__ import annotations

import json
import shlex
import tomllib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from importlib import resources
from math import ceil
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from natlang_envs.errors import UsageError, require_choice, require_type
from natlang_envs.evaluation import load_protocol, protocol_names
from natlang_envs.evaluation.protocols import Episode, Protocol
from natlang_envs.make_env import make_env
from natlang_envs.tasks import split_beside
from reference_agent.algorithms import algorithm_names
from reference_agent.families.autoexplore.memory.questions import JUDGES, RecallTraining
from reference_agent.run.config import PRECISIONS, Config
from reference_agent.run.config_file import EXPERIMENTS, load_config, preset_files, setting_value

UNTUNED = "untuned"
_OF_RECALL = "recall."  # what the settings of a player who remembers begin with
_TRAINED = {True: "by reflect-rl recall", False: "by a config: recall.NAME=VALUE are the settings here"}
T = TypeVar("T")
_DRAWS = 10_000  # of validation tasks, of which there may be fewer than the protocol has


@dataclass(frozen=True)
class Task:
    """A column of the table: its folder in `experiments/`, title, protocol, and agents shown with the methods."""

    name: str
    title: str
    protocol: str
    agents: tuple[str, ...]
    recall: bool = False  # trained as `reflect-rl recall` does, without a folder in `experiments/`
    paper: str = ""  # the task that has the paper's numbers, if another one


@dataclass(frozen=True)
class Method:
    """A row of the table; `untuned` is not trained: it is the base model of `best`."""

    name: str
    title: str
    config: str = ""  # the preset that it is trained with; by default "{task}/NAME"
    settings: tuple[str, ...] = ()  # over the preset


@dataclass(frozen=True)
class Target:
    """A table or figure of the paper, `NAME` of `reflect-rl reproduce NAME`."""

    name: str
    title: str
    tasks: tuple[str, ...]
    methods: tuple[str, ...]
    picture: bool = True  # of learning curves
    gain: bool = False  # methods come in pairs, NAME-sft and NAME, whose difference the table shows
    pretrained: tuple[str, ...] = ()  # the rows of a pretrained model, where they are others


@dataclass(frozen=True)
class Preset:
    """How long and how often."""

    name: str
    seeds: tuple[int, ...]
    iterations: float = 1.0  # share of the RL iterations
    sft_steps: int = 1_000_000  # most steps of each fine-tuning
    reflector_share: float = 1.0  # of the steps of a fine-tuning: a pretrained model needs fewer than the tiny one
    policy_share: float = 1.0
    over: Path | None = None  # a config file that is applied to those of the cells
    settings: tuple[str, ...] = ()  # applied after it
    questions: int | None = None  # that a player who remembers learns from


_DATA = tomllib.loads(resources.files("reference_agent").joinpath("data/targets.toml").read_text(encoding="utf-8"))


def _rows(kind: str, make: Callable[..., T]) -> dict[str, T]:
    return {
        name: make(name, **{key: tuple(value) if isinstance(value, list) else value for key, value in row.items()})
        for name, row in _DATA[kind].items()
    }


def _gain_methods() -> Iterator[Method]:
    """Yield the methods of the target `gain`, each without and with RL from the same warm start."""
    slips = "teacher.slips=0.2"
    for name, teacher, counts, own in (
        ("exact", "teacher does not slip", (25, 100), ()),
        ("slips", "teacher slips", (5, 10, 25, 100), (slips,)),
        ("silent", "teacher slips, no reflections", (100,), (slips, "reflect=false")),
    ):
        for count in counts:
            title = f"{teacher}, {count} demonstrations"
            settings = (*own, f"collect.trajectories={count}", f"collect.policy_trajectories={count}")
            yield Method(f"{name}-{count}-sft", f"SFT, {title}", "gain/{task}-sft", settings)
            yield Method(f"{name}-{count}", title, "gain/{task}", settings)


TASKS = _rows("tasks", Task)
METHODS = {name: Method(name, title) for name, title in _DATA["methods"].items()}
METHODS |= {method.name: method for method in _gain_methods()}
TARGETS = _rows("targets", Target)
PRESETS = _rows("presets", Preset) | {
    path.stem: Preset(path.stem, (0, 1, 2), reflector_share=1 / 6, policy_share=1 / 3, over=path, questions=400)
    for path in sorted((EXPERIMENTS / "presets").glob("*.toml"))
    if path.stem != "shipped"
}
_PAPER: dict[str, list[int | str]] = _DATA["paper"]
# Rows that only the paper has numbers of; the open ones run by `natlang evaluate --agent` where a machine holds them.
PAPER_ONLY = tuple(name for name in _PAPER if name not in METHODS)


# The paper's row of Reflect-RL, and of SFT, beside those of a pretrained model, and of a player who remembers.
_PAPERS_ROWS = {False: {"one-step": "faithful"}, True: {"best": "faithful", "sft-only": "sft-faithful"}}


def paper(task: str, method: str) -> int | None:
    """Return the paper's success rate in per cent; None where it gives none."""
    row = _PAPERS_ROWS[TASKS[task].recall].get(method, method)
    said = dict(zip(TASKS, _PAPER.get(row, ()), strict=False)).get(TASKS[task].paper or task)
    return said if isinstance(said, int) else None


def protocol_of(config: Config) -> str | None:
    """Return the protocol that a run is played by: a column's, or another one of its last environment; None without."""
    trained = (task.protocol for task in TASKS.values() if not task.recall)
    names = dict.fromkeys([*trained, *sorted(protocol_names(), key=len)])
    for stage in reversed(config.curriculum):
        given = config.env_kwargs | stage.env_kwargs
        if given.get("source") == "mixed":  # who trains in made-up rooms is played in real ones
            del given["source"]
        for protocol in map(load_protocol, names):
            fits = all(protocol.kwargs.get(name) == value for name, value in given.items())
            if fits and protocol.env_id == stage.env:
                return protocol.name
    return None


def protocol_for(task: str, split: str = "test") -> Protocol:
    """Return what a task's cells play: its protocol, or as many tasks of the validation split.

    Settings are chosen on validation; the protocol, which is reported, is played once they are fixed.
    """
    protocol = load_protocol(TASKS[task].protocol)
    if split == "test":
        return protocol
    kwargs = {**protocol.kwargs, "split": split_beside(protocol.kwargs.get("split"), split)}
    tasks = make_env(protocol.env_id, **kwargs).tasks
    rng, ids = np.random.default_rng(0), dict[str, None]()
    for _ in range(_DRAWS):
        ids[tasks.draw(rng.random)] = None
        if len(ids) == len(protocol.episodes):
            break
    episodes = tuple(Episode(task_id, number) for number, task_id in enumerate(ids))
    name = f"{protocol.name}-{split}"
    return replace(protocol, name=name, kwargs=kwargs, episodes=episodes, description=f"The split {split!r}.")


def _cell(task: str, method: str) -> Path:
    """Return the name of a cell's preset; the untuned model is that of `best`."""
    named = METHODS[method].config.format(task=task) if method in METHODS else ""
    return EXPERIMENTS / (named or f"{task}/{'best' if method == UNTUNED else method}")


def cell_config(task: str, method: str, preset: Preset, seed: int, settings: list[str]) -> Config:
    """Return what a cell is trained with: its own settings, then the preset's, then the user's; the seed is given.

    A preset's shares are of numbers that the user does not give.
    """
    own = METHODS[method].settings if method in METHODS else ()
    config = load_config(_cell(task, method), [*own, *preset.settings, *settings], preset.over, for_many=True)
    given, changed = {each.partition("=")[0].strip() for each in settings}, dict[str, Any]()
    if "curriculum" not in given:
        changed["curriculum"] = tuple(
            replace(stage, iterations=ceil(stage.iterations * preset.iterations)) for stage in config.curriculum
        )
    for name, share in (("sft_reflector", preset.reflector_share), ("sft_policy", preset.policy_share)):
        if f"{name}.steps" not in given:
            each = getattr(config, name)
            changed[name] = replace(each, steps=min(ceil(each.steps * share), preset.sft_steps))
    return replace(config, seed=seed, **changed)


def recall_training(method: str, preset: Preset, settings: Sequence[str]) -> RecallTraining:
    """Return what a cell of a player who remembers is trained with; `settings` are `recall.NAME=VALUE`."""
    model = load_config(preset.over).model.name if preset.over else ""
    default = RecallTraining(model, preset.questions)
    default = default._replace(updates=ceil(default.updates * preset.iterations))
    given: dict[str, Any] = {}
    for each in settings:
        name, _, value = each.partition("=")
        name = require_choice("setting of recall", name.removeprefix(_OF_RECALL), RecallTraining._fields)
        given[name] = setting_value(value)
        kind = int if name == "questions" else type(RecallTraining._field_defaults[name])
        require_type(given[name], kind, f"no {name} of recall: give {kind.__name__}")
    for name in ("judge", "precision"):
        if name in given and not given.get("model", default.model):
            raise UsageError(f"recall.{name} is a model's: add --set recall.model=smollm2, or leave it out")
    require_choice("recall.judge", given.get("judge", default.judge), JUDGES)
    require_choice("recall.precision", given.get("precision", default.precision), PRECISIONS)
    return default._replace(**given)._replace(**_DATA["recall"][method])


def rows_of(target: Target, preset: Preset, tasks: Sequence[str]) -> tuple[str, ...]:
    """Return the methods of a target: those of a pretrained model are others, where the target says so.

    Tasks of players who remember have the target's own ones.
    """
    kinds = {TASKS[task].recall for task in tasks}
    found = (target.pretrained if preset.over and target.pretrained else target.methods) if False in kinds else ()
    remembering = [each for each in target.methods if each in _DATA["recall"]] if True in kinds else []
    return tuple(dict.fromkeys([*found, *remembering]))


def why_not(task: str, method: str, preset: Preset, settings: list[str]) -> str | None:
    from reference_agent.run.pipeline import check_environments  # torch, which the names of targets do without

    if TASKS[task].recall:
        return None if method in _DATA["recall"] else f"a player who remembers has no method {method}"
    cell = _cell(task, method)
    if not preset_files(cell):
        return f"there is no experiments/{cell.relative_to(EXPERIMENTS).as_posix()}.toml yet"
    try:
        check_environments(cell_config(task, method, preset, 0, settings))
    except UsageError as error:
        return str(error)
    return None


@dataclass(frozen=True)
class Cell:
    """One training run of the plan, or one agent that is not trained, which has no seed and no config.

    A player who remembers has `recall` in place of a config.
    `method` may be an agent's name; `split` is `"test"`, the task's protocol, or `"validation"`, for choosing settings.
    """

    task: str
    method: str
    seed: int | None
    config: Config | None
    folder: Path
    split: str = "test"
    recall: RecallTraining | None = None

    @property
    def name(self) -> str:
        return f"{self.task} {self.method}" + ("" if self.seed is None else f" seed {self.seed}")

    @property
    def evaluation(self) -> Path:
        return self.folder / ("evaluation" if self.split == "test" else self.split)

    @property
    def sampled(self) -> Path | None:
        """The folder of its recorded run with commands sampled at temperature 1; None for an agent."""
        return self.evaluation.with_name(f"{self.evaluation.name}-sampled") if self.is_trained else None

    @property
    def is_trained(self) -> bool:
        return (self.config is not None or self.recall is not None) and self.method != UNTUNED

    @property
    def iterations(self) -> int:
        if self.recall is not None:
            return self.recall.updates
        return sum(stage.iterations for stage in self.config.curriculum) if self.config and self.is_trained else 0

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
        words = ["reflect-rl", "reproduce", self.target.name, "--preset", self.preset.name]
        if self.tasks != self.target.tasks:
            words += [word for task in self.tasks for word in ("--task", task)]
        if self.target.methods != rows_of(TARGETS[self.target.name], self.preset, self.tasks):
            words += [word for method in self.target.methods for word in ("--method", method)]
        if self.preset.seeds != PRESETS[self.preset.name].seeds:
            words += [word for seed in self.preset.seeds for word in ("--seed", str(seed))]
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
    methods: Sequence[str] = (),
    seeds: Sequence[int] = (),
) -> Plan:
    """Return the plan of a target; `settings` are `key=value` over all configs.

    Where given, `tasks` and `seeds` replace the target's and the preset's, and `methods` are those of the target's that
    are wanted.
    """
    if setting := next((each for each in settings if each.partition("=")[0] == "seed"), None):
        raise UsageError(f"{setting!r} would change nothing: choose seeds with --seed")
    chosen = tuple(tasks) or target.tasks
    rows = rows_of(target, preset, chosen)
    if not rows:
        raise UsageError(f"{target.name} has no method of a player who remembers: choose another task")
    for each in methods:
        require_choice("method", each, rows)
        after = each.removesuffix("-sft")
        if target.gain and not {after, f"{after}-sft"} <= {*methods}:
            raise UsageError(f"{each} alone has no gain to show: choose --method {after}-sft,{after}")
    target = replace(target, methods=tuple(each for each in rows if not methods or each in methods))
    preset = replace(preset, seeds=tuple(dict.fromkeys(seeds)) or preset.seeds)
    of_recall = [each for each in settings if each.startswith(_OF_RECALL)]
    settings_of_config = [each for each in settings if each not in of_recall]
    for kind, those in ((True, of_recall), (False, settings_of_config)):
        if those and not any(TASKS[task].recall == kind for task in chosen):
            raise UsageError(f"{those[0]!r} would change nothing: no task here is trained {_TRAINED[kind]}")
    cells = [
        Cell(task, agent, None, None, out / "baselines" / task / agent, split)
        for task in chosen
        for agent in TASKS[task].agents
    ]
    empty: dict[tuple[str, str], str] = {}
    for task in chosen:
        if not TASKS[task].recall:
            cell_config(task, "best", preset, 0, settings_of_config)  # or a wrong setting would leave every cell empty
        for method in target.methods:
            if reason := why_not(task, method, preset, settings_of_config):
                empty[task, method] = reason
                continue
            # The untuned model is the same for every training seed.
            for seed in preset.seeds[:1] if method == UNTUNED else preset.seeds:
                folder = out / "cells" / task / method / f"seed-{seed}"
                if TASKS[task].recall:
                    lessons = recall_training(method, preset, of_recall)
                    cells.append(Cell(task, method, seed, None, folder, split, lessons))
                else:
                    config = cell_config(task, method, preset, seed, settings_of_config)
                    cells.append(Cell(task, method, seed, config, folder, split))
    read = {each.config.rl.algorithm for each in cells if each.config and each.is_trained}
    for table, name, *_ in (each.partition("=")[0].split(".") for each in settings if each.count(".")):
        if table == "rl" and read and name in {*algorithm_names()} - read:
            raise UsageError(f"rl.{name} has settings of an algorithm that no cell here trains with: leave it out")
    return Plan(target, preset, chosen, tuple(cells), empty, out, tuple(settings), split)
