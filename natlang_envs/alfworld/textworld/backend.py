"""The real TextWorld, with the alfworld package's wrappers, behind the interface of our own engine.

It is the reference that `tools.alfworld.textworld_parity` compares with, and `backend="textworld"`. It is slow:
seconds to read a game, a tenth of a second for a step.
"""

from __future__ import annotations

import os
import random
import sys
import weakref
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from importlib import import_module
from threading import RLock
from typing import Any, cast

import numpy as np

from natlang_envs.alfworld.engine.game import GameText
from natlang_envs.alfworld.engine.grammar import NOTHING_HAPPENS
from natlang_envs.alfworld.games.official import VARIABLE
from natlang_envs.alfworld.textworld.files import MISSING, game_file
from natlang_envs.errors import UsageError

# Environments whose game is over, to read another one: each has its own copy of the planner's library, 2 MB that are
# never given back (to unload it ends the process).
_IDLE: list[Any] = []
_IN_USE = RLock()  # the packages replace sys.stdout and sys.argv while they read a game: one thread at a time


@contextmanager
def process_state_kept() -> Generator[None]:
    """Restore the parts of the process that the packages change: random numbers, argv, environment."""
    with _IN_USE:
        argv, stdout, environ = sys.argv, sys.stdout, dict(os.environ)
        python_state, numpy_state = random.getstate(), np.random.get_state()  # noqa: NPY002
        try:
            yield
        finally:
            sys.argv, sys.stdout = argv, stdout
            random.setstate(python_state)
            np.random.set_state(numpy_state)  # noqa: NPY002
            for name in os.environ.keys() - environ.keys():
                del os.environ[name]
            os.environ.update(environ)


def _import(name: str) -> Any:
    try:
        return import_module(name)
    except ImportError as error:
        raise UsageError(MISSING.format(error.name or name)) from None


class TextWorldWorld:
    """A game in its beginning, played by TextWorld, with the interface of `engine.world.World`.

    TextWorld cannot copy a state, so a state is the commands that led to it, and to set one is to play them again.
    """

    def __init__(self, text: GameText) -> None:
        with process_state_kept():
            self._env = _load(text)
            self._begin()
        weakref.finalize(self, _IDLE.append, self._env).atexit = False

    def _begin(self) -> None:
        self._state: dict[str, Any] = self._env.reset()
        self._intro: str = self._state["feedback"]
        self._played: tuple[str, ...] = ()

    def intro(self) -> str:
        return self._intro

    @property
    def commands(self) -> tuple[str, ...]:
        """The admissible commands, in TextWorld's order."""
        return tuple(self._state["admissible_commands"])

    @property
    def won(self) -> bool:
        return bool(self._state["won"])

    def step(self, command: str) -> str:
        with process_state_kept():
            return self._step(command)

    def _step(self, command: str) -> str:
        self._state, _, _ = self._env.step(command)
        feedback: str = self._state["feedback"]
        if feedback != NOTHING_HAPPENS:
            self._played += (command.strip(),)
        return feedback

    def state(self) -> tuple[str, ...]:
        return self._played

    def set_state(self, state: Sequence[str]) -> None:
        """Go to the state that commands lead to from the beginning."""
        wanted = tuple(state)
        if not all(isinstance(command, str) for command in cast("tuple[object, ...]", wanted)):
            raise UsageError("this state is not of the textworld backend: restore it with the backend that made it")
        with process_state_kept():
            if wanted[: len(self._played)] != self._played:
                self._begin()
            for command in wanted[len(self._played) :]:
                if self._step(command) == NOTHING_HAPPENS:
                    raise UsageError(f"this state is of another game: {command!a} cannot be done where it is done")


def _load(text: GameText) -> Any:
    env = _IDLE.pop() if _IDLE else _make()
    try:
        env.load(game_file(text))
    except (Exception, SystemExit) as error:  # what TextWorld's readers raise is of many types
        raise UsageError(
            f"TextWorld cannot read this game ({type(error).__name__}: {error}): export it again"
        ) from None
    return env


def _make() -> Any:
    textworld, envs = _import("textworld"), _import("textworld.envs")
    if not os.environ.get(VARIABLE):
        os.environ.pop(VARIABLE, None)  # empty is unset to us; alfworld would make a folder of that name, and fail
    wrappers = _import("alfworld.agents.environment.alfred_tw_env")
    try:
        engine = envs.PddlEnv(textworld.EnvInfos(won=True, admissible_commands=True))
    except ImportError:
        raise UsageError(MISSING.format("fast_downward")) from None
    return wrappers.AlfredInfos(wrappers.AlfredDemangler(engine))
