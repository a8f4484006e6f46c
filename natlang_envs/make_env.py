"""Makes environments by id."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Generator
from contextlib import contextmanager, nullcontext
from typing import Any, cast

import gymnasium
from gymnasium.wrappers import OrderEnforcing, PassiveEnvChecker, TimeLimit

from natlang_envs.env import NatLangEnv, unwrap
from natlang_envs.errors import UsageError, require_choice


def make_pinned(env_id: str, **kwargs: Any) -> gymnasium.Env[Any, Any]:
    """Make an environment of the named version, without Gymnasium's warning about newer ones, or raise `UsageError`."""
    with warnings.catch_warnings(), importing_here() if ":" in env_id else nullcontext():
        warnings.filterwarnings("ignore", message=".*is out of date")
        try:
            return gymnasium.make(env_id, **kwargs)
        except (ModuleNotFoundError, gymnasium.error.Error) as error:
            raise UsageError(f"{env_id} cannot be made: {error}") from None


@contextmanager
def importing_here() -> Generator[None]:
    """Let modules of the current folder be imported by name, as `python -m` does, while a name is looked up."""
    sys.path.insert(0, "")
    try:
        yield
    finally:
        sys.path.remove("")


def make_env(id: str, **kwargs: Any) -> NatLangEnv:
    """Make one environment by an id that a user typed.

    Args:
        id: A registered id, or `module:id` for an environment of another package or of the current folder.
        **kwargs: For `gymnasium.make`.
    """
    if ":" not in id and id not in gymnasium.registry:
        require_choice("environment", id, [name for name in gymnasium.registry if name.startswith("NatLang/")])
    try:
        env: gymnasium.Env[Any, Any] = make_pinned(id, **kwargs)
        inner = unwrap(env)
    except TypeError as error:
        if "unexpected keyword argument" not in str(error):
            raise
        given = ", ".join(kwargs)
        raise UsageError(f"{id} does not take all of these arguments: {given}; leave some out") from None
    while isinstance(env, gymnasium.Wrapper):
        name = type(cast("object", env)).__name__
        if isinstance(env, TimeLimit):
            steps = env._max_episode_steps  # pyright: ignore[reportPrivateUsage]
            if steps < inner.horizon:
                raise UsageError(f"max_episode_steps={steps} is a wrapper, which is left out here: set horizon={steps}")
        elif not isinstance(env, OrderEnforcing | PassiveEnvChecker):
            raise UsageError(f"{id} is made with {name}, which is left out here: make it without wrappers")
        env = env.env
    return inner
