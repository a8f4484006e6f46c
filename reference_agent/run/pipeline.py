"""Algorithm 1 from end to end, in one folder per run; finished stages are not repeated.

OUT/settings.json        the settings
OUT/base/                the tiny model before fine-tuning (warmed up once, and cached)
OUT/made_by.json         versions, number of processes, device
OUT/data/examples.jsonl  D, lines 2 to 20, with a card, and validation.jsonl; OUT/answers/ caches a chat model's answers
OUT/reflector/           R̂, line 21, and its curve.json; while it is trained, checkpoints in OUT/.reflector.steps/
OUT/policy-sft/          π_θ0, line 22; as above
OUT/rl/                  checkpoints and TensorBoard events of lines 23 to 35
OUT/policy/              the trained policy, the best on validation where RL is validated; OUT/policy-last/ is then
                         the last, if it is another; OUT/curve.png and OUT/curve.json

A pretrained model stays where it is; with LoRA, players and checkpoints hold adapters only. Runs may share the stages
before RL: with a shared folder, OUT holds links to the stages that have its settings.
"""

from __future__ import annotations

import json
import logging
import shutil
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import torch

from natlang_envs.errors import UsageError
from natlang_envs.files import make_folder, only_process, write_whole
from reference_agent import collection, processes
from reference_agent.checkpoint import OF_TRAINING, newest
from reference_agent.collection import Report, with_shown
from reference_agent.curriculum import for_learning, for_validation
from reference_agent.data_set import EXAMPLES, VALIDATION, Example, read_examples
from reference_agent.models.adapters import check_adapter
from reference_agent.models.backbone import check_backbone, check_device, finished, load_tokenizer, memory_advice
from reference_agent.models.language_model import LanguageModel
from reference_agent.models.named import model_source
from reference_agent.models.saycan import with_head
from reference_agent.models.tokenizer import PromptReader, check_labels, label_tokens
from reference_agent.rlft import Row, check_settings
from reference_agent.run import stages
from reference_agent.run.config import Config
from reference_agent.run.fingerprint import MADE_BY, note_maker
from reference_agent.run.players import Players, load_player
from reference_agent.run.stages import claim, link_stage, start_of
from reference_agent.sft import CURVE, choice_accuracy, fine_tune_both, fine_tune_policy, fine_tune_reflector
from reference_agent.teachers.chat import chat_options
from reference_agent.teachers.check import check_regrets
from reference_agent.teachers.choose import CHAT, make_teacher
from reference_agent.tiny.making import base_model
from reference_agent.tiny.untrained import tiny_llama

_LAST = "or set model.gradient_checkpointing = true"  # what to do where even a small batch is too large
_AT_CHANCE = (
    "after its fine-tuning the policy chooses the taught command in %.0f%% of its examples, chance in %.0f%%: take "
    "more steps in sft_policy, or set head = 'saycan', by which a pretrained model follows a reflection"
)
_log = logging.getLogger(__name__)
_Data = tuple[Sequence[Example], Sequence[Example]]  # D, and examples of validation tasks
_Maker = Callable[[Path], LanguageModel]  # makes a player out of D, with checkpoints in a folder


