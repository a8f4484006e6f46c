"""Protocols: which episodes make a score, on held-out groups. Each is a JSON file in `protocols/`, and has a digest."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field, fields, replace
from functools import cache
from importlib import import_module, resources
from importlib.resources.abc import Traversable
from inspect import signature
from pathlib import Path
from typing import Any, NamedTuple, cast, get_origin, get_type_hints

import gymnasium
from gymnasium.envs.registration import EnvSpec, load_env_creator

from natlang_envs.env import NatLangEnv
from natlang_envs.errors import UsageError, check_count, reason, require_choice, require_type
from natlang_envs.make_env import importing_here, make_pinned

_NO_BOARD = "it is no board of the leaderboard"
_SHORTENED = re.compile(r"(.+)\+first([1-9][0-9]*)")


class Episode(NamedTuple):
    """A task and the seed it is reset with."""

    task_id: str
    seed: int


@dataclass(frozen=True)
class Protocol:
    """The episodes of an evaluation.

    Attributes:
        name: `environment/version`.
        env_id: The Gymnasium id.
        kwargs: Arguments for `gymnasium.make`, JSON values.
        horizon: The largest number of steps an episode may take; handed to the environment.
        runs: How often an agent that samples plays every episode; an agent that does not plays it once.
        episodes: The episodes, in order.
        description: One or two sentences for people.
        local: Further arguments for `gymnasium.make`, which hold on this machine alone, such as paths: no part of the
            digest or of the file.
        live: The number of tasks in each of its live rounds, or the reason why it has none: no part of the digest.
    """

    name: str
    env_id: str
    kwargs: dict[str, Any]
    horizon: int
    runs: int
    episodes: tuple[Episode, ...]
    description: str
    local: Mapping[str, Any] = field(default_factory=dict[str, Any])
    live: int | str = _NO_BOARD

    @property
    def digest(self) -> str:
        """The SHA-256 of everything but `description`, `local` and `live`."""
        content = {each.name: getattr(self, each.name) for each in fields(self)}
        del content["description"], content["local"], content["live"]
        return hashlib.sha256(json.dumps(content, sort_keys=True, separators=(",", ":")).encode()).hexdigest()

    @property
    def development(self) -> str:
        """Why it has no live rounds; an empty text where it has them."""
        return self.live if isinstance(self.live, str) else ""

    def plays(self, runs: int) -> list[tuple[Episode, int]]:
        """Return what is played, in order: every episode with the number of its run, run by run."""
        return [(episode, run) for run in range(runs) for episode in self.episodes]

    def first(self, episodes: int) -> Protocol:
        """Return the protocol cut to its first episodes, for a try: its name says so, and it is another protocol.

        Raises:
            UsageError: It has fewer, or that is no whole number of at least 1.
        """
        if (episodes := check_count("episodes", episodes)) > (most := len(self.episodes)):
            raise UsageError(f"{self.name} has {most} episodes, not {episodes}: name fewer, or leave episodes out")
        if episodes == most:
            return self
        return replace(self, name=f"{self.name}+first{episodes}", episodes=self.episodes[:episodes])

    def make_env(self, **kwargs: Any) -> gymnasium.Env[str, str]:
        """Return one environment of the protocol."""
        arguments: dict[str, Any] = {**self.kwargs, **self.local, "horizon": self.horizon, **kwargs}
        return make_pinned(self.env_id, **arguments)

    def task_kinds(self, task_id: str) -> dict[str, str]:
        """Return what kinds a task is of, as `NatLangEnv.task_kinds`; needs neither repositories nor games."""
        return self._env.task_kinds(task_id, **{**self._spec.kwargs, **self.kwargs})

    @property
    def explains(self) -> bool:
        """Whether the environment takes `explain=True`, and so says why a command does nothing."""
        return "explain" in signature(self._env.__init__).parameters

    @property
    def _env(self) -> type[NatLangEnv]:
        return cast("type[NatLangEnv]", load_env_creator(str(self._spec.entry_point)))

    @property
    def _spec(self) -> EnvSpec:
        module, _, name = self.env_id.rpartition(":")
        if module:  # it registers the id
            with importing_here():
                import_module(module)
        return gymnasium.spec(name)

    def to_json(self, same_as: str = "") -> str:
        """Return the file's text: one episode a line, or the name of a protocol of this package that has the same."""
        content = asdict(self)
        episodes = content.pop("episodes")
        del content["local"]
        if self.live == _NO_BOARD:
            del content["live"]
        head = json.dumps(content, indent=2, ensure_ascii=False)[:-2]
        rows = ",\n".join(f"    {json.dumps(each)}" for each in episodes)
        listed = json.dumps(same_as) if same_as else f"[\n{rows}\n  ]"
        return f'{head},\n  "episodes": {listed}\n}}\n'


