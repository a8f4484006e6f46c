"""How a chat model is asked, as `--agent NAME:MODEL?temperature=0&seed=7` or environment variables say."""

from __future__ import annotations

import json
import math
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any

from natlang_envs.errors import UsageError, check_count, check_flag, require_choice, require_type
from natlang_envs.prompt import History, check_history

_SENT = ("temperature", "top_p", "seed", "stop", "max_tokens", "max_completion_tokens")
_WAITING = ("timeout", "patience")  # change nothing in what is played


@dataclass(frozen=True)
class ChatSettings:
    """How a chat model is asked; what is None is left to the endpoint.

    Attributes:
        temperature: Of its words; also `top_p` and `seed`.
        stop: A text, or several, at which an answer ends.
        max_tokens: The most tokens of an answer.
        max_completion_tokens: The same, by the name that reasoning models know.
        extra: Further members of each request, such as `{"reasoning": {"effort": "low"}}`.
        system: Whether there is a system message; without it, its text begins the user's.
        history: What a prompt shows of the path: `full`, `none`, a number of steps, or `commands`, all commands alone.
        timeout: The most seconds that one request may take, from the connection to the last byte.
        patience: The seconds for which a provider that fails is asked again, before the run stops.

    Raises:
        UsageError: A value is out of range.
    """

    temperature: float | None = None
    top_p: float | None = None
    seed: int | None = None
    stop: str | list[str] | None = None
    max_tokens: int | None = None
    max_completion_tokens: int | None = None
    extra: Mapping[str, Any] = field(default_factory=dict[str, Any])
    system: bool = True
    history: History = "full"
    timeout: float = 120.0
    patience: float = 300.0

    def __post_init__(self) -> None:
        check_history(self.history)
        check_flag("system", self.system)
        require_type(self.extra, dict, 'no extra body: give a JSON object, such as extra={"top_k": 20}')
        if ours := sorted({*_SENT, "model", "messages", "tools"} & self.extra.keys()):
            raise UsageError(f"extra holds {ours[0]!r}, which has a place of its own: leave it out of extra")
        for name in ("temperature", "top_p", *_WAITING):
            given: Any = getattr(self, name)
            least = math.ulp(0.0) if name in ("top_p", "timeout") else 0
            number = isinstance(given, int | float) and not isinstance(given, bool)
            if not (number and least <= given < math.inf) and (given is not None or name in _WAITING):
                raise UsageError(f"{name} must be a number {'above' if least else 'from'} 0, not {given!r}")
        for name, least in (("max_tokens", 1), ("max_completion_tokens", 1), ("seed", 0)):
            if (given := getattr(self, name)) is not None:
                check_count(name, given, least)
        stops: list[Any] = self.stop if isinstance(self.stop, list) else ["none" if self.stop is None else self.stop]
        if not all(isinstance(each, str) and each for each in stops):
            raise UsageError(f"stop must be a text or a list of texts, not {self.stop!r}")
        if self.max_tokens and self.max_completion_tokens:
            raise UsageError("max_tokens and max_completion_tokens are two names of one limit: give one")

    def body(self) -> dict[str, Any]:
        return {**{name: each for name in _SENT if (each := getattr(self, name)) is not None}, **self.extra}

    def as_texts(self) -> dict[str, str]:
        """Return what was set and changes what is asked, as texts, for `run.json`."""
        names = [each.name for each in fields(self) if each.name not in _WAITING]
        changed = ((name, getattr(self, name)) for name in names if getattr(self, name) != getattr(_DEFAULT, name))
        return {name: value if isinstance(value, str) else json.dumps(value) for name, value in changed}


_DEFAULT = ChatSettings()
_NAMES = [each.name for each in fields(ChatSettings)]


def read_settings(argument: str, agent: str) -> tuple[str, ChatSettings]:
    """Return the model and the settings of `MODEL?name=value&name=value`; values are JSON, or texts.

    `NATLANG_TIMEOUT`, `NATLANG_MAX_TOKENS` and the like set what the argument does not.
    """
    model, _, query = argument.partition("?")
    if not model.strip():
        raise UsageError(f"agent {agent} needs the name of a model: write --agent {agent}:MODEL")
    pairs = [each.partition("=") for each in re.split(r"&(?=\w+=)", query) if each]
    given = {require_choice("setting of a model", name, _NAMES): _value(value) for name, _, value in pairs}
    if len(given) < len(pairs):
        raise UsageError(f"agent {agent}: {query} gives a setting twice")
    found = {name: value for name in _NAMES if (value := os.environ.get(f"NATLANG_{name.upper()}")) is not None}
    limits = {"max_tokens", "max_completion_tokens"}
    own = {name: _value(value) for name, value in found.items() if not (name in limits and limits & given.keys())}
    for name, value in own.items():
        try:
            ChatSettings(**{name: value})
        except UsageError as error:
            raise UsageError(f"NATLANG_{name.upper()}: {error}") from None
    return model, ChatSettings(**{**own, **given})


def _value(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return text
