"""A parsed game: the static facts of a PDDL problem, shared by all episodes of the game.

Things and receptacles are small whole numbers in the order of their PDDL names, which is the order the game lists
them in; a set of things is one integer with a bit for each.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from operator import itemgetter
from random import Random
from typing import Any, NamedTuple

from natlang_envs.alfworld.engine.game_file import GameText, read_game_file
from natlang_envs.alfworld.engine.goals import LOOK, STATIONS, TREATMENTS, Goal, parse_goal
from natlang_envs.alfworld.engine.grammar import BY_NAME, GRAMMARS, MIDDLE_OF_THE_ROOM, Grammar, listing
from natlang_envs.alfworld.engine.pddl_facts import MARKS, ProblemFacts, type_name
from natlang_envs.errors import UsageError, require_choice

__all__ = ["GRAMMARS", "Game", "GameText", "Receptacle", "Thing", "bits", "parse_game", "read_game_file"]

# All commands of a situation, sorted, and what each of them does, without those that go elsewhere, which are the same
# in all situations. Plain tuples and dictionaries of strings are left out by the garbage collector.
AvailableActions = tuple[tuple[str, ...], dict[str, int]]


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


def _nothing(_contents: list[int]) -> None:
    """Pick what lies in the receptacles of a location that has none."""


class Place:
    """The receptacles at one location, and the commands that go elsewhere, sorted; all games of a room share it.

    `pick` picks the contents of these receptacles out of those of all. `always` has the actions that are always
    available here; the engine fills it in when they are first asked for.
    """

    __slots__ = ("always", "doors", "pick", "receptacles", "ways")

    def __init__(self, receptacles: tuple[int, ...], doors: int, destinations: dict[str, int]) -> None:
        self.receptacles = receptacles
        self.doors = doors
        self.ways = tuple(command for command, receptacle in destinations.items() if receptacle not in receptacles)
        self.pick: Callable[[list[int]], Any] = itemgetter(*receptacles) if receptacles else _nothing
        self.always: dict[str, int] = {}


class Directions:
    """The commands and places that games with the same receptacles share, with or without `help`; see `Game`."""

    __slots__ = ("_doors", "_places", "destinations", "room")

    def __init__(self, names: tuple[str, ...], doors: int) -> None:
        self.room = MIDDLE_OF_THE_ROOM.format(listing(f"a {name}" for name in names))
        self.destinations = dict(sorted((f"go to {name}", number) for number, name in enumerate(names)))
        self._doors = doors
        self._places: dict[tuple[int, ...], Place] = {}

    def place(self, receptacles: tuple[int, ...]) -> Place:
        if receptacles not in self._places:
            self._places[receptacles] = Place(receptacles, self._doors & _set(receptacles), self.destinations)
        return self._places[receptacles]


@dataclass(frozen=True, slots=True, eq=False)
class Game:
    """The static facts of a game; sets are integers with a bit per member (see `bits`).

    Attributes: task: What is asked, the whole sentence. grammar: The grammar's texts. goal: What wins. receptacles: By
    number. things: By number. locations: Names, such as "loc 40"; the player starts at `start`. start: A number of a
    location. at: The receptacles at each location. can_contain: Which (type of receptacle, type of thing) fit.
    pickupable: Things that can be taken; so `cleanable`, `heatable`, `coolable`, `toggleable`, `sliceable`.
    receptacle_things: Things that hold others, such as a plate; what lies in them is `inside`, and stays there. inside:
    What lies in each thing. contents: What lies in each receptacle at the start; a thing can lie in two. things_at:
    What is at each location at the start. opened: The receptacles that are open at the start; so `hot`, `cool`,
    `clean`, `toggled`, `sliced` things. wanted: The things that the goal may be reached with, whatever must be done
    with them first. wanted_in: The receptacles they must lie in. lamps: The things to turn on. knives: The things that
    can slice others. loose_lamps: Whether something can be both switched and taken. room: What is seen from the middle
    of the room at the start. destinations: The receptacle that each command `go to …` leads to, sorted. places: For
    each location, what is known of it whatever lies there. actions_cache: The available actions of recent situations,
    shared by all episodes of the game. lists: The engine's cache of lists of things in words.
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
    destinations: dict[str, int]
    places: tuple[Place, ...] = field(repr=False)
    actions_cache: dict[tuple[Any, ...], AvailableActions] = field(repr=False)
    lists: dict[int, str] = field(repr=False)

    def lying(self) -> int:
        """Return the set of the things that lie in receptacles at the start."""
        members = 0
        for inside in self.contents:
            members |= inside
        return members


