"""A config that trains in seconds, and a model made from it."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from natlang_envs.prompt import enumerate_actions, policy_prompt
from reference_agent.collection import gather
from reference_agent.curriculum import Stage
from reference_agent.data_set import Example
from reference_agent.models.language_model import LanguageModel
from reference_agent.run.config import Config
from reference_agent.run.config_file import load_config
from reference_agent.run.pipeline import train
from tests.support.shared import made_once, shared_folder

SHIPPED = Path("presets/shipped")  # smoothing, doubt and so on, as the shipped experiments have them
QUICK = [
    "model.layers=1",
    "model.width=32",
    "model.inner=64",
    "model.heads=2",
    "warmup.copy_steps=3",
    "warmup.steps=3",
    "warmup.direction_steps=2",
    "warmup.batch=8",
    "collect.trajectories=3",
    "collect.policy_trajectories=2",
    "collect.negatives=2",
    "sft_reflector.steps=4",
    "sft_policy.steps=4",
    "rl.batch=6",
    "rl.minibatch=16",
    "rl.checkpoint_every=1",
    "reflection_tokens=6",
]
WORDS = ["south", "north", "east", "west", "pick", "drop", "Red", "Green", "Yellow", "Blue"]


def collect(config: Config) -> list[Example]:
    """Return the data set of a run."""
    return gather(config).examples


def quick_config(*settings: str, stages: tuple[int, ...] = (3,)) -> Config:
    """Return a config of seconds, with so many iterations in each stage (pickup, then dropoff)."""
    config = load_config(SHIPPED, [*QUICK, *settings], for_many=True)
    names = ("NatLang/DangerousTaxi-Pickup-v0", "NatLang/DangerousTaxi-Dropoff-v0")
    curriculum = tuple(Stage(env=name, iterations=count) for name, count in zip(names, stages, strict=False))
    return type(config)(**{**vars(config), "curriculum": curriculum})


@pytest.fixture(scope="package", autouse=True)
def _own_cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Keep warmed-up models of tests out of the user's cache, and share them between tests and workers."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("NATLANG_CACHE", str(shared_folder(tmp_path_factory) / "cache"))
        yield


def trained_run(factory: pytest.TempPathFactory, seed: int = 0) -> Path:
    """Return the run of `quick_config`, trained once for all workers."""
    config = quick_config(f"seed={seed}")
    return made_once(factory, f"trained-seed{seed}", lambda out: train(config, out, lambda *_: None))


@pytest.fixture(scope="session")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The run of `quick_config`, which nobody changes."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("NATLANG_CACHE", str(shared_folder(tmp_path_factory) / "cache"))
        return trained_run(tmp_path_factory)


@pytest.fixture
def out_trained(trained: Path, out: Path) -> Path:
    """A copy of that run."""
    return Path(shutil.copytree(trained, out))


@pytest.fixture(scope="session")
def examples() -> list[Example]:
    """What the teacher says on a few trajectories."""
    return collect(quick_config())


@pytest.fixture(scope="session")
def model(examples: list[Example]) -> LanguageModel:
    """An untrained tiny model."""
    prompts = [policy_prompt(each.state, each.reflection, enumerate_actions(each.commands)) for each in examples]
    return LanguageModel.tiny(quick_config().model, prompts, WORDS, 0)


@pytest.fixture
def out(tmp_path: Path) -> Path:
    """A folder for a run."""
    return tmp_path / "run"
