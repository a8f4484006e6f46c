"""A parsed game: the static facts of a PDDL problem, shared by all episodes of the game.

Things and receptacles are small whole numbers in the order of their PDDL names, which is the order the game lists
them in; a set of things is one integer with a bit for each.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from operator import itemgetter
from random import Random
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from natlang_envs.alfworld.engine.game_file import GameText, read_game_file
from natlang_envs.alfworld.engine.goals import CLEAN, COOL, HEAT, LOOK, Goal, parse_goal
from natlang_envs.alfworld.engine.grammar import BY_NAME, GRAMMARS, MIDDLE_OF_THE_ROOM, Grammar, listing
from natlang_envs.alfworld.engine.pddl_facts import ProblemFacts, type_name
from natlang_envs.errors import UsageError, one_of

if TYPE_CHECKING:
    from natlang_envs.alfworld.engine.available_actions import AvailableActions

__all__ = ["GRAMMARS", "Game", "GameText", "Receptacle", "Thing", "bits", "parse_game", "read_game_file"]

# Sets of things, by the predicates of the domain that say what is in them.
MARKS = {
    "pickupable": "pickupable",
    "cleanable": "cleanable",
    "heatable": "heatable",
    "coolable": "coolable",
    "toggleable": "toggleable",
    "sliceable": "sliceable",
    "receptacle_things": "isreceptacleobject",
    "hot": "ishot",
    "cool": "iscool",
    "clean": "isclean",
    "toggled": "istoggled",
    "sliced": "issliced",
}
_NEEDED = {CLEAN: {"sinkbasin"}, HEAT: {"microwave"}, COOL: {"fridge"}}


class Receptacle(NamedTuple):
    """Something that can be gone to: `name` as in "countertop 1", its type, its place in `Game.locations`."""

    name: str
    type: str
    location: int
    openable: bool


class Thing(NamedTuple):
    """An object: `name` as in "apple 2", and its type."""

    name: str
    type: str


def bits(members: int) -> Iterator[int]:
    """Yield the numbers of the things (or receptacles) of a set, in order."""
    while members:
        low = members & -members
        yield low.bit_length() - 1
        members ^= low


@dataclass(frozen=True, slots=True, eq=False)
class Game:
    """The static facts of a game; sets of things and receptacles are integers with a bit for each (see `bits`).

    Attributes:
        task: What is asked, the whole sentence.
        grammar: The grammar's texts.
        goal: What wins.
        receptacles: By number.
        things: By number.
        locations: Names, such as "loc 40"; the player starts at `start`.
        start: A number of a location.
        at: The receptacles at each location.
        can_contain: Which (type of receptacle, type of thing) fit.
        pickupable: Things that can be taken; so `cleanable`, `heatable`, `coolable`, `toggleable`, `sliceable`.
        receptacle_things: Things that hold others, such as a plate; what lies in them is `inside`, and stays there.
        inside: What lies in each thing.
        contents: What lies in each receptacle at the start; a thing can lie in two.
        things_at: What is at each location at the start.
        opened: The receptacles that are open at the start; so `hot`, `cool`, `clean`, `toggled`, `sliced` things.
        wanted: The things that the goal may be reached with, whatever must be done with them first.
        wanted_in: The receptacles they must lie in.
        lamps: The things to turn on.
        knives: The things that can slice others.
        loose_lamps: Whether something can be both switched and taken.
        room: What is seen from the middle of the room at the start.
        arrivals: What is said first on arriving at each receptacle.
        destinations: The receptacle that each command `go to …` leads to, sorted.
        doors: The receptacles with a door at each location.
        contents_here: For each location, what picks the contents of its receptacles out of those of all.
        actions_cache: The available actions of recent situations, shared by all episodes of the game.
        lists: The engine's cache of lists of things in words.
        found: The engine's cache of what is said on arriving at a receptacle, by its state.
    """

    task: str
    grammar: Grammar
    goal: Goal
    receptacles: tuple[Receptacle, ...]
    things: tuple[Thing, ...]
    locations: tuple[str, ...]
    start: int
    at: tuple[tuple[int, ...], ...]
    can_contain: frozenset[tuple[str, str]]
    pickupable: int
    cleanable: int
    heatable: int
    coolable: int
    toggleable: int
    sliceable: int
    receptacle_things: int
    inside: tuple[int, ...]
    contents: tuple[int, ...]
    things_at: tuple[int, ...]
    opened: int
    hot: int
    cool: int
    clean: int
    toggled: int
    sliced: int
    wanted: int
    wanted_in: tuple[int, ...]
    lamps: int
    knives: int
    loose_lamps: bool
    room: str
    arrivals: tuple[str, ...]
    destinations: dict[str, int]
    doors: tuple[int, ...]
    contents_here: tuple[Callable[[list[int]], Any], ...]
    actions_cache: dict[tuple[Any, ...], AvailableActions] = field(
        default_factory=dict["tuple[Any, ...]", "AvailableActions"], repr=False
    )
    lists: dict[int, str] = field(default_factory=dict[int, str], repr=False)
    found: dict[tuple[int, int, int], str] = field(default_factory=dict["tuple[int, int, int]", str], repr=False)
    _ways: dict[tuple[int, ...], tuple[str, ...]] = field(
        default_factory=dict["tuple[int, ...]", "tuple[str, ...]"], repr=False
    )

    def ways(self, location: int) -> tuple[str, ...]:
        """Return the commands that go elsewhere from a location, sorted."""
        here = self.at[location]
        ways = self._ways.get(here)
        if ways is None:
            ways = self._ways[here] = tuple(
                command for command, receptacle in self.destinations.items() if receptacle not in here
            )
        return ways


def parse_game(text: GameText, numbers: Random | None = None) -> Game:
    """Read a game.

    Args:
        text: The game.
        numbers: If given, what things of a kind draw their numbers from; officially they follow from the problem.

    Raises:
        UsageError: The problem is truncated, not of ALFWorld's domain, or cannot be solved; the grammar is unknown.
    """
    grammar = BY_NAME[one_of("grammar", text.grammar, GRAMMARS)]
    facts = ProblemFacts(text.problem, numbers)
    names, goal = facts.names, parse_goal(facts.goal)
    types = {each: type_name(kind) for name in ("receptacletype", "objecttype") for each, kind in facts.pairs(name)}
    places = facts.pairs("receptacleatlocation")
    location_of = dict(places)
    if len(location_of) < len(places):
        raise UsageError("this ALFWorld game has a receptacle at two locations: take a game of the official form")
    starts = [location for _, location in facts.pairs("atlocation")]
    if len(starts) != 1:
        raise UsageError(f"this ALFWorld game names {len(starts)} places to start from, not one: export it again")
    receptacles = _numbers(location_of)
    locations = _numbers({*starts, *location_of.values(), *(place for _, place in facts.pairs("objectatlocation"))})
    mentioned = ("objecttype", "objectatlocation", "inreceptacle")
    things = _numbers({*facts.singles("pickupable"), *(each for name in mentioned for each, _ in facts.pairs(name))})

    def marked(predicate: str, numbers: dict[str, int] = things) -> int:
        return _set(numbers[each] for each in facts.singles(predicate) if each in numbers)

    def by_place(predicate: str, places: dict[str, int]) -> tuple[int, ...]:
        sets = [0] * len(places)
        for each, place in facts.pairs(predicate):
            if place in places and each in things:
                sets[places[place]] |= 1 << things[each]
        return tuple(sets)

    openable = marked("openable", receptacles)
    return assemble(
        task=text.task,
        grammar=grammar,
        goal=goal,
        receptacles=tuple(
            Receptacle(names[each], types.get(each, ""), locations[location_of[each]], bool(openable >> number & 1))
            for each, number in receptacles.items()
        ),
        things=tuple(Thing(names[each], types.get(each, "")) for each in things),
        locations=tuple(names[each] for each in locations),
        start=locations[starts[0]],
        can_contain=_shared(frozenset((type_name(a), type_name(b)) for a, b in facts.pairs("cancontain"))),
        marks={field: marked(predicate) for field, predicate in MARKS.items()},
        inside=by_place("inreceptacleobject", things),
        contents=by_place("inreceptacle", receptacles),
        things_at=by_place("objectatlocation", locations),
        opened=marked("opened", receptacles),
    )


def assemble(
    *,
    task: str,
    grammar: Grammar,
    goal: Goal,
    receptacles: tuple[Receptacle, ...],
    things: tuple[Thing, ...],
    locations: tuple[str, ...],
    start: int,
    can_contain: frozenset[tuple[str, str]],
    marks: Mapping[str, int],
    inside: tuple[int, ...],
    contents: tuple[int, ...],
    things_at: tuple[int, ...],
    opened: int = 0,
) -> Game:
    """Return a game of its facts, which are named as the attributes of `Game`, with all that follows from them.

    `marks` holds the sets of things that `MARKS` names; those left out are empty.

    Raises:
        UsageError: The game cannot be solved.
    """
    at: list[list[int]] = [[] for _ in locations]
    doors = [0] * len(locations)
    for number, receptacle in enumerate(receptacles):
        at[receptacle.location].append(number)
        doors[receptacle.location] |= receptacle.openable << number
    kinds: dict[str, int] = defaultdict(int)
    for number, (_, kind) in enumerate(things):
        kinds[kind] |= 1 << number
    able = {CLEAN: "cleanable", HEAT: "heatable", COOL: "coolable"}.get(goal.task_type)
    sets: dict[str, Any] = {field: marks.get(field, 0) for field in MARKS}
    toggleable, pickupable = marks.get("toggleable", 0), marks.get("pickupable", 0)
    room, destinations, ways = _directions(tuple(each.name for each in receptacles))
    game = Game(
        task=task,
        grammar=grammar,
        goal=goal,
        receptacles=receptacles,
        things=things,
        locations=locations,
        start=start,
        at=tuple(map(tuple, at)),
        can_contain=can_contain,
        inside=inside,
        contents=contents,
        things_at=things_at,
        opened=opened,
        wanted=kinds[goal.object_type] & (marks.get(able, 0) if able else -1) if goal.object_type else 0,
        wanted_in=tuple(
            number
            for number, each in enumerate(receptacles)
            if goal.receptacle_type and each.type == goal.receptacle_type
        ),
        lamps=kinds[goal.toggle_type] & toggleable if goal.toggle_type else 0,
        knives=kinds["knife"] | kinds["butterknife"],
        loose_lamps=bool(toggleable & pickupable),
        room=room,
        arrivals=tuple(
            f"You arrive at {locations[each.location] if grammar.names_location else each.name}. "
            for each in receptacles
        ),
        destinations=destinations,
        doors=tuple(doors),
        contents_here=tuple(_picker(tuple(here)) for here in at),
        _ways=ways,
        **sets,
    )
    _check_solvable(game)
    return game


@lru_cache(maxsize=256)
def _directions(names: tuple[str, ...]) -> tuple[str, dict[str, int], dict[tuple[int, ...], tuple[str, ...]]]:
    """Return what games with these receptacles share: the view from the middle, where each `go to` leads, `_ways`."""
    room = MIDDLE_OF_THE_ROOM.format(listing(f"a {name}" for name in names))
    return room, dict(sorted((f"go to {name}", number) for number, name in enumerate(names))), {}


@lru_cache(maxsize=256)
def _picker(here: tuple[int, ...]) -> Callable[[list[int]], Any]:
    """Return what picks the contents of some receptacles out of those of all."""
    return cast("Callable[[list[int]], Any]", itemgetter(*here)) if here else _nothing


def _numbers(ids: Iterable[str]) -> dict[str, int]:
    return {each: number for number, each in enumerate(sorted(ids))}


def _nothing(_contents: list[int]) -> None:
    """Pick what lies in the receptacles of a location that has none."""


def _set(numbers: Iterable[int]) -> int:
    members = 0
    for number in numbers:
        members |= 1 << number
    return members


_FITS: dict[frozenset[tuple[str, str]], frozenset[tuple[str, str]]] = {}


def _shared(fits: frozenset[tuple[str, str]]) -> frozenset[tuple[str, str]]:
    """Return one object for all equal sets: games of a room agree in what fits where."""
    if len(_FITS) >= 1024:
        _FITS.clear()
    return _FITS.setdefault(fits, fits)


def _check_solvable(game: Game) -> None:
    goal = game.goal
    lying = 0
    for inside in game.contents:
        lying |= inside
    can_be_taken = (game.wanted & game.pickupable & lying).bit_count()
    if can_be_taken < goal.count:
        what = f"asks for {goal.count} {goal.object_type} to take, and has {can_be_taken} that will do"
    elif goal.task_type == LOOK:
        if game.lamps & lying:
            return
        what = f"has no {goal.toggle_type} to turn on"
    elif not game.wanted_in or (goal.receptacle_type, goal.object_type) not in game.can_contain:
        what = f"has no {goal.receptacle_type} that takes a {goal.object_type}"
    elif goal.task_type in _NEEDED and not any(r.type in _NEEDED[goal.task_type] for r in game.receptacles):
        what = f"has no {' or '.join(sorted(_NEEDED[goal.task_type]))}"
    else:
        return
    raise UsageError(f"this ALFWorld game cannot be solved, choose another: it {what}")