def parse_game(text: GameText, numbers: Random | None = None) -> Game:
    """Read a game.

    Args:
        text: The game.
        numbers: If given, what things of a kind draw their numbers from; officially they follow from the problem.

    Raises:
        UsageError: The problem is truncated, not of ALFWorld's domain, or cannot be solved; the grammar is unknown.
    """
    grammar = BY_NAME[require_choice("grammar", text.grammar, GRAMMARS)]
    facts = ProblemFacts(text.problem, numbers)
    names, goal = facts.names, parse_goal(facts.goal)
    types = {each: type_name(kind) for name in ("receptacletype", "objecttype") for each, kind in facts.pairs[name]}
    places = facts.pairs["receptacleatlocation"]
    location_of = dict(places)
    if len(location_of) < len(places):
        raise UsageError("this ALFWorld game has a receptacle at two locations: take a game of the official form")
    starts = [location for _, location in facts.pairs["atlocation"]]
    if len(starts) != 1:
        raise UsageError(f"this ALFWorld game names {len(starts)} places to start from, not one: export it again")
    receptacles = _numbers(location_of)
    locations = _numbers({*starts, *location_of.values(), *(place for _, place in facts.pairs["objectatlocation"])})
    mentioned = ("objecttype", "objectatlocation", "inreceptacle")
    things = _numbers({*facts.singles["pickupable"], *(each for name in mentioned for each, _ in facts.pairs[name])})

    def marked(predicate: str, numbers: dict[str, int] = things) -> int:
        return _set(numbers[each] for each in facts.singles[predicate] if each in numbers)

    def by_place(predicate: str, places: dict[str, int]) -> tuple[int, ...]:
        sets = [0] * len(places)
        for each, place in facts.pairs[predicate]:
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
        can_contain=_shared(frozenset((type_name(a), type_name(b)) for a, b in facts.pairs["cancontain"])),
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
    """
    at: list[tuple[int, ...]] = [()] * len(locations)
    doors = 0
    wanted_in: list[int] = []
    for number, (_, kind, location, openable) in enumerate(receptacles):
        at[location] += (number,)
        doors |= openable << number
        if goal.receptacle_type and kind == goal.receptacle_type:
            wanted_in.append(number)
    kinds = dict.fromkeys((goal.object_type, goal.toggle_type, "knife", "butterknife"), 0)
    for number, (_, kind) in enumerate(things):
        if kind in kinds:
            kinds[kind] |= 1 << number
    verb = TREATMENTS.get(goal.task_type)
    sets: dict[str, Any] = {field: marks.get(field, 0) for field in MARKS}
    toggleable, pickupable = marks.get("toggleable", 0), marks.get("pickupable", 0)
    directions = _directions(tuple([each.name for each in receptacles]), doors, bool(grammar.help))
    places = tuple([directions.place(here) for here in at])
    game = Game(
        task=task,
        grammar=grammar,
        goal=goal,
        receptacles=receptacles,
        things=things,
        locations=locations,
        start=start,
        at=tuple([place.receptacles for place in places]),  # equal to those in `at`, and shared by all games of a room
        can_contain=can_contain,
        inside=inside,
        contents=contents,
        things_at=things_at,
        opened=opened,
        wanted=kinds[goal.object_type] & (marks.get(f"{verb}able", 0) if verb else -1) if goal.object_type else 0,
        wanted_in=tuple(wanted_in),
        lamps=kinds[goal.toggle_type] & toggleable if goal.toggle_type else 0,
        knives=kinds["knife"] | kinds["butterknife"],
        loose_lamps=bool(toggleable & pickupable),
        room=directions.room,
        destinations=directions.destinations,
        places=places,
        actions_cache={},
        lists={},
        **sets,
    )
    _check_solvable(game)
    return game


@lru_cache(maxsize=256)
def _directions(names: tuple[str, ...], doors: int, _helps: bool) -> Directions:
    return Directions(names, doors)


def _numbers(ids: Iterable[str]) -> dict[str, int]:
    return {each: number for number, each in enumerate(sorted(ids))}


def _set(numbers: Iterable[int]) -> int:
    members = 0
    for number in numbers:
        members |= 1 << number
    return members


@lru_cache(maxsize=1_024)
def _shared(fits: frozenset[tuple[str, str]]) -> frozenset[tuple[str, str]]:
    """Return one object for all equal sets: games of a room agree in what fits where."""
    return fits


def _check_solvable(game: Game) -> None:
    goal, lying, station = game.goal, game.lying(), STATIONS.get(game.goal.task_type, "").lower()
    can_be_taken = (game.wanted & game.pickupable & lying).bit_count()
    if can_be_taken < goal.count:
        what = f"asks for {goal.count} {goal.object_type} to take, and has {can_be_taken} that will do"
    elif goal.task_type == LOOK:
        if game.lamps & lying:
            return
        what = f"has no {goal.toggle_type} to turn on"
    elif not game.wanted_in or (goal.receptacle_type, goal.object_type) not in game.can_contain:
        what = f"has no {goal.receptacle_type} that takes a {goal.object_type}"
    elif station and not any(each.type == station for each in game.receptacles):
        what = f"has no {station}"
    else:
        return
    raise UsageError(f"this ALFWorld game cannot be solved, choose another: it {what}")
