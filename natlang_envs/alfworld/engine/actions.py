"""The effects of ALFWorld's commands on a world, and their answers.

Each function takes the world and the numbers of what the command names (0 where it names less), and returns the answer.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from natlang_envs.alfworld.engine.game import bits
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

_LISTS_KEPT: Final = 256
Effect = Callable[["World", int, int], str]


def look(world: World, _first: int = 0, _second: int = 0) -> str:
    """Describe where the player is."""
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
    """Say what is held."""
    return EMPTY_HANDS if world.held is None else f"You are carrying: a {world.game.things[world.held].name}."


def ask_for_help(world: World, _first: int, _second: int) -> str:
    """Return the help."""
    return world.game.grammar.help or NOTHING_HAPPENS


def examine_receptacle(world: World, receptacle: int, _second: int = 0) -> str:
    """Describe a receptacle."""
    name, _, _, openable = world.game.receptacles[receptacle]
    if not openable:
        return f"On the {name}, you see {_list(world, world.contents[receptacle])}."
    if world.opened >> receptacle & 1:
        return f"The {name} is open. In it, you see {_list(world, world.contents[receptacle])}."
    return f"The {name} is closed."


def examine_thing(world: World, thing: int, _second: int) -> str:
    """Describe the thing in hand."""
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
    """Go to a receptacle."""
    game = world.game
    name, _, location, _ = game.receptacles[receptacle]
    world.location = location
    world.look_around()
    if game.lamps:
        world.check_goal()
    where = game.locations[location] if game.grammar.names_location else name
    return f"You arrive at {where}. {examine_receptacle(world, receptacle)}"


def open_door(world: World, receptacle: int, _second: int) -> str:
    """Open a receptacle."""
    world.opened |= 1 << receptacle
    world.look_around()
    return f"You open the {world.game.receptacles[receptacle].name}. {examine_receptacle(world, receptacle)}"


def close_door(world: World, receptacle: int, _second: int) -> str:
    """Close a receptacle."""
    world.opened &= ~(1 << receptacle)
    world.look_around()
    return f"You close the {world.game.receptacles[receptacle].name}."


def take(world: World, thing: int, receptacle: int) -> str:
    """Take a thing out of a receptacle."""
    game, one = world.game, 1 << thing
    world.contents[receptacle] &= ~one
    world.left[receptacle] |= one
    world.things_at[world.location] &= ~one
    world.held = thing
    world.look_around()
    world.check_goal()
    return f"You pick up the {game.things[thing].name} from the {game.receptacles[receptacle].name}."


def put(world: World, thing: int, receptacle: int) -> str:
    """Put the thing in hand into a receptacle."""
    game, one = world.game, 1 << thing
    world.contents[receptacle] |= one
    world.left[receptacle] &= ~one
    world.things_at[world.location] |= one
    world.held = None
    world.look_around()
    world.check_goal()
    return game.grammar.put_feedback.format(game.things[thing].name, game.receptacles[receptacle].name)


def clean(world: World, thing: int, receptacle: int) -> str:
    """Clean the thing in hand."""
    world.clean |= 1 << thing
    return _worked(world, "clean", thing, receptacle)


def heat(world: World, thing: int, receptacle: int) -> str:
    """Heat the thing in hand."""
    world.hot |= 1 << thing
    world.cool &= ~(1 << thing)
    return _worked(world, "heat", thing, receptacle)


def cool(world: World, thing: int, receptacle: int) -> str:
    """Cool the thing in hand."""
    world.cool |= 1 << thing
    world.hot &= ~(1 << thing)
    return _worked(world, "cool", thing, receptacle)


def use(world: World, thing: int, _second: int) -> str:
    """Turn a lamp on; used again, it stays on."""
    world.toggled |= 1 << thing
    world.check_goal()
    return f"You turn on the {world.game.things[thing].name}."


def cut(world: World, thing: int, knife: int) -> str:
    """Slice a thing with the knife in hand."""
    world.sliced |= 1 << thing
    return f"You sliced the {world.game.things[thing].name} with the {world.game.things[knife].name}."


# What a command does is one integer, for thousands are kept: a number of `_EFFECTS` in the highest bits, then 16 bits
# for each of the two things or receptacles that the command names.
_BITS: Final = 16
_MASK: Final = 0xFFFF
DO_LOOK: Final = 0 << 32
DO_INVENTORY: Final = 1 << 32
DO_HELP: Final = 2 << 32
DO_EXAMINE_RECEPTACLE: Final = 3 << 32
DO_EXAMINE_THING: Final = 4 << 32
DO_OPEN: Final = 5 << 32
DO_CLOSE: Final = 6 << 32
DO_TAKE: Final = 7 << 32
DO_PUT: Final = 8 << 32
DO_CLEAN: Final = 9 << 32
DO_HEAT: Final = 10 << 32
DO_COOL: Final = 11 << 32
DO_USE: Final = 12 << 32
DO_CUT: Final = 13 << 32
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


def action(effect: int, first: int, second: int = 0) -> int:
    """Return the integer of an action: one of the constants above, and what the command names."""
    return effect | first << _BITS | second


def apply(world: World, code: int) -> str:
    """Apply the action of an integer."""
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
