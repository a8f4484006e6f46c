"""Algorithm 1 from end to end, in one folder per run; finished stages are not repeated.

OUT/settings.json        the settings
OUT/base/                the tiny model before fine-tuning (warmed up once, and cached)
OUT/data/examples.jsonl  D, lines 2 to 20, with a card; OUT/answers/ caches a chat model's answers
OUT/reflector/           R̂, line 21; while it is trained, checkpoints in OUT/.reflector.steps/
OUT/policy-sft/          π_θ0, line 22; as above
OUT/rl/                  checkpoints and TensorBoard events of lines 23 to 35
OUT/policy/              the trained policy, with OUT/curve.png and OUT/curve.json

A pretrained model stays where it is; with LoRA, players and checkpoints hold adapters only. Runs may share the stages
before RL: with a shared folder, OUT holds links to the stages that have its settings.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from pathlib import Path

import torch

from natlang_envs.errors import UsageError
from natlang_envs.files import remove_leftovers, write_whole
from natlang_envs.locks import only_process
from reference_agent import processes
from reference_agent.collection import (
    EXAMPLES,
    Example,
    Fit,
    Report,
    cut_to_context,
    gather,
    read_examples,
    write_collection,
)
from reference_agent.config import Config
from reference_agent.config_file import dump_config, parse_config
from reference_agent.folders import finished
from reference_agent.models.backbone import memory_advice
from reference_agent.models.language_model import LanguageModel
from reference_agent.models.saycan import with_head
from reference_agent.models.served import ServedModel
from reference_agent.models.start import base_model, model_source
from reference_agent.models.tokenizer import PromptReader
from reference_agent.players import Reflector
from reference_agent.preflight import check_model, check_run
from reference_agent.rlft import Row, reinforce
from reference_agent.sft import fine_tune_both, fine_tune_policy, fine_tune_reflector
from reference_agent.stages import link_stage, resume_folder

CONFIG = "settings.json"
_LAST = "or set model.gradient_checkpointing = true"  # what to do where even a small batch is too large


def train(config: Config, out: Path, report: Report, shared: Path | None = None) -> Path:
    """Run Algorithm 1, or the part of it that is missing in `out`; return the folder of the trained policy.

    Of several processes (processes.py) the first collects and warms up, and all take part in the fine-tuning. `report`
    is called with the stage's name, step, number of steps and a value (loss, accuracy or success rate). `shared` keeps
    the stages before RL for all runs with their settings. Raises `UsageError`, or `Stopped` if Ctrl-C was pressed in
    RL.
    """
    torch.set_num_threads(config.threads)
    check_model(config)
    if not (out / "policy").exists():
        check_run(config)
    with ExitStack() as held:
        if processes.number() == 0:
            out.mkdir(parents=True, exist_ok=True)
            held.enter_context(only_process(out))
        return _train(config, out, report, shared)


def _train(config: Config, out: Path, report: Report, shared: Path | None) -> Path:
    with processes.first_before_others():
        claim(config, out)
        examples = read_examples(collected(config, out, report, shared))  # lines 2 to 20
        report("collect", config.collect.trajectories, config.collect.trajectories, float(len(examples)))
        load_or_make_base(config, out, report, shared)

    def fine_tuned(stage: str, make: Callable[[Config, Path, Sequence[Example], Report, Path], LanguageModel]) -> None:
        steps, begun = resume_folder(config, stage, out, shared), False

        def fine_tune(folder: Path) -> None:
            nonlocal begun
            begun = processes.anyone(True)  # only the first process looks whether the stage is missing
            make(config, out, examples, report, steps).save(folder)

        if processes.number() == 0:
            link_stage(config, stage, out, shared, fine_tune)
            shutil.rmtree(steps, ignore_errors=True)
        if begun or processes.anyone(False):
            if processes.number() > 0:
                make(config, out, examples, report, steps)
            processes.anyone(False)  # wait until the first has written the stage

    if config.reflect:
        fine_tuned("reflector", _make_reflector)  # line 21
    fine_tuned("policy-sft", _make_policy)  # line 22

    if not (out / "policy").exists():
        policy, curve = _reinforced(config, out, report)  # lines 23 to 35
        if processes.number() == 0:
            rows = [{"episodes": config.rl.batch * number, **row} for number, row in enumerate(curve, 1)]
            write_whole(out / "curve.json", json.dumps(rows).encode())
            finished(out / "policy", policy.save)
    return out / "policy"


def _reinforced(config: Config, out: Path, report: Report) -> tuple[LanguageModel, list[Row]]:
    """Return the policy after RL fine-tuning, and its learning curve."""
    policy = load_player(config, out, "policy-sft")
    reflector = _served(config, out) if config.rl.reflector_endpoint else load_reflector(config, out, policy)
    stages = config.stages

    def on_row(row: Row) -> None:
        done = sum(stage.iterations for stage in stages[: int(row["stage"])]) + int(row["iteration"])
        report("rl", done, sum(stage.iterations for stage in stages), row["success"])

    with memory_advice("in RL", f"lower rl.microbatch, then rl.batch, {_LAST}"):
        curve = reinforce(
            policy,
            reflector,
            stages,
            config.rl,
            history=config.history,
            seed=config.seed,
            folder=out / "rl",
            report=on_row,
        )
    return policy, curve


def collected(config: Config, out: Path, report: Report, shared: Path | None = None) -> Path:
    """Return the file of a run's examples, collected unless it is there already; for `shared` see `train`."""
    answers = (shared or out) / "answers"  # outlives a collection that was stopped

    def make(folder: Path) -> None:
        write_collection(folder, gather(config, answers, report, _cut(config)))

    made = link_stage(config, "data", out, shared, make)
    if not (made / EXAMPLES).exists():  # deleted by the user, as is said of damaged ones: they are collected again
        shutil.rmtree(made.resolve())
        made = link_stage(config, "data", out, shared, make)
    return made / EXAMPLES


