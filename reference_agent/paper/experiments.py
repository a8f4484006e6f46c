"""What `reflect-rl reproduce` makes: tasks (columns), rows, presets, and the paper's own numbers. One line each.

A cell of a task and a row is the preset TASK/ROW (see `load_config`); where there is none, or the environment cannot be
made on this machine, the cell stays empty and says why. It does not know how a cell is made: that is `reproduce.py`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import ceil
from pathlib import Path

import numpy as np

from natlang_envs.cli_support import make_env
from natlang_envs.errors import UsageError
from natlang_envs.evaluation import load_protocol
from reference_agent.collect import teachers_env
from reference_agent.config import Config
from reference_agent.config_file import EXPERIMENTS, load_config, preset_files
from reference_agent.teachers.choose import make_teacher

UNTUNED = "untuned"


@dataclass(frozen=True)
class Task:
    """A column.

    Attributes:
        name: The folder in `experiments/`.
        title: For people.
        protocol: What is played.
        agents: The agents of `natlang evaluate --agent` beside the rows.
    """

    name: str
    title: str
    protocol: str
    agents: tuple[str, ...]


@dataclass(frozen=True)
class Row:
    """A row that is trained, or `untuned`: the model of `best` before any fine-tuning, which chooses a label."""

    name: str
    title: str


@dataclass(frozen=True)
class Target:
    """A table or a figure of the paper.

    Attributes:
        name: What stands behind `reflect-rl reproduce`.
        title: For people.
        tasks: Its columns, unless others are asked for.
        rows: Its rows.
        picture: Whether learning curves are drawn.
    """

    name: str
    title: str
    tasks: tuple[str, ...]
    rows: tuple[str, ...]
    picture: bool = True


@dataclass(frozen=True)
class Preset:
    """How long and how often.

    Attributes:
        name: What stands behind `--preset`.
        seeds: Training seeds.
        iterations: The part of the configs' iterations of RL that is done.
        sft_steps: The most steps of each supervised fine-tuning.
        least_steps: The fewest, where there are any.
        over: A config file over those of the cells.
        settings: Settings over both.
    """

    name: str
    seeds: tuple[int, ...]
    iterations: float = 1.0
    sft_steps: int = 1_000_000
    least_steps: int = 0
    over: Path | None = None
    settings: tuple[str, ...] = ()


_TAXI = ("random", "random-legal", "oracle")
_FILES = ("random", "bm25", "oracle")
_HOUSES = ("random", "expert", "reference")
_ALL_TASKS = (
    Task("autoexplore-depth1", "AutoExplore depth 1", "autoexplore-depth1/paper", _FILES),
    Task("autoexplore-depth2", "AutoExplore depth 2", "autoexplore-depth2/paper", _FILES),
    Task("taxi-pickup", "Taxi pickup", "dangerous-taxi-pickup/paper", _TAXI),
    Task("taxi-dropoff", "Taxi dropoff", "dangerous-taxi-dropoff/paper", _TAXI),
    Task("alfworld-tomato", "ALFWorld tomato", "alfworld-tomato/v1", _HOUSES),
    Task("alfworld", "ALFWorld, six task types, unseen rooms", "alfworld-generated/v1", _HOUSES),
    Task("taxi-pickup-maps", "Taxi pickup, unseen cities", "dangerous-taxi-pickup/v1", _TAXI),
    Task("taxi-dropoff-maps", "Taxi dropoff, unseen cities", "dangerous-taxi-dropoff/v1", _TAXI),
)
TASKS = {task.name: task for task in _ALL_TASKS}

_ALL_ROWS = (
    Row(UNTUNED, "untuned"),
    Row("rlft-only", "RLFT only"),
    Row("sft-faithful", "SFT only, faithful"),
    Row("sft-only", "SFT only, best"),
    Row("no-reflection", "SFT + RLFT without reflection"),
    Row("no-reflection-no-curriculum", "without reflection and curriculum"),
    Row("no-negatives", "Reflect-RL without negatives"),
    Row("no-curriculum", "Reflect-RL without curriculum"),
    Row("same-model", "same model for both players"),
    Row("same-model-frozen", "same model, its reflections frozen"),
    Row("rloo", "RLOO"),
    Row("gigpo", "GiGPO"),
    Row("replay", "REINFORCE with replay of successes"),
    Row("ppo", "PPO"),
    Row("ppo-dropout", "PPO, dropout on"),
    Row("ppo-critic", "PPO with a critic"),
    Row("ppo-critic-dropout", "PPO with a critic, dropout on"),
    Row("faithful", "Reflect-RL faithful"),
    Row("best", "Reflect-RL best"),
)
ROWS = {row.name: row for row in _ALL_ROWS}

_ALL_TARGETS = (
    Target(
        "table2",
        "Table 2: success on held-out tasks",
        ("taxi-pickup", "taxi-dropoff", "alfworld-tomato"),
        (UNTUNED, "sft-faithful", "sft-only", "faithful", "best"),
        picture=False,
    ),
    Target(
        "figure2",
        "Figure 2: ways to train, in the pickup curriculum",
        ("taxi-pickup",),
        ("rlft-only", "sft-faithful", "sft-only", "no-reflection", "faithful", "best"),
    ),
    # The paper's figure 3 is of AutoExplore, which takes a pretrained model: then --task autoexplore-depth1.
    Target("figure3", "Figure 3: with and without negative examples", ("taxi-pickup",), ("no-negatives", "best")),
    Target(
        "figure4",
        "Figure 4: with and without curriculum and reflection, in the dropoff curriculum",
        ("taxi-dropoff",),
        ("no-reflection-no-curriculum", "no-reflection", "no-curriculum", "best"),
    ),
    Target(
        "algorithms",
        "Algorithms of RL fine-tuning, from the same warm start",
        ("taxi-pickup",),
        ("sft-only", "rloo", "gigpo", "ppo", "replay", "best"),
    ),
    Target(
        "appendix-a",
        "Appendix A: PPO, with and without a critic and dropout",
        ("taxi-pickup",),
        ("ppo", "ppo-dropout", "ppo-critic", "ppo-critic-dropout"),
    ),
    Target(
        "appendix-e2",
        "Appendix E.2: the same model for both players",
        ("taxi-pickup",),
        ("same-model", "same-model-frozen", "best"),
    ),
)
TARGETS = {target.name: target for target in _ALL_TARGETS}

_SMOKE = (
    *("model.layers=1", "model.width=32", "model.inner=64", "model.heads=2"),
    *("warmup.copy_steps=3", "warmup.steps=3", "warmup.lookup_steps=2", "warmup.direction_steps=2", "warmup.batch=8"),
    *("collect.trajectories=3", "collect.policy_trajectories=2"),
    *("rl.batch=8", "rl.minibatch=16", "rl.checkpoint_every=1", "reflection_tokens=6"),
)
_ALL_PRESETS = (
    Preset("smoke", (0,), iterations=0.01, sft_steps=3, settings=_SMOKE),
    Preset("quick", (0,), iterations=0.4),
    Preset("tiny", (0, 1, 2)),
    Preset("smollm2", (0, 1, 2), sft_steps=400, least_steps=200, over=EXPERIMENTS / "presets/smollm2.toml"),
)
PRESETS = {preset.name: preset for preset in _ALL_PRESETS}

# Its table 2, per cent, in the order of the first of `TASKS`, which are its columns; section 6 has those of GPT-4 and
# GPT-3.5. The figures are pictures whose values stand nowhere in the text, so that they have no numbers here beyond the
# table's.
_PAPER: dict[str, tuple[int | None, ...]] = {
    "sft-faithful": (4, 9, 7, 0, 0),
    "faithful": (36, 17, 58, 29, 74),
    "Mistral 7B": (34, 3, 7, 0, 0),
    "Llama2 7B-chat": (2, 1, 3, 0, 0),
    "Orca-2 7B": (6, 1, 1, 0, 0),
    "GPT-4": (71, 81, None, 0, 84),
    "GPT-3.5-turbo": (31, 8, None, None, 6),
}
# Rows that only the paper has numbers of; the open ones run by `natlang evaluate --agent` where a machine holds them.
PAPER_ONLY = tuple(name for name in _PAPER if name not in ROWS)


def paper(task: str, row: str) -> int | None:
    """Return the paper's success rate in per cent; None where it gives none."""
    numbers = _PAPER.get(row)
    column = list(TASKS).index(task)
    return numbers[column] if numbers is not None and column < len(numbers) else None


