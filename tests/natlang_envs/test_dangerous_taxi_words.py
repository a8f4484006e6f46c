"""DangerousTaxi: what a player reads and sees."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import pytest

from natlang_envs.dangerous_taxi.city import IN_TAXI, LANDMARKS, load_city
from natlang_envs.dangerous_taxi.render import render_ansi, render_rgb
from natlang_envs.dangerous_taxi.words import MAX_OBSERVATION, describe_state
from tests.strategies import CITY_SAMPLE
from tests.support.taxi_truth import BLUE, DELIVERY, GREEN, IDS, RED, classic, make, place, reachable_states

# Words.


class Read(NamedTuple):
    """What a reader gathers from an observation."""

    rows: int
    columns: int
    landmarks: tuple[tuple[int, int], ...]
    walls: frozenset[tuple[int, int]]
    taxi: tuple[int, int]
    passenger: str
    destination: str


def read(text: str) -> Read:
    """Understand an observation without the code that wrote it."""

    def numbers(pattern: str) -> tuple[int, ...]:
        found = re.search(pattern, text)
        assert found, f"{pattern!r} is not in {text!r}"
        return tuple(map(int, found.groups()))

    walls = set()
    for west, _, first, last in re.findall(r"between columns (\d) and (\d) in rows? (\d)(?: to (\d))?", text):
        walls |= {(row, int(west)) for row in range(int(first), int(last or first) + 1)}
    found = re.search(r"The passenger (is in the taxi|waits at \w+|has arrived at \w+)", text)
    goal = re.search(r"The destination is (\w+)", text)
    assert found
    assert goal
    for name, row, column in re.findall(r"(\w+) \(row (\d), column (\d)\)", text):
        assert f"{name} is at row {row}, column {column}." in text, "a place that is said twice is the same place"
    (last_row,), (last_column,) = numbers(r"Rows 0 to (\d)"), numbers(r"columns 0 to (\d)")
    return Read(
        rows=last_row + 1,
        columns=last_column + 1,
        landmarks=tuple((r, c) for r, c in (numbers(rf"{name} is at row (\d), column (\d)") for name in LANDMARKS)),
        walls=frozenset(walls),
        taxi=numbers(r"The taxi is at row (\d), column (\d)"),  # type: ignore[arg-type]
        passenger=found[1],
        destination=goal[1],
    )


@pytest.mark.parametrize("name", ["classic", *CITY_SAMPLE[::5]])
def test_an_observation_says_all_of_the_state(name: str) -> None:
    city = load_city(name)
    for state in range(len(city.next_states)):
        row, column, passenger, destination = city.decode(state)
        text = describe_state(city, state)
        seen = read(text)
        assert seen[:4] == (city.rows, city.columns, city.landmarks, city.walls)
        assert seen.taxi == (row, column)
        assert seen.destination == LANDMARKS[destination]
        if passenger == IN_TAXI:
            assert seen.passenger == "is in the taxi"
        else:
            assert (
                seen.passenger == f"{'has arrived' if passenger == destination else 'waits'} at {LANDMARKS[passenger]}"
            )
        assert len(text) < MAX_OBSERVATION - 1_000  # room for the answer to the last command


@pytest.mark.parametrize("name", ["classic", *CITY_SAMPLE])
def test_the_walls_in_the_text_are_the_walls_that_block(name: str) -> None:
    city = load_city(name)
    seen = read(describe_state(city, city.starts[0]))
    for row in range(city.rows):
        for column in range(city.columns):
            south, north, east, west = city.next_states[city.encode(row, column, RED, GREEN)][:4] == -1
            assert south == (row == city.rows - 1)
            assert north == (row == 0)
            assert east == (column == city.columns - 1 or (row, column) in seen.walls)
            assert west == (column == 0 or (row, column - 1) in seen.walls)


# Pictures and recorded games.


def test_the_ansi_picture(golden: Callable[[str, str], None]) -> None:
    waiting = classic().encode(2, 3, RED, GREEN)
    pictures = [
        render_ansi(classic(), waiting),
        render_ansi(classic(), classic().encode(4, 1, IN_TAXI, BLUE)),
        render_ansi(load_city("map-0042"), load_city("map-0042").starts[7]),
    ]
    golden("dangerous-taxi-render.txt", "\n\n".join(pictures) + "\n")
    env = make(DELIVERY, render_mode="ansi")
    place(env, waiting)
    assert env.render() == pictures[0]


def test_no_two_states_look_alike() -> None:
    states = sorted(reachable_states())
    assert len({render_ansi(classic(), state) for state in states}) == 404
    assert len({render_rgb(classic(), state).tobytes() for state in states}) == 404


def test_the_rgb_picture() -> None:
    env = make(DELIVERY, map="generated", render_mode="rgb_array")
    env.reset(seed=0)
    city = load_city(env.snapshot().task_id.split("/")[0])
    picture = env.render()
    assert isinstance(picture, np.ndarray)
    assert picture.dtype == np.uint8
    assert picture.shape == (city.rows * 40, city.columns * 40, 3)
    env.step(env.safe_commands()[0])
    assert (env.render() != picture).any()
    assert make(DELIVERY).render() is None
    assert "pygame" not in sys.modules


@pytest.mark.parametrize("env_id", IDS)
@pytest.mark.parametrize("task_id", ["classic/2.3/red-green", "map-0042/0.1/blue-yellow"])
def test_golden_transcripts(env_id: str, task_id: str, golden: Callable[[str, str], None]) -> None:
    """A perfect game, a wrong step and unknown words: every character that a player sees."""
    env = make(env_id, map="classic" if task_id.startswith("classic") else "generated")
    lines = [env_id]
    for ending in (None, "drop off passenger", "look around"):
        observation, info = env.reset(seed=0, options={"task_id": task_id})
        lines += ["", f"task: {info['task']} ({info['task_id']})", observation]
        for action in env.oracle() if ending is None else [*env.oracle()[:2], ending]:
            observation, reward, terminated, truncated, info = env.step(action)
            end = "terminated" if terminated else "truncated" if truncated else "goes on"
            lines += [f"> {action}", f"[{info['feedback']}]", observation, f"{reward} {end} {info['success']}"]
    city = task_id.split("/")[0]
    golden(f"{env_id.removeprefix('NatLang/')}-{city}.txt", "\n".join(lines) + "\n")
