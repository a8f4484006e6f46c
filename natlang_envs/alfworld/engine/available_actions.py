"""The commands that the player can give now, in TextWorld's order, and the effect of each."""

from __future__ import annotations

from bisect import bisect
from typing import TYPE_CHECKING, Any, Final

from natlang_envs.alfworld.engine.actions import (
    DO_CLEAN,
    DO_CLOSE,
    DO_COOL,
    DO_CUT,
    DO_EXAMINE_RECEPTACLE,
    DO_EXAMINE_THING,
    DO_HEAT,
    DO_HELP,
    DO_INVENTORY,
    DO_LOOK,
    DO_OPEN,
    DO_PUT,
    DO_TAKE,
    DO_USE,
    action,
)
from natlang_envs.alfworld.engine.game import AvailableActions, Game, Place, bits

if TYPE_CHECKING:
    from natlang_envs.alfworld.engine.world import World

_GO: Final = "go to "


def cache_key(world: World) -> tuple[Any, ...]:
    """Return the cache key of a situation; while something is held, the contents rarely matter, so keys are few."""
    game, location, held = world.game, world.location, world.held
    place = game.places[location]
    doors = world.opened & place.doors
    if held is None:
        return (location, doors, place.pick(world.contents))
    to_cut = world.things_at[location] & game.sliceable if game.knives >> held & 1 else 0
    if game.loose_lamps:
        return (location, doors, held, to_cut, place.pick(world.contents))
    return (location, doors, held, to_cut)


def find_actions(world: World) -> AvailableActions:
    """Return the actions of a world's present situation; they depend on nothing but its cache key."""
    game, held = world.game, world.held
    place = game.places[world.location]
    if not place.always:
        place.always.update(_always(game, place))
    found = place.always.copy()
    for number in place.receptacles:
        name, kind, _, openable = game.receptacles[number]
        inside = world.contents[number]
        reachable = True
        if openable:
            reachable = bool(world.opened >> number & 1)
            if reachable:
                found[f"close {name}"] = action(DO_CLOSE, number)
            else:
                found[f"open {name}"] = action(DO_OPEN, number)
        if inside & game.toggleable:
            for thing in bits(inside & game.toggleable):
                found[f"use {game.things[thing].name}"] = action(DO_USE, thing)
        if held is not None:
            _add_work(found, world, held, number, name, kind, reachable)
        elif reachable:
            rest = inside & game.pickupable
            while rest:
                thing = (rest & -rest).bit_length() - 1
                rest &= rest - 1
                found[f"take {game.things[thing].name} from {name}"] = action(DO_TAKE, thing, number)
    if held is not None:
        _add_handling(found, world, held)
    commands = sorted(found)
    before = bisect(commands, _GO)
    commands[before:before] = place.ways
    return tuple(commands), found


def _always(game: Game, place: Place) -> dict[str, int]:
    """Return what can be done at a place whatever lies there and is held."""
    found = {"look": DO_LOOK, "inventory": DO_INVENTORY}
    if game.grammar.help:
        found["help"] = DO_HELP
    for number in place.receptacles:
        found[f"examine {game.receptacles[number].name}"] = action(DO_EXAMINE_RECEPTACLE, number)
    return found


def _add_handling(found: dict[str, int], world: World, held: int) -> None:
    """Add what can be done anywhere with the thing in hand."""
    game = world.game
    name = game.things[held].name
    found[f"examine {name}"] = action(DO_EXAMINE_THING, held)
    if game.knives >> held & 1:
        for thing in bits(world.things_at[world.location] & game.sliceable):
            found[f"slice {game.things[thing].name} with {name}"] = action(DO_CUT, thing, held)


def _add_work(
    found: dict[str, int], world: World, held: int, number: int, name: str, kind: str, reachable: bool
) -> None:
    """Add what can be done with the thing in hand at a receptacle."""
    game, one = world.game, 1 << held
    thing, thing_kind = game.things[held]
    if reachable and (kind, thing_kind) in game.can_contain:
        found[game.grammar.put.format(thing, name)] = action(DO_PUT, held, number)
    if kind in game.grammar.cleaners:
        if game.cleanable & one:
            found[f"clean {thing} with {name}"] = action(DO_CLEAN, held, number)
    elif kind == "microwave":
        if game.heatable & one:
            found[f"heat {thing} with {name}"] = action(DO_HEAT, held, number)
    elif kind == "fridge" and game.coolable & one:
        found[f"cool {thing} with {name}"] = action(DO_COOL, held, number)
