"""Algorithm 1 from end to end, one folder a run; every stage that has finished is kept and not done again.

OUT/settings.json        the settings
OUT/base/                the tiny model before fine-tuning (warmed up first, and kept in the cache folder)
OUT/data/examples.jsonl  D, lines 2 to 20
OUT/reflector/           R̂, line 21
OUT/policy-sft/          π_θ0, line 22
OUT/rl/                  checkpoints and TensorBoard events of lines 23 to 35
OUT/policy/              the trained policy, and OUT/curve.png, OUT/curve.json

A pretrained model stays where it is. Where adapters are trained, players and checkpoints are adapters alone.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from collections.abc import Callable, Sequence
from dataclasses import asdict
from pathlib import Path

import gymnasium
import torch

from natlang_envs.enumeration import enumerate_actions
from natlang_envs.env import unwrap
from natlang_envs.errors import UsageError, one_of
from natlang_envs.prompt import policy_prompt
from natlang_envs.trajectory import write_whole
from reference_agent import smollm2
from reference_agent.backbone import check_backbone, memory_advice
from reference_agent.collect import Example, collect, read_examples, write_examples
from reference_agent.config import Config, dump_config, parse_config
from reference_agent.model import LanguageModel
from reference_agent.players import Reflector
from reference_agent.rlft import Row, fine_tune
from reference_agent.sft import tune_policy, tune_reflector
from reference_agent.teacher import phrases
from reference_agent.warmup import Report, warm_up

CONFIG = "settings.json"


def cache_folder() -> Path:
    """Return where warmed-up and fetched models are kept: `$NATLANG_CACHE`, or the user's cache folder."""
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
    if config.model.name != "tiny":
        check_backbone(model_source(config.model.name), config.model)
    claim(config, out)
    data = out / "data" / "examples.jsonl"
    if not data.exists():
        write_examples(data, collect(config))
    examples = read_examples(data)
    report("collect", config.collect.trajectories, config.collect.trajectories, float(len(examples)))

    if config.model.name == "tiny":
        _finished(out / "base", lambda folder: base_model(config, report).save(folder))
    if config.reflect:
        _finished(out / "reflector", lambda folder: _make_reflector(config, out, examples, report).save(folder))
    _finished(out / "policy-sft", lambda folder: _make_policy(config, out, examples, report).save(folder))

    def reinforce(folder: Path) -> None:
        policy = load_player(config, out, "policy-sft")
        reflector = load_reflector(config, out, policy)
        total = sum(stage.iterations for stage in config.curriculum)

        def on_row(row: Row) -> None:
            done = sum(stage.iterations for stage in config.curriculum[: int(row["stage"])]) + int(row["iteration"])
            report("rl", done, total, row["success"])

        with memory_advice("in RL", "lower rl.minibatch, then rl.batch"):
            curve = fine_tune(policy, reflector, config, out / "rl", on_row)
        write_whole(out / "curve.json", json.dumps(curve).encode())
        policy.save(folder)

    return _finished(out / "policy", reinforce)


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


def load_player(config: Config, out: Path, folder: str) -> LanguageModel:
    """Return a player of a run: `"policy"`, `"policy-sft"` or `"reflector"`."""
    if not config.model.lora_rank:
        return LanguageModel.load(out / folder, config.model)
    return _load_base(config, out).with_adapter(folder.removesuffix("-sft"), config.model, out / folder)


def load_reflector(config: Config, out: Path, policy: LanguageModel) -> Reflector | None:
    """Return the frozen reflector of a run, if it has one; as an adapter beside the policy's, if the config says so."""
    if not config.reflect:
        return None
    if config.model.players == "adapters":
        model = policy.with_adapter("reflector", config.model, out / "reflector")
    else:
        model = load_player(config, out, "reflector")
    return Reflector(model, config.reflection_tokens)


def _new_player(config: Config, out: Path, name: str) -> LanguageModel:
    """Return a player before its fine-tuning."""
    base = _load_base(config, out)
    return base.with_adapter(name, config.model, seed=config.seed) if config.model.lora_rank else base


