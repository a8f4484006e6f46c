"""Games of ALFWorld: what a problem in PDDL says, read once into the static facts that every episode of it shares.

Things and receptacles are small whole numbers in the order of their PDDL names, which is the order the game lists
them in; a set of things is one integer with a bit for each.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from operator import itemgetter
from sys import intern
from typing import TYPE_CHECKING, Any, NamedTuple

from natlang_envs.alfworld.gamefile import GameText, read_game_file
from natlang_envs.alfworld.goals import CLEAN, COOL, HEAT, LOOK, Goal, parse_goal
from natlang_envs.alfworld.grammar import BY_NAME, GRAMMARS, Grammar
from natlang_envs.errors import UsageError, one_of

if TYPE_CHECKING:
    from natlang_envs.alfworld.views import View

__all__ = ["GRAMMARS", "Game", "GameText", "Receptacle", "Thing", "bits", "parse_game", "read_game_file"]

# What a problem may say at the start. The engine reads the first group; the second changes no text and no command.
_READ = {
    "atlocation": 2,
    "receptacleatlocation": 2,
    "receptacletype": 2,
    "objectatlocation": 2,
    "objecttype": 2,
    "inreceptacle": 2,
    "inreceptacleobject": 2,
    "cancontain": 2,
    "openable": 1,
    "opened": 1,
    "pickupable": 1,
    "cleanable": 1,
    "heatable": 1,
    "coolable": 1,
    "toggleable": 1,
    "sliceable": 1,
    "isreceptacleobject": 1,
    "ishot": 1,
    "iscool": 1,
    "isclean": 1,
    "istoggled": 1,
    "issliced": 1,
}
_SILENT = {"wasinreceptacle", "checked", "examined", "isreceptacleobjectfull", "full", "moveable", "ison"}
_NUMBERS = {"distance", "total-cost", "="}
_NEEDED = {CLEAN: {"sinkbasin"}, HEAT: {"microwave"}, COOL: {"fridge"}}
_FACT = re.compile(r"\(([^()]+)\)")


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
        inside: What lies in a thing.
        contents: What lies in each receptacle at the start; a thing can lie in two.
        things_at: What is at each location at the start.
        opened: The receptacles that are open at the start; so `hot`, `cool`, `clean`, `toggled`, `sliced` things.
        wanted: The things that the goal may be reached with, whatever must be done with them first.
        wanted_in: The receptacles they must lie in.
        lamps: The things to turn on.
        knives: The things that can slice others.
        loose_lamps: Whether something can be both switched and taken.
        arrivals: What is said first on arriving at each receptacle.
        destinations: The receptacle that each command `go to …` leads to, sorted.
        doors: The receptacles with a door at each location.
        contents_here: For each location, what picks the contents of its receptacles out of those of all.
        views: The engine's cache of what can be done, for all episodes of the game.
        lists: The engine's cache of lists of things in words.
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
    inside: dict[int, int]
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
    arrivals: tuple[str, ...]
    destinations: dict[str, int]
    doors: tuple[int, ...]
    contents_here: tuple[Callable[[list[int]], Any], ...]
    views: dict[tuple[Any, ...], View] = field(default_factory=dict["tuple[Any, ...]", "View"], repr=False)
    lists: dict[int, str] = field(default_factory=dict[int, str], repr=False)
    _ways: dict[int, tuple[str, ...]] = field(default_factory=dict[int, "tuple[str, ...]"], repr=False)

    def ways(self, location: int) -> tuple[str, ...]:
        """Return the commands that go elsewhere from a location, sorted."""
        ways = self._ways.get(location)
        if ways is None:
            here = self.at[location]
            ways = self._ways[location] = tuple(
                command for command, receptacle in self.destinations.items() if receptacle not in here
            )
        return ways


def parse_game(text: GameText) -> Game:
    """Read a game.

    Raises:
        UsageError: The problem is truncated, not of ALFWorld's domain, or cannot be solved; the grammar is unknown.
    """
    grammar = BY_NAME[one_of("grammar", text.grammar, GRAMMARS)]
    facts, goal_text = _facts(text.problem)
    names = _names(facts)
    receptacle_ids = sorted({id for id, _ in facts["receptacleatlocation"]})
    type_of = {id: intern(type.removesuffix("type")) for id, type in (*facts["receptacletype"], *facts["objecttype"])}
    location_of = dict(facts["receptacleatlocation"])
    if len(location_of) < len(facts["receptacleatlocation"]):
        raise UsageError("this ALFWorld game has a receptacle at two locations: take a game of the official form")
    if len(facts["atlocation"]) != 1:
        raise UsageError("this ALFWorld game does not say where the player starts: the problem lacks (atLocation …)")
    start = facts["atlocation"][0][1]
    location_ids = sorted({start, *location_of.values(), *(place for _, place in facts["objectatlocation"])})
    receptacles = {id: number for number, id in enumerate(receptacle_ids)}
    locations = {id: number for number, id in enumerate(location_ids)}
    thing_ids = sorted(
        {fact[0] for name in ("objecttype", "objectatlocation", "inreceptacle", "pickupable") for fact in facts[name]}
    )
    things = {id: number for number, id in enumerate(thing_ids)}

    def marked(predicate: str, numbers: dict[str, int]) -> int:
        return _set(numbers[id] for (id,) in facts[predicate] if id in numbers)

    def of_type(type: str, numbers: dict[str, int]) -> int:
        return _set(number for id, number in numbers.items() if type and type_of.get(id) == type)

    def by_place(predicate: str, places: dict[str, int]) -> tuple[int, ...]:
        sets = [0] * len(places)
        for id, place in facts[predicate]:
            if place in places:
                sets[places[place]] |= 1 << things[id]
        return tuple(sets)

    at: list[list[int]] = [[] for _ in location_ids]
    for id, number in receptacles.items():
        at[locations[location_of[id]]].append(number)
    inside: dict[int, int] = defaultdict(int)
    for inner, outer in facts["inreceptacleobject"]:
        if inner in things and outer in things:
            inside[things[outer]] |= 1 << things[inner]
    openable = {id for (id,) in facts["openable"]}
    goal = parse_goal(goal_text)
    able = {CLEAN: "cleanable", HEAT: "heatable", COOL: "coolable"}.get(goal.task_type)
    wanted = of_type(goal.object_type, things) & (marked(able, things) if able else -1)
    game = Game(
        task=text.task,
        grammar=grammar,
        goal=goal,
        receptacles=tuple(
            Receptacle(names[id], type_of.get(id, ""), locations[location_of[id]], id in openable)
            for id in receptacle_ids
        ),
        things=tuple(Thing(names[id], type_of.get(id, "")) for id in thing_ids),
        locations=tuple(names[id] for id in location_ids),
        start=locations[start],
        at=tuple(tuple(here) for here in at),
        can_contain=_shared(
            frozenset((intern(a.removesuffix("type")), intern(b.removesuffix("type"))) for a, b in facts["cancontain"])
        ),
        pickupable=marked("pickupable", things),
        cleanable=marked("cleanable", things),
        heatable=marked("heatable", things),
        coolable=marked("coolable", things),
        toggleable=marked("toggleable", things),
        sliceable=marked("sliceable", things),
        receptacle_things=marked("isreceptacleobject", things),
        inside=dict(inside),
        contents=by_place("inreceptacle", receptacles),
        things_at=by_place("objectatlocation", locations),
        opened=marked("opened", receptacles),
        hot=marked("ishot", things),
        cool=marked("iscool", things),
        clean=marked("isclean", things),
        toggled=marked("istoggled", things),
        sliced=marked("issliced", things),
        knives=of_type("knife", things) | of_type("butterknife", things),
        loose_lamps=bool(marked("toggleable", things) & marked("pickupable", things)),
        arrivals=tuple(
            f"You arrive at {names[location_of[id]] if grammar.names_location else names[id]}. "
            for id in receptacle_ids
        ),
        destinations=dict(sorted((f"go to {names[id]}", number) for id, number in receptacles.items())),
        doors=tuple(_set(number for number in here if receptacle_ids[number] in openable) for here in at),
        contents_here=tuple(itemgetter(*here) if here else _nothing for here in at),
        wanted=wanted,
        wanted_in=tuple(bits(of_type(goal.receptacle_type, receptacles))),
        lamps=of_type(goal.toggle_type, things) & marked("toggleable", things),
    )
    _check_solvable(game)
    return game


def _facts(problem: str) -> tuple[dict[str, list[tuple[str, ...]]], str]:
    """Return the facts at the start by predicate, and the text of the goal."""
    lines = (line.partition(";")[0] for line in problem.splitlines()) if ";" in problem else (problem,)
    text = "\n".join(lines).lower()
    begin, end = text.find("(:init"), text.find("(:goal")
    if begin < 0 or end < begin or text.count("(") != text.count(")"):
        raise UsageError("this ALFWorld game is truncated or no PDDL problem: download or export it again")
    if "(:domain alfred)" not in text[:begin]:
        raise UsageError("this game is not of ALFWorld's domain: its problem does not say (:domain alfred)")
    facts: dict[str, list[tuple[str, ...]]] = defaultdict(list)
    for found in dict.fromkeys(_FACT.findall(text, begin + len("(:init"), end)):
        name, *rest = found.split()
        if len(rest) != _READ.get(name, -1):
            if name in _SILENT or name in _NUMBERS:
                continue
            raise UsageError(f"this game is not of ALFWorld's domain: its problem says ({found[:60]}) at the start")
        facts[name].append(tuple(rest))
    return facts, text[end:]


def _names(facts: dict[str, list[tuple[str, ...]]]) -> dict[str, str]:
    """Return the name of everything the facts mention: the kind, and a number that falls in the order of the ids.

    Whatever has no position in its id keeps the id as its name, and a space for the number it does not get.
    """
    ids = sorted({id for rows in facts.values() for row in rows for id in row})
    kinds = [id.partition("_bar_")[0] + ("basin" if "basin" in id else "") if "_bar_" in id else "" for id in ids]
    left: dict[str, int] = defaultdict(int)
    for kind in kinds:
        left[kind] += 1
    names: dict[str, str] = {}
    for id, kind in zip(ids, kinds, strict=True):
        names[id] = intern(f"{kind} {left[kind]}" if kind else f"{id} ")
        left[kind] -= 1
    return names


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
    can_be_taken = (game.wanted & game.pickupable).bit_count()
    if can_be_taken < goal.count:
        what = f"asks for {goal.count} {goal.object_type} to take, and has {can_be_taken} that will do"
    elif goal.task_type == LOOK:
        if any(game.lamps & inside for inside in game.contents):
            return
        what = f"has no {goal.toggle_type} to turn on"
    elif not game.wanted_in or (goal.receptacle_type, goal.object_type) not in game.can_contain:
        what = f"has no {goal.receptacle_type} that takes a {goal.object_type}"
    elif goal.task_type in _NEEDED and not any(r.type in _NEEDED[goal.task_type] for r in game.receptacles):
        what = f"has no {' or '.join(sorted(_NEEDED[goal.task_type]))}"
    else:
        return
    raise UsageError(f"this ALFWorld game cannot be solved, choose another: it {what}")
