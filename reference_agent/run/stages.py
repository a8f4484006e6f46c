"""The folder of a run: its settings, the model it starts from, and its stages before RL.

Each stage is complete or missing, and runs with the same settings may share them. A tiny start model is made for the
settings, and is a stage too; a pretrained one stays where it is.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

from natlang_envs.errors import UsageError, require_type
from natlang_envs.files import alone, remove_leftovers, write_whole
from reference_agent.algorithms import registered
from reference_agent.models.backbone import finished
from reference_agent.models.language_model import LanguageModel
from reference_agent.models.named import model_source
from reference_agent.models.tokenizer import Origin
from reference_agent.run.bounds import check_kind, refuse_given
from reference_agent.run.config import Config, ModelConfig
from reference_agent.run.config_file import as_tables, dump_config, parse_config
from reference_agent.run.fingerprint import claim_inputs, described, difference
from reference_agent.teachers.choose import registered_teacher
from reference_agent.tiny.making import PICKUP, VERSION, tiny_folder, tiny_name

CONFIG, CODE = "settings.json", "code.json"
POLICIES = ("policy", "policy-sft", "policy-last")  # folders of policies: the trained one, before RL, RL's last
# Settings of training, which are not read to play: players stay playable where these settings change.
_OF_TRAINING = {"warmup", "teacher", "collect", "sft_reflector", "sft_policy", "rl", "curriculum"}
# Settings that a stage does not depend on. One that is forgotten here costs a stage made twice, never a wrong one. The
# split says which tasks `allow_test` allows.
_AFTER_SFT = {"rl", "curriculum", "allow_test", "reflections", "reflection_tokens", "collect.unclear"}
_OF_POLICY = {"sft_policy", "reflect", "head", "collect.policy_trajectories", "collect.policy_negatives"}
_FREE = {
    "data": _AFTER_SFT | _OF_POLICY | {"model", "warmup", "sft_reflector", "players", "threads"},
    "reflector": _AFTER_SFT | _OF_POLICY,
    "policy-sft": _AFTER_SFT | {"sft_reflector"},
}


def start_of(config: Config, out: Path) -> str | Path:
    """Return the folder or hub id of the model that both players of a run start from."""
    return out / "base" if config.model.is_tiny else model_source(config.model.name)


def load_model(name: str | Path = "tiny", config: ModelConfig = ModelConfig()) -> LanguageModel:  # noqa: B008 - immutable
    """Return a model to fine-tune.

    Args:
        name: `"tiny"`, the small model of the package (0.6 million weights, which can read labels and reflections of
            DangerousTaxi, and says once so where it meets other commands: `tiny_for` makes one for these); `"smollm2"`;
            a folder; or a hub id.
        config: Precision, device and so on.

    Raises:
        UsageError: There is no such model, it was not fetched, or a setting has no effect on it.
    """
    require_type(name, (str, Path), "no model's name: give tiny, smollm2, a folder, or a hub id")
    name = str(name)
    check_kind(config, ModelConfig)
    refuse_given(config, ("lora_rank", "lora_alpha", "lora_targets"), "here: they are with_adapter's", "model.")
    made = "on a model that exists; reflect-rl train makes tiny ones of other sizes"
    refuse_given(config, ("layers", "width", "inner", "heads", "positions", "mimetic"), made, "model.")
    if config.name != name:
        refuse_given(config, ("name",), "here: the name is the first argument", "model.")
    if (Path(name) / CONFIG).exists():
        raise UsageError(f"{name} holds players: Players.load({name!r}) loads both, load_model('{name}/policy') one")
    if not ModelConfig(name).is_tiny:
        return LanguageModel.load(model_source(name), config)
    model, env = LanguageModel.load(tiny_folder(), config), PICKUP.make()
    model.origin = Origin("DangerousTaxi", env.action_space.commands)
    env.close()
    return model


def claim(config: Config, out: Path) -> None:
    """Make `out` the folder of a run with these settings, or check that it is."""
    path = out / CONFIG
    if not path.exists():
        remove_leftovers(out)  # of a first start that was killed
        if out.exists() and any(out.iterdir()):
            raise UsageError(f"{out} is not empty and holds no run: choose another --out")
        if code := code_of(config):
            claim_inputs(out / CODE, code)
        write_whole(path, dump_config(config).encode())
    elif found := difference(as_tables(read_config(out)), as_tables(config)):
        raise UsageError(
            f"{out} holds a run with other settings ({found}): choose another --out, or resume it without a config"
        )
    elif code := code_of(config):
        claim_inputs(out / CODE, code)


def code_of(config: Config) -> dict[str, Any]:
    """Return the digest of each function of one's own that the settings name."""
    teacher, algorithm = registered_teacher(config.teacher.name), registered(config.rl.algorithm)
    found = {"state": config.state and config.shown, "teacher": teacher, "algorithm": algorithm}
    return {name: described(each) for name, each in found.items() if each}


