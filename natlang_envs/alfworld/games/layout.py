"""Samples a layout of a room's objects: how many of each type there are, and where each one lies."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Mapping
from functools import cache, lru_cache
from itertools import accumulate
from typing import Final, Generic, NamedTuple, TypeVar

from natlang_envs.alfworld.engine.goals import PLACE, TWO
from natlang_envs.alfworld.games.floor_plans import Fixture, Location, Room, TaskAim, floor_plans, room
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
        self.outcomes = tuple([outcome for outcome, _ in kept])
        self._sums = tuple(accumulate([weight for _, weight in kept]))

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
        """Its middle, in millimetres."""
        _, y, z = self._corner()
        y += self._random.number(self._position + 2, _RISE)
        z += self._random.number(self._position + 3, 2 * _SPREAD + 1)
        return (self.x, _CENTIMETRE * y, _CENTIMETRE * z)

    def is_at(self, other: Object) -> bool:
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


class ObjectPlaces:
    """The places of objects of a type in a room: the receptacles of each choice, its main one first; none is loose."""

    __slots__ = ("_choices", "_single", "reached")

    def __init__(self, weights: Iterable[tuple[tuple[int, ...], int]]) -> None:
        self._choices = WeightedChoice(weights)
        self.reached = tuple(filter(None, self._choices.outcomes))
        self._single = [*map(len, self.reached)].count(1)

    def choose(self, full: set[int], sought: bool, random: TaskRandom) -> tuple[int, ...]:
        """Return the receptacles for an object; if all are full, none, or any for what is sought."""
        # Fewer full ones than choices of one receptacle leave a choice: for speed.
        if len(full) >= self._single and not any(map(full.isdisjoint, self.reached)):
            if self.reached and full:
                return self._choices.draw(random) if sought else ()
            if not self._choices.outcomes:
                return ()
        while not full.isdisjoint(chosen := self._choices.draw(random)):
            pass
        return chosen


class Habit(NamedTuple):
    """The usual numbers and places of a type of object in a room."""

    numbers: WeightedChoice[int]
    places: ObjectPlaces
    loose: int | None = None  # of 1,000 objects, those out of reach; None where it is one of the choices of `places`


class Grounds:
    """The facts that all layouts of a room share: habits by type of object, and receptacles by number."""

    def __init__(self, here: Room) -> None:
        known = floor_plans()
        self.types = tuple([each.type for each in here.receptacles])
        self._single = frozenset([index for index, kind in enumerate(self.types) if kind in known.single])
        self.locations = [here.locations[each.location] for each in here.receptacles]
        self.habits = {
            kind: Habit(_numbers(kind), _places(kind, self.types, None), known.loose.get(kind, 0))
            for kind in here.movable
        }
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

    def objects(
        self, habits: Mapping[str, Habit], aim: TaskAim, random: TaskRandom, cold: frozenset[int] = frozenset()
    ) -> list[Object]:
        """Return the objects by type; what the task is about is within reach, and cold in the receptacles `cold`."""
        found: list[Object] = []
        full, single = set[int](), self._single
        for kind, (numbers, places, loose) in habits.items():
            sought = kind == aim.object_type
            alike: list[Object] = []
            for _ in range(numbers.draw(random)):
                # Officially too, some objects lie where nobody can take them.
                hidden = loose is not None and random.chance(loose, 1_000)
                chosen = () if hidden else places.choose(full, sought, random)
                if not single.isdisjoint(chosen):
                    full.update(single.intersection(chosen))
                alike.append(self.put(kind, chosen, alike, random, sought and not cold.isdisjoint(chosen)))
            found += alike
        return found

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
    return _grounds_of(here.number) if here is room(here.number) else Grounds(here)


@cache
def _grounds_of(number: int) -> Grounds:
    return Grounds(room(number))


def lay_out(here: Room, aim: TaskAim, random: TaskRandom) -> Layout:
    known = grounds(here)
    sought = Habit(goal_numbers(aim.task_type), places_for(aim.object_type, known.types, aim))
    objects = known.objects({**known.habits, aim.object_type: sought}, aim, random)
    return Layout(tuple(objects), known.start(objects, random))


def places_for(kind: str, receptacle_types: tuple[str, ...], aim: TaskAim) -> ObjectPlaces:
    """Return where objects of a type can lie when a game begins, in receptacles of these types.

    What is to be brought somewhere lies elsewhere, as in the official games, unless it has to be cleaned, heated or
    cooled before.
    """
    barred = aim.target_type if kind == aim.object_type and aim.task_type in (PLACE, TWO) else None
    return _places(kind, receptacle_types, barred)


@lru_cache(maxsize=_KEPT)
def _places(kind: str, receptacle_types: tuple[str, ...], barred: str | None) -> ObjectPlaces:
    weights = floor_plans().places.get(kind, {})
    return ObjectPlaces(
        [((index,), weights[each]) for index, each in enumerate(receptacle_types) if each in weights and each != barred]
    )


@cache
def goal_numbers(task_type: str) -> WeightedChoice[int]:
    """Return how many objects there are of the type that a task is about."""
    return WeightedChoice(enumerate(floor_plans().goal_numbers[task_type], 1))


@cache
def _numbers(kind: str) -> WeightedChoice[int]:
    return WeightedChoice(enumerate(floor_plans().numbers[kind], 1))
