"""Reading and writing of configs as TOML and JSON. An unknown key is an error that names similar ones."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Iterable, Iterator
from dataclasses import asdict, fields, is_dataclass, replace
from difflib import get_close_matches
from pathlib import Path
from typing import Any

import numpy as np

from natlang_envs.errors import UsageError, reason, require_choice
from reference_agent.algorithms import algorithm_name, algorithm_names, load_algorithm
from reference_agent.curriculum import Stage
from reference_agent.run.config import Config, RLConfig, TeacherConfig

EXPERIMENTS = Path(__file__).resolve().parents[1] / "experiments"
_SILENT = "without a reflector (reflect = false)"
# Names of settings in other trainers.
_SYNONYMS = {"ratio": "clip", "clip_range": "clip", "epsilon": "clip", "max_grad_norm": "max_norm"}


def load_config(
    path: Path | None, settings: list[str] | None = None, over: Path | None = None, for_many: bool = False
) -> Config:
    """Read a config file or a preset, then apply the file `over` and `key=value` settings such as `rl.batch=64`.

    Beside `over`, a folder of its name may hold TASK.toml, which is applied after it to the presets of that task.
    A file or setting that changes `rl.algorithm` drops the table of the algorithm before. Settings that are given
    `for_many` configs may have tables of several algorithms: only that of the config's own is read.

    A preset is a file in `experiments/`, named without its ending, or TASK/METHOD, which is
    `experiments/methods/METHOD.toml` applied to `experiments/TASK/best.toml`. A file with `base = "other.toml"`
    (relative to it) states only what differs from that file; `base` may also be a list, in which later files win.
    """
    content: dict[str, Any] = {}
    own: dict[str, Any] = {}  # what the user's file and settings give; presets may hold more than a run needs
    named = () if path is None else (path,) if path.is_file() else preset_files(path) or (path,)
    if over is not None:
        of_task = over.parent / over.stem / f"{path.parent.name if path and not path.is_file() else ''}.toml"
        named = (*named, over, *((of_task,) if of_task.exists() else ()))
    for file in named:
        content = _merged(content, _read(file, ()))
        if not file.resolve().is_relative_to(EXPERIMENTS):
            own = _merged(own, {name: value for name, value in _toml(file, ()).items() if name != "base"})
    for setting in settings or []:
        key, separator, value = setting.partition("=")
        if not separator:
            raise UsageError(f"{setting!r} sets nothing: write key=value, for example rl.batch=64")
        given = setting_value(value)
        for name in reversed(key.split(".")):
            given = {name: given}
        content, own = _merged(content, given), _merged(own, given)
    if for_many and isinstance(rl := content.get("rl"), dict):
        others = {*algorithm_names()} - {_algorithm(rl)}
        content = {**content, "rl": {name: value for name, value in rl.items() if name not in others}}
    config = parse_config(content)
    if not for_many:
        _refuse_unused(config, own)
    return config


def _refuse_unused(config: Config, own: dict[str, Any]) -> None:
    """Raise `UsageError` for a setting of the user's own that the others leave without effect."""
    policy, model = config.sft_policy, config.model
    no_steps = not config.one_model and not policy.steps
    no_iterations = config.curriculum and not any(stage.iterations for stage in config.curriculum)
    first_steps = [f"sft_policy.{each.name}" for each in fields(policy) if each.name != "steps"]
    shared = [f"sft_policy.{name}" for name in ("steps", "learning_rate", "weight_decay", "max_norm")]
    sizes = [f"model.{name}" for name in ("layers", "width", "inner", "heads", "positions", "mimetic")]
    rules: list[tuple[object, Iterable[str], str]] = [
        (not config.reflect, ("reflections", "reflection_tokens", "sft_reflector.", "collect.restarts"), _SILENT),
        (not config.reflect, ("sft_policy.doubt",), "without reflections"),
        (config.head != "labels", ("sft_policy.smoothing",), f"with the head {config.head!r}, which has no labels"),
        (config.one_model, shared, "in one model, which has those of sft_reflector"),
        (no_steps, (*first_steps, "collect.policy_negatives"), "in a warm start of no steps"),
        (no_iterations, ("rl.",), "in a curriculum without iterations"),
        (not model.is_tiny, sizes, f"on {model.name!r}: they make a tiny model"),
        (not model.is_tiny, ("warmup.",), f"on {model.name!r}, which is pretrained"),
        (not model.lora_rank, ("model.lora_alpha", "model.lora_targets"), "without adapters (lora_rank = 0)"),
    ]
    default, now = _leaves(as_tables(Config())), _leaves(as_tables(config))
    given = [name for name in _leaves(own) if now.get(name) != default.get(name)]
    for applies, names, why in rules:
        unused = [name for name in given if any(name == each or name.startswith(each) for each in names)]
        if applies and unused:
            raise UsageError(f"{unused[0]} has no effect {why}: leave it out")
    changed = [stage for stage in config.curriculum if stage.advance_after != Stage().advance_after]
    if "curriculum" in own and any(not stage.advance_at for stage in changed):
        raise UsageError("curriculum.advance_after has no effect while advance_at is 0: leave it out")


def _leaves(tables: dict[str, Any], above: str = "") -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, value in tables.items():
        found |= _leaves(value, f"{above}{name}.") if isinstance(value, dict) else {f"{above}{name}": value}
    return found


def setting_value(value: str) -> Any:
    try:
        return tomllib.loads(f"value = {value}")["value"]
    except tomllib.TOMLDecodeError:
        return value


def _algorithm(rl: dict[str, Any]) -> Any:
    return rl.get("algorithm", RLConfig.algorithm)