def _folder() -> Traversable:
    return resources.files("natlang_envs.evaluation") / "protocols"


def protocol_names() -> list[str]:
    """Return the names of all protocols, sorted."""
    return list(_names(_folder()))


@cache
def _names(protocols: Traversable) -> list[str]:
    every = [(folder.name, file.name) for folder in protocols.iterdir() if folder.is_dir() for file in folder.iterdir()]
    return sorted(f"{folder}/{file.removesuffix('.json')}" for folder, file in every if file.endswith(".json"))


def load_protocol(name: str) -> Protocol:
    """Return a protocol by name, or from a `.json` file.

    Raises:
        UsageError: There is no such protocol, and the message names the closest ones; it is a shortened one; or the
            file holds none.
    """
    require_type(name, str, "no protocol: give a name of protocol_names(), or a file that ends in .json")
    if name.endswith(".json"):
        return _read_protocol(Path(name))
    whole, episodes = split_shortened(name)
    if episodes is not None and whole in protocol_names():
        raise UsageError(f"{name} is a try of {whole}, its first {episodes} episodes: evaluate without --episodes")
    require_choice("protocol", name, protocol_names())
    content = json.loads((_folder() / f"{name}.json").read_text(encoding="utf-8"))
    if isinstance(same_as := content["episodes"], str):
        content["episodes"] = load_protocol(same_as).episodes
    return _made(content)


def _made(content: dict[str, Any]) -> Protocol:
    episodes = tuple(Episode(task_id, seed) for task_id, seed in content.pop("episodes"))
    return Protocol(**content, episodes=episodes)


def _read_protocol(path: Path) -> Protocol:
    remedy = "make it with natlang protocol live"
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"{path} cannot be read ({reason(error)}): {remedy}") from None
    try:
        found = _made(json.loads(text))
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
        raise UsageError(f"{path} holds no protocol ({error}): {remedy}") from None
    hints = get_type_hints(Protocol)
    kinds = {name: get_origin(hints[name]) or hints[name] for name in hints.keys() - {"local", "live"}}
    right = all(type(getattr(found, name)) is kind for name, kind in kinds.items()) and type(found.live) in (int, str)
    right = right and all(type(task_id) is str and type(seed) is int for task_id, seed in found.episodes)
    if not right or not found.episodes or found.horizon < 1 or found.runs < 1 or found.to_json() != text:
        raise UsageError(f"{path} is not as a protocol is written: {remedy}")
    return found


def split_shortened(name: str) -> tuple[str, int | None]:
    """Return the name of the whole protocol, and how many episodes `Protocol.first` left; None where it left all."""
    found = _SHORTENED.fullmatch(name)
    return (name, None) if found is None else (found[1], int(found[2]))


def protocol_files(protocols: Iterable[Protocol]) -> dict[str, str]:
    """Return the texts of this package's files by the names of their protocols; episodes stand in the first alone."""
    first: dict[tuple[Episode, ...], str] = {}
    texts: dict[str, str] = {}
    for each in protocols:
        owner = first.setdefault(each.episodes, each.name)
        texts[each.name] = each.to_json("" if owner == each.name else owner)
    return texts


def write_protocols(protocols: Iterable[Protocol]) -> None:
    """Write the files of protocols into this package, once all of them are made."""
    for name, text in protocol_files(protocols).items():
        path = Path(str(_folder())) / f"{name}.json"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    _names.cache_clear()
