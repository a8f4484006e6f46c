"""Cities: the grid, its walls and landmarks, what each command does in each state, and how far the goals are.

The classic city is read from Gymnasium's `TaxiEnv`: its map, its landmarks and its transition table. A generated city
is generated from its name and follows the same rules on a grid of its own (a test holds both to the same table).
A state is the number that `TaxiEnv.encode` gives, for a grid with any number of columns.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from functools import cache, cached_property, lru_cache
from typing import cast

import numpy as np
from gymnasium.envs.toy_text.taxi import TaxiEnv
from numpy.typing import NDArray

from natlang_envs.errors import UsageError
from natlang_envs.task_random import TaskRandom

CLASSIC = "classic"
GENERATED_CITIES = 10_000
NEW_CITIES = range(10**14, 10**15)  # numbers that no list holds: their cities are for live rounds
LANDMARKS = ("Red", "Green", "Yellow", "Blue")
_PLACES = tuple(name.lower() for name in LANDMARKS)
IN_TAXI = len(LANDMARKS)
PICK_UP, DROP_OFF = 4, 5
ILLEGAL = -1

MOVES = ((1, 0), (-1, 0), (0, 1), (0, -1))  # south, north, east, west: TaxiEnv's actions 0 to 3
_START = re.compile(rf"([0-9]{{1,2}})\.([0-9]{{1,2}})/({'|'.join(_PLACES)})-({'|'.join(_PLACES)})")
_GENERATED = re.compile("map-([0-9]{4}|[1-9][0-9]{14})")
_SIZES = (5, 9)
_WALL_CHANCE = 65  # percent of the column borders that carry a wall
_UNREACHABLE = 1_000_000
CITIES_KEPT = 64  # with the texts of all their states they take up to 2 MB each

Cell = tuple[int, int]


@dataclass(frozen=True, eq=False)
class City:
    """A city and its transition table; cities compare by identity."""

    name: str
    rows: int  # counted from the north
    columns: int  # counted from the west
    landmarks: tuple[Cell, ...]
    walls: frozenset[Cell]  # the cells that have a wall on their eastern side
    next_states: NDArray[np.int32] = field(repr=False)  # of each state, the one after each command, or `ILLEGAL`

    def encode(self, row: int, column: int, passenger: int, destination: int) -> int:
        """Return the number of a state; `passenger` is a landmark's index or `IN_TAXI`."""
        return ((row * self.columns + column) * 5 + passenger) * 4 + destination

    def decode(self, state: int) -> tuple[int, int, int, int]:
        rest, destination = divmod(state, 4)
        cell, passenger = divmod(rest, 5)
        row, column = divmod(cell, self.columns)
        return row, column, passenger, destination

    def task_id(self, state: int) -> str:
        row, column, passenger, destination = self.decode(state)
        return f"{self.name}/{row}.{column}/{_PLACES[passenger]}-{_PLACES[destination]}"

    def start_of(self, task_id: str) -> int | None:
        """Return the state in which a task starts; None for what is no task of this city."""
        if not (parts := _START.fullmatch(task_id.partition("/")[2])):
            return None
        passenger, destination = _PLACES.index(parts[3]), _PLACES.index(parts[4])
        state = self.encode(int(parts[1]), int(parts[2]), passenger, destination)
        # Writing the id again leaves no spelling that is nearly right, and no cell beyond the last.
        return state if state in self.starts and self.task_id(state) == task_id else None

    @cached_property
    def transitions(self) -> list[list[int]]:
        """`next_states` as nested lists, which one environment reads faster than an array."""
        return self.next_states.tolist()

    @cached_property
    def to_pickup(self) -> list[int]:
        """For each state, the fewest commands until the passenger gets in."""
        cell, passenger, destination, moves = self._distances
        # Who is in the taxi has to be let out first, and is then where the taxi is.
        return np.where(
            passenger == IN_TAXI, moves[cell, destination] + 2, moves[cell, passenger % IN_TAXI] + 1
        ).tolist()

    @cached_property
    def to_delivery(self) -> list[int]:
        """For each state, the fewest commands until the passenger is delivered."""
        cell, passenger, destination, moves = self._distances
        waits_at = np.array([row * self.columns + column for row, column in self.landmarks])[passenger % IN_TAXI]
        fetched = moves[cell, passenger % IN_TAXI] + 1 + moves[waits_at, destination] + 1
        return np.where(passenger == IN_TAXI, moves[cell, destination] + 1, fetched).tolist()

    @cached_property
    def _distances(self) -> tuple[NDArray[np.int64], ...]:
        """The cell, passenger and destination of each state, and the fewest moves from each cell to each landmark."""
        states = np.arange(len(self.next_states))
        targets = self.next_states[:: 5 * 4, : len(MOVES)]
        after = np.where(targets == ILLEGAL, -1, targets // (5 * 4))  # the last row of `moves` stands for no cell
        moves = np.full((len(after) + 1, len(LANDMARKS)), _UNREACHABLE)
        for index, (row, column) in enumerate(self.landmarks):
            moves[row * self.columns + column, index] = 0
        while True:
            closer = np.minimum(moves[:-1], moves[after].min(axis=1) + 1)
            if (closer == moves[:-1]).all():
                return states // 20, states // 4 % 5, states % 4, moves
            moves[:-1] = closer

    @cached_property
    def starts(self) -> tuple[int, ...]:
        """The states an episode may start in: nobody in the taxi, the destination elsewhere than the passenger.

        On a generated map the plans must also fit the horizons of all three environments (15 and 30 steps).
        """
        states = np.arange(len(self.next_states))
        passenger, destination = states // 4 % 5, states % 4
        fits = (np.asarray(self.to_pickup) <= 15) & (np.asarray(self.to_delivery) <= 30)
        return tuple(np.flatnonzero((passenger != IN_TAXI) & (passenger != destination) & fits).tolist())


def taxi_rules(rows: int, columns: int, landmarks: tuple[Cell, ...], walls: frozenset[Cell]) -> NDArray[np.int32]:
    """Return `next_states` of a grid by the rules of DangerousTaxi.

    A move that does not move, a pickup or drop-off that Taxi punishes, and a drop-off anywhere but the destination
    are `ILLEGAL`.
    """
    states = np.arange(rows * columns * 5 * 4)
    row, column, passenger, destination = np.unravel_index(states, (rows, columns, 5, 4))
    wall_east = np.zeros((rows, columns), dtype=np.bool_)
    wall_east[:, -1] = True
    for cell in walls:
        wall_east[cell] = True
    wall_west = np.roll(wall_east, 1, axis=1)  # the eastern border of the last column is the western one of the first

    def number(new_row: NDArray[np.int64], new_column: NDArray[np.int64], new_passenger: NDArray[np.int64]):
        return ((new_row * columns + new_column) * 5 + new_passenger) * 4 + destination

    table = np.full((len(states), 6), ILLEGAL, dtype=np.int32)
    blocked = (row == rows - 1, row == 0, wall_east[row, column], wall_west[row, column])
    for action, (down, right) in enumerate(MOVES):
        table[:, action] = np.where(blocked[action], ILLEGAL, number(row + down, column + right, passenger))
    landmark_at = np.full((rows, columns), -1)
    for index, cell in enumerate(landmarks):
        landmark_at[cell] = index
    here = landmark_at[row, column]
    waiting_here = (here >= 0) & (here == passenger)
    table[:, PICK_UP] = np.where(waiting_here, number(row, column, np.full_like(passenger, IN_TAXI)), ILLEGAL)
    arrived = (passenger == IN_TAXI) & (here == destination)
    table[:, DROP_OFF] = np.where(arrived, number(row, column, destination), ILLEGAL)
    return table


def load_city(name: str) -> City:
    """Return the city of that name; the classic one and the most recently used others are kept in memory."""
    if name == CLASSIC:
        return _classic_city()
    if not _GENERATED.fullmatch(name):
        raise UsageError(f"unknown city {name!r}: it is {CLASSIC!r}, or 'map-0000' to 'map-{GENERATED_CITIES - 1}'")
    return _generated_city(name)


def city_name(number: int) -> str:
    return f"map-{number:04d}"


@cache
def _classic_city() -> City:
    taxi = TaxiEnv()
    height, width = taxi.desc.shape  # a border line above and below, and a character between two columns
    rows, columns = height - 2, (width - 1) // 2
    walls = frozenset(
        (row, column)
        for row in range(rows)
        for column in range(columns - 1)
        if bytes(taxi.desc[1 + row, 2 * column + 2]) != b":"
    )
    transitions = cast("dict[int, dict[int, list[tuple[float, int, float, bool]]]]", taxi.P)  # pyright: ignore[reportUnknownMemberType]
    table = np.full((len(transitions), 6), ILLEGAL, dtype=np.int32)
    for state, actions in transitions.items():
        for action, ((_, target, reward, delivered),) in actions.items():
            # Taxi marks a wrong pickup or drop-off by -10 and lets a passenger out at the other landmarks for -1.
            legal = delivered if action == DROP_OFF else reward != -10 if action == PICK_UP else target != state
            if legal:
                table[state, action] = target
    return City(CLASSIC, rows, columns, tuple(taxi.locs), walls, table)


@lru_cache(maxsize=CITIES_KEPT)
def _generated_city(name: str) -> City:
    draw = TaskRandom(f"dangerous-taxi/{name}").below
    low, high = _SIZES
    rows, columns = low + draw(high - low + 1), low + draw(high - low + 1)
    cells = [(row, column) for row in range(rows) for column in range(columns)]
    landmarks = tuple(cells.pop(draw(len(cells))) for _ in LANDMARKS)
    walls: set[Cell] = set()
    for column in range(columns - 1):
        if draw(100) < _WALL_CHANCE:
            # At least one row stays open, and moves along a column are never blocked: every cell can be reached.
            length = 1 + draw(rows - 1)
            first = draw(rows - length + 1)
            walls.update((row, column) for row in range(first, first + length))
    frozen = frozenset(walls)
    return City(name, rows, columns, landmarks, frozen, taxi_rules(rows, columns, landmarks, frozen))
