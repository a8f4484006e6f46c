"""Samples a layout of a room's objects: how many of each type there are, and where each one lies."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache, lru_cache
from itertools import accumulate
from typing import Final, Generic, NamedTuple, TypeVar

from natlang_envs.alfworld.engine.goals import PLACE, TWO
from natlang_envs.alfworld.games.floor_plans import Aim, Fixture, Location, Room, floor_plans, room
from natlang_envs.task_random import TaskRandom

_CENTIMETRE: Final = 10  # millimetres; ids have this precision
_SPREAD: Final = 30  # centimetres from the middle of a receptacle, to each side, at which things lie
_RISE: Final = 25  # and above it
LEVEL: Final = 30  # degrees
DOWN: Final = 60
_KEPT = 50_000  # rooms times types of objects whose places are cached; there is no end of synthetic rooms


Point = tuple[int, int, int]  # as `Spot` is
Outcome = TypeVar("Outcome")


class WeightedChoice(Generic[Outcome]):
    """A distribution over outcomes by integer weights, so that rounding cannot change a sample."""

    def __init__(self, weights: Iterable[tuple[Outcome, int]]) -> None:
        # `outcomes` holds those with a weight above 0, in the order given.
        kept = [(outcome, weight) for outcome, weight in weights if weight > 0]
        self.outcomes = tuple(outcome for outcome, _ in kept)
        self._sums = tuple(accumulate(weight for _, weight in kept))

    def draw(self, random: TaskRandom) -> Outcome:
        """Return an outcome; there must be one."""
        if len(self.outcomes) == 1:
            random.position += 1  # whatever the number is
            return self.outcomes[0]
        return self.outcomes[bisect_right(self._sums, random.below(self._sums[-1]))]

    def at(self, fraction: float) -> Outcome:
        """Return the outcome at a fraction, in [0, 1), of the sum of the weights; there must be one."""
        return self.outcomes[bisect_right(self._sums, int(fraction * self._sums[-1]))]


class Object:
    """An object where a game begins: in `receptacle`, counted in `Room.receptacles`, or nowhere, -1.

    It may `also` lie in other receptacles, and in a `holder`, counted in `Layout.objects`. Its spot is computed on
    demand, since most games can be played without it.
    """

    __slots__ = ("_grounds", "_position", "_random", "_x", "also", "cool", "holder", "location", "receptacle", "type")

    def __init__(
        self, type: str, receptacle: int, also: tuple[int, ...], cool: bool, grounds: Grounds, random: TaskRandom
    ) -> None:
        self.type = type
        self.receptacle = receptacle
        self.also = also
        self.holder = -1
        self.cool = cool
        self._grounds = grounds
        self._random = random
        if receptacle < 0:
            random.position += 1  # for the receptacle that it is near
        else:
            self.location = grounds.locations[receptacle]
        self._position = random.position
        self._x: int | None = None
        random.position += 3  # for the spot

    @property
    def x(self) -> int:
        if self._x is None:
            self._x = _CENTIMETRE * (self._corner()[0] + self._random.number(self._position + 1, 2 * _SPREAD + 1))
        return self._x

    @property
    def spot(self) -> Point:
        """Where its middle is."""
        _, y, z = self._corner()
        y += self._random.number(self._position + 2, _RISE)
        z += self._random.number(self._position + 3, 2 * _SPREAD + 1)
        return (self.x, _CENTIMETRE * y, _CENTIMETRE * z)

    def is_at(self, other: Object) -> bool:
        """Return whether it has the same spot as another object."""
        return self.x == other.x and self.spot == other.spot

    def _corner(self) -> Point:
        corners, near = self._grounds.corners, self.receptacle
        return corners[near if near >= 0 else self._random.number(self._position, len(corners))]


def receptacles_of(each: Fixture | Object) -> tuple[int, ...]:
    return (each.receptacle, *each.also) if each.receptacle >= 0 else ()


class Layout(NamedTuple):
    """The objects of a game, sorted by type, and where the player starts: at no receptacle."""

    objects: tuple[Object, ...]
    start: Location


@dataclass(slots=True)
class _MovableType:
    """A type of object in a room, when a task is not about it; of 1,000, `loose` lie out of reach."""

    type: str
    numbers: WeightedChoice[int]
    loose: int
    places: WeightedChoice[int]


class Grounds:
    """What all layouts of a room share: its kinds of objects and, by number, what is known of its receptacles."""

    def __init__(self, here: Room) -> None:
        known = floor_plans()
        self.types = tuple([each.type for each in here.receptacles])
        self.single = frozenset([index for index, kind in enumerate(self.types) if kind in known.single])
        self.locations = [here.locations[each.location] for each in here.receptacles]
        self.kinds = [
            _MovableType(kind, _numbers(kind), known.loose.get(kind, 0), _places(kind, self.types, None))
            for kind in here.movable
        ]
        # The lowest of the spots that things in each receptacle can have; in centimetres.
        middles: list[Point] = [each.spot for each in here.receptacles]
        self.corners: list[Point] = [
            (x // _CENTIMETRE - _SPREAD, y // _CENTIMETRE, z // _CENTIMETRE - _SPREAD) for x, y, z in middles
        ]
        self._fixed: dict[str, list[Point]] = {}  # the spots of the things that never move, by type
        for each in here.fixtures:
            self._fixed.setdefault(each.type, []).append(each.spot)
        self._reached = frozenset(here.locations)
        xs, zs = [each.x for each in here.locations], [each.z for each in here.locations]
        self._area = (min(xs), max(xs) - min(xs) + 1, min(zs), max(zs) - min(zs) + 1)

    def put(
        self, kind: str, places: tuple[int, ...], others: list[Object], random: TaskRandom, cool: bool = False
    ) -> Object:
        """Return an object in receptacles, its main one first, or out of reach, where no other of its type is."""
        fixed = self._fixed.get(kind)
        receptacle = places[0] if places else -1
        while True:
            found = Object(kind, receptacle, places[1:], cool, self, random)
            for other in others:
                if found.is_at(other):
                    break
            else:
                if fixed is None or found.spot not in fixed:
                    break
        if receptacle < 0:
            found.location = self.stand(DOWN, random)
        return found

    def stand(self, horizon: int, random: TaskRandom) -> Location:
        """Return a place to stand somewhere among those of the room's receptacles."""
        x, width, z, depth = self._area
        x += random.below(width)
        z += random.below(depth)
        return Location(x, z, random.below(4), horizon)

    def start(self, objects: list[Object], random: TaskRandom) -> Location:
        """Return where the player starts: where nothing is."""
        reached = self._reached.union([each.location for each in objects if each.receptacle < 0])
        while (start := self.stand(LEVEL, random)) in reached:
            pass
        return start