def protocol_of(config: Config) -> str | None:
    """Return the protocol of the last environment of a run that a column has one of; None where there is none."""
    for stage in reversed(config.curriculum):
        given = config.env_kwargs | stage.env_kwargs
        if given.get("source") == "mixed":  # who trains in made-up rooms is played in real ones
            del given["source"]
        for protocol in (load_protocol(task.protocol) for task in _ALL_TASKS):
            fits = all(protocol.kwargs.get(name) == value for name, value in given.items())
            if fits and protocol.env_id == stage.env:
                return protocol.name
    return None


def _cell(task: str, row: str) -> Path:
    """Return the name of a cell's preset; the untuned model is that of `best`."""
    return EXPERIMENTS / task / ("best" if row == UNTUNED else row)


def cell_config(task: str, row: str, preset: Preset, seed: int, settings: list[str]) -> Config:
    """Return what a cell is trained with: its own settings, then the preset's, then the user's; the seed is given."""
    config = load_config(_cell(task, row), [*preset.settings, *settings], preset.over)
    stages = tuple(replace(stage, iterations=ceil(stage.iterations * preset.iterations)) for stage in config.curriculum)
    reflector, policy = (
        replace(each, steps=min(max(each.steps, preset.least_steps), preset.sft_steps) if each.steps else 0)
        for each in (config.sft_reflector, config.sft_policy)
    )
    return replace(config, seed=seed, curriculum=stages, sft_reflector=reflector, sft_policy=policy)


def why_not(task: str, row: str, preset: Preset, settings: list[str]) -> str | None:
    """Return in one line why a cell cannot be trained, or None."""
    if not preset_files(_cell(task, row)):
        return f"there is no experiments/{task}/{row}.toml yet"
    try:
        config = cell_config(task, row, preset, 0, settings)
        make_teacher(teachers_env(config), np.random.default_rng(0), config.collect)
        for stage in config.curriculum:
            make_env(stage.env, **config.arguments(stage)).close()
    except UsageError as error:
        return str(error)
    return None