def check_state(config: Config, folder: Path) -> None:
    """Raise `UsageError` if p(s) was composed by another function when the players of a folder were made."""
    if not config.state or not (folder / CODE).exists():
        return
    known = json.loads((folder / CODE).read_text(encoding="utf-8")).get("state")
    if known != described(config.shown):
        raise UsageError(f"{config.state} is another function than {folder} was made with: restore it, or train again")


def read_config(out: Path, to_play: bool = False) -> Config:
    """Return the settings of a run; `to_play` leaves those of its training at their defaults."""
    try:
        content = json.loads((out / CONFIG).read_text(encoding="utf-8"))
        if to_play and isinstance(content, dict):
            content = {name: value for name, value in content.items() if name not in _OF_TRAINING}
        return parse_config(content)
    except FileNotFoundError:
        raise UsageError(f"{out} holds no run: train one with `reflect-rl train CONFIG --out {out}`") from None
    except UsageError as error:
        raise UsageError(f"{out / CONFIG} is of another version of the agent, or was edited: {error}") from None
    except ValueError as error:
        raise UsageError(f"{out / CONFIG} is damaged ({error}): train again with another --out") from None


def stage_key(config: Config, stage: str) -> str:
    made_from = tiny_name(config) if config.model.is_tiny else ""
    if stage == "base":
        return made_from
    apart = not config.one_model or stage == "data"
    free, settings = _FREE[stage] if apart else _AFTER_SFT, asdict(config)
    kept: dict[str, object] = {key: value for key, value in settings.items() if key not in free}
    code = code_of(config)
    kept |= {"code": {name: each for name, each in code.items() if name != "algorithm"}} if code else {}
    if not config.state:
        del kept["state"]
    kept["env"] = asdict(config.demonstrations)
    if not made_from:  # prompts are cut to a pretrained model's context, less what is reserved for reflections
        spoken, chat = config.reflection_tokens if config.reflect else 0, ["chat"] * config.model.chat
        kept["context"] = [config.model.name, config.head, spoken, *chat]
    if "players" in kept:
        kept["players"] = config.one_model  # adapters or models, frozen or not: they are fine-tuned alike
    if "collect" in kept:
        kept["collect"] = {
            key: value for key, value in settings["collect"].items() if key != "env" and f"collect.{key}" not in free
        }
    text = json.dumps([VERSION, stage, "" if stage == "data" else made_from, kept], sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def place(config: Config, stage: str, out: Path, shared: Path | None) -> Path:
    return out / stage if shared is None else shared / f"{stage}-{stage_key(config, stage)}"


def link_stage(config: Config, stage: str, out: Path, shared: Path | None, make: Callable[[Path], None]) -> Path:
    """Return `out/stage`, made by `make` if it is missing; with `shared`, a link to the one of these settings there."""
    folder = place(config, stage, out, shared)
    if shared is None:
        return finished(folder, make)
    with alone(shared / f".{folder.name}.lock"):  # another process that needs it waits for it
        finished(folder, make)
    link = out / stage
    if not link.exists():
        link.unlink(missing_ok=True)  # one that points nowhere
        link.symlink_to(os.path.relpath(folder.resolve(), out.resolve()), target_is_directory=True)
    return link
