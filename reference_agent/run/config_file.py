"""Reading and writing of configs as TOML and JSON. An unknown key is an error that names similar ones."""

from __future__ import annotations

import json
import tomllib
from dataclasses import asdict, fields, is_dataclass, replace
from difflib import get_close_matches
from pathlib import Path
from typing import Any

import numpy as np

from natlang_envs.errors import UsageError, reason, require_choice
from reference_agent.curriculum import Stage
from reference_agent.run.config import Config, TeacherConfig
from reference_agent.run.idle import idle, refuse

EXPERIMENTS = Path(__file__).resolve().parents[1] / "experiments"


def load_config(
    path: Path | None, settings: list[str] | None = None, over: Path | None = None, for_many: bool = False
) -> Config:
    """Read a config file or a preset, then apply the file `over` and `key=value` settings such as `rl.batch=64`.

    Beside `over`, a folder of its name may hold TASK.toml, which is applied after it to the presets of that task.

    A preset is a file in `experiments/`, named without its ending, or TASK/METHOD, which is
    `experiments/methods/METHOD.toml` applied to `experiments/TASK/best.toml`. A file with `base = "other.toml"`
    (relative to it) states only what differs from that file; `base` may also be a list, in which later files win.
    """
    content: dict[str, Any] = {}
    given: set[str] = set()
    named = () if path is None else (path,) if path.is_file() else preset_files(path) or (path,)
    if over is not None:
        of_task = over.parent / over.stem / f"{path.parent.name if path and not path.is_file() else ''}.toml"
        named = (*named, over, *((of_task,) if of_task.exists() else ()))
    for file in named:
        content = _merged(content, _read(file, (), given))
    for setting in settings or []:
        key, separator, value = setting.partition("=")
        if not separator:
            raise UsageError(f"{setting!r} sets nothing: write key=value, for example rl.batch=64")
        *parents, last = key.split(".")
        inner = content
        for parent in parents:
            inner = inner.setdefault(parent, {})
            if not isinstance(inner, dict):
                raise UsageError(f"{key!r} is not a setting: {parent!r} holds no settings of its own")
        try:
            inner[last] = tomllib.loads(f"value = {value}")["value"]
        except tomllib.TOMLDecodeError:
            inner[last] = value
        given |= _names({key: inner[last]})
    config = parse_config(content)
    refuse("", idle(config), () if for_many else given)
    return config


def preset_files(name: Path) -> tuple[Path, ...]:
    """Return the files of a preset, later ones winning; empty if there is no such preset."""
    file = EXPERIMENTS / f"{name}.toml"
    pair = (file.parent / "best.toml", EXPERIMENTS / "methods" / file.name)
    return (file,) if file.exists() else pair if all(each.exists() for each in pair) else ()


def _read(path: Path, above: tuple[Path, ...], given: set[str]) -> dict[str, Any]:
    """Return a file's settings merged into those of its base; `above` are the files that it is a base of.

    The names of a user's own settings are added to `given`: from the package's files a run inherits more than it needs.
    """
    if path.resolve() in above:
        raise UsageError(f"{path} is a base of itself: change its base")
    try:
        content = tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        said = f", the base of {above[-1]}," if above else ""
        tops = sorted(each.stem for each in EXPERIMENTS.glob("*.toml"))
        close = get_close_matches(str(path.with_suffix("")), [*tops, *_of_tasks()], n=3)
        near = f"{', '.join(close)}, the nearest" if close else f"{', '.join(tops)}, or TASK/METHOD"
        raise UsageError(f"{path}{said} does not exist: name a config file, or a preset: {near}") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, OSError) as error:
        raise UsageError(f"{path} is not a TOML file: {reason(error)}") from None
    bases = content.pop("base", [])
    below: dict[str, Any] = {}
    for base in bases if isinstance(bases, list) else [bases]:
        if not isinstance(base, str):
            raise UsageError(f"{path}: base must be the name of a config file, or a list of them, not {bases!r}")
        below = _merged(below, _read(path.parent / base, (*above, path.resolve()), given))
    if EXPERIMENTS not in path.resolve().parents:
        given |= _names(content)
    return _merged(below, content)


def _of_tasks() -> list[str]:
    """Return the names of the presets of tasks, `TASK/METHOD`."""
    methods = [each.stem for each in (EXPERIMENTS / "methods").glob("*.toml")]
    tasks = [each.parent for each in EXPERIMENTS.glob("*/best.toml")]
    own = [f"{task.name}/{each.stem}" for task in tasks for each in task.glob("*.toml")]
    return [*own, *(f"{task.name}/{method}" for task in tasks for method in methods)]


def _names(content: dict[str, Any], table: str = "") -> set[str]:
    """Return the names of the settings in nested tables and lists of them."""
    found: set[str] = set()
    for key, value in content.items():
        for each in value if isinstance(value, list) else [value]:
            found |= _names(each, f"{table}{key}.") if isinstance(each, dict) else {f"{table}{key}"}
    return found


def _merged(below: dict[str, Any], content: dict[str, Any]) -> dict[str, Any]:
    """Return both settings; tables are merged, any other value of `content` replaces the one below."""
    merged = dict(below)
    for key, value in content.items():
        both = isinstance(value, dict) and isinstance(below.get(key), dict)
        merged[key] = _merged(below[key], value) if both else value
    return merged


def parse_config(content: dict[str, Any]) -> Config:
    """Return the config of a parsed TOML or JSON document; see `load_config`."""
    return _changed(Config(), content, "")


def dump_config(config: Config) -> str:
    """Return a config as JSON, which `parse_config` reads back."""
    return json.dumps(asdict(config), indent=2, default=np.generic.item) + "\n"


def _changed(default: Any, content: Any, where: str) -> Any:
    """Return `default`, a dataclass, with the settings of `content`."""
    if not isinstance(content, dict):
        raise UsageError(f"{where or 'the config'} must be a table of settings, not {content!r}")
    if isinstance(default, TeacherConfig):  # whose options stand beside its name in a file
        beside = {key: value for key, value in content.items() if key not in ("name", "options")}
        options = content.get("options", {})
        if not isinstance(options, dict):
            raise UsageError(f"{where}options must be a table of settings, not {options!r}")
        content = {**content, "options": {**options, **beside}}
        content = {key: value for key, value in content.items() if key not in beside}
    known = sorted(f"{where}{each.name}" for each in fields(default))
    values: dict[str, Any] = {}
    for key, value in content.items():
        require_choice("config key", f"{where}{key}", known)
        values[key] = _value(getattr(default, key), value, f"{where}{key}")
    return replace(default, **values)


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
