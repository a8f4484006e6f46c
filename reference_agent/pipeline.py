"""Algorithm 1 from end to end, one folder a run; every stage that has finished is kept and not done again.

OUT/settings.json        the settings
OUT/base/                the model before fine-tuning (a tiny one is warmed up first, and kept in the cache folder)
OUT/data/examples.jsonl  D, lines 2 to 20; beside it a card, and a chat model's answers
OUT/reflector/           R̂, line 21
OUT/policy-sft/          π_θ0, line 22
OUT/rl/                  checkpoints and TensorBoard events of lines 23 to 35
OUT/policy/              the trained policy, and OUT/curve.png, OUT/curve.json
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from collections.abc import Callable, Sequence
from dataclasses import asdict, replace
from pathlib import Path

import gymnasium
import torch

from natlang_envs.dangerous_taxi.tasks import FAMILY as TAXI
from natlang_envs.enumeration import enumerate_actions
from natlang_envs.env import unwrap
from natlang_envs.errors import UsageError
from natlang_envs.prompt import policy_prompt
from natlang_envs.trajectory import write_whole
from reference_agent.collect import EXAMPLES, Example, collect, gather, read_examples, write_collection
from reference_agent.config import CollectConfig, Config, StageConfig, dump_config, parse_config
from reference_agent.model import LanguageModel
from reference_agent.players import Reflector
from reference_agent.rlft import Row, fine_tune
from reference_agent.sft import tune_policy, tune_reflector
from reference_agent.teacher import tiny_words
from reference_agent.tokenizer import FEW, TokenizerSizes
from reference_agent.warmup import Report, warm_up

CONFIG = "settings.json"


def cache_folder() -> Path:
    """Return where warmed-up models are kept: `$NATLANG_CACHE`, or the user's cache folder."""
    given = os.environ.get("NATLANG_CACHE")
    if given:
        return Path(given)
    return Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "natlang_envs"


def train(config: Config, out: Path, report: Report) -> Path:
    """Run Algorithm 1, or the part of it that is missing in `out`; return the folder of the trained policy.

    Args:
        config: The settings.
        out: The run's folder. One that holds a run of other settings is refused.
        report: Called with the stage's name, step, number of steps and a value (loss, accuracy or success rate).

    Raises:
        UsageError: `out` belongs to other settings, or something in it is damaged.
        Stopped: Ctrl-C was pressed in RL fine-tuning.
    """
    torch.set_num_threads(config.threads)
    claim(config, out)
    examples = read_examples(collected(config, out, report))
    report("collect", config.collect.trajectories, config.collect.trajectories, float(len(examples)))

    base = _finished(out / "base", lambda folder: base_model(config, report).save(folder))
    if config.reflect:
        _finished(out / "reflector", lambda folder: _make_reflector(config, base, examples, report).save(folder))
    start = _finished(out / "policy-sft", lambda folder: _make_policy(config, base, examples, report).save(folder))

    def reinforce(folder: Path) -> None:
        policy = LanguageModel.load(start)
        reflector = load_reflector(config, out)
        total = sum(stage.iterations for stage in config.curriculum)

        def on_row(row: Row) -> None:
            done = sum(stage.iterations for stage in config.curriculum[: int(row["stage"])]) + int(row["iteration"])
            report("rl", done, total, row["success"])

        curve = fine_tune(policy, reflector, config, out / "rl", on_row)
        write_whole(out / "curve.json", json.dumps(curve).encode())
        policy.save(folder)

    return _finished(out / "policy", reinforce)


def collected(config: Config, out: Path, report: Report) -> Path:
    """Return the file of a run's examples, collected unless it is there already."""
    data = out / "data"
    if not (data / EXAMPLES).exists():
        write_collection(data, gather(config, data / "answers", report))
    return data / EXAMPLES


def claim(config: Config, out: Path) -> None:
    """Make `out` the folder of a run with these settings, or check that it is."""
    path = out / CONFIG
    if not path.exists():
        if out.exists() and any(out.iterdir()):
            raise UsageError(f"{out} is not empty and holds no run: choose another --out")
        write_whole(path, dump_config(config).encode())
    elif dump_config(read_config(out)) != dump_config(config):
        raise UsageError(f"{out} holds a run with other settings: choose another --out, or resume it without a config")


def read_config(out: Path) -> Config:
    """Return the settings of a run.

    Raises:
        UsageError: There is no run.
    """
    try:
        return parse_config(json.loads((out / CONFIG).read_text(encoding="utf-8")))
    except FileNotFoundError:
        raise UsageError(f"{out} holds no run: train one with `reflect-rl train --out {out}`") from None
    except ValueError as error:
        if isinstance(error, UsageError):
            raise
        raise UsageError(f"{out / CONFIG} is damaged ({error}): train again with another --out") from None


