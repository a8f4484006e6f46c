"""Algorithm 1 from end to end, one folder a run; every stage that has finished is kept and not done again.

OUT/settings.json        the settings
OUT/base/                the tiny model before fine-tuning (warmed up first, and kept in the cache folder)
OUT/data/examples.jsonl  D, lines 2 to 20; beside it a card. OUT/answers/ is what a chat model said
OUT/reflector/           R̂, line 21
OUT/policy-sft/          π_θ0, line 22
OUT/rl/                  checkpoints and TensorBoard events of lines 23 to 35
OUT/policy/              the trained policy, and OUT/curve.png, OUT/curve.json

A pretrained model stays where it is. Where adapters are trained, players and checkpoints are adapters alone. Runs may
share the stages before RL: with a folder for them, OUT holds links to what is there by its settings.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, replace
from pathlib import Path
from typing import IO

import gymnasium
import torch

from natlang_envs.dangerous_taxi.tasks import FAMILY as TAXI
from natlang_envs.enumeration import enumerate_actions
from natlang_envs.env import unwrap
from natlang_envs.errors import UsageError, one_of
from natlang_envs.prompt import policy_prompt
from natlang_envs.trajectory import write_whole
from reference_agent import smollm2
from reference_agent.backbone import check_backbone, memory_advice
from reference_agent.collect import EXAMPLES, Example, collect, gather, read_examples, write_collection
from reference_agent.config import CollectConfig, Config, StageConfig, dump_config, parse_config
from reference_agent.model import LanguageModel
from reference_agent.players import Reflector
from reference_agent.rlft import Row, fine_tune
from reference_agent.saycan import with_head
from reference_agent.sft import tune_both, tune_policy, tune_reflector
from reference_agent.teacher import tiny_words
from reference_agent.tokenizer import FEW, TokenizerSizes
from reference_agent.warmup import Report, warm_up

CONFIG = "settings.json"


def cache_folder() -> Path:
    """Return where warmed-up and fetched models are kept: `$NATLANG_CACHE`, or the user's cache folder."""
    given = os.environ.get("NATLANG_CACHE")
    if given:
        return Path(given)
    return Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "natlang_envs"


def train(config: Config, out: Path, report: Report, shared: Path | None = None) -> Path:
    """Run Algorithm 1, or the part of it that is missing in `out`; return the folder of the trained policy.

    Args:
        config: The settings.
        out: The run's folder. One that holds a run of other settings is refused.
        report: Called with the stage's name, step, number of steps and a value (loss, accuracy or success rate).
        shared: Where stages before RL are kept for all runs with the settings that they depend on; None for `out`.

    Raises:
        UsageError: `out` belongs to other settings, or something in it is damaged.
        Stopped: Ctrl-C was pressed in RL fine-tuning.
    """
    torch.set_num_threads(config.threads)
    if config.model.name != "tiny":
        check_backbone(model_source(config.model.name), config.model)
    claim(config, out)

    def stage(name: str, make: Callable[[Path], None]) -> Path:
        return _stage(config, name, out, shared, make)

    examples = read_examples(collected(config, out, report, shared))
    report("collect", config.collect.trajectories, config.collect.trajectories, float(len(examples)))

    load_or_make_base(config, out, report, shared)
    if config.reflect:
        stage("reflector", lambda folder: _make_reflector(config, out, examples, report).save(folder))
    stage("policy-sft", lambda folder: _make_policy(config, out, examples, report).save(folder))

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


def collected(config: Config, out: Path, report: Report, shared: Path | None = None) -> Path:
    """Return the file of a run's examples, collected unless it is there already; for `shared` see `train`."""
    answers = (shared or out) / "answers"  # outlives a collection that was stopped
    made = _stage(config, "data", out, shared, lambda folder: write_collection(folder, gather(config, answers, report)))
    return made / EXAMPLES


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
    if config.model.lora_rank:
        player = _load_base(config, out).with_adapter(folder.removesuffix("-sft"), config.model, out / folder)
    else:
        player = LanguageModel.load(out / folder, config.model)
    return player if folder == "reflector" else with_head(player, config)


def load_reflector(config: Config, out: Path, policy: LanguageModel) -> Reflector | None:
    """Return the frozen reflector of a run, if it has one; as an adapter beside the policy's, if the config says so."""
    if not config.reflect:
        return None
    if config.players == "one":
        return Reflector(policy, config.reflection_tokens, frozen=False)
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
        env = gymnasium.make(stage.env, split=config.split, **config.env_kwargs, **stage.env_kwargs)
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


def load_or_make_base(config: Config, out: Path, report: Report, shared: Path | None) -> str | Path:
    """Return the folder or hub id of a run's model before any fine-tuning; see `train`."""
    if config.model.name != "tiny":
        return model_source(config.model.name)
    return _stage(config, "base", out, shared, lambda folder: base_model(config, report).save(folder))


