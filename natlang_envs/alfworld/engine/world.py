"""One episode of a game: the same texts, commands and `won` as TextWorld's engine, step by step.

Three quirks of the original are part of the truth. `look` in the middle of the room sees nothing. A thing that lies in
two receptacles and is taken out of one still lies in the other. What was taken out of a receptacle is remembered as not
being in it, and `look` names it as lying next to the receptacle if it is at the same place.

Most of a step is to find what can be done next. That depends on little: the place, the hand, and what is at the place.
So a game caches the actions of recent situations for all its episodes; a step into a known situation is one dictionary
lookup, and many episodes of one game, as in a vector environment, share their cache. What is
common to all situations, the ways to other places, is kept once a place.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from typing import Any

from natlang_envs.alfworld.engine import actions
from natlang_envs.alfworld.engine.game import AvailableActions, Game
from natlang_envs.alfworld.engine.goals import CLEAN, COOL, HEAT, LOOK
from natlang_envs.alfworld.engine.grammar import NOTHING_HAPPENS, WELCOME
from natlang_envs.errors import UsageError

# Of all games together, so that a few with many episodes are known well; 100 games in long play take 13 MiB.
_VIEWS_KEPT = 12_000
_KEPT: deque[dict[tuple[Any, ...], AvailableActions]] = deque()  # an entry a view, of the cache that it is in; by age


class World:
    """One episode of a game.

    Sets of things and receptacles are integers with a bit for each (`game.bits` lists their members).

    Attributes:
        game: The static facts.
        location: Where the player is, a number of `game.locations`.
        held: The number of the thing in hand; None if there is none.
        contents: What lies in each receptacle.
        things_at: What is at each location.
        left: What was taken out of each receptacle and not put back.
        opened: The open receptacles.
        hot, cool, clean, toggled, sliced: Things.
        won: Whether the goal holds now; it can be lost again.
        commands: What can be done now, sorted as TextWorld does.
    """

    __slots__ = (
        "_actions",
        "clean",
        "commands",
        "contents",
        "cool",
        "game",
        "held",
        "hot",
        "left",
        "location",
        "opened",
        "sliced",
        "things_at",
        "toggled",
        "won",
    )

    def __init__(self, game: Game) -> None:
        self.game = game
        self.location = game.start
        self.held: int | None = None
        self.contents = list(game.contents)
        self.things_at = list(game.things_at)
        self.left = [0] * len(game.receptacles)
        self.opened = game.opened
        self.hot = game.hot
        self.cool = game.cool
        self.clean = game.clean
        self.toggled = game.toggled
        self.sliced = game.sliced
        self.commands: tuple[str, ...]
        self._actions: dict[str, int]
        self.look_around()
        self.check_goal()

    def intro(self) -> str:
        """Return the welcome, the room and the task: what the player reads at the start."""
        game = self.game
        room = actions.look(self) if game.at[self.location] else game.room
        return f"{WELCOME}\n\n{room}\n\n{game.task}"

    def step(self, command: str) -> str:
        """Apply a command and return the game's answer; text that is no command of now changes nothing."""
        command = command.strip()
        receptacle = self.game.destinations.get(command)  # most commands are for these
        if receptacle is None:
            action = self._actions.get(command)
            return NOTHING_HAPPENS if action is None else actions.apply(self, action)
        if self.game.receptacles[receptacle].location == self.location:
            return NOTHING_HAPPENS
        return actions.go(self, receptacle)

    def understands(self, command: str) -> bool:
        """Whether a command does something now: it is among `commands`."""
        receptacle = self.game.destinations.get(command)
        if receptacle is None:
            return command in self._actions
        return self.game.receptacles[receptacle].location != self.location

    def state(self) -> tuple[Any, ...]:
        """Return the state as JSON values, for `set_state`."""
        return (
            self.location,
            self.held,
            self.opened,
            self.hot,
            self.cool,
            self.clean,
            self.toggled,
            self.sliced,
            tuple(self.contents),
            tuple(self.things_at),
            tuple(self.left),
        )

    def set_state(self, state: Sequence[Any]) -> None:
        """Return to a state of the same game, also one that went through JSON.

        Raises:
            UsageError: This is no state of this game; the world stays as it is.
        """
        if not _is_state(self.game, state):
            raise UsageError(
                "this is no state of this ALFWorld game: restore it in an environment of the same arguments"
            )
        self.location, self.held, self.opened, *of_things, contents, things_at, left = state
        self.hot, self.cool, self.clean, self.toggled, self.sliced = of_things
        self.contents, self.things_at, self.left = list(contents), list(things_at), list(left)
        self.look_around()
        self.check_goal()

    def reachable(self, receptacle: int) -> bool:
        """Whether things can be taken out of a receptacle and put into it: it is open, or has no door."""
        return bool(self.opened >> receptacle & 1) or not self.game.receptacles[receptacle].openable

    def look_around(self) -> None:
        """Find what can be done; called when the place, the hand or what is at the place changed."""
        views = self.game.actions_cache
        situation = actions.cache_key(self)
        view = views.get(situation)
        if view is None:
            view = views[situation] = actions.find_actions(self)
            _KEPT.append(views)
            if len(_KEPT) > _VIEWS_KEPT:
                oldest = _KEPT.popleft()
                del oldest[next(iter(oldest))]
        self.commands, self._actions = view

    def check_goal(self) -> None:
        """Find whether the goal holds; called when something that goals speak of changed."""
        game, contents = self.game, self.contents
        kind, wanted = game.goal.task_type, game.wanted
        if kind == LOOK:
            lit = game.lamps & self.toggled
            in_hand = self.held is not None and bool(wanted >> self.held & 1)
            self.won = in_hand and any(contents[receptacle] & lit for receptacle in game.at[self.location])
            return
        if kind == CLEAN:
            wanted &= self.clean
        elif kind == HEAT:
            wanted &= self.hot
        elif kind == COOL:
            wanted &= self.cool
        count = game.goal.count
        self.won = any((contents[receptacle] & wanted).bit_count() >= count for receptacle in game.wanted_in)


def _is_state(game: Game, state: Sequence[Any]) -> bool:
    """Return whether a state has the form that `World.state` gives those of a game."""
    try:
        location, held, opened, hot, cool, clean, toggled, sliced, contents, things_at, left = state
        sets = (hot, cool, clean, toggled, sliced, *contents, *things_at, *left)
        return (
            (len(contents), len(things_at), len(left)) == (len(game.contents), len(game.things_at), len(game.contents))
            and min(*sets, opened) >= 0
            and max(sets) >> len(game.things) == 0
            and opened >> len(game.receptacles) == 0
            and 0 <= location < len(game.locations)
            and (held is None or 0 <= held < len(game.things))
        )
    except (TypeError, ValueError):
        return False
