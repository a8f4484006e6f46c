"""`extra.expert_plan`: a list that is planned when it is read."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

from natlang_envs.alfworld.compat.config import ExpertType
from natlang_envs.alfworld.engine.game import Game
from natlang_envs.alfworld.engine.world import World
from natlang_envs.alfworld.expert import Expert
from natlang_envs.alfworld.plans import reference


class ExpertPlan(list[str]):
    """A list of commands that is planned when it is first touched.

    It is copied and pickled as a plain list. Code in C that reads a list's memory and skips its methods finds an
    object that it cannot take for a command.
    """

    __slots__ = ("_plan",)

    def __init__(self, plan: Callable[[], list[str]]) -> None:
        self._plan: Callable[[], list[str]] | None = plan
        super().__init__([cast("str", _UNREAD)])

    def read(self) -> None:
        """Plan, unless that was done."""
        if self._plan:
            super().__setitem__(slice(None), self._plan())
            self._plan = None

    def __radd__(self, other: list[str]) -> list[str]:
        return other + list(self)

    def __reduce_ex__(self, protocol: Any) -> tuple[type[list[str]], tuple[list[str]]]:
        return list, (self[:],)


class _Unread:
    def __repr__(self) -> str:
        return "<a plan that was not read>"


_UNREAD = _Unread()
_OF_ANY_OBJECT = ("__new__", "__init__", "__getattribute__", "__class_getitem__", "__sizeof__")


def _reading(method: Any) -> Any:
    def read_first(self: ExpertPlan, *args: Any, **kwargs: Any) -> Any:
        for each in (self, *args):
            if isinstance(each, ExpertPlan):
                each.read()
        return method(self, *args, **kwargs)

    return read_first


for _name, _method in vars(list).items():
    if callable(_method) and _name not in _OF_ANY_OBJECT:
        setattr(ExpertPlan, _name, _reading(_method))


class Planner:
    """The plans of one episode. Each depends on the commands before it, and not on when it is read.

    A `"handcoded"` plan is the next command of an expert that sees what a player sees, a `"planner"`'s the rest of a
    reference plan.
    """

    def __init__(self, game: Game, kind: ExpertType) -> None:
        self._game = game
        self._kind = kind
        self._commands: list[str] = []
        self._plans: list[list[str]] = []
        self._world: World | None = None
        self._expert: Expert | None = None

    def observe(self, command: str) -> None:
        self._commands.append(command)

    def plan(self) -> ExpertPlan:
        step = len(self._commands)
        return ExpertPlan(lambda: list(self._plan(step)))

    def _plan(self, step: int) -> list[str]:
        while len(self._plans) <= step:
            self._plans.append(self._next())
        return self._plans[step]

    def _next(self) -> list[str]:
        """Play one command further, in a world of this planner's own, and plan there."""
        if self._world is None:
            self._world = World(self._game)
            observation = self._world.intro()
            self._expert = Expert(observation, goal=self._game.goal) if self._kind == "handcoded" else None
        else:
            command = self._commands[len(self._plans) - 1]
            observation = self._world.step(command)
            if self._expert:
                self._expert.observe(command.strip(), observation)
        if self._expert is None:
            return reference(self._world)
        return ["look"] if self._world.won else [self._expert.choose(observation, self._world.commands)]
