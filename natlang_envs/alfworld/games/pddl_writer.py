"""Writes the PDDL problem of a generated game, with ids as in the official games."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache

from natlang_envs.alfworld.engine.goals import LOOK, Goal, goal_text
from natlang_envs.alfworld.games.floor_plans import Fixture, FloorPlanReceptacle, Location, Room, TaskAim, floor_plans
from natlang_envs.alfworld.games.layout import Layout, Object, Point, receptacles_of

# The types that the domain's actions name: they must be declared even in a room that has none.
_TYPES_OF_THINGS = ("Knife", "ButterKnife", "Sink")
_TYPES_OF_RECEPTACLES = ("SinkBasin", "Microwave", "Fridge")


def problem_text(here: Room, layout: Layout, aim: TaskAim) -> str:
    receptacles = [receptacle_id(each) for each in here.receptacles]
    locations = [location_id(each) for each in here.locations]
    start = location_id(layout.start)
    placed: list[tuple[Fixture | Object, str]] = [(each, locations[each.location]) for each in here.fixtures]
    placed += [(each, location_id(each.location)) for each in layout.objects]
    things = [(thing_id(each.type, each.spot), each.type, at, receptacles_of(each)) for each, at in placed]
    types = sorted({kind for _, kind, _, _ in things})
    kinds = sorted({each.type for each in here.receptacles})
    initial = [
        *_receptacle_facts(here, receptacles, locations),
        *_fitting_facts(kinds, types),
        *_thing_facts(here, things, receptacles),
        *_facts_at_the_start(layout),
        f"(atLocation agent1 {start})",
    ]
    declared = [
        "agent1 - agent",
        *(f"{kind}Type - otype" for kind in sorted({*types, *_TYPES_OF_THINGS})),
        *(f"{kind}Type - rtype" for kind in sorted({*kinds, *_TYPES_OF_RECEPTACLES})),
        *(f"{thing} - object" for thing, _, _, _ in things),
        *(f"{receptacle} - receptacle" for receptacle in receptacles),
        *(f"{location} - location" for location in sorted({*locations, start, *(at for _, _, at, _ in things)})),
    ]
    return "\n".join(
        [
            f"(define (problem {aim.task_type}_{aim.object_type}_{aim.target_type}_{here.number})",
            "(:domain alfred)",
            "(:objects",
            *declared,
            ")",
            "(:init",
            *initial,
            ")",
            goal_text(goal_of(aim)),
            ")\n",
        ]
    )


def goal_of(aim: TaskAim) -> Goal:
    """Return the goal of an aim, its types spelled as there."""
    if aim.task_type == LOOK:
        return Goal(aim.task_type, aim.object_type, toggle_type=aim.target_type)
    return Goal(aim.task_type, aim.object_type, receptacle_type=aim.target_type)


def _receptacle_facts(here: Room, receptacles: list[str], locations: list[str]) -> Iterator[str]:
    for name, receptacle in zip(receptacles, here.receptacles, strict=True):
        yield f"(receptacleType {name} {receptacle.type}Type)"
        yield f"(receptacleAtLocation {name} {locations[receptacle.location]})"
        if receptacle.openable:
            yield f"(openable {name})"


def _fitting_facts(kinds: list[str], types: list[str]) -> Iterator[str]:
    fits = floor_plans().fits
    for kind in kinds:
        allowed = fits.get(kind, frozenset())
        yield from (f"(canContain {kind}Type {each}Type)" for each in types if each in allowed)


def _thing_facts(
    here: Room, things: list[tuple[str, str, str, tuple[int, ...]]], receptacles: list[str]
) -> Iterator[str]:
    known, movable = floor_plans(), frozenset(here.movable)
    for name, kind, location, places in things:
        yield f"(objectType {name} {kind}Type)"
        yield f"(objectAtLocation {name} {location})"
        yield from (f"(inReceptacle {name} {receptacles[place]})" for place in places)
        if kind in movable:
            yield f"(pickupable {name})"
        if kind in known.holders:
            yield f"(isReceptacleObject {name})"
        yield from (f"({action} {name})" for action, kinds in known.actions.items() if kind in kinds)


def _facts_at_the_start(layout: Layout) -> Iterator[str]:
    for each in layout.objects:
        if each.holder >= 0:
            holder = layout.objects[each.holder]
            yield f"(inReceptacleObject {thing_id(each.type, each.spot)} {thing_id(holder.type, holder.spot)})"
        if each.cool:
            yield f"(isCool {thing_id(each.type, each.spot)})"


def receptacle_id(each: FloorPlanReceptacle) -> str:
    name = thing_id(each.base, each.spot)
    return name if each.base == each.type else f"{name}_bar_{each.type}"


def thing_id(kind: str, spot: Point) -> str:
    x, y, z = spot
    return f"{beginning(kind, x)}{_metres(y)}_bar_{_metres(z)}"


def beginning(kind: str, x: int) -> str:
    """Return the beginning of an object's name; beginnings with different x sort as whole names do."""
    return f"{kind}_bar_{_metres(x)}_bar_"


@lru_cache(maxsize=10_000)  # of made-up rooms there is no end
def location_id(location: Location) -> str:
    return "_bar_".join(("loc", *(f"_minus_{-each}" if each < 0 else str(each) for each in location)))


@lru_cache(maxsize=50_000)
def _metres(millimetres: int) -> str:
    sign = "_plus_" if millimetres > 0 else "_minus_" if millimetres < 0 else ""
    return f"{sign}{abs(millimetres) // 1000:02}_dot_{abs(millimetres) % 1000 // 10:02}"
