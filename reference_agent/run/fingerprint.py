"""What a folder's result was made from: kept beside it, and compared before it is used again.

Settings are kept as they are; data, weights and code as digests, of which a message can only say that they differ.
"""

from __future__ import annotations

import hashlib
import json
import logging
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import fields, is_dataclass
from functools import partial
from pathlib import Path, PurePath
from random import Random
from types import CodeType, FunctionType, MethodType
from typing import Any, cast

import numpy as np
import torch
from torch import Tensor

from natlang_envs.errors import UsageError
from natlang_envs.evaluation.runs import hardware, installed_versions
from natlang_envs.files import make_folder, write_whole
from reference_agent import processes
from reference_agent.algorithms import registered
from reference_agent.curriculum import Environment, Stage, make_environment, split_of
from reference_agent.models.adapters import digest
from reference_agent.models.language_model import LanguageModel
from reference_agent.models.tokenizer import PromptReader
from reference_agent.players import Reflector
from reference_agent.run.config import RLConfig
from reference_agent.teachers.choose import registered_teacher

TRAINING, DATA = "inputs.json", "data.inputs.json"  # names of the file
MADE_BY = "made_by.json"  # versions, processes and device, for each time that one of them was another
_LEFT = "left.json"  # the weights as the last call left them
_DEEP = 5
_MARK, _DIGITS = "#", 16  # before a digest, and how long it is
_PROBES = 32  # tasks by which environments are told apart
_PLAIN = (bool, int, float, str, bytes, tuple, frozenset, np.generic)
# Memory, time and place alone; and what refuses.
_IGNORED = ("microbatch", "checkpoint_every", "timeout", "reflector_endpoint", "unclear")
_log = logging.getLogger(__name__)


def difference(was: Mapping[str, Any], now: Mapping[str, Any]) -> str | None:
    """Return in words the first setting that differs, of tables within tables; None if none does."""
    before, after = _flat(was), _flat(now)
    for name in before | after:
        values = before.get(name), after.get(name)
        if values[0] != values[1]:
            if any(str(each).startswith(_MARK) for each in values):
                return f"{name} is another one"
            old, new = ("not there" if each is None else json.dumps(each) for each in values)
            return f"{name} was {old} and is now {new}"
    return None


def _flat(values: Mapping[str, Any], table: str = "") -> dict[str, Any]:
    flat: dict[str, Any] = {}
    for name, given in values.items():
        value: Any = {str(at): each for at, each in enumerate(given)} if isinstance(given, list) else given
        flat |= _flat(value, f"{table}{name}.") if isinstance(value, dict) and value else {f"{table}{name}": value}
    return flat


def claim_data(folder: Path, **inputs: object) -> None:
    """Make a folder that of data from these inputs, or check that it is. Raises `UsageError` if it is of others."""
    make_folder(folder)
    inputs["teacher"] = registered_teacher(inputs["teacher"]) or inputs["teacher"]
    claim_inputs(folder / DATA, {name: described(value) for name, value in inputs.items()})


@contextmanager
def training(folder: Path | str | None, model: LanguageModel, **inputs: object) -> Iterator[Path | None]:
    """Make a folder that of this model's training from these inputs, or check that it is, and train in it.

    The model may come as it was at first, or as the last call left it.
    """
    folder = None if folder is None else Path(folder)
    if folder is None or processes.number():
        yield folder
        return

    make_folder(folder)
    now = {name: described(value) for name, value in {**inputs, "model": model}.items()}
    was, left = _read(folder / TRAINING), _read(folder / _LEFT)
    if was and left and left.get("left") == now["model"]["weights"]:
        now["model"] |= {"weights": _flat(was).get("model.weights")}
    claim_inputs(folder / TRAINING, now)
    note_maker(folder, str(model.model.device))
    try:
        yield folder
    finally:
        write_whole(folder / _LEFT, json.dumps({"left": _weights(model)}).encode())