def _load_base(config: Config, out: Path) -> LanguageModel:
    """Return the model that both players start from, and check that it has labels enough."""
    if config.model.name == "tiny":
        return LanguageModel.load(out / "base", config.model)
    model = LanguageModel.load(model_source(config.model.name), config.model)
    for stage in config.curriculum:
        env = gymnasium.make(stage.env, split=config.split, **config.env_kwargs)
        model.labels_for(unwrap(env).max_commands)
        env.close()
    return model


NAMED = {"smollm2": smollm2.fetch}  # what `reflect-rl models fetch` knows: a writer of a folder for each name


def model_source(name: str) -> str | Path:
    """Return the folder or hub id that a `model.name` stands for.

    Raises:
        UsageError: It is to be fetched first.
    """
    if name not in NAMED:
        return name
    folder = cache_folder() / "models" / name
    if not folder.exists():
        raise UsageError(f"{folder} is missing: fetch the model once with `reflect-rl models fetch {name}`")
    return folder


def fetch_model(name: str, say: Callable[[str], None]) -> Path:
    """Put a named model into the cache folder, unless it is there, and return its folder.

    Raises:
        UsageError: There is no such name, or the model cannot be had.
    """
    fetch = NAMED[one_of("model", name, NAMED)]
    return _finished(cache_folder() / "models" / name, lambda folder: fetch(folder, say))


def base_model(config: Config, report: Report) -> LanguageModel:
    """Return the tiny model that both players start from.

    It is made and warmed up once for its settings, and kept in the user's cache. The one of the default settings comes
    with the package, because it takes some minutes to make; `reflect-rl warm-up` makes it again.
    """
    made_of = {name: getattr(config.model, name) for name in TINY}
    settings = json.dumps([made_of, asdict(config.warmup), _VERSION])
    name = f"tiny-{hashlib.sha256(settings.encode()).hexdigest()[:16]}"
    shipped = SHIPPED / name
    if shipped.exists():
        return LanguageModel.load(shipped)
    folder = cache_folder() / name
    _finished(folder, lambda path: make_tiny(config, report).save(path))
    return LanguageModel.load(folder)


TINY = (
    "name",
    "layers",
    "width",
    "inner",
    "heads",
    "positions",
    "initializer_range",
)  # settings that make a tiny model
SHIPPED = Path(__file__).parent / "data" / "models"
_VERSION = 2  # raise when the warm-up, the tokenizer or the environment's texts change


def make_tiny(config: Config, report: Report) -> LanguageModel:
    """Return a tiny model with its tokenizer, warmed up; the same settings give the same model on the same machine."""
    torch.set_num_threads(config.threads)
    # Prompts of the classic map, for their words and shape: nothing is learned from the teacher's choices.
    samples = collect(Config(seed=config.warmup.seed))
    prompts = [policy_prompt(each.state, each.reflection, enumerate_actions(each.commands)) for each in samples]
    model = LanguageModel.tiny(config.model, prompts, phrases()["words"], config.warmup.seed)
    warm_up(model, [(each.state, each.commands) for each in samples], config.warmup, report)
    return model


def _make_reflector(config: Config, out: Path, examples: Sequence[Example], report: Report) -> LanguageModel:
    model = _new_player(config, out, "reflector")
    settings = config.sft_reflector
    with memory_advice("in the reflector's SFT", "lower sft_reflector.batch"):
        tune_reflector(
            model, examples, settings, config.seed, lambda step, loss: report("reflector", step, settings.steps, loss)
        )
    return model


def _make_policy(config: Config, out: Path, examples: Sequence[Example], report: Report) -> LanguageModel:
    model = _new_player(config, out, "policy")
    settings = config.sft_policy
    shown = [
        each
        for each in examples
        if each.trajectory < config.collect.policy_trajectories
        and not each.restart
        and (config.collect.policy_negatives or not each.negative)
    ]
    with memory_advice("in the policy's SFT", "lower sft_policy.batch"):
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
