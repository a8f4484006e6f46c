"""Pictures of a city, as text and as pixels, with numpy alone."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from natlang_envs.dangerous_taxi.city import IN_TAXI, LANDMARKS, City

CELL = 40  # pixels
_WALL = 6
_ROAD, _LINE, _DARK = (238, 238, 232), (214, 214, 206), (60, 60, 66)
_COLOURS = ((214, 72, 64), (76, 160, 92), (226, 184, 60), (72, 112, 204))  # Red, Green, Yellow, Blue
_TAXI, _TAXI_BUSY = (250, 204, 21), (120, 190, 60)


def render_ansi(city: City, state: int) -> str:
    """Return Taxi's picture in characters: `T` the empty taxi, `P` the taxi with the passenger, then a legend."""
    row, column, passenger, destination = city.decode(state)
    grid = [[" "] * city.columns for _ in range(city.rows)]
    for name, (place_row, place_column) in zip(LANDMARKS, city.landmarks, strict=True):
        grid[place_row][place_column] = name[0]
    grid[row][column] = "P" if passenger == IN_TAXI else "T"
    border = "+" + "-" * (2 * city.columns - 1) + "+"
    lines = [border]
    for number, cells in enumerate(grid):
        walls = ["|" if (number, place) in city.walls else ":" for place in range(city.columns - 1)]
        lines.append("|" + "".join(map("".join, zip(cells, [*walls, "|"], strict=True))))
    where = "in the taxi" if passenger == IN_TAXI else f"at {LANDMARKS[passenger]}"
    legend = f"Taxi at row {row}, column {column}; passenger {where}; to {LANDMARKS[destination]}."
    return "\n".join([*lines, border, legend])


def render_rgb(city: City, state: int) -> NDArray[np.uint8]:
    """Return a picture of shape (rows × 40, columns × 40, 3): landmarks as tiles, the destination framed."""
    row, column, passenger, destination = city.decode(state)
    image = np.empty((city.rows * CELL, city.columns * CELL, 3), dtype=np.uint8)
    image[:] = _ROAD
    image[::CELL] = _LINE
    image[:, ::CELL] = _LINE
    for index, (place_row, place_column) in enumerate(city.landmarks):
        _fill(image, place_row, place_column, 3, _COLOURS[index])
        if index == destination:
            _fill(image, place_row, place_column, 9, _ROAD)
    for wall_row, wall_column in city.walls:
        x = (wall_column + 1) * CELL
        image[wall_row * CELL : (wall_row + 1) * CELL, x - _WALL // 2 : x + _WALL // 2] = _DARK
    _fill(image, row, column, 12, _DARK)
    _fill(image, row, column, 14, _TAXI_BUSY if passenger == IN_TAXI else _TAXI)
    if passenger != IN_TAXI:
        _dot(image, *city.landmarks[passenger])
    return image


def _fill(image: NDArray[np.uint8], row: int, column: int, margin: int, colour: tuple[int, int, int]) -> None:
    rows = slice(row * CELL + margin, (row + 1) * CELL - margin)
    image[rows, column * CELL + margin : (column + 1) * CELL - margin] = colour


def _dot(image: NDArray[np.uint8], row: int, column: int) -> None:
    """Draw the waiting passenger in the north-west quarter of a cell, clear of the taxi."""
    y, x = np.mgrid[0:CELL, 0:CELL]
    inside = (y - 9) ** 2 + (x - 9) ** 2 <= 36
    image[row * CELL : (row + 1) * CELL, column * CELL : (column + 1) * CELL][inside] = _DARK
