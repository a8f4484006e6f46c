"""Floor plans, objects and where they lie, read from the official games and the alfworld package.

`make_floor_plans` and `make_room_habits` count them.
"""

from __future__ import annotations

import json
import re
import runpy
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple, cast

from natlang_envs.alfworld.games.official import official_ids, official_text
from natlang_envs.alfworld.games.splits import OfficialSplit
from natlang_envs.errors import UsageError

ACTIONS = ("cleanable", "heatable", "coolable", "toggleable", "sliceable")
_FACT = re.compile(r"\(([A-Za-z]+) ([^()]+)\)")
_GOAL = {
    "object": re.compile(r"\(objectType \?o1? (\w+)Type\)"),
    "target": re.compile(r"\((?:receptacleType \?r|objectType \?ot) (\w+)Type\)"),
}
_MANGLED = (("_bar_", "|"), ("_minus_", "-"), ("_plus_", "+"), ("_dot_", "."))


class OfficialGame(NamedTuple):
    """The counted facts of an official game. Ids are as AI2-THOR writes them, `Drawer|+01.63|+00.18|-01.21`."""

    room: int  # the number of the floor plan
    task_type: str  # the official name
    goal: tuple[str, str]  # the types of the object and of the receptacle or lamp
    receptacles: dict[str, str]  # receptacle to type
    objects: dict[str, str]  # object to type
    places: dict[str, list[str]]  # object to the receptacles that hold it
    inside: list[tuple[str, ...]]  # pairs of an object and the object that holds it
    locations: dict[str, str]  # object or receptacle to the location it is reached from
    openable: frozenset[str]  # receptacles that open and close
    pickupable: frozenset[str]  # objects that can be picked up


def unmangled(name: str) -> str:
    """Return an id of a problem as AI2-THOR writes it."""
    for mangled, plain in _MANGLED:
        name = name.replace(mangled, plain)
    return name


def official_game(task_id: str, problem: str) -> OfficialGame:
    """Return what is counted in an official problem; its id ends in `type-object-none-target-room/trial`."""
    task, _ = task_id.split("/")[-2:]
    start, goal = problem.index("(:init"), problem.index("(:goal")
    facts: dict[str, list[tuple[str, ...]]] = defaultdict(list)
    for name, rest in _FACT.findall(problem[start + len("(:init") : goal]):
        facts[name].append(tuple(unmangled(each) for each in rest.split()))
    places: dict[str, list[str]] = defaultdict(list)
    for thing, receptacle in facts["inReceptacle"]:
        places[thing].append(receptacle)
    found = {part: pattern.search(problem, goal) for part, pattern in _GOAL.items()}
    thing, target = (found[part] for part in ("object", "target"))
    if thing is None or target is None:
        raise UsageError(f"{task_id} has no goal of the six official kinds: copy the official games again")
    return OfficialGame(
        room=int(task.rpartition("-")[2]),
        task_type=task.partition("-")[0],
        goal=(thing[1], target[1]),
        receptacles=_types(facts["receptacleType"]),
        objects=_types(facts["objectType"]),
        places=dict(places),
        inside=facts["inReceptacleObject"],
        locations={pair[0]: pair[1] for pair in facts["objectAtLocation"] + facts["receptacleAtLocation"]},
        openable=frozenset(each for (each,) in facts["openable"]),
        pickupable=frozenset(each for (each,) in facts["pickupable"]),
    )


def _types(pairs: list[tuple[str, ...]]) -> dict[str, str]:
    return {thing: kind.removesuffix("Type") for thing, kind in pairs}


def official_games(folder: Path, split: OfficialSplit) -> Iterator[OfficialGame]:
    for task_id in official_ids(folder, split):
        yield official_game(task_id, official_text(folder, task_id).problem)


def by_room(games: Iterable[OfficialGame]) -> list[tuple[int, list[OfficialGame]]]:
    found: dict[int, list[OfficialGame]] = defaultdict(list)
    for game in games:
        found[game.room].append(game)
    return sorted(found.items())


def histogram(counts: Counter[int]) -> list[int]:
    """Return how often there were 1, 2, and so on."""
    return [counts[number] for number in range(1, max(counts) + 1)]


class Package(NamedTuple):
    fits: dict[str, list[str]]  # type of receptacle to the types of objects it takes, sliced ones left out
    actions: dict[str, list[str]]  # "cleanable" and so on to types of objects
    holders: list[str]  # types of objects that count as receptacles themselves, such as bowls
    types: dict[int, list[str]]  # floor plan to the types of things in it
    openable: dict[int, list[str]]  # floor plan to the receptacles that open and close


def read_package() -> Package:
    found = find_spec("alfworld")  # not imported: that would set $ALFWORLD_DATA and make its folder
    if found is None or found.origin is None:
        raise UsageError("the alfworld package is not installed: run `pip install --no-deps alfworld`")
    folder = Path(found.origin).parent / "gen"
    constants = runpy.run_path(str(folder / "constants.py"))
    layouts = folder / "layouts"
    allowed = cast("dict[str, set[str]]", constants["VAL_RECEPTACLE_OBJECTS"])
    actions = cast("dict[str, set[str]]", constants["VAL_ACTION_OBJECTS"])
    holders = sorted(cast("list[str]", constants["MOVABLE_RECEPTACLES"]))
    return Package(
        fits={
            kind: _whole(things) for kind, things in sorted(allowed.items()) if kind not in holders and _whole(things)
        },
        actions={each: _whole(actions[each.capitalize()]) for each in ACTIONS},
        holders=holders,
        types=_layouts(layouts, "objects"),
        openable=_layouts(layouts, "openable"),
    )


def _layouts(folder: Path, what: str) -> dict[int, list[str]]:
    found: dict[int, list[str]] = {}
    for path in folder.glob(f"FloorPlan*-{what}.json"):
        found[int(path.name.removeprefix("FloorPlan").partition("-")[0])] = sorted(json.loads(path.read_text("utf-8")))
    return found


def _whole(things: set[str]) -> list[str]:
    return sorted(thing for thing in things if not thing.endswith("Sliced"))