def _cut(config: Config) -> Fit | None:
    """Return how p(s) is cut to a pretrained model's context in collection, as in play; None for a tiny model.

    A tiny model is made with as many positions as its task needs, and says so if they do not suffice.
    """
    if config.model.name == "tiny":
        return None
    reader = PromptReader.of(model_source(config.model.name), config.head)
    return cut_to_context(reader, config.reflection_tokens if config.reflect else 0, config.history)


def claim(config: Config, out: Path) -> None:
    """Make `out` the folder of a run with these settings, or check that it is."""
    path = out / CONFIG
    if not path.exists():
        remove_leftovers(out)  # of a first start that was killed
        if out.exists() and any(out.iterdir()):
            raise UsageError(f"{out} is not empty and holds no run: choose another --out")
        write_whole(path, dump_config(config).encode())
    elif dump_config(read_config(out)) != dump_config(config):
        raise UsageError(f"{out} holds a run with other settings: choose another --out, or resume it without a config")


def read_config(out: Path) -> Config:
    """Return the settings of a run. Raises `UsageError` if there is none, or it is damaged."""
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
    sampled = config.reflections == "sampled"
    if config.players == "one":
        return Reflector(policy, config.reflection_tokens, frozen=False, sampled=sampled)
    if config.players == "adapters":
        model = policy.with_adapter("reflector", config.model, out / "reflector")
    else:
        model = load_player(config, out, "reflector")
    return Reflector(model, config.reflection_tokens, sampled=sampled)


def _served(config: Config, out: Path) -> Reflector:
    """Return the reflector that a server writes for in RL."""
    base, trained = _base_folder(config, out), out / "reflector"
    if config.model.lora_rank:
        command = f"vllm serve {base} --enable-lora --lora-modules reflector={trained}"
    else:
        base, command = trained, f"vllm serve {trained} --served-model-name reflector"
    model = ServedModel(base, config.rl.reflector_endpoint, command)
    return Reflector(model, config.reflection_tokens, sampled=config.reflections == "sampled")


def _new_player(config: Config, out: Path, name: str) -> LanguageModel:
    """Return a player before its fine-tuning."""
    base = _load_base(config, out)
    return base.with_adapter(name, config.model, seed=config.seed) if config.model.lora_rank else base


def _load_base(config: Config, out: Path) -> LanguageModel:
    """Return the model that both players start from."""
    return LanguageModel.load(_base_folder(config, out), config.model)


def _base_folder(config: Config, out: Path) -> str | Path:
    return out / "base" if config.model.name == "tiny" else model_source(config.model.name)


def load_or_make_base(config: Config, out: Path, report: Report, shared: Path | None) -> str | Path:
    """Return the folder or hub id of a run's model before any fine-tuning; see `train`."""
    if config.model.name != "tiny":
        return model_source(config.model.name)
    return link_stage(config, "base", out, shared, lambda folder: base_model(config, report).save(folder))


def _make_reflector(
    config: Config, out: Path, examples: Sequence[Example], report: Report, steps: Path
) -> LanguageModel:
    model = _new_player(config, out, "reflector")
    settings = config.sft_reflector

    def told(step: int, loss: float) -> None:
        report("reflector", step, settings.steps, loss)

    with memory_advice("in the reflector's SFT", f"set or lower sft_reflector.microbatch, {_LAST}"):
        if not config.one_model:
            fine_tune_reflector(model, examples, settings, config.seed, told, steps)
        else:
            shown = _shown(config, examples)
            fine_tune_both(model, examples, shown, settings, config.sft_policy, config.seed, told, steps)
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


def _make_policy(config: Config, out: Path, examples: Sequence[Example], report: Report, steps: Path) -> LanguageModel:
    if config.one_model:
        return load_player(config, out, "reflector")  # the one model, which has learned this job already
    model = with_head(_new_player(config, out, "policy"), config)
    settings = config.sft_policy
    with memory_advice("in the policy's SFT", f"set or lower sft_policy.microbatch, {_LAST}"):
        fine_tune_policy(
            model,
            _shown(config, examples),
            settings,
            config.seed,
            lambda step, loss: report("policy", step, settings.steps, loss),
            steps,
            config.reflect,
        )
    return model
