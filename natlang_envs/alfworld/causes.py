"""Why a command does nothing in a game of ALFWorld, and what would do something.

The rules stand in the engine alone: its list of actions at a receptacle says which condition of a command fails, tried
with each condition in turn as it should be and as it is.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import Final, NamedTuple

from natlang_envs.alfworld.engine.actions import add_at_receptacle, add_in_hand
from natlang_envs.alfworld.engine.game import Game, bits
from natlang_envs.alfworld.engine.grammar import BY_NAME
from natlang_envs.alfworld.engine.world import World
from natlang_envs.alfworld.wording import (
    Lexicon,
    Named,
    ParsedCommand,
    first_of_several,
    lexicon_of,
    place_kinds,
    read_command,
)
from natlang_envs.why import Why

_MOST: Final = 24  # readings of one command that are tried
_READ: Final = 300  # characters of a command that are looked at
_TREATMENTS: Final = ("heat", "cool", "clean")
_PLACES_FIRST: Final = ("go", "open", "close")  # verbs whose first name is a receptacle
_ALONE: Final = ("look", "inventory", "help")
_VERBS: Final = "go to, open, close, take, examine, use, heat, cool, clean, slice, look, inventory"
_PLACE, _THING, _EITHER = "place", "thing", "either"


class _Reading(NamedTuple):
    """A command in the game's words, and the numbers of what it names; None where it names nothing known."""

    text: str
    verb: str
    thing: int | None
    place: int | None
    thing_name: str = ""
    other: int | None = None  # the thing to slice with


def why(world: World, command: str) -> Why | None:
    """Return why a command does nothing in the world as it is now; None where it does something."""
    command = command.strip()
    if world.understands(command):
        return None
    command = command[:_READ]
    game, lexicon = world.game, lexicon_of(world.game)
    meant = read_command(command, lexicon)
    readings = [*islice(_readings(world, lexicon, meant), _MOST)]
    for each in readings:
        if world.understands(each.text):
            return _worded(game, command, meant, each)
    if first := first_of_several(command):
        failed = why(world, first)
        now = first if failed is None else failed.instead
        if now:
            return Why("several at once", "Only one command is done at a time.", now)
    if not meant.plain:
        return Why("no command", "There is no command in this.", "look")
    if meant.verb is None or (meant.verb == "help" and not game.grammar.help):
        known = f"{_VERBS} and {game.grammar.put.format('THING', 'RECEPTACLE')}"
        return Why("no such verb", f"There is no command {meant.verb_words!a:.60}. There are: {known}.")
    return _unnamed(world, lexicon, meant) or _obstacle(world, readings[0])


def seen_here(world: World) -> int:
    """Return the things that are seen here: those in receptacles that are not closed."""
    found = 0
    for place in world.game.at[world.location]:
        if world.reachable(place):
            found |= world.contents[place]
    return found


# What a command may mean.


def _readings(world: World, lexicon: Lexicon, meant: ParsedCommand) -> Iterator[_Reading]:
    """Yield the readings of a command, the likeliest first."""
    verb, game = meant.verb, world.game
    if verb is None:
        return
    if verb in _ALONE:
        yield _Reading(verb, verb, None, None)
        return
    if verb in _PLACES_FIRST or verb == "examine":
        words = "go to" if verb == "go" else verb
        for place, name in _places(world, lexicon, meant.first):
            yield _Reading(f"{words} {name}", verb, None, place)
        if verb != "examine":
            return
    for thing, name in _things(world, lexicon, meant.first):
        if verb in ("examine", "use"):
            yield _Reading(f"{verb} {name}", verb, thing, None, name)
        elif verb == "slice":
            for knife, other in _things(world, lexicon, meant.second) if meant.second else _hand(world):
                yield _Reading(f"slice {name} with {other}", verb, thing, None, name, knife)
        else:
            form = (
                game.grammar.put if verb == "put" else "take {} from {}" if verb == "take" else f"{verb} {{}} with {{}}"
            )
            places = _places(world, lexicon, meant.second) if meant.second else _here(world)
            for place, other in places:
                yield _Reading(form.format(name, other), verb, thing, place, name)


def _places(world: World, lexicon: Lexicon, named: Named | None) -> list[tuple[int, str]]:
    """Return the receptacles that a name may mean, those at hand first."""
    numbers = lexicon.places.get(named.kind, {}) if named else {}
    if named is None or named.number is not None:
        return [(numbers[named.number], named.words)] if named and named.number in numbers else []
    here = world.game.at[world.location]
    found = sorted(numbers.values(), key=lambda each: each not in here)
    return [(each, world.game.receptacles[each].name) for each in found]


def _things(world: World, lexicon: Lexicon, named: Named | None) -> list[tuple[int | None, str]]:
    """Return the things that a name may mean: those held or seen here, else None with the kind as its name."""
    if named is None or named.kind not in lexicon.kinds:
        return []
    known = seen_here(world) | (0 if world.held is None else 1 << world.held)
    numbers = lexicon.things.get(named.kind, {})
    if named.number is not None:
        at = numbers.get(named.number)
        return [(at if at is not None and known >> at & 1 else None, named.words)]
    found = [(at, world.game.things[at].name) for at in numbers.values() if known >> at & 1]
    return sorted(found, key=lambda each: each[0] != world.held) or [(None, named.kind)]