def base_model(config: Config, report: Report) -> LanguageModel:
    """Return the tiny model that both players start from.

    It is made and warmed up once for its settings, and kept in the user's cache. The one of the default settings comes
    with the package, because it takes some minutes to make; `reflect-rl warm-up` makes it again.
    """
    name = tiny_name(config)
    shipped = SHIPPED / name
    if shipped.exists():
        return LanguageModel.load(shipped)
    folder = cache_folder() / name
    _finished(folder, lambda path: make_tiny(config, report).save(path))
    return LanguageModel.load(folder)


def tiny_name(config: Config) -> str:
    """Return the name of the tiny model that the settings make."""
    samples = _samples(config)
    # Taxi's models are all one: the default config's, on the classic map.
    further = [] if samples == Config(seed=config.warmup.seed) else [asdict(samples)]
    made_of = {name: getattr(config.model, name) for name in TINY}
    settings = json.dumps([made_of, asdict(config.warmup), _VERSION, *further])
    return f"tiny-{hashlib.sha256(settings.encode()).hexdigest()[:16]}"


# The settings that make a tiny model.
TINY = ("name", "layers", "width", "inner", "heads", "positions", "initializer_range")
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


def _make_reflector(config: Config, out: Path, examples: Sequence[Example], report: Report) -> LanguageModel:
    model = _new_player(config, out, "reflector")
    settings = config.sft_reflector

    def told(step: int, loss: float) -> None:
        report("reflector", step, settings.steps, loss)

    with memory_advice("in the reflector's SFT", "lower sft_reflector.batch"):
        if config.players == "two":
            tune_reflector(model, examples, settings, config.seed, told)
        else:
            tune_both(model, examples, _shown(config, examples), settings, config.sft_policy, config.seed, told)
    return model


def _shown(config: Config, examples: Sequence[Example]) -> list[Example]:
    """Return what the policy learns from."""
    return [
        each
        for each in examples
        if each.trajectory < config.collect.policy_trajectories
        and not each.restart
        and (config.collect.policy_negatives or not each.negative)
    ]


def _make_policy(config: Config, out: Path, examples: Sequence[Example], report: Report) -> LanguageModel:
    if config.players != "two":
        return load_player(config, out, "reflector")  # the one model, which has learned this job already
    model = with_head(_new_player(config, out, "policy"), config)
    settings = config.sft_policy
    with memory_advice("in the policy's SFT", "lower sft_policy.batch"):
        tune_policy(
            model,
            _shown(config, examples),
            config.reflect,
            settings,
            config.seed,
            lambda step, loss: report("policy", step, settings.steps, loss),
        )
    return model


_AFTER_SFT = frozenset({"rl", "curriculum"})
_OF_POLICY = frozenset({"sft_policy", "reflect", "reflection_tokens", "collect.policy_trajectories"})
# What a stage does not depend on. A setting that nobody thought of here costs a stage made twice, never a wrong one.
_FREE: dict[str, frozenset[str]] = {
    "data": _AFTER_SFT
    | _OF_POLICY
    | {"collect.policy_negatives", "model", "warmup", "sft_reflector", "players", "threads"},
    "reflector": _AFTER_SFT | _OF_POLICY | {"collect.policy_negatives"},
    "policy-sft": _AFTER_SFT | {"sft_reflector", "reflection_tokens"},
}


def stage_key(config: Config, stage: str) -> str:
    """Return a digest of the settings that a stage before RL depends on."""
    if stage == "base":
        return tiny_name(config)
    free = _FREE[stage] if config.players == "two" or stage == "data" else _AFTER_SFT | {"reflection_tokens"}
    settings = asdict(config)
    kept: dict[str, object] = {key: value for key, value in settings.items() if key not in free}
    kept["env"] = config.demonstrations
    if "collect" in kept:
        kept["collect"] = {
            key: value for key, value in settings["collect"].items() if key != "env" and f"collect.{key}" not in free
        }
    text = json.dumps([_VERSION, stage, kept], sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def _stage(config: Config, stage: str, out: Path, shared: Path | None, make: Callable[[Path], None]) -> Path:
    """Return `out/stage`, made by `make` if it is missing; with `shared`, a link to the one of these settings there."""
    if shared is None:
        return _finished(out / stage, make)
    folder = shared / f"{stage}-{stage_key(config, stage)}"
    with _alone(shared / f".{folder.name}.lock"):  # another process that needs it waits for it
        _finished(folder, make)
    link = out / stage
    if not link.exists():
        link.unlink(missing_ok=True)  # one that points nowhere
        link.symlink_to(os.path.relpath(folder.resolve(), out.resolve()), target_is_directory=True)
    return link


@contextmanager
def _alone(path: Path) -> Iterator[None]:
    """Hold a lock that ends with the process, however it ends."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w") as file:
        lock_file(file, wait=True)
        yield


def lock_file(file: IO[str], wait: bool) -> bool:
    """Lock an open file; return False if another process has it and `wait` is False."""
    try:
        import fcntl
    except ImportError:  # Windows: nothing is locked, and two processes may make the same stage twice
        return True
    try:
        fcntl.flock(file, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
    except BlockingIOError:
        return False
    return True


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
