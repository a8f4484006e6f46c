"""The true length of the shortest plan, by search: what `plans.reference` is measured against.

Breadth first over the engine itself. Left out are only commands that no shortest plan holds: those that tell and change
nothing, closing, slicing, other treatments than the task's, taking what the task is not about, and going to all but
a few of the places that are alike in everything that matters.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from natlang_envs.alfworld.engine.game import bits
from natlang_envs.alfworld.engine.goals import CLEAN, COOL, HEAT
from natlang_envs.alfworld.engine.world import World

_ALIKE = 3  # places of one kind that are kept: no plan puts down more things
_VERBS = {CLEAN: ("clean ",), HEAT: ("heat ",), COOL: ("cool ",)}


def shortest(world: World, within: int) -> int | None:
    """Return the fewest commands that win from here; the world stays as it is.

    It takes from milliseconds to minutes, and is for measuring.

    Args:
        world: A game under way.
        within: The largest number of commands to try; a plan's length, to learn whether there is a shorter one.

    Returns:
        The number; None if it is larger than `within`, or the game cannot be won from here.
    """
    start = world.state()
    try:
        return Search(world).run(start, within)
    finally:
        world.set_state(start)


class Search:
    """The search from one state.

    Args:
        world: It is moved about.
    """

    def __init__(self, world: World) -> None:
        game = world.game
        self._world = world
        self._matter = game.wanted | game.lamps | (0 if world.held is None else 1 << world.held)
        self._targets = {game.receptacles[place].location for place in game.wanted_in}
        treats = {CLEAN: game.grammar.cleaners, HEAT: {"microwave"}, COOL: {"fridge"}}.get(
            game.goal.task_type, set[str]()
        )
        self._stations = {receptacle.location for receptacle in game.receptacles if receptacle.type in treats}
        self._places = self._kept()
        names = {game.receptacles[place].name for place in self._places}
        things = {game.things[thing].name for thing in bits(game.wanted | game.lamps)}
        verbs = _VERBS.get(game.goal.task_type, ())
        self._useful = frozenset(f"{verb} {name}" for name in names for verb in ("go to", "open"))
        takes = (f"take {name} from" for name in things)
        self._prefixes = (*takes, "put ", "move ", "use ", *verbs)

    def run(self, start: tuple[Any, ...], within: int) -> int | None:
        """Search from a state."""
        world = self._world
        known = {self._key()}
        layer = [start]
        for depth in range(within + 1):
            following: list[tuple[Any, ...]] = []
            for state in layer:
                world.set_state(state)
                if world.won:
                    return depth
                for _ in self._steps(state):
                    key = self._key()
                    if key not in known and depth + 1 + self.at_least() <= within:
                        known.add(key)
                        following.append(world.state())
            layer = following
        return None

    def _steps(self, state: tuple[Any, ...]) -> Iterator[None]:
        """Put the world into each state that one useful command leads to."""
        for command in self._world.commands:
            if command in self._useful or command.startswith(self._prefixes):
                self._world.set_state(state)
                self._world.step(command)
                yield

    def _key(self) -> tuple[Any, ...]:
        """Return what matters of the state."""
        world, matter = self._world, self._matter
        treated = (world.clean & matter, world.hot & matter, world.cool & matter, world.toggled & matter)
        inside = tuple(world.contents[place] & matter for place in self._places)
        return (world.location, world.held, world.opened, treated, inside)

    def _kept(self) -> list[int]:
        """Return the receptacles at locations that matter: of locations that are alike in everything, a few."""
        world, game = self._world, self._world.game
        kinds = sorted({game.things[thing].type for thing in bits(self._matter)})
        often: dict[tuple[Any, ...], int] = {}
        kept: list[int] = []
        for location, places in enumerate(game.at):
            alike: list[Any] = []
            for place in places:
                receptacle = game.receptacles[place]
                fits = tuple(kind for kind in kinds if (receptacle.type, kind) in game.can_contain)
                inside = world.contents[place] & self._matter
                marks = (place in game.wanted_in, location in self._stations, inside, fits)
                if any(marks):
                    alike.append((*marks, receptacle.openable, world.opened >> place & 1))
            key = (*sorted(alike), location if location == world.location else None)
            often[key] = often.get(key, 0) + 1
            if alike and often[key] <= _ALIKE:
                kept += places
        return kept

    def at_least(self) -> int:
        """Return a number of commands that no plan from here is shorter than."""
        world, game, held = self._world, self._world.game, self._world.held
        if world.won:
            return 0
        wanted, mine = game.wanted, held is not None and bool(game.wanted >> held & 1)
        steps = int(held is not None and not mine)  # to put down what is in the way
        here = {world.location}
        # From where the next way with something in hand begins: here, or where something wanted lies.
        sources = here if mine else self._locations(wanted)
        away = not mine and not sources & here
        if game.goal.toggle_type:
            on = bool(game.lamps & world.toggled)
            lamps = sources if held is not None and game.lamps >> held & 1 else self._locations(game.lamps)
            return steps + (not mine) + away + (not sources & lamps) + (not on)
        lie = max(((world.contents[place] & wanted).bit_count() for place in game.wanted_in), default=0)
        missing = game.goal.count - min(lie, game.goal.count)
        if not missing:
            return steps
        steps += 2 * missing - mine + away + (not sources & self._targets)
        treated = {CLEAN: world.clean, HEAT: world.hot, COOL: world.cool}.get(game.goal.task_type, -1)
        if not treated & wanted:
            steps += 1 + (not self._stations & self._targets and not sources & self._stations)
        return steps

    def _locations(self, things: int) -> set[int]:
        """Return the locations at which one of these lies in a receptacle."""
        receptacles = self._world.game.receptacles
        return {receptacles[place].location for place, inside in enumerate(self._world.contents) if inside & things}