def train(config: Config, out: Path, report: Report, shared: Path | None = None) -> Path:
    """Run Algorithm 1, or the part of it that is missing in `out`; return the folder of the trained policy.

    Of several processes (processes.py) the first collects and warms up, and all take part in the fine-tuning. `report`
    is called with the stage's name, step, number of steps and a value (loss, accuracy or success rate). `shared` keeps
    the stages before RL for all runs with their settings.
    """
    torch.set_num_threads(config.threads)
    config.model.check_trainable()
    if config.sft_policy.steps and not config.collect.policy_trajectories:
        raise UsageError(
            "collect.policy_trajectories is 0, so that the policy has nothing to learn from: raise it, or set "
            "sft_policy.steps = 0 for no warm start"
        )
    check_model(config)
    if not (out / "policy").exists():
        commands = check_environments(config)
        if config.head == "labels" and not config.model.is_tiny:  # which is made with labels enough
            check_labels(commands, len(label_tokens(load_tokenizer(start_of(config, out)))))
    with ExitStack() as held:
        if processes.number() == 0:
            make_folder(out)
            held.enter_context(only_process(out))
        with processes.first_before_others():
            claim(config, out)
            if processes.number() == 0 and not (out / "policy").exists():
                note_maker(out, check_device(config.model))
            examples = read_examples(collected(config, out, report, shared))  # lines 2 to 20
            report("collect", config.collect.trajectories, config.collect.trajectories, float(len(examples)))
            load_or_make_base(config, out, report, shared)
        unseen = out / "data" / VALIDATION  # not in the data of an older version, empty where there is none
        validation = read_examples(unseen) if unseen.exists() and unseen.stat().st_size else []
        given = (config, out, (examples, validation), report)
        if config.reflect:
            _fine_tuned(config, out, shared, "reflector", partial(_make_reflector, *given))  # line 21
        _fine_tuned(config, out, shared, "policy-sft", partial(_make_policy, *given))  # line 22
        if not (out / "policy").exists():
            policy, curve = _reinforced(config, out, report)  # lines 23 to 35
            if processes.number() == 0:
                rows = [{"episodes": config.rl.batch * number, **row} for number, row in enumerate(curve, 1)]
                write_whole(out / "curve.json", json.dumps(rows).encode())
                if curve and curve[-1].get("best", curve[-1]["iteration"]) != curve[-1]["iteration"]:
                    finished(out / "policy-last", partial(_copy_player, newest(out / "rl")))
                finished(out / "policy", policy.save)
    return out / "policy"


def check_model(config: Config) -> None:
    """Refuse what the model of a run cannot do, as far as can be seen without its weights."""
    settings = config.model
    if not settings.is_tiny:
        model = check_backbone(model_source(settings.name), settings)
    elif settings.chat:
        raise UsageError("the tiny model has no chat template: set model.chat = false, or name another model")
    else:
        check_device(settings)
        with torch.device("meta"):
            model = tiny_llama(replace(settings, mimetic=False), 1, 0)
    check_settings(config.rl, model, config.stages)
    check_adapter(model, settings)


def check_environments(config: Config) -> int:
    """Make each environment of a run once, and its teacher; return the largest number of commands of a stage."""
    check_regrets(config.history, config.collect)
    env = for_learning(config.demonstrations, config.allow_test).make()
    make_teacher(env, np.random.default_rng(0), config.teacher)
    if config.teacher.name == CHAT:
        chat_options(config.teacher)
    env.close()
    played = [for_learning(stage, config.allow_test) for stage in config.stages]
    for stage in played if config.rl.validate_every else ():
        for_validation(stage)
    envs = [stage.make() for stage in played]
    for env in envs:
        env.close()
    return max(env.max_commands for env in envs)


def collected(config: Config, out: Path, report: Report, shared: Path | None = None) -> Path:
    """Return the file of a run's examples, collected unless it is there already; for `shared` see `train`."""
    answers = (shared or out) / "answers"  # outlives a collection that was stopped

    def make(folder: Path) -> None:
        fit = None
        if not config.model.is_tiny:  # p(s) is cut to a pretrained model's context as in play
            reader = PromptReader.of(start_of(config, out), config.head, config.model.chat)
            spoken = config.reflection_tokens if config.reflect else 0
            fit = collection.cut_to_context(reader, spoken, config.shown)
        collection.write_collection(folder, collection.gather(config, answers, report, fit, validate=True))

    made = link_stage(config, "data", out, shared, make)
    if not (made / EXAMPLES).exists():  # deleted by the user, as is said of damaged ones: collected again
        shutil.rmtree(made.resolve())
        made = link_stage(config, "data", out, shared, make)
    return made / EXAMPLES


def load_or_make_base(config: Config, out: Path, report: Report, shared: Path | None) -> str | Path:
    """Return the folder or hub id of a run's model before any fine-tuning; see `train`."""
    if config.model.is_tiny:
        link_stage(config, "base", out, shared, lambda folder: base_model(config, report).save(folder))
    return start_of(config, out)


