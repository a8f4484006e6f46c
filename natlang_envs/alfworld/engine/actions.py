"""The available actions of a world, and the effect and the answer of each.

Each effect takes the world and the numbers of what the command names (0 where it names less), and returns the answer.
"""

from __future__ import annotations

from bisect import bisect
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

from natlang_envs.alfworld.engine.game import AvailableActions, Game, Place, bits
from natlang_envs.alfworld.engine.grammar import (
    EMPTY_HANDS,
    FACING,
    MIDDLE_OF_THE_ROOM,
    NOTHING_HAPPENS,
    condition,
    listing,
)

if TYPE_CHECKING:
    from natlang_envs.alfworld.engine.world import World

_GO: Final = "go to "
_LISTS_KEPT: Final = 256
Effect = Callable[["World", int, int], str]


def look(world: World, _first: int = 0, _second: int = 0) -> str:
    game = world.game
    here = game.at[world.location]
    if not here:
        return MIDDLE_OF_THE_ROOM.format(listing(()))
    beside = (
        f"a {game.things[thing].name}"
        for thing in bits(world.things_at[world.location])
        for receptacle in here
        if world.left[receptacle] >> thing & 1
    )
    return FACING.format(listing(game.receptacles[receptacle].name for receptacle in here), listing(beside))


def inventory(world: World, _first: int, _second: int) -> str:
    return EMPTY_HANDS if world.held is None else f"You are carrying: a {world.game.things[world.held].name}."


def ask_for_help(world: World, _first: int, _second: int) -> str:
    return world.game.grammar.help or NOTHING_HAPPENS


def examine_receptacle(world: World, receptacle: int, _second: int = 0) -> str:
    name, _, _, openable = world.game.receptacles[receptacle]
    if not openable:
        return f"On the {name}, you see {_list(world, world.contents[receptacle])}."
    if world.opened >> receptacle & 1:
        return f"The {name} is open. In it, you see {_list(world, world.contents[receptacle])}."
    return f"The {name} is closed."


def examine_thing(world: World, thing: int, _second: int) -> str:
    game, one = world.game, 1 << thing
    name = game.things[thing].name
    if game.receptacle_things & one:
        return f"This is a normal {name}. In it, you see {_list(world, game.inside[thing])}."
    sliced = bool(world.sliced & one)
    words = condition(bool(world.hot & one), bool(world.clean & one), bool(world.cool & one), sliced)
    if words:
        return f"This is a {words} {name}."
    if game.toggleable & world.toggled & one:
        return f"This {name} is on."
    if game.sliceable & one and sliced:
        return f"This is a sliced {name}."
    return f"There's nothing special about {name}."


def go(world: World, receptacle: int, _second: int = 0) -> str:
    game = world.game
    name, _, location, _ = game.receptacles[receptacle]
    world.location = location
    world.look_around()
    if game.lamps:
        world.check_goal()
    where = game.locations[location] if game.grammar.names_location else name
    return f"You arrive at {where}. {examine_receptacle(world, receptacle)}"


def open_door(world: World, receptacle: int, _second: int) -> str:
    world.opened |= 1 << receptacle
    world.look_around()
    return f"You open the {world.game.receptacles[receptacle].name}. {examine_receptacle(world, receptacle)}"


def close_door(world: World, receptacle: int, _second: int) -> str:
    world.opened &= ~(1 << receptacle)
    world.look_around()
    return f"You close the {world.game.receptacles[receptacle].name}."


def take(world: World, thing: int, receptacle: int) -> str:
    game, one = world.game, 1 << thing
    world.contents[receptacle] &= ~one
    world.left[receptacle] |= one
    world.things_at[world.location] &= ~one
    world.held = thing
    world.look_around()
    world.check_goal()
    return f"You pick up the {game.things[thing].name} from the {game.receptacles[receptacle].name}."


def put(world: World, thing: int, receptacle: int) -> str:
    game, one = world.game, 1 << thing
    world.contents[receptacle] |= one
    world.left[receptacle] &= ~one
    world.things_at[world.location] |= one
    world.held = None
    world.look_around()
    world.check_goal()
    return game.grammar.put_feedback.format(game.things[thing].name, game.receptacles[receptacle].name)


def clean(world: World, thing: int, receptacle: int) -> str:
    world.clean |= 1 << thing
    return _worked(world, "clean", thing, receptacle)


def heat(world: World, thing: int, receptacle: int) -> str:
    world.hot |= 1 << thing
    world.cool &= ~(1 << thing)
    return _worked(world, "heat", thing, receptacle)


def cool(world: World, thing: int, receptacle: int) -> str:
    world.cool |= 1 << thing
    world.hot &= ~(1 << thing)
    return _worked(world, "cool", thing, receptacle)