def _hand(world: World) -> list[tuple[int | None, str]]:
    return [] if world.held is None else [(world.held, world.game.things[world.held].name)]


def _here(world: World) -> list[tuple[int, str]]:
    return [(each, world.game.receptacles[each].name) for each in world.game.at[world.location]]


def _worded(game: Game, command: str, meant: ParsedCommand, reading: _Reading) -> Why:
    """Return how a command has to be written that would work."""
    text, names = reading.text, [each for each in (meant.first, meant.second) if each]
    verb = "go to" if reading.verb == "go" else text.partition(" ")[0]
    if reading.verb not in _ALONE and any(each.number is None for each in names):
        return Why("number missing", "A name needs its number.", text)
    if len(_roles(reading.verb)) == 2 and meant.second is None:
        return Why("incomplete", "The command has to say where, or with what.", text)
    releases = [each.put.partition(" ")[0] for each in BY_NAME.values()] if reading.verb == "put" else []
    if not meant.misspelt and meant.verb_words not in (verb, *releases):
        return Why("other verb", f"The verb is {verb!r} here.", text)
    if meant.misspelt or meant.plain != command or any(each.corrected for each in names):
        return Why("spelling", "It is spelt otherwise.", text)
    return Why("other grammar", "The words of this game are others.", text)


def _unnamed(world: World, lexicon: Lexicon, meant: ParsedCommand) -> Why | None:
    """Return what is wrong with the names of a command; None if all of them may exist."""
    for role, named in zip(_roles(meant.verb), (meant.first, meant.second), strict=False):
        if named is None:
            if named is meant.second and meant.first and meant.verb != "slice" and _here(world):
                continue
            return Why("incomplete", f"The command {meant.verb_words!a:.60} has to say what, or where.")
        if named.kind not in lexicon.kinds:
            return Why("no such thing", f"There is nothing called {named.words!a:.60}.")
        numbers = lexicon.places.get(named.kind)
        if role == _THING and numbers and named.kind not in lexicon.things:
            return _no_thing(world, lexicon, meant, named)
        if role != _THING and numbers and not _places(world, lexicon, named):
            return Why("no such thing", f"There is no {named.words}: the last one is {named.kind} {max(numbers)}.")
        if role != _THING and not numbers and named.kind in place_kinds():
            return Why("no such thing", f"There is no {named.kind} in this room.")
        if role == _PLACE and not numbers:
            return Why("not a place", f"The {named.words} is nothing to go to, to open, or to put things into.")
    return None


def _roles(verb: str | None) -> tuple[str, ...]:
    if verb in _ALONE:
        return ()
    if verb in _PLACES_FIRST:
        return (_PLACE,)
    if verb in ("examine", "use"):
        return (_EITHER if verb == "examine" else _THING,)
    return (_THING, _THING if verb == "slice" else _PLACE)


def _no_thing(world: World, lexicon: Lexicon, meant: ParsedCommand, named: Named) -> Why:
    """Return that a receptacle is nothing to take or use; what is held may be treated with it."""
    words = f"The command {meant.verb_words!a:.60} is not for a {named.kind}."
    treated = (
        f"{verb} {name} with {place}"
        for _, name in _hand(world)
        for _, place in _places(world, lexicon, named)
        for verb in _TREATMENTS
    )
    return Why("wrong thing", words, next(filter(world.understands, treated), ""))


# What is in the way.


def _obstacle(world: World, reading: _Reading) -> Why:
    """Return the first condition of a command that does not hold; of unseen things it reveals only that."""
    verb, thing, place = reading.verb, reading.thing, reading.place
    if verb == "slice":
        return _not_sliced(world, reading)
    if verb == "use":
        return _not_used(world, reading)
    if place is None:
        return _not_held(world, thing, reading.thing_name)
    if verb in ("go", "open", "close", "examine"):
        return _not_at(world, reading, place)
    if verb == "take":
        return _not_taken(world, reading, place)
    if thing is not None and not _possible(world.game, reading.text, place, 0, True, thing):
        return _never(world.game, reading, place)
    if thing is None or world.held != thing:
        if thing is not None and verb == "put" and place in _at_hand(world) and world.contents[place] >> thing & 1:
            return Why("already there", f"The {reading.thing_name} is there already.")
        return _not_held(world, thing, reading.thing_name)
    return _elsewhere(world, place) or _closed(world, place)


def _possible(game: Game, text: str, place: int, inside: int, reachable: bool, held: int | None) -> bool:
    """Return whether a command could be given at a receptacle if all were so."""
    found: dict[str, int] = {}
    add_at_receptacle(found, game, place, inside, reachable, held)
    return text in found


def _at_hand(world: World) -> list[int]:
    """Return the receptacles here that things can be taken out of and put into."""
    return [each for each in world.game.at[world.location] if world.reachable(each)]


