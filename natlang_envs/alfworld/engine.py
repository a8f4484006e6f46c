"""ALFWorld's rules and words: the same texts, commands and `won` as TextWorld's engine, step by step.

Three quirks of the original are part of the truth. `look` in the middle of the room sees nothing. A thing that lies in
two receptacles and is taken out of one still lies in the other. What was taken out of a receptacle is remembered as not
being in it, and `look` names it as lying next to the receptacle if it lies at the same place.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from natlang_envs.alfworld.game import Game, bits
from natlang_envs.alfworld.goals import CLEAN, COOL, HEAT, LOOK
from natlang_envs.alfworld.grammar import (
    EMPTY_HANDS,
    FACING,
    MIDDLE_OF_THE_ROOM,
    NOTHING_HAPPENS,
    WELCOME,
    condition,
    listing,
)

_LISTS_KEPT = 1024
_VIEWS_KEPT = 1024
_KNIVES = ("knife", "butterknife")


class Action(NamedTuple):
    """What a command does: a method of `World`, and the two numbers it takes."""

    effect: Callable[[World, int, int], str]
    first: int = 0
    second: int = 0


class View(NamedTuple):
    """What the player can do: the commands in TextWorld's order, and what each does."""

    commands: tuple[str, ...]
    actions: dict[str, Action]


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
    """

    __slots__ = (
        "_view",
        "clean",
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
        self._arrange()
        self.won = self._goal_holds()

    def intro(self) -> str:
        """Return the welcome, the room and the task: what the player reads at the start."""
        game = self.game
        room = (
            self.look()
            if game.at[game.start]
            else MIDDLE_OF_THE_ROOM.format(listing(f"a {receptacle.name}" for receptacle in game.receptacles))
        )
        return f"{WELCOME}\n\n{room}\n\n{game.task}"

    @property
    def commands(self) -> tuple[str, ...]:
        """What the player can do now, sorted as TextWorld does."""
        return self._view.commands

    def step(self, command: str) -> str:
        """Apply a command and return the game's answer; text that is no command of now changes nothing."""
        action = self._view.actions.get(command.strip())
        return NOTHING_HAPPENS if action is None else action.effect(self, action.first, action.second)

    def state(self) -> tuple[Any, ...]:
        """Return what `set_state` needs, as JSON values."""
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

    def set_state(self, state: tuple[Any, ...]) -> None:
        """Return to a state of the same game."""
        (
            self.location,
            self.held,
            self.opened,
            self.hot,
            self.cool,
            self.clean,
            self.toggled,
            self.sliced,
            contents,
            things_at,
            left,
        ) = state
        self.contents = list(contents)
        self.things_at = list(things_at)
        self.left = list(left)
        self._arrange()
        self.won = self._goal_holds()

    def reachable(self, receptacle: int) -> bool:
        """Whether things can be taken out of a receptacle and put into it: it is open, or has no door."""
        return bool(self.opened >> receptacle & 1) or not self.game.receptacles[receptacle].openable

    # What the commands do. Each takes the numbers of its action and returns the answer.

    def look(self, _first: int = 0, _second: int = 0) -> str:
        """Describe where the player is; nothing changes."""
        game = self.game
        here = game.at[self.location]
        if not here:
            return MIDDLE_OF_THE_ROOM.format(listing(()))
        beside = (
            f"a {game.things[thing].name}"
            for thing in bits(self.things_at[self.location])
            for receptacle in here
            if self.left[receptacle] >> thing & 1
        )
        return FACING.format(listing(game.receptacles[receptacle].name for receptacle in here), listing(beside))

    def inventory(self, _first: int, _second: int) -> str:
        """Say what is held; nothing changes."""
        return EMPTY_HANDS if self.held is None else f"You are carrying: a {self.game.things[self.held].name}."

    def help(self, _first: int, _second: int) -> str:
        """Return the help; nothing changes."""
        return self.game.grammar.help or NOTHING_HAPPENS

    def examine_receptacle(self, receptacle: int, _second: int = 0) -> str:
        """Describe a receptacle; nothing changes."""
        name, _, _, openable = self.game.receptacles[receptacle]
        if not openable:
            return f"On the {name}, you see {self._list(self.contents[receptacle])}."
        if self.opened >> receptacle & 1:
            return f"The {name} is open. In it, you see {self._list(self.contents[receptacle])}."
        return f"The {name} is closed."

    def examine_thing(self, thing: int, _second: int) -> str:
        """Describe the thing in hand; nothing changes."""
        game, one = self.game, 1 << thing
        name = game.things[thing].name
        if game.receptacle_things & one:
            return f"This is a normal {name}. In it, you see {self._list(game.inside.get(thing, 0))}."
        sliced = bool(self.sliced & one)
        words = condition(bool(self.hot & one), bool(self.clean & one), bool(self.cool & one), sliced)
        if words:
            return f"This is a {words} {name}."
        if game.toggleable & self.toggled & one:
            return f"This {name} is on."
        if game.sliceable & one and sliced:
            return f"This is a sliced {name}."
        return f"There's nothing special about {name}."

    def go(self, receptacle: int, _second: int) -> str:
        """Go to a receptacle."""
        game = self.game
        self.location = game.receptacles[receptacle].location
        self._arrange()
        if game.goal.task_type == LOOK:
            self.won = self._goal_holds()
        place = game.locations[self.location] if game.grammar.names_location else game.receptacles[receptacle].name
        return f"You arrive at {place}. {self.examine_receptacle(receptacle)}"

    def open(self, receptacle: int, _second: int) -> str:
        """Open a receptacle."""
        self.opened |= 1 << receptacle
        self._arrange()
        return f"You open the {self.game.receptacles[receptacle].name}. {self.examine_receptacle(receptacle)}"

    def close(self, receptacle: int, _second: int) -> str:
        """Close a receptacle."""
        self.opened &= ~(1 << receptacle)
        self._arrange()
        return f"You close the {self.game.receptacles[receptacle].name}."

    def take(self, thing: int, receptacle: int) -> str:
        """Take a thing out of a receptacle."""
        one = 1 << thing
        self.contents[receptacle] &= ~one
        self.left[receptacle] |= one
        self.things_at[self.location] &= ~one
        self.held = thing
        self._arrange()
        self.won = self._goal_holds()
        return f"You pick up the {self.game.things[thing].name} from the {self.game.receptacles[receptacle].name}."

    def put(self, thing: int, receptacle: int) -> str:
        """Put the thing in hand into a receptacle."""
        game, one = self.game, 1 << thing
        self.contents[receptacle] |= one
        self.left[receptacle] &= ~one
        self.things_at[self.location] |= one
        self.held = None
        self._arrange()
        self.won = self._goal_holds()
        return game.grammar.put_feedback.format(game.things[thing].name, game.receptacles[receptacle].name)

    def wash(self, thing: int, receptacle: int) -> str:
        """Clean the thing in hand."""
        self.clean |= 1 << thing
        return self._worked("clean", thing, receptacle)

    def heat(self, thing: int, receptacle: int) -> str:
        """Heat the thing in hand."""
        self.hot |= 1 << thing
        self.cool &= ~(1 << thing)
        return self._worked("heat", thing, receptacle)

    def chill(self, thing: int, receptacle: int) -> str:
        """Cool the thing in hand."""
        self.cool |= 1 << thing
        self.hot &= ~(1 << thing)
        return self._worked("cool", thing, receptacle)

    def use(self, thing: int, _second: int) -> str:
        """Turn a lamp on; used again, it stays on."""
        self.toggled |= 1 << thing
        self.won = self._goal_holds()
        return f"You turn on the {self.game.things[thing].name}."

    def slice(self, thing: int, knife: int) -> str:
        """Slice a thing with the knife in hand."""
        self.sliced |= 1 << thing
        return f"You sliced the {self.game.things[thing].name} with the {self.game.things[knife].name}."

    def _worked(self, verb: str, thing: int, receptacle: int) -> str:
        self.won = self._goal_holds()
        return f"You {verb} the {self.game.things[thing].name} using the {self.game.receptacles[receptacle].name}."

    def _list(self, things: int) -> str:
        """Return a set of things in words; a game keeps the lists of last, for the same ones come again and again."""
        lists = self.game.lists
        words = lists.get(things)
        if words is None:
            if len(lists) >= _LISTS_KEPT:
                lists.clear()
            words = lists[things] = listing(f"a {self.game.things[thing].name}" for thing in bits(things))
        return words

    def _arrange(self) -> None:
        """Find what can be done now; called when the place, the hand or what lies at hand changed."""
        game = self.game
        here = game.at[self.location]
        key = (
            self.location,
            -1 if self.held is None else self.held,
            *[self.contents[receptacle] << 1 | (self.opened >> receptacle & 1) for receptacle in here],
            self.things_at[self.location] if self._holds_knife() else 0,
        )
        view = game.views.get(key)
        if view is None:
            if len(game.views) >= _VIEWS_KEPT:
                game.views.clear()
            view = game.views[key] = self._look_around()
        self._view = view

    def _holds_knife(self) -> bool:
        return self.held is not None and self.game.things[self.held].type in _KNIVES

    def _look_around(self) -> View:
        game, location, held = self.game, self.location, self.held
        things, receptacles = game.things, game.receptacles
        actions = {"look": Action(World.look), "inventory": Action(World.inventory)}
        if game.grammar.help:
            actions["help"] = Action(World.help)
        for number, receptacle in enumerate(receptacles):
            if receptacle.location != location:
                actions[f"go to {receptacle.name}"] = Action(World.go, number)
        for number in game.at[location]:
            name = receptacles[number].name
            actions[f"examine {name}"] = Action(World.examine_receptacle, number)
            if receptacles[number].openable:
                if self.opened >> number & 1:
                    actions[f"close {name}"] = Action(World.close, number)
                else:
                    actions[f"open {name}"] = Action(World.open, number)
            for thing in bits(self.contents[number] & game.toggleable):
                actions[f"use {things[thing].name}"] = Action(World.use, thing)
            if held is not None:
                actions |= self._work(held, number)
            elif self.reachable(number):
                for thing in bits(self.contents[number] & game.pickupable):
                    actions[f"take {things[thing].name} from {name}"] = Action(World.take, thing, number)
        if held is not None:
            actions[f"examine {things[held].name}"] = Action(World.examine_thing, held)
            if self._holds_knife():
                for thing in bits(self.things_at[location] & game.sliceable):
                    actions[f"slice {things[thing].name} with {things[held].name}"] = Action(World.slice, thing, held)
        return View(tuple(sorted(actions)), actions)

    def _work(self, held: int, number: int) -> dict[str, Action]:
        """Return what can be done with the thing in hand at a receptacle."""
        game, one = self.game, 1 << held
        thing, receptacle = game.things[held], game.receptacles[number]
        actions: dict[str, Action] = {}
        if (receptacle.type, thing.type) in game.can_contain and self.reachable(number):
            actions[game.grammar.put.format(thing.name, receptacle.name)] = Action(World.put, held, number)
        if receptacle.type in game.grammar.cleaners and game.cleanable & one:
            actions[f"clean {thing.name} with {receptacle.name}"] = Action(World.wash, held, number)
        if receptacle.type == "microwave" and game.heatable & one:
            actions[f"heat {thing.name} with {receptacle.name}"] = Action(World.heat, held, number)
        if receptacle.type == "fridge" and game.coolable & one:
            actions[f"cool {thing.name} with {receptacle.name}"] = Action(World.chill, held, number)
        return actions

    def _goal_holds(self) -> bool:
        game = self.game
        goal, wanted = game.goal, game.wanted
        if goal.task_type == LOOK:
            if self.held is None or not wanted >> self.held & 1:
                return False
            lamps = game.lamps & self.toggled
            return any(self.contents[receptacle] & lamps for receptacle in game.at[self.location])
        if goal.task_type == CLEAN:
            wanted &= self.clean
        elif goal.task_type == HEAT:
            wanted &= self.hot
        elif goal.task_type == COOL:
            wanted &= self.cool
        count = goal.count
        return any((self.contents[receptacle] & wanted).bit_count() >= count for receptacle in game.wanted_in)