def load_reflector(config: Config, out: Path) -> Reflector | None:
    """Return the frozen reflector of a run, if it has one."""
    return Reflector(LanguageModel.load(out / "reflector"), config.reflection_tokens) if config.reflect else None


def base_model(config: Config, report: Report) -> LanguageModel:
    """Return the model that both players start from.

    A tiny model is made and warmed up once for its settings, and kept in the user's cache. The one of the default
    settings comes with the package, because it takes some minutes to make; `reflect-rl warm-up` makes it again.
    """
    if config.model.name != "tiny":
        return LanguageModel.load(config.model.name)
    samples = _samples(config)
    # Taxi's models are all one: the default config's, on the classic map.
    further = [] if samples == Config(seed=config.warmup.seed) else [asdict(samples)]
    settings = json.dumps([asdict(config.model), asdict(config.warmup), _VERSION, *further])
    name = f"tiny-{hashlib.sha256(settings.encode()).hexdigest()[:16]}"
    shipped = SHIPPED / name
    if shipped.exists():
        return LanguageModel.load(shipped)
    folder = cache_folder() / name
    _finished(folder, lambda path: make_tiny(config, report).save(path))
    return LanguageModel.load(folder)


SHIPPED = Path(__file__).parent / "data" / "models"
_VERSION = 2  # raise when the warm-up, the tokenizer or the environment's texts change


def make_tiny(config: Config, report: Report) -> LanguageModel:
    """Return a tiny model with its tokenizer, warmed up; the same settings give the same model on the same machine."""
    torch.set_num_threads(config.threads)
    # Prompts for their words and shape: nothing is learned from the teacher's choices.
    settings = _samples(config)
    samples = collect(settings)
    prompts = [policy_prompt(each.state, each.reflection, enumerate_actions(each.commands)) for each in samples]
    env = unwrap(gymnasium.make(settings.curriculum[0].env, split=settings.split, **settings.env_kwargs))
    # All six of Taxi's commands have letters; where there are more commands, there are more words too.
    sizes = FEW if env.max_commands <= 26 else TokenizerSizes(4_096, env.max_commands)
    model = LanguageModel.tiny(config.model, prompts, tiny_words(env), config.warmup.seed, sizes)
    said = None if env.family == TAXI else [(each.reflection, each.action) for each in samples]
    warm_up(model, [(each.state, each.commands) for each in samples], config.warmup, report, said)
    return model


def _samples(config: Config) -> Config:
    """Return the settings for a tiny model's sample prompts: the first stage's environment, or Taxi's classic map."""
    plain = Config(seed=config.warmup.seed)
    stage = config.curriculum[0]
    if unwrap(gymnasium.make(stage.env)).family == TAXI:
        return plain
    return replace(
        plain,
        split=config.split,
        env_kwargs=config.env_kwargs,
        history=config.history,
        collect=CollectConfig(trajectories=config.collect.trajectories, policy_trajectories=0),
        curriculum=(StageConfig(stage.env, 0),),
    )


def _make_reflector(config: Config, base: Path, examples: Sequence[Example], report: Report) -> LanguageModel:
    model = LanguageModel.load(base)
    settings = config.sft_reflector
    tune_reflector(
        model, examples, settings, config.seed, lambda step, loss: report("reflector", step, settings.steps, loss)
    )
    return model


def _make_policy(config: Config, base: Path, examples: Sequence[Example], report: Report) -> LanguageModel:
    model = LanguageModel.load(base)
    settings = config.sft_policy
    shown = [
        each
        for each in examples
        if each.trajectory < config.collect.policy_trajectories
        and not each.restart
        and (config.collect.policy_negatives or not each.negative)
    ]
    tune_policy(
        model,
        shown,
        config.reflect,
        settings,
        config.seed,
        lambda step, loss: report("policy", step, settings.steps, loss),
    )
    return model


def _finished(folder: Path, make: Callable[[Path], None]) -> Path:
    """Return `folder`, made by `make` in a place beside it and renamed when whole, unless it is there already."""
    if not folder.exists():
        unfinished = folder.with_name(f".{folder.name}.{os.getpid()}")
        shutil.rmtree(unfinished, ignore_errors=True)
        unfinished.mkdir(parents=True)
        make(unfinished)
        try:
            unfinished.rename(folder)
        except OSError:
            if not folder.exists():
                raise
            shutil.rmtree(unfinished)  # another process was faster; both made the same
    return folder
