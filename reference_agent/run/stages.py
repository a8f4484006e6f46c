"""The folder of a run: its settings, its stages before RL, its players.

Each stage is complete or missing, and runs with the same settings may share them.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path

from natlang_envs.errors import UsageError
from natlang_envs.files import alone, remove_leftovers, write_whole
from reference_agent.models.language_model import LanguageModel
from reference_agent.models.named import VERSION, model_source, tiny_name
from reference_agent.models.saycan import with_head
from reference_agent.models.served import ServedModel
from reference_agent.players import Reflector
from reference_agent.run.config import Config
from reference_agent.run.config_file import dump_config, parse_config
from reference_agent.run.folders import finished
from reference_agent.run.inputs import difference

CONFIG = "settings.json"
_AFTER_SFT = frozenset({"rl", "curriculum", "allow_test"})  # the split says which tasks there are
_HEAD = frozenset({"head"})
_OF_POLICY = frozenset({"sft_policy", "reflect", "reflections", "reflection_tokens", "collect.policy_trajectories"})
# Settings that a stage does not depend on. One that is forgotten here costs a stage made twice, never a wrong one.
_FREE: dict[str, frozenset[str]] = {
    "data": _AFTER_SFT
    | _OF_POLICY
    | _HEAD
    | {"collect.policy_negatives", "model", "warmup", "sft_reflector", "players", "threads"},
    "reflector": _AFTER_SFT | _OF_POLICY | _HEAD | {"collect.policy_negatives"},
    "policy-sft": _AFTER_SFT | {"sft_reflector", "reflections", "reflection_tokens"},
}


def claim(config: Config, out: Path) -> None:
    """Make `out` the folder of a run with these settings, or check that it is."""
    path = out / CONFIG
    if not path.exists():
        remove_leftovers(out)  # of a first start that was killed
        if out.exists() and any(out.iterdir()):
            raise UsageError(f"{out} is not empty and holds no run: choose another --out")
        write_whole(path, dump_config(config).encode())
    elif found := difference(asdict(read_config(out)), asdict(config)):
        raise UsageError(
            f"{out} holds a run with other settings ({found}): choose another --out, or resume it without a config"
        )


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


def stage_key(config: Config, stage: str) -> str:
    """Return a digest of the settings that a stage before RL depends on."""
    if stage == "base":
        return tiny_name(config)
    apart = not config.one_model or stage == "data"
    free = _FREE[stage] if apart else _AFTER_SFT | {"reflections", "reflection_tokens"}
    settings = asdict(config)
    kept: dict[str, object] = {key: value for key, value in settings.items() if key not in free}
    kept["env"] = asdict(config.demonstrations)
    if config.model.name != "tiny":  # prompts are cut to the model's context, less what is reserved for reflections
        kept["context"] = [config.model.name, config.head, config.reflection_tokens if config.reflect else 0]
        if config.model.chat:
            kept["context"] += ["chat"]
    if "players" in kept:
        kept["players"] = config.one_model  # adapters or models, frozen or not: they are fine-tuned alike
    if "collect" in kept:
        kept["collect"] = {
            key: value for key, value in settings["collect"].items() if key != "env" and f"collect.{key}" not in free
        }
    made_from = tiny_name(config) if config.model.name == "tiny" and stage != "data" else ""
    text = json.dumps([VERSION, stage, made_from, kept], sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def resume_folder(config: Config, stage: str, out: Path, shared: Path | None) -> Path:
    """Return where a stage that is being made keeps its checkpoints, for whichever run goes on with it."""
    folder = _place(config, stage, out, shared)
    return folder.with_name(f".{folder.name}.steps")


def _place(config: Config, stage: str, out: Path, shared: Path | None) -> Path:
    return out / stage if shared is None else shared / f"{stage}-{stage_key(config, stage)}"


def link_stage(config: Config, stage: str, out: Path, shared: Path | None, make: Callable[[Path], None]) -> Path:
    """Return `out/stage`, made by `make` if it is missing; with `shared`, a link to the one of these settings there."""
    folder = _place(config, stage, out, shared)
    if shared is None:
        return finished(folder, make)
    with alone(shared / f".{folder.name}.lock"):  # another process that needs it waits for it
        finished(folder, make)
    link = out / stage
    if not link.exists():
        link.unlink(missing_ok=True)  # one that points nowhere
        link.symlink_to(os.path.relpath(folder.resolve(), out.resolve()), target_is_directory=True)
    return link


def load_player(config: Config, out: Path, folder: str) -> LanguageModel:
    """Return a player of a run: `"policy"`, `"policy-sft"` or `"reflector"`."""
    if config.model.lora_rank:
        base = LanguageModel.load(_base_folder(config, out), config.model)
        player = base.with_adapter(folder.removesuffix("-sft"), config.model, out / folder)
    else:
        player = LanguageModel.load(out / folder, config.model)
    return player if folder == "reflector" else with_head(player, config)


def new_player(config: Config, out: Path, name: str) -> LanguageModel:
    """Return a player before its fine-tuning."""
    base = LanguageModel.load(_base_folder(config, out), config.model)
    return base.with_adapter(name, config.model, seed=config.seed) if config.model.lora_rank else base


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


def served_reflector(config: Config, out: Path) -> Reflector:
    """Return the reflector that a server writes for in RL."""
    base, trained = _base_folder(config, out), out / "reflector"
    if config.model.lora_rank:
        command = f"vllm serve {base} --enable-lora --lora-modules reflector={trained}"
    else:
        base, command = trained, f"vllm serve {trained} --served-model-name reflector"
    model = ServedModel(base, config.rl.reflector_endpoint, command, config.model.chat)
    return Reflector(model, config.reflection_tokens, sampled=config.reflections == "sampled")


def _base_folder(config: Config, out: Path) -> str | Path:
    return out / "base" if config.model.name == "tiny" else model_source(config.model.name)