def note_maker(folder: Path, device: str) -> None:
    """Add what works on a folder to its record: versions, number of processes, device and machine.

    Raises `UsageError` if another number of processes began: they would train other weights than were begun.
    """
    before: Any = (_read(folder / MADE_BY) or {}).get("sessions", [])
    if not isinstance(before, list) or not all(isinstance(each, dict) and "processes" in each for each in before):
        raise UsageError(f"{folder / MADE_BY} is damaged (it holds no sessions): choose another folder")
    now: dict[str, Any] = {**installed_versions(), "processes": processes.count(), "device": _device(device)}
    now |= {"threads": torch.get_num_threads(), "hardware": hardware()}
    if before and (began := before[-1]["processes"]) != now["processes"]:
        raise UsageError(
            f"{folder} was begun by {began} process{'es' * (began > 1)}, and {now['processes']} would make other "
            f"weights: start {began}, or choose another folder"
        )
    if not before or before[-1] != now:
        write_whole(folder / MADE_BY, (json.dumps({"sessions": [*before, now]}, indent=2) + "\n").encode())


def _device(device: str) -> str:
    return f"{device} ({torch.cuda.get_device_name(device)})" if device.startswith("cuda") else device


def claim_inputs(file: Path, now: dict[str, Any]) -> None:
    """Write the inputs of a folder into `file`. Raises `UsageError` if it is there and names other inputs."""
    now = json.loads(json.dumps(now))  # as it is read back
    if (was := _read(file)) is None:
        if file.parent.exists() and any(file.parent.iterdir()):
            _log.warning(
                "%s does not say what its content was made from: it is taken to be of these inputs", file.parent
            )
        write_whole(file, (json.dumps(now, indent=2) + "\n").encode())
        return
    if found := difference(was, now):
        raise UsageError(
            f"{file.parent} holds what was made from other inputs ({found}): choose another folder, or delete it to "
            "make it again"
        )


