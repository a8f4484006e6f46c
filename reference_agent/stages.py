"""The stages of a run before RL. Each is complete or missing, and runs with the same settings may share them."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path

from natlang_envs.locks import alone
from reference_agent.config import Config
from reference_agent.folders import finished
from reference_agent.models.start import VERSION, tiny_name

_AFTER_SFT = frozenset({"rl", "curriculum"})
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
