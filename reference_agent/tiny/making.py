"""Making of the tiny model that both players start from: once for the settings that matter, and kept in the cache.

The one of the default settings comes with the package, because it takes some minutes to make; `reflect-rl warm-up`
makes it again.
"""

from __future__ import annotations

import hashlib
import json
import shutil
from dataclasses import asdict, replace
from pathlib import Path

import torch

from natlang_envs.env import NatLangEnv
from natlang_envs.files import alone, cache_folder
from natlang_envs.prompt import enumerate_actions, policy_prompt
from reference_agent.collection import Report, gather
from reference_agent.curriculum import Stage
from reference_agent.families import FAMILIES, own, phrases
from reference_agent.models.backbone import finished
from reference_agent.models.language_model import LanguageModel
from reference_agent.run.config import CollectConfig, Config, TeacherConfig, WarmupConfig
from reference_agent.tiny.untrained import INITIALIZER_RANGE
from reference_agent.tiny.warmup import SAMPLED, warm_up

PICKUP = Stage("NatLang/DangerousTaxi-Pickup-v0")
_MADE_BY = ("name", "layers", "width", "inner", "heads", "positions")  # settings
_SHIPPED = Path(__file__).parents[1] / "data" / "models"
VERSION = 2  # raise when the warm-up, the tokenizer or the environment's texts change
LESSONS = 1  # raise in its place when only the lessons change that the shipped model did not have


def tiny_folder() -> Path:
    return _SHIPPED / tiny_name(_sampling(WarmupConfig().seed))


def base_model(config: Config, report: Report) -> LanguageModel:
    """Return the tiny model that both players start from; a warm-up that was killed goes on."""
    name = tiny_name(config)
    if (_SHIPPED / name).exists():
        return LanguageModel.load(_SHIPPED / name)
    folder = cache_folder() / name
    steps = folder.with_name(f".{name}.steps")
    with alone(folder.with_name(f".{name}.lock")):  # another process that needs it waits for it
        finished(folder, lambda path: make_tiny(config, report, steps).save(path))
        shutil.rmtree(steps, ignore_errors=True)
    return LanguageModel.load(folder)


def tiny_name(config: Config) -> str:
    samples = _samples(config)
    collected = {name: value for name, value in asdict(samples.collect).items() if name != "unclear"}
    sampled_from = [asdict(samples.demonstrations), samples.history, asdict(samples.teacher), collected]
    # Taxi's models of a kind of map are all one.
    further = [] if samples == _sampling(config.warmup.seed) else [*sampled_from, LESSONS]
    made_of = {name: getattr(config.model, name) for name in _MADE_BY} | {"initializer_range": INITIALIZER_RANGE}
    made_of |= {"mimetic": True} if config.model.mimetic else {}
    settings = json.dumps([made_of, asdict(config.warmup), VERSION, *further])
    return f"tiny-{hashlib.sha256(settings.encode()).hexdigest()[:16]}"


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
    model = LanguageModel.tiny(config.model, prompts, _words(env), config.warmup.seed, max(26, env.max_commands))
    warm_up(model, samples, config.warmup, report, own(env.family, "lessons"), steps)
    return model


def _words(env: NatLangEnv) -> list[str]:
    if words := own(env.family, "words"):
        return words()
    if env.family in FAMILIES:
        return phrases(env.family)["words"]
    return sorted({word for command in env.action_space.commands for word in command.split()})


def _samples(config: Config) -> Config:
    """Return the settings for a tiny model's sample prompts: where the teacher plays, or what the family says."""
    plain, played = _sampling(config.warmup.seed), config.demonstrations
    if samples := own(played.make().family, "samples"):
        return samples(config, plain)
    count = min(config.collect.trajectories, SAMPLED)
    return replace(
        plain,
        **{name: getattr(config, name) for name in ("split", "allow_test", "history")},
        env_kwargs={name: value for name, value in played.env_kwargs.items() if name != "split"},
        teacher=TeacherConfig(options=config.teacher.options),
        collect=CollectConfig(trajectories=count, policy_trajectories=0, wordings=4, detours=config.collect.detours),
        curriculum=(Stage(played.env, 0),),
    )


def _sampling(seed: int) -> Config:
    collect = CollectConfig(trajectories=25, policy_trajectories=20, wordings=4)
    return Config(seed=seed, collect=collect, curriculum=(PICKUP,))