def grounds(here: Room) -> Grounds:
    """Return what all layouts of a room share."""
    return _grounds_of(here.number) if here is room(here.number) else Grounds(here)


@cache
def _grounds_of(number: int) -> Grounds:
    return Grounds(room(number))


def lay_out(here: Room, aim: Aim, random: TaskRandom) -> Layout:
    """Return a sampled layout; the objects that the task is about are all within reach."""
    known = grounds(here)
    objects: list[Object] = []
    full: set[int] = set()
    for kind in known.kinds:
        sought = kind.type == aim.object_type
        numbers = goal_numbers(aim.task_type) if sought else kind.numbers
        places = places_for(kind.type, known.types, aim) if sought else kind.places
        alike: list[Object] = []
        for _ in range(numbers.draw(random)):
            chosen = -1
            # Officially too, some objects lie where nobody can take them.
            if sought or not random.chance(kind.loose, 1000):
                chosen = _place(places, full, sought, random)
            if chosen in known.single:
                full.add(chosen)
            alike.append(known.put(kind.type, (chosen,) if chosen >= 0 else (), alike, random))
        objects += alike
    return Layout(tuple(objects), known.start(objects, random))


def places_for(kind: str, receptacle_types: tuple[str, ...], aim: Aim) -> WeightedChoice[int]:
    """Return the receptacles, of these types, that objects of a type can lie in when a game begins.

    What is to be brought somewhere lies elsewhere, as in the official games, unless it has to be cleaned, heated or
    cooled before.
    """
    barred = aim.target_type if kind == aim.object_type and aim.task_type in (PLACE, TWO) else None
    return _places(kind, receptacle_types, barred)


@lru_cache(maxsize=_KEPT)
def _places(kind: str, receptacle_types: tuple[str, ...], barred: str | None) -> WeightedChoice[int]:
    weights = floor_plans().places.get(kind, {})
    return WeightedChoice(
        (index, weights.get(each, 0) if each != barred else 0) for index, each in enumerate(receptacle_types)
    )


@cache
def goal_numbers(task_type: str) -> WeightedChoice[int]:
    """Return how many objects there are of the type that a task is about."""
    return WeightedChoice(enumerate(floor_plans().goal_numbers[task_type], 1))


@cache
def _numbers(kind: str) -> WeightedChoice[int]:
    return WeightedChoice(enumerate(floor_plans().numbers[kind], 1))


def _place(places: WeightedChoice[int], full: set[int], sought: bool, random: TaskRandom) -> int:
    """Return the receptacle for an object; without room in any, -1, or for what is sought one that is full."""
    if len(full) >= len(places.outcomes) and full.issuperset(places.outcomes):
        return places.draw(random) if sought else -1
    while (chosen := places.draw(random)) in full:
        pass
    return chosen