def use(world: World, thing: int, _second: int) -> str:
    """Turn a lamp on; used again, it stays on."""
    world.toggled |= 1 << thing
    world.check_goal()
    return f"You turn on the {world.game.things[thing].name}."


def cut(world: World, thing: int, knife: int) -> str:
    world.sliced |= 1 << thing
    return f"You sliced the {world.game.things[thing].name} with the {world.game.things[knife].name}."


# What a command does is one integer, for thousands are kept: a number of `_EFFECTS` in the highest bits, then 16 bits
# for each of the two things or receptacles that the command names.
_BITS: Final = 16
_MASK: Final = 0xFFFF
_EFFECTS: Final[tuple[Effect, ...]] = (
    look,
    inventory,
    ask_for_help,
    examine_receptacle,
    examine_thing,
    open_door,
    close_door,
    take,
    put,
    clean,
    heat,
    cool,
    use,
    cut,
)
_CODES: Final[dict[Effect, int]] = {effect: number << 2 * _BITS for number, effect in enumerate(_EFFECTS)}


def _action(effect: Effect, first: int = 0, second: int = 0) -> int:
    return _CODES[effect] | first << _BITS | second


def apply(world: World, code: int) -> str:
    return _EFFECTS[code >> 2 * _BITS](world, code >> _BITS & _MASK, code & _MASK)


def _worked(world: World, verb: str, thing: int, receptacle: int) -> str:
    # A thing in two receptacles may lie in the right one while it is worked on.
    world.check_goal()
    return f"You {verb} the {world.game.things[thing].name} using the {world.game.receptacles[receptacle].name}."


def _list(world: World, things: int) -> str:
    """Return a set of things in words; a game keeps its last lists, for the same ones come again and again."""
    lists = world.game.lists
    words = lists.get(things)
    if words is None:
        if len(lists) >= _LISTS_KEPT:
            lists.clear()
        words = lists[things] = listing(f"a {world.game.things[thing].name}" for thing in bits(things))
    return words


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
        reachable = world.reachable(number)
        add_at_receptacle(found, game, number, world.contents[number], reachable, held)
    if held is not None:
        add_in_hand(found, game, held, world.things_at[world.location])
    commands = sorted(found)
    before = bisect(commands, _GO)
    commands[before:before] = place.ways
    return tuple(commands), found


def _always(game: Game, place: Place) -> dict[str, int]:
    """Return the actions of a place that depend neither on its contents nor on the hand."""
    found = {"look": _action(look), "inventory": _action(inventory)}
    if game.grammar.help:
        found["help"] = _action(ask_for_help)
    for number in place.receptacles:
        found[f"examine {game.receptacles[number].name}"] = _action(examine_receptacle, number)
    return found


def add_at_receptacle(
    found: dict[str, int], game: Game, number: int, inside: int, reachable: bool, held: int | None
) -> None:
    """Add what can be done at a receptacle with what lies in it and what is held; `alfworld.why` asks what if."""
    name, kind, _, openable = game.receptacles[number]
    if openable and reachable:
        found[f"close {name}"] = _action(close_door, number)
    elif openable:
        found[f"open {name}"] = _action(open_door, number)
    if inside & game.toggleable:
        for thing in bits(inside & game.toggleable):
            found[f"use {game.things[thing].name}"] = _action(use, thing)
    if held is not None:
        _add_work(found, game, held, number, name, kind, reachable)
    elif reachable:
        rest = inside & game.pickupable
        while rest:
            thing = (rest & -rest).bit_length() - 1
            rest &= rest - 1
            found[f"take {game.things[thing].name} from {name}"] = _action(take, thing, number)


def add_in_hand(found: dict[str, int], game: Game, held: int, beside: int) -> None:
    """Add what can be done anywhere with the thing in hand, and with the things that are at the place."""
    name = game.things[held].name
    found[f"examine {name}"] = _action(examine_thing, held)
    if game.knives >> held & 1:
        for thing in bits(beside & game.sliceable):
            found[f"slice {game.things[thing].name} with {name}"] = _action(cut, thing, held)


def _add_work(found: dict[str, int], game: Game, held: int, number: int, name: str, kind: str, reachable: bool) -> None:
    """Add what can be done with the thing in hand at a receptacle."""
    one = 1 << held
    thing, thing_kind = game.things[held]
    if reachable and (kind, thing_kind) in game.can_contain:
        found[game.grammar.put.format(thing, name)] = _action(put, held, number)
    if kind in game.grammar.cleaners:
        if game.cleanable & one:
            found[f"clean {thing} with {name}"] = _action(clean, held, number)
    elif kind == "microwave":
        if game.heatable & one:
            found[f"heat {thing} with {name}"] = _action(heat, held, number)
    elif kind == "fridge" and game.coolable & one:
        found[f"cool {thing} with {name}"] = _action(cool, held, number)
