"""The texts of DangerousTaxi: commands, answers, and the description of a state."""

from __future__ import annotations

from functools import cached_property, lru_cache

import numpy as np
from numpy.typing import NDArray

from natlang_envs.dangerous_taxi.city import CITIES_KEPT, IN_TAXI, LANDMARKS, City

_WAYS = ("south", "north", "east", "west")
COMMANDS = (*(f"move {way}" for way in _WAYS), "pick up passenger", "drop off passenger")
COMMAND_INDEX = {command: index for index, command in enumerate(COMMANDS)}
DONE = (
    *(f"The taxi moved {way}." for way in _WAYS),
    "The passenger got into the taxi.",
    "The passenger got out at the destination.",
)
REFUSED = (
    *(f"There is no way to the {way}: illegal, the game is over." for way in _WAYS),
    "There is nobody to pick up here: illegal, the game is over.",
    "Nobody may be dropped off here: illegal, the game is over.",
)
TASKS = {
    "pickup": "Drive to the passenger and pick them up. One illegal command ends the game.",
    "dropoff": "Pick up the passenger and drop them off at the destination. One illegal command ends the game.",
    "delivery": "Take the passenger to the destination. One illegal command ends the game.",
}
MAX_OBSERVATION = 2_000
_QUOTED = 80


def unknown_command(command: str) -> str:
    shown = command if len(command) <= _QUOTED else command[:_QUOTED] + "…"
    return f"{shown!r} is not a command of the taxi: illegal, the game is over."


@lru_cache(maxsize=CITIES_KEPT)
def describe_city(city: City) -> str:
    """Return the fixed part of an observation: the size of the grid, the landmarks and every wall."""
    places = " ".join(
        f"{name} is at row {row}, column {column}."
        for name, (row, column) in zip(LANDMARKS, city.landmarks, strict=True)
    )
    return (
        f"Rows 0 to {city.rows - 1} run from north to south, columns 0 to {city.columns - 1} from west to east. "
        f"{places} {describe_walls(city)}"
    )


def describe_walls(city: City) -> str:
    walls = "; ".join(
        f"between columns {column} and {column + 1} in "
        + (f"row {first}" if first == last else f"rows {first} to {last}")
        for column, first, last in _wall_runs(city)
    )
    return f"Walls: {walls}." if walls else "There are no walls."


def _wall_runs(city: City) -> list[tuple[int, int, int]]:
    """Return the walls as (column, first row, last row), west to east and north to south."""
    runs: list[tuple[int, int, int]] = []
    for column, row in sorted((column, row) for row, column in city.walls):
        if runs and (runs[-1][0], runs[-1][2]) == (column, row - 1):
            runs[-1] = (column, runs[-1][1], row)
        else:
            runs.append((column, row, row))
    return runs


def describe_state(city: City, state: int) -> str:
    """Return all of a state in words; two states of a city never read alike."""
    row, column, passenger, destination = city.decode(state)
    if passenger == IN_TAXI:
        who = "is in the taxi"
    elif passenger == destination:
        who = f"has arrived at {_place(city, passenger)}"
    else:
        who = f"waits at {_place(city, passenger)}"
    return (
        f"{describe_city(city)} The destination is {_place(city, destination)}. The passenger {who}. "
        f"The taxi is at row {row}, column {column}."
    )


def _place(city: City, landmark: int) -> str:
    row, column = city.landmarks[landmark]
    return f"{LANDMARKS[landmark]} (row {row}, column {column})"


class Descriptions(dict[int, str]):
    """The texts of one city's states, each written when it is first asked for."""

    def __init__(self, city: City) -> None:
        self._city = city

    def __missing__(self, state: int) -> str:
        text = self[state] = describe_state(self._city, state)
        return text

    @cached_property
    def array(self) -> NDArray[np.object_]:
        """All of them, for looking up many at a time."""
        return np.array([self[state] for state in range(len(self._city.next_states))], dtype=object)


@lru_cache(maxsize=CITIES_KEPT)
def descriptions(city: City) -> Descriptions:
    """Return the texts of a city, shared by every environment in it."""
    return Descriptions(city)
