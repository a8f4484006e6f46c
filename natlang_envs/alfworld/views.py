"""What the player can do and see where they are: the commands in TextWorld's order, and what each does."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from natlang_envs.alfworld import actions
from natlang_envs.alfworld.actions import Effect
from natlang_envs.alfworld.game import Receptacle, bits
from natlang_envs.alfworld.grammar import listing

if TYPE_CHECKING:
    from natlang_envs.alfworld.engine import World

_KNIVES = ("knife", "butterknife")
_GO = "go to "


class Action(NamedTuple):
    """What a command does: an effect, and the numbers of what it names."""

    effect: Effect
    first: int = 0
    second: int = 0


class View(NamedTuple):
    """What can be done and seen in one situation.

    Attributes:
        commands: All commands, sorted.
        actions: What each of them does, without those that go elsewhere: they are the same in all situations.
        descriptions: What `examine` says of each receptacle at hand.
    """

    commands: tuple[str, ...]
    actions: dict[str, Action]
    descriptions: dict[int, str]


def view_of(world: World) -> View:
    """Return the view of a world's situation: the place, the hand, and what is at the place."""
    game = world.game
    here = [(number, game.receptacles[number]) for number in game.at[world.location]]
    found = {"look": Action(actions.look), "inventory": Action(actions.inventory)}
    if game.grammar.help:
        found["help"] = Action(actions.ask_for_help)
    for number, receptacle in here:
        name, _, _, openable = receptacle
        found[f"examine {name}"] = Action(actions.examine_receptacle, number)
        if openable:
            if world.opened >> number & 1:
                found[f"close {name}"] = Action(actions.close_door, number)
            else:
                found[f"open {name}"] = Action(actions.open_door, number)
        for thing in bits(world.contents[number] & game.toggleable):
            found[f"use {game.things[thing].name}"] = Action(actions.use, thing)
        if world.held is None:
            if world.reachable(number):
                for thing in bits(world.contents[number] & game.pickupable):
                    found[f"take {game.things[thing].name} from {name}"] = Action(actions.take, thing, number)
        else:
            _add_work(found, world, world.held, number, receptacle)
    if world.held is not None:
        _add_handling(found, world, world.held)
    ours = sorted(found)
    before = sum(command < _GO for command in ours)
    commands = (*ours[:before], *game.ways(world.location), *ours[before:])
    return View(commands, found, {number: _description(world, number, receptacle) for number, receptacle in here})


def _add_handling(found: dict[str, Action], world: World, held: int) -> None:
    """Add what can be done anywhere with the thing in hand."""
    game = world.game
    name, type = game.things[held]
    found[f"examine {name}"] = Action(actions.examine_thing, held)
    if type in _KNIVES:
        for thing in bits(world.things_at[world.location] & game.sliceable):
            found[f"slice {game.things[thing].name} with {name}"] = Action(actions.cut, thing, held)


def _add_work(found: dict[str, Action], world: World, held: int, number: int, receptacle: Receptacle) -> None:
    """Add what can be done with the thing in hand at a receptacle."""
    game, one = world.game, 1 << held
    thing, type = game.things[held]
    if (receptacle.type, type) in game.can_contain and world.reachable(number):
        found[game.grammar.put.format(thing, receptacle.name)] = Action(actions.put, held, number)
    for verb, effect, able, appliances in (
        ("clean", actions.clean, game.cleanable, game.grammar.cleaners),
        ("heat", actions.heat, game.heatable, game.grammar.heaters),
        ("cool", actions.cool, game.coolable, game.grammar.coolers),
    ):
        if receptacle.type in appliances and able & one:
            found[f"{verb} {thing} with {receptacle.name}"] = Action(effect, held, number)


def _description(world: World, number: int, receptacle: Receptacle) -> str:
    inside = listing(f"a {world.game.things[thing].name}" for thing in bits(world.contents[number]))
    if not receptacle.openable:
        return f"On the {receptacle.name}, you see {inside}."
    if world.opened >> number & 1:
        return f"The {receptacle.name} is open. In it, you see {inside}."
    return f"The {receptacle.name} is closed."
