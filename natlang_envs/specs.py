"""Specs that tell an environment's own horizon, and make no `TimeLimit` of it."""

from __future__ import annotations

from copy import deepcopy
from dataclasses import fields, replace
from typing import Any, Self

from gymnasium.envs.registration import EnvSpec


class OwnHorizonSpec(EnvSpec):
    """A spec whose `max_episode_steps` tells the horizon, for wrappers and trainers that read it there.

    What is made again from its JSON or its pickle has no `TimeLimit` around it: the environment counts, and so knows of
    `restore`, and says at the horizon whether it terminated or was truncated.
    """

    horizon: int | None = None  # no field: it is no part of what describes the environment

    def _plain(self) -> EnvSpec:
        """Return the spec for making it again; a limit that a wrapper or `gymnasium.make` has set stays."""
        own = self.max_episode_steps == self.horizon
        return EnvSpec(**_spec_values(self, None if own else self.max_episode_steps))

    def to_json(self) -> str:
        return self._plain().to_json()

    def make(self, **kwargs: Any) -> Any:
        return self._plain().make(**kwargs)

    def __reduce__(self) -> Any:
        return EnvSpec.from_json, (self.to_json(),)

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        """Return a copy that still tells the horizon: wrappers add themselves to one."""
        again = replace(self, kwargs=deepcopy(self.kwargs, memo), additional_wrappers=self.additional_wrappers)
        again.horizon = self.horizon
        return again


def with_horizon(spec: EnvSpec, horizon: int) -> EnvSpec:
    """Return a spec whose `max_episode_steps` is the horizon."""
    own = OwnHorizonSpec(**_spec_values(spec, horizon))
    own.horizon = horizon
    return own


def _spec_values(spec: EnvSpec, limit: int | None) -> dict[str, Any]:
    values: dict[str, Any] = {each.name: getattr(spec, each.name) for each in fields(spec) if each.init}
    return {**values, "max_episode_steps": limit}
