"""One game at a time, as programs take it from `textworld.start` with alfworld's wrappers around it.

Replace

    import textworld
    from alfworld.agents.environment.alfred_tw_env import AlfredDemangler
    from textworld.envs.wrappers import Filter

by

    from natlang_envs.alfworld.compat import single as textworld
    from natlang_envs.alfworld.compat.single import AlfredDemangler, Filter

Infos are TextWorld's. `description`, `max_score` and others are None, as they are there; `facts` and others, which only
its own engine has, are refused.
"""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, Literal

from natlang_envs.alfworld.causes import why
from natlang_envs.alfworld.compat.batch import parsed
from natlang_envs.alfworld.engine.grammar import NOTHING_HAPPENS
from natlang_envs.alfworld.engine.world import World
from natlang_envs.alfworld.plans import reference
from natlang_envs.errors import UsageError, require_choice

__all__ = ["AlfredDemangler", "AlfredInfos", "EnvInfos", "Filter", "GameState", "start"]

# In the order in which TextWorld lists them.
_NAMES = (
    *("feedback", "description", "inventory", "location", "facts", "win_facts", "fail_facts", "last_action"),
    *("last_command", "game", "won", "lost", "score", "moves", "max_score", "objective", "entities", "typed_entities"),
    *("verbs", "command_templates", "admissible_commands", "possible_admissible_commands", "possible_commands"),
    *("intermediate_reward", "policy_commands"),
)
_REFUSED = ("facts", "command_templates")


class EnvInfos:
    """The requested information of a game, as `textworld.EnvInfos`.

    Args:
        extras: `"walkthrough"`, or `"why"` for why nothing happened; others are None, as in TextWorld, unless a wrapper
            gives them.
        requested: Names of information, each True or False.

    Raises:
        UsageError: TextWorld has no such information, or only its own engine has it.
    """

    def __init__(self, *, extras: Iterable[str] = (), **requested: bool) -> None:
        for name in requested:
            require_choice("information", name, _NAMES)
            if requested[name] and name in _REFUSED:
                raise UsageError(f"{name} is only known to TextWorld's own engine: leave it out")
        self.basics = [name for name in _NAMES if requested.get(name)]
        self.extras = list(extras)


class GameState(dict[str, Any]):
    """The information after a command; each key is an attribute too, and None if it is missing."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return self.get(name)


class _Wrapper:
    """Passes on what it does not do; it is given what it wraps at once, or when it is called."""

    def __init__(self, env: Any = None) -> None:
        self._wrapped_env = env

    def __call__(self, env: Any) -> Any:
        self._wrapped_env = env
        return self

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        return getattr(self._wrapped_env, name)

    def copy(self) -> Any:
        other = object.__new__(type(self))
        vars(other).update(vars(self), _wrapped_env=self._wrapped_env.copy())
        return other


class AlfredDemangler(_Wrapper):
    """Gives things the names that players know; a game needs it to start.

    `shuffle` shuffles the numbers of things of a kind by Python's global generator, as alfworld does.
    """

    def __init__(self, env: Any = None, *, shuffle: bool = False) -> None:
        super().__init__(env)
        self._shuffle = shuffle

    def load(self, path: str) -> None:
        self._wrapped_env.load(path, demangled=random.Random(random.getrandbits(64)) if self._shuffle else None)


class AlfredInfos(_Wrapper):
    """Adds the path of the game, as the extra `gamefile`."""

    def load(self, path: str, **names: Any) -> None:
        self._wrapped_env.load(path, **names)
        self._gamefile = path

    def reset(self) -> GameState:
        state = self._wrapped_env.reset()
        state["extra.gamefile"] = self._gamefile
        return state


class Filter(_Wrapper):
    """Returns the text and what was asked for, in place of the whole state."""

    def reset(self) -> tuple[str, dict[str, Any]]:
        state = self._wrapped_env.reset()
        return state.feedback, self._asked(state)

    def step(self, command: str) -> tuple[str, int, bool, dict[str, Any]]:
        state, score, done = self._wrapped_env.step(command)
        return state.feedback, score, done, self._asked(state)

    def _asked(self, state: GameState) -> dict[str, Any]:
        infos: EnvInfos = self.request_infos
        asked = {name: state.get(name) for name in infos.basics}
        return asked | {f"extra.{name}": state.get(f"extra.{name}") for name in infos.extras}


class _BareGame:
    """A game without wrappers."""

    def __init__(self, infos: EnvInfos) -> None:
        self.request_infos = infos
        self._world: World | None = None

    def load(self, path: str, *, demangled: random.Random | Literal[False] | None = False) -> None:
        if demangled is False:
            raise UsageError(f"{path} was to be started without AlfredDemangler(): add it to wrappers")
        self._game = parsed(path, None, demangled)
        content = json.loads(Path(path).read_text(encoding="utf-8"))
        self._walkthrough = content.get("walkthrough") or reference(World(self._game))

    def reset(self) -> GameState:
        self._world, self._moves = World(self._game), 0
        return self._state(self._world.intro())

    def step(self, command: str) -> tuple[GameState, int, bool]:
        if self._world is None:
            raise UsageError("no game was begun: call reset first")
        feedback = self._world.step(command)
        reason = why(self._world, command) if feedback == NOTHING_HAPPENS and self._asks("why") else None
        self._moves += feedback != NOTHING_HAPPENS
        state = self._state(feedback)
        won = self._world.won
        state.update(last_command=command.strip(), score=int(won), done=won)
        if self._asks("why"):
            state["extra.why"] = reason
        return state, int(won), won

    def close(self) -> None:
        """Do nothing: there is nothing to let go."""

    def seed(self, seed: int | None = None) -> list[Any]:
        del seed
        return []

    def copy(self) -> _BareGame:
        other = object.__new__(_BareGame)
        vars(other).update(vars(self))
        if self._world is not None:
            other._world = World(self._game)
            other._world.set_state(self._world.state())
        return other

    def _asks(self, extra: str) -> bool:
        return extra in self.request_infos.extras

    def _state(self, feedback: str) -> GameState:
        world, asked = self._world, self.request_infos.basics
        assert world is not None
        state = GameState(feedback=feedback, raw=feedback, won=world.won, lost=False)
        state["admissible_commands"] = list(world.commands)
        if "moves" in asked:
            state["moves"] = self._moves
        if "policy_commands" in asked:
            state["policy_commands"] = reference(world)
        if self._asks("walkthrough"):
            state["extra.walkthrough"] = self._walkthrough
        return state


def start(path: str, request_infos: EnvInfos | None = None, wrappers: Sequence[Callable[[Any], Any]] = ()) -> Any:
    """Read a `game.tw-pddl` and return what plays it, as `textworld.start` does.

    The first of the `wrappers` is the innermost; `AlfredDemangler()` must be among them.
    """
    env: Any = _BareGame(request_infos or EnvInfos())
    for wrapper in wrappers:
        env = wrapper(env)
    env.load(path)
    return env