def _fine_tuned(config: Config, out: Path, shared: Path | None, stage: str, make: _Maker) -> None:
    """Make a player by fine-tuning in all processes, if the stage is missing; only the first looks whether it is."""
    folder, begun = stages.place(config, stage, out, shared), False
    steps = folder.with_name(f".{folder.name}.steps")  # checkpoints, for whichever run goes on with it

    def fine_tune(folder: Path) -> None:
        nonlocal begun
        begun = processes.anyone(True)
        make(steps).save(folder)
        for name in (CURVE, MADE_BY):
            if (steps / name).exists():  # not of a fine-tuning of no steps
                shutil.copy2(steps / name, folder)

    if processes.number() == 0:
        link_stage(config, stage, out, shared, fine_tune)
        shutil.rmtree(steps, ignore_errors=True)
    if begun or processes.anyone(False):
        if processes.number() > 0:
            make(steps)
        processes.anyone(False)  # wait until the first has written the stage


def _new_player(config: Config, out: Path, name: str) -> LanguageModel:
    base = LanguageModel.load(start_of(config, out), config.model)
    return base.with_adapter(name, config.model, seed=config.seed) if config.model.lora_rank else base


def _make_reflector(config: Config, out: Path, data: _Data, report: Report, steps: Path) -> LanguageModel:
    examples, validation = data
    model, settings = _new_player(config, out, "reflector"), config.sft_reflector
    rest = (config.seed, lambda step, loss, _: report("reflector", step, settings.steps, loss), steps)
    with memory_advice("in the reflector's SFT", f"set or lower sft_reflector.microbatch, {_LAST}"):
        if settings.steps and config.one_model:
            fine_tune_both(model, with_shown(examples, config.collect), settings, config.sft_policy, *rest, validation)
        elif settings.steps:
            fine_tune_reflector(model, examples, settings, *rest, validation=validation)
    return model


def _make_policy(config: Config, out: Path, data: _Data, report: Report, steps: Path) -> LanguageModel:
    examples, validation = data
    if config.one_model:
        return load_player(config, out, "reflector")  # the one model, which has learned this job already
    model = with_head(_new_player(config, out, "policy"), config)
    settings = config.policy_settings
    if not settings.steps:
        return model
    rest = (config.seed, lambda step, loss, _: report("policy", step, settings.steps, loss), steps, config.reflect)
    with memory_advice("in the policy's SFT", f"set or lower sft_policy.microbatch, {_LAST}"):
        shown = with_shown(examples, config.collect)
        policy = fine_tune_policy(model, shown, settings, *rest, validation=validation)
        accuracy, chance, asked = choice_accuracy(policy, shown, config.reflect)
    if processes.number() == 0:
        report("accuracy", asked, asked, accuracy)
        report("chance", asked, asked, chance)
        if accuracy <= chance + 2 * (chance * (1 - chance) / asked) ** 0.5:
            _log.warning(_AT_CHANCE, 100 * accuracy, 100 * chance)
    return policy


def _copy_player(checkpoint: Path | None, folder: Path) -> None:
    assert checkpoint is not None
    for file in checkpoint.iterdir():
        if file.name not in OF_TRAINING:
            shutil.copy2(file, folder)


def _reinforced(config: Config, out: Path, report: Report) -> tuple[LanguageModel, list[Row]]:
    players, lengths = Players.load(out, "policy-sft", config), [stage.iterations for stage in config.stages]
    if not any(lengths):
        return players.policy, []

    def told(row: Row) -> None:
        report("rl", sum(lengths[: int(row["stage"])]) + int(row["iteration"]), sum(lengths), row["success"])

    options = {"folder": out / "rl", "report": told, "seed": config.seed, "allow_test": config.allow_test}
    with memory_advice("in RL", f"lower rl.microbatch, then rl.batch, {_LAST}"):
        return players.policy, players.reinforce(config.stages, config.rl, say=lambda _: None, **options)
