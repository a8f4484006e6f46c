"""What the player can do where they are: the commands in TextWorld's order, and what each does."""

from __future__ import annotations

from bisect import bisect
from typing import TYPE_CHECKING, Any, NamedTuple

from natlang_envs.alfworld.engine import actions
from natlang_envs.alfworld.engine.actions import Effect
from natlang_envs.alfworld.engine.game import Receptacle, bits

if TYPE_CHECKING:
    from natlang_envs.alfworld.engine.world import World

_GO = "go to "


# What a command does: an effect, and the numbers of what it names. A plain tuple, for thousands are made a second.
Action = tuple[Effect, int, int]


class View(NamedTuple):
    """What can be done in one situation.

    Attributes:
        commands: All commands, sorted.
        actions: What each of them does, without those that go elsewhere: they are the same in all situations.
    """

    commands: tuple[str, ...]
    actions: dict[str, Action]


def situation_of(world: World) -> tuple[Any, ...]:
    """Return what a view depends on; with full hands, what lies here matters little, so few situations differ."""
    game, location, held = world.game, world.location, world.held
    doors = world.opened & game.doors[location]
    if held is None:
        return (location, doors, game.contents_here[location](world.contents))
    to_cut = world.things_at[location] & game.sliceable if game.knives >> held & 1 else 0
    if game.loose_lamps:
        return (location, doors, held, to_cut, game.contents_here[location](world.contents))
    return (location, doors, held, to_cut)


def view_of(world: World) -> View:
    """Return the view of a world's present situation; it depends on nothing that `situation` leaves out."""
    game = world.game
    here = [(number, game.receptacles[number]) for number in game.at[world.location]]
    found: dict[str, Action] = {"look": (actions.look, 0, 0), "inventory": (actions.inventory, 0, 0)}
    if game.grammar.help:
        found["help"] = (actions.ask_for_help, 0, 0)
    for number, receptacle in here:
        name, _, _, openable = receptacle
        found[f"examine {name}"] = (actions.examine_receptacle, number, 0)
        if openable:
            if world.opened >> number & 1:
                found[f"close {name}"] = (actions.close_door, number, 0)
            else:
                found[f"open {name}"] = (actions.open_door, number, 0)
        for thing in bits(world.contents[number] & game.toggleable):
            found[f"use {game.things[thing].name}"] = (actions.use, thing, 0)
        if world.held is None:
            if world.reachable(number):
                for thing in bits(world.contents[number] & game.pickupable):
                    found[f"take {game.things[thing].name} from {name}"] = (actions.take, thing, number)
        else:
            _add_work(found, world, world.held, number, receptacle)
    if world.held is not None:
        _add_handling(found, world, world.held)
    ours = sorted(found)
    before = bisect(ours, _GO)
    return View((*ours[:before], *game.ways(world.location), *ours[before:]), found)


def _add_handling(found: dict[str, Action], world: World, held: int) -> None:
    """Add what can be done anywhere with the thing in hand."""
    game = world.game
    name = game.things[held].name
    found[f"examine {name}"] = (actions.examine_thing, held, 0)
    if game.knives >> held & 1:
        for thing in bits(world.things_at[world.location] & game.sliceable):
            found[f"slice {game.things[thing].name} with {name}"] = (actions.cut, thing, held)


def _add_work(found: dict[str, Action], world: World, held: int, number: int, receptacle: Receptacle) -> None:
    """Add what can be done with the thing in hand at a receptacle."""
    game, one = world.game, 1 << held
    thing, kind = game.things[held]
    if (receptacle.type, kind) in game.can_contain and world.reachable(number):
        found[game.grammar.put.format(thing, receptacle.name)] = (actions.put, held, number)
    if receptacle.type in game.grammar.cleaners:
        if game.cleanable & one:
            found[f"clean {thing} with {receptacle.name}"] = (actions.clean, held, number)
    elif receptacle.type == "microwave":
        if game.heatable & one:
            found[f"heat {thing} with {receptacle.name}"] = (actions.heat, held, number)
    elif receptacle.type == "fridge" and game.coolable & one:
        found[f"cool {thing} with {receptacle.name}"] = (actions.cool, held, number)