def preset_files(name: Path) -> tuple[Path, ...]:
    """Return the files of a preset, later ones winning; empty if there is no such preset."""
    file = EXPERIMENTS / f"{name}.toml"
    pair = (file.parent / "best.toml", EXPERIMENTS / "methods" / file.name)
    return (file,) if file.exists() else pair if all(each.exists() for each in pair) else ()


def _read(path: Path, above: tuple[Path, ...]) -> dict[str, Any]:
    """Return a file's settings merged into those of its base; `above` are the files that it is a base of."""
    if path.resolve() in above:
        raise UsageError(f"{path} is a base of itself: change its base")
    content = _toml(path, above)
    bases = content.pop("base", [])
    below: dict[str, Any] = {}
    for base in bases if isinstance(bases, list) else [bases]:
        if not isinstance(base, str):
            raise UsageError(f"{path}: base must be the name of a config file, or a list of them, not {bases!r}")
        below = _merged(below, _read(path.parent / base, (*above, path.resolve())))
    return _merged(below, content)


def _toml(path: Path, above: tuple[Path, ...]) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        said = f", the base of {above[-1]}," if above else ""
        tops = sorted(each.stem for each in EXPERIMENTS.glob("*.toml"))
        close = get_close_matches(str(path.with_suffix("")), [*tops, *_of_tasks()], n=3)
        near = f"{', '.join(close)}, the nearest" if close else f"{', '.join(tops)}, or TASK/METHOD"
        raise UsageError(f"{path}{said} does not exist: name a config file, or a preset: {near}") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, OSError) as error:
        raise UsageError(f"{path} is not a TOML file: {reason(error)}") from None


def _of_tasks() -> list[str]:
    methods = [each.stem for each in (EXPERIMENTS / "methods").glob("*.toml")]
    tasks = [each.parent for each in EXPERIMENTS.glob("*/best.toml")]
    own = [f"{task.name}/{each.stem}" for task in tasks for each in task.glob("*.toml")]
    return [*own, *(f"{task.name}/{method}" for task in tasks for method in methods)]


def _merged(below: dict[str, Any], content: dict[str, Any]) -> dict[str, Any]:
    """Return both settings; tables are merged, any other value of `content` replaces the one below."""
    merged = dict(below)
    if "algorithm" in content and content["algorithm"] != (before := _algorithm(below)):
        merged.pop(before, None)
    for key, value in content.items():
        both = isinstance(value, dict) and isinstance(below.get(key), dict)
        merged[key] = _merged(below[key], value) if both else value
    return merged


def parse_config(content: dict[str, Any]) -> Config:
    return _changed(Config(), content, "")


def as_tables(config: Config) -> dict[str, Any]:
    tables = asdict(config)
    tables["rl"]["algorithm"] = algorithm_name(config.rl.algorithm)
    tables["rl"][tables["rl"]["algorithm"]] = tables["rl"].pop("options")
    return tables


def dump_config(config: Config) -> str:
    return json.dumps(as_tables(config), indent=2, default=np.generic.item) + "\n"


def _changed(default: Any, content: Any, where: str) -> Any:
    if not isinstance(content, dict):
        raise UsageError(f"{where or 'the config'} must be a table of settings, not {content!r}")
    known = {each.name: getattr(default, each.name) for each in fields(default)}
    if isinstance(default, TeacherConfig):  # whose options stand beside its name in a file
        beside = {key: value for key, value in content.items() if key not in known}
        options = content.get("options", {})
        if not isinstance(options, dict):
            raise UsageError(f"{where}options must be a table of settings, not {options!r}")
        return replace(default, name=content.get("name", default.name), options={**options, **beside})
    if isinstance(default, RLConfig):
        del known["options"]
        name = _value(default.algorithm, _algorithm(content), f"{where}algorithm")
        known[name] = load_algorithm(name).uses()
    values: dict[str, Any] = {}
    for key, value in content.items():
        _require_key(f"{where}{key}", [f"{where}{each}" for each in known])
        values[key] = _value(known[key], value, f"{where}{key}")
    if isinstance(default, RLConfig):
        values["options"] = values.pop(name, known[name])
    return replace(default, **values)


def _require_key(key: str, known: list[str]) -> None:
    """Raise `UsageError` unless a key is known; the message names the keys of other tables that end alike."""
    if key in known:
        return
    table, _, last = key.rpartition(".")
    if table == "rl" and last in algorithm_names():
        raise UsageError(f"{key} has settings of another algorithm: set rl.algorithm={last!r}, or leave it out")
    if alike := [each for each in _all_keys() if each.rpartition(".")[2] == _SYNONYMS.get(last, last)]:
        raise UsageError(f"unknown config key {key!r}: choose one of {', '.join(alike)}")
    require_choice("config key", key, known)


def _all_keys() -> Iterator[str]:
    for name, value in vars(Config()).items():
        tables = [f"{name}.{each.name}" for each in fields(value)] if is_dataclass(value) else [name]
        yield from (each for each in tables if each != "rl.options")
    for name in algorithm_names():
        yield from (f"rl.{name}.{each.name}" for each in fields(load_algorithm(name).uses))


def _value(default: Any, value: Any, where: str) -> Any:
    if is_dataclass(default):
        return _changed(default, value, f"{where}.")
    if isinstance(default, tuple):
        if not isinstance(value, list):
            raise UsageError(f"{where} must be a list of stages, not {value!r}")
        return tuple(_changed(Stage(), each, f"{where}.") for each in value)
    if where == "history" and isinstance(value, str):  # the one setting that is a number or a name: `Config` checks it
        return value
    if (wanted := type(default)) is float and type(value) is int:
        value = float(value)
    if type(value) is not wanted:
        raise UsageError(f"{where} must be {wanted.__name__}, not {value!r}")
    return value