def _read(file: Path) -> dict[str, Any] | None:
    """Return what a file of inputs holds; None if it is not there. Raises `UsageError` if it is damaged."""
    try:
        held = json.loads(file.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return None
    except ValueError as error:
        raise UsageError(f"{file} is damaged ({error}): choose another folder") from None
    if not isinstance(held, dict):
        raise UsageError(f"{file} is damaged (it holds no table): choose another folder")
    return cast("dict[str, Any]", held)


def described(value: Any, depth: int = 0) -> Any:
    """Return a value in JSON: settings as they are, the rest as a digest of what tells it from others of its kind."""
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    if isinstance(value, PurePath):
        return str(value)
    if isinstance(value, np.generic):
        return described(value.item(), depth)
    if isinstance(value, Tensor):
        return _digest([str(value.dtype), list(value.shape), digest([value])])
    if isinstance(value, np.ndarray):
        held = value.tolist() if value.dtype.hasobject else hashlib.sha256(value.tobytes()).hexdigest()
        return _digest([str(value.dtype), list(value.shape), described(held, depth)])
    if depth > _DEEP:
        return type(value).__qualname__
    deeper = depth + 1
    if isinstance(value, LanguageModel):
        return {"kind": type(value).__name__, "chat": value.chat, "weights": _weights(value)}
    if isinstance(value, PromptReader):
        words = sorted(value.tokenizer.get_vocab().items())
        return {"kind": type(value).__name__, "positions": value.positions, "tokens": _digest(words)}
    if isinstance(value, Reflector):
        model = value.model.fingerprint() if not isinstance(value.model, LanguageModel) else _weights(value.model)
        return {"weights": model, "max_tokens": value.max_tokens, "sampled": value.sampled}
    if is_dataclass(value) and not isinstance(value, type):
        names = [each.name for each in fields(value) if each.name not in _IGNORED]
        told = {name: described(getattr(value, name), deeper) for name in names}
        if isinstance(value, RLConfig) and (own := registered(value.algorithm)):
            told["update"] = described(own.update, deeper)
        return told | {"env": environment(value.env)} if isinstance(value, Stage) else told
    if isinstance(value, dict):
        return {str(name): described(each, deeper) for name, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [described(each, deeper) for each in value]
    if isinstance(value, (set, frozenset)):
        return sorted((described(each, deeper) for each in value), key=repr)
    if isinstance(value, (bytes, range, complex)):
        return repr(value)
    if isinstance(value, (np.random.Generator, Random)):
        state = value.getstate() if isinstance(value, Random) else value.bit_generator.state
        return _digest(described(state, depth))
    return _of_code(value, deeper)


def digest_all(values: Any) -> str:
    return _digest([described(each) for each in values])


def environment(env: Environment) -> Any:
    """Return an id, or the digest of a function and of the environment that it makes."""
    if isinstance(env, str):
        return env
    made = make_environment(env)
    rng = np.random.default_rng(0)
    tasks = [made.tasks.draw(rng.random) for _ in range(_PROBES)]
    seen, info = made.reset(seed=0)
    first = [seen, info["task_id"], info["task"], list(info["admissible_commands"])]
    made.close()
    return {
        "made": f"{type(made).__module__}.{type(made).__qualname__}",
        "horizon": made.horizon,
        "split": split_of(made),
        "function": described(env),
        "first": _digest([first, tasks]),
    }


def _of_code(value: Any, depth: int) -> Any:
    if isinstance(value, partial):
        return [described(value.func, depth), described(value.args, depth), described(value.keywords, depth)]
    if isinstance(value, MethodType):
        return [described(value.__func__, depth), described(value.__self__, depth)]
    if isinstance(value, FunctionType):
        cells = [described(each.cell_contents, depth) for each in value.__closure__ or ()]
        beside = [value.__kwdefaults__, vars(value), _named(value.__code__, value)]
        told = [described(each, depth) for each in (value.__defaults__, *filter(None, beside))]
        return _digest([value.__qualname__, _code(value.__code__), cells, *told])
    if isinstance(value, type):
        ours = [each for each in value.__mro__ if each.__module__.split(".")[0] not in ("builtins", "natlang_envs")]
        parts = [(name, part) for each in ours for name, part in sorted(vars(each).items())]
        parts = [(name, part.fget if isinstance(part, property) else part) for name, part in parts]
        own = [
            (name, described(part, depth))
            for name, part in parts
            if isinstance(part, FunctionType) or (isinstance(part, (int, float, str)) and not name.startswith("__"))
        ]
        return _digest([value.__module__, value.__qualname__, own])
    return [described(type(value), depth), described(getattr(value, "__dict__", {}), depth)]


def _named(code: CodeType, function: FunctionType) -> dict[str, Any]:
    """Return what a function names of its module: helpers, and constants, which are immutable or in upper case."""
    found = {name: function.__globals__[name] for name in code.co_names if name in function.__globals__}
    ours = {
        name: each
        for name, each in found.items()
        if isinstance(each, _PLAIN)
        or name.isupper()
        or (isinstance(each, (FunctionType, type)) and each.__module__ == function.__module__)
    }
    inner = (each for each in code.co_consts if isinstance(each, CodeType))
    return {name: each for part in inner for name, each in _named(part, function).items()} | ours


def _code(code: CodeType) -> list[Any]:
    def constant(value: Any) -> Any:
        if isinstance(value, CodeType):
            return _code(value)
        return sorted(map(repr, value)) if isinstance(value, frozenset) else repr(value)

    return [code.co_code.hex(), [constant(each) for each in code.co_consts], list(code.co_names)]


def _weights(model: LanguageModel) -> str:
    return f"{_MARK}{digest(model.parameters())[:_DIGITS]}"


def _digest(value: object) -> str:
    return f"{_MARK}{hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()[:_DIGITS]}"
