"""Reference plans, made with full knowledge of a game; they are good, and not proved shortest."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from natlang_envs.alfworld.engine.game import bits
from natlang_envs.alfworld.engine.goals import TREATMENTS
from natlang_envs.alfworld.engine.world import World

_NEEDS_OPEN = frozenset({"take", "put"})


class Act(NamedTuple):
    """Something done with a thing at a receptacle: "take", "put", "clean", "heat", "cool", "use" or only "be" there."""

    verb: str
    thing: int
    receptacle: int


def reference(world: World) -> list[str]:
    """Return commands that lead from here to `won`; the world stays as it is.

    Every way to use one thing (or two) and one receptacle of each kind is compared, so that a plan is longer than
    need be only where a detour pays that no such way has. A plan wins with its last command and not before.
    """
    if world.won:
        return []
    planner = _Planner(world)
    best = min(planner.ways(), key=planner.steps, default=())
    return planner.commands(best)


class _Planner:
    """The choices that a state leaves, and what each costs."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._game = game = world.game
        self._takable = game.wanted & game.pickupable
        self._verb = TREATMENTS.get(game.goal.task_type, "")
        self._treated = {"clean": world.clean, "heat": world.hot, "cool": world.cool}.get(self._verb, -1)
        kinds = {"clean": game.grammar.cleaners, "heat": {"microwave"}, "cool": {"fridge"}}.get(self._verb, set[str]())
        self._appliances = [place for place, each in enumerate(game.receptacles) if each.type in kinds]
        visited = {world.location} | {game.receptacles[place].location for place in self._appliances}
        of_interest = game.wanted | game.lamps
        visited |= {
            game.receptacles[place].location for place, inside in enumerate(world.contents) if inside & of_interest
        }
        self._targets = self._distinct(self._fitting(game.goal.object_type, game.wanted_in), visited)
        self._visited = visited | {game.receptacles[place].location for place in self._targets}

    # The ways to win.

    def ways(self) -> Iterator[tuple[Act, ...]]:
        """Yield the ways to win from here, each without the steps between its acts."""
        held, contents = self._world.held, self._world.contents
        if held is None:
            yield from self._with_free_hands(contents)
            return
        if self._takable >> held & 1 and self._game.goal.count == 1:
            yield from self._with_in_hand(held, contents)
        everywhere = range(len(self._game.receptacles))
        for place in self._distinct(self._fitting(self._game.things[held].type, everywhere), self._visited):
            rest = contents.copy()
            rest[place] |= 1 << held
            first = Act("put", held, place)
            for way in self._with_free_hands(rest):
                yield (first, *way)

    def _with_free_hands(self, contents: list[int]) -> Iterator[tuple[Act, ...]]:
        if self._game.goal.count > 1:
            yield from self._pairs(contents)
            return
        for taken in self._takes(contents):
            rest = contents.copy()
            rest[taken.receptacle] &= ~(1 << taken.thing)
            for way in self._with_in_hand(taken.thing, rest):
                yield (taken, *way)

    def _with_in_hand(self, thing: int, contents: list[int]) -> Iterator[tuple[Act, ...]]:
        """Yield the ways to win with the one thing that is in hand."""
        if self._game.goal.toggle_type:
            for place, inside in enumerate(contents):
                for lamp in bits(inside & self._game.lamps):
                    yield (Act("be" if self._world.toggled >> lamp & 1 else "use", lamp, place),)
            return
        done = self._treated >> thing & 1
        treatments = [()] if done else [(Act(self._verb, thing, place),) for place in self._appliances]
        # What was in two receptacles is still in the other one, which may be where it is wanted.
        lies_there = any(contents[target] >> thing & 1 for target in self._game.wanted_in)
        for treatment in treatments:
            if lies_there:
                yield treatment
            else:
                for target in self._targets:
                    yield (*treatment, Act("put", thing, target))

    def _pairs(self, contents: list[int]) -> Iterator[tuple[Act, ...]]:
        """Yield the ways to bring as many things into one receptacle as the goal wants."""
        for target in self._targets:
            missing = self._game.goal.count - (contents[target] & self._game.wanted).bit_count()
            if missing <= 0:
                yield ()
                continue
            takes = [each for each in self._takes(contents) if not contents[target] >> each.thing & 1]
            for first in takes:
                bring = (first, Act("put", first.thing, target))
                if missing == 1:
                    yield bring
                    continue
                for second in takes:
                    if second.thing != first.thing:
                        yield (*bring, second, Act("put", second.thing, target))

    def _takes(self, contents: list[int]) -> Iterator[Act]:
        for place, inside in enumerate(contents):
            for thing in bits(inside & self._takable):
                yield Act("take", thing, place)

    # Where things can be put.

    def _fitting(self, kind: str, places: Iterable[int]) -> list[int]:
        receptacles, fits = self._game.receptacles, self._game.can_contain
        return [place for place in places if (receptacles[place].type, kind) in fits]

    def _distinct(self, places: list[int], visited: set[int]) -> list[int]:
        """Return the places at locations that may be visited anyway, and of the others the one that is best."""
        locations = [self._game.receptacles[place].location for place in places]
        near = [place for place, location in zip(places, locations, strict=True) if location in visited]
        far = [place for place, location in zip(places, locations, strict=True) if location not in visited]
        return near + sorted(far, key=self._world.reachable, reverse=True)[:1]

    # What a way costs, and its commands.

    def _walk(self, way: tuple[Act, ...]) -> Iterator[tuple[Act, bool, bool]]:
        """Yield each act of a way, whether one has to go there first, and whether there is a door to open."""
        location, opened = self._world.location, self._world.opened
        for act in way:
            receptacle = self._game.receptacles[act.receptacle]
            goes = receptacle.location != location
            location = receptacle.location
            opens = act.verb in _NEEDS_OPEN and receptacle.openable and not opened >> act.receptacle & 1
            opened |= opens << act.receptacle
            yield act, goes, opens

    def steps(self, way: tuple[Act, ...]) -> int:
        return sum([goes + opens + (act.verb != "be") for act, goes, opens in self._walk(way)])

    def commands(self, way: tuple[Act, ...]) -> list[str]:
        game = self._game
        commands: list[str] = []
        for (verb, number, place), goes, opens in self._walk(way):
            receptacle, thing = game.receptacles[place].name, game.things[number].name
            if goes:
                commands.append(f"go to {receptacle}")
            if opens:
                commands.append(f"open {receptacle}")
            if verb == "put":
                commands.append(game.grammar.put.format(thing, receptacle))
            elif verb != "be":
                then = {"take": f" from {receptacle}", "use": ""}.get(verb, f" with {receptacle}")
                commands.append(f"{verb} {thing}{then}")
        return commands
