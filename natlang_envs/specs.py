"""Specs with an environment's own horizon, which make no `TimeLimit`."""

from __future__ import annotations

import inspect
from copy import deepcopy
from dataclasses import fields, replace
from typing import Any, Self

from gymnasium.envs.registration import EnvSpec, make

_MAKE = make.__code__


class OwnHorizonSpec(EnvSpec):
    """A spec whose `max_episode_steps` is the horizon, for wrappers and trainers.

    An environment made from it, its JSON or its pickle has no `TimeLimit` around it: it counts its own steps, so that
    `restore` sets the count, and truncates at the horizon itself.
    """

    horizon: int | None = None  # no field: it is no part of what describes the environment

    def __getattribute__(self, name: str) -> Any:
        value = super().__getattribute__(name)
        # What `gymnasium.make` reads here it wraps around the environment, and it asks for no other form of a spec.
        if name == "max_episode_steps" and value == self.horizon and _caller() is _MAKE:
            return None
        return value

    def _plain(self) -> EnvSpec:
        """Return a plain spec without the horizon; a limit set by a wrapper or `gymnasium.make` stays."""
        own = self.max_episode_steps == self.horizon
        return EnvSpec(**_spec_values(self, None if own else self.max_episode_steps))

    def to_json(self) -> str:
        return self._plain().to_json()

    def make(self, **kwargs: Any) -> Any:
        return self._plain().make(**kwargs)

    def __reduce__(self) -> Any:
        return _read, (self.to_json(), self.max_episode_steps, self.horizon)

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        """Return a copy that keeps `horizon`: each wrapper adds itself to a copy."""
        again = replace(self, kwargs=deepcopy(self.kwargs, memo), additional_wrappers=self.additional_wrappers)
        again.horizon = self.horizon
        return again


def with_horizon(spec: EnvSpec, horizon: int) -> EnvSpec:
    """Return a spec whose `max_episode_steps` is the horizon."""
    own = OwnHorizonSpec(**_spec_values(spec, horizon))
    own.horizon = horizon
    return own


def _caller() -> Any:
    """Return the code that asked for an attribute."""
    frame = inspect.currentframe()
    asked = frame and frame.f_back and frame.f_back.f_back
    return asked and asked.f_code


def _read(content: str, limit: int | None, horizon: int | None) -> EnvSpec:
    if horizon is None:
        return EnvSpec.from_json(content)
    spec = with_horizon(EnvSpec.from_json(content), horizon)
    spec.max_episode_steps = limit
    return spec


def _spec_values(spec: EnvSpec, limit: int | None) -> dict[str, Any]:
    values: dict[str, Any] = {each.name: getattr(spec, each.name) for each in fields(spec) if each.init}
    return {**values, "max_episode_steps": limit}
