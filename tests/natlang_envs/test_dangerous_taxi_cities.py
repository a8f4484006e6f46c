"""DangerousTaxi's generated cities: sound, solvable, split by map, and never different."""

from __future__ import annotations

import hashlib
import subprocess
import sys
from collections import Counter, deque
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from natlang_envs import UsageError
from natlang_envs.dangerous_taxi.city import IN_TAXI, City, load_city
from natlang_envs.dangerous_taxi.tasks import TaxiTasks, split_of_task
from natlang_envs.dangerous_taxi.words import describe_state
from natlang_envs.task_random import TaskRandom
from tests.strategies import CITY_SAMPLE as SAMPLE

RED, GREEN = 0, 1


@pytest.mark.parametrize("name", SAMPLE)
def test_a_generated_city_is_sound(name: str) -> None:
    city = load_city(name)
    assert 5 <= city.rows <= 9
    assert 5 <= city.columns <= 9
    assert len(set(city.landmarks)) == 4
    reached, queue = {(0, 0)}, [(0, 0)]
    while queue:
        row, column = queue.pop()
        for after in city.next_states[city.encode(row, column, RED, GREEN)][:4].tolist():
            if after != -1 and (cell := city.decode(after)[:2]) not in reached:
                reached.add(cell)
                queue.append(cell)
    assert len(reached) == city.rows * city.columns, "some cells cannot be reached"
    assert len(city.starts) > 100


def city_distances(city: City) -> dict[tuple[tuple[int, int], tuple[int, int]], int]:
    """Return the fewest moves between any cell and each landmark, by a search of this file's own over the walls."""
    distances = {}
    for landmark in city.landmarks:
        queue, steps = deque([landmark]), {landmark: 0}
        while queue:
            row, column = queue.popleft()
            for cell, wall in (
                ((row + 1, column), None),
                ((row - 1, column), None),
                ((row, column + 1), (row, column)),
                ((row, column - 1), (row, column - 1)),
            ):
                inside = 0 <= cell[0] < city.rows and 0 <= cell[1] < city.columns
                if inside and wall not in city.walls and cell not in steps:
                    steps[cell] = steps[row, column] + 1
                    queue.append(cell)
        distances |= {(cell, landmark): n for cell, n in steps.items()}
    return distances


@pytest.mark.parametrize("name", SAMPLE[::3])
def test_every_start_in_a_generated_city_can_be_finished_and_none_is_left_out(name: str) -> None:
    city = load_city(name)
    distances = city_distances(city)
    expected = []
    for state in range(len(city.next_states)):
        row, column, passenger, destination = city.decode(state)
        if passenger in (IN_TAXI, destination):
            continue
        pickup = distances[(row, column), city.landmarks[passenger]] + 1
        delivery = pickup + distances[city.landmarks[passenger], city.landmarks[destination]] + 1
        if pickup <= 15 and delivery <= 30:
            expected.append(state)
            assert city.to_pickup[state] == pickup
            assert city.to_delivery[state] == delivery
    assert city.starts == tuple(expected)


def geometries() -> Iterator[tuple[str, Any]]:
    for number in range(10_000):
        city = load_city(f"map-{number:04d}")
        yield city.name, (city.rows, city.columns, city.landmarks, city.walls)


def test_no_geometry_is_in_two_splits_and_each_split_has_a_thousand() -> None:
    splits: dict[Any, set[str]] = {}
    sizes: Counter[str] = Counter()
    shapes: Counter[tuple[int, int]] = Counter()
    for name, geometry in geometries():
        split = split_of_task(f"{name}/0.0/red-green")
        sizes[split] += 1
        shapes[geometry[:2]] += 1
        splits.setdefault(geometry, set()).add(split)
    assert all(len(each) == 1 for each in splits.values())
    assert sizes.total() == 10_000
    assert min(sizes.values()) >= 1_000
    assert {split: len(TaxiTasks("generated", split).pool) for split in sizes} == sizes
    assert set(shapes) == {(rows, columns) for rows in range(5, 10) for columns in range(5, 10)}


def cities_digest() -> str:
    """One digest of 100 cities and of where their groups are split."""
    names = [f"map-{number:04d}" for number in range(0, 10_000, 100)]
    texts = [f"{describe_state(load_city(name), 0)} {split_of_task(f'{name}/0.0/red-green')}" for name in names]
    splits = [f"{task_id} {split_of_task(task_id)}" for task_id in TaxiTasks("classic", "all").ids()]
    return hashlib.sha256("\n".join([*texts, *splits]).encode()).hexdigest()


def test_cities_and_splits_never_change(golden: Callable[[str, str], None]) -> None:
    golden("dangerous-taxi-cities.sha256", f"{cities_digest()}\n")


def test_cities_are_the_same_in_another_process() -> None:
    root = str(Path(__file__).parents[2])
    code = f"from {__name__} import cities_digest; print(cities_digest())"
    environ = {"PYTHONPATH": root, "PYTHONHASHSEED": "7", "LC_ALL": "C", "TZ": "Asia/Tokyo"}
    done = subprocess.run([sys.executable, "-c", code], env=environ, capture_output=True, encoding="utf-8", check=False)
    assert done.stdout.strip() == cities_digest(), done.stderr


def test_new_cities_are_drawn_that_no_list_holds() -> None:
    tasks = TaxiTasks("generated", "test")
    random = TaskRandom("new")
    drawn = [tasks.draw_new(lambda: random.below(2**53) / 2**53) for _ in range(20)]
    assert len({task_id.split("/")[0] for task_id in drawn}) == 20
    assert not {task_id.split("/")[0] for task_id in drawn} & {f"map-{number:04d}" for number in range(10_000)}
    for task_id in drawn:
        tasks.check(task_id)
        assert split_of_task(task_id) == "test"
        with pytest.raises(UsageError, match="is in the split 'test', not 'train'"):
            TaxiTasks("generated", "train").check(task_id)
    with pytest.raises(UsageError, match="all tasks of this kind can be listed"):
        TaxiTasks("classic", "test").draw_new(lambda: 0.5)
    for typo in ("map-00042", "map-12345", "map-012345678901234", "map-1234567890123456"):
        with pytest.raises(UsageError, match=f"unknown city '{typo}'"):
            load_city(typo)