def _elsewhere(world: World, place: int) -> Why | None:
    """Return that the player is not at a receptacle, if so."""
    if place in world.game.at[world.location]:
        return None
    name = world.game.receptacles[place].name
    return Why("elsewhere", f"You are not at the {name}.", "", (f"go to {name}",))


def _closed(world: World, place: int) -> Why:
    name = world.game.receptacles[place].name
    return Why("closed", f"The {name} is closed.", "", (f"open {name}",))


def _not_at(world: World, reading: _Reading, place: int) -> Why:
    """Return why a receptacle is not gone to, opened, closed or examined."""
    name, verb = world.game.receptacles[place].name, reading.verb
    if verb == "go":
        beside = [each for number, each in _here(world) if number != place]
        if beside:
            return Why("same place as", f"The {name} is at this place too, with the {beside[0]}.", f"examine {name}")
        return Why("already there", f"You are at the {name} already.", f"examine {name}")
    if verb != "examine" and not _possible(world.game, reading.text, place, 0, verb == "close", None):
        return Why("no door", f"The {name} can be neither opened nor closed.")
    is_so = "open" if verb == "open" else "closed"
    return _elsewhere(world, place) or Why(f"already {is_so}", f"The {name} is {is_so} already.", f"examine {name}")


def _never(game: Game, reading: _Reading, place: int) -> Why:
    """Return why something cannot be put there, or treated with it, whatever is held and open."""
    verb, name, where = reading.verb, reading.thing_name, game.receptacles[place].name
    if verb == "put":
        return Why("does not belong", f"The {name} does not go into or onto the {where}.")
    for other, receptacle in enumerate(game.receptacles):
        if _possible(game, f"{verb} {name} with {receptacle.name}", other, 0, True, reading.thing):
            return Why("wrong appliance", f"The {where} does not {verb} things: a {receptacle.type} does.")
    return Why("wrong thing", f"The {name} is nothing to {verb}.")


def _not_taken(world: World, reading: _Reading, place: int) -> Why:
    thing, name, where = reading.thing, reading.thing_name, world.game.receptacles[place].name
    if thing is not None and thing == world.held:
        return Why("already held", f"You hold the {name} already.")
    if far := _elsewhere(world, place):
        return far
    if not world.reachable(place):
        return _closed(world, place)
    if thing is None or not world.contents[place] >> thing & 1:
        return Why("not there", f"The {where} has no {name}.")
    if not _possible(world.game, reading.text, place, 1 << thing, True, None):
        return Why("wrong thing", f"The {name} cannot be taken.")
    return Why("hands full", f"You hold the {_hand(world)[0][1]}.", "", next(_put_down(world), ()))


def _not_used(world: World, reading: _Reading) -> Why:
    thing, name = reading.thing, reading.thing_name
    if thing is None:
        return Why("not there", f"There is no {name} at the place where you are.")
    if not _possible(world.game, reading.text, 0, 1 << thing, True, None):
        return Why("wrong thing", f"The {name} is nothing to use.")
    return Why("already held", f"You hold the {name}.", "", next(_put_down(world), ()))


def _not_sliced(world: World, reading: _Reading) -> Why:
    thing, knife = reading.thing, reading.other
    if knife is None or knife != world.held:
        return _not_held(world, knife, reading.text.rpartition(" with ")[2])
    if thing is None:
        return Why("not there", f"There is no {reading.thing_name} at the place where you are.")
    if any(_cuts(world.game, thing, each) for each in bits(world.game.knives)):
        return Why("wrong appliance", "Things are sliced with a knife.")
    return Why("wrong thing", f"The {reading.thing_name} is nothing to slice.")


def _cuts(game: Game, thing: int, knife: int) -> bool:
    found: dict[str, int] = {}
    add_in_hand(found, game, knife, 1 << thing)
    return f"slice {game.things[thing].name} with {game.things[knife].name}" in found


def _not_held(world: World, thing: int | None, name: str) -> Why:
    """Return that a thing is not held, and how to take it where it is seen here."""
    for place in _at_hand(world) if thing is not None else ():
        take = f"take {name} from {world.game.receptacles[place].name}"
        if _possible(world.game, take, place, world.contents[place], True, None):
            down = next(_put_down(world, away=False), None) if world.held is not None else ()
            return Why("not held", f"You do not hold the {name}.", "", () if down is None else (*down, take))
    return Why("not held", f"You do not hold the {name}.")


def _put_down(world: World, away: bool = True) -> Iterator[tuple[str, ...]]:
    """Yield commands after which nothing is held: here first, and what has no door first; `away` from here, too."""
    game, held = world.game, world.held
    assert held is not None
    here = game.at[world.location]
    others = [each for each in range(len(game.receptacles)) if away and each not in here]
    for place in (*_at_hand(world), *here, *sorted(others, key=lambda each: game.receptacles[each].openable)):
        name = game.receptacles[place].name
        put = game.grammar.put.format(game.things[held].name, name)
        if _possible(game, put, place, 0, True, held):
            way = () if place in here else (f"go to {name}",)
            door = () if world.reachable(place) else (f"open {name}",)
            yield (*way, *door, put)
