"""The tasks of DangerousTaxi: which city, where the taxi starts, where the passenger waits and wants to go.

A task id reads `city/row.column/from-to`, for example `classic/2.3/red-green` or `map-0042/7.1/blue-yellow`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import lru_cache
from typing import Literal, get_args

from natlang_envs.dangerous_taxi.city import CLASSIC, GENERATED_CITIES, NEW_CITIES, City, city_name, load_city
from natlang_envs.errors import UsageError, require_choice
from natlang_envs.tasks import DrawnTasks, Shares, Split, check_split, split_of

FAMILY = "dangerous-taxi"
SHARES = Shares(train=0.5, validation=0.15)
MapKind = Literal["classic", "generated"]


def parse_task_id(task_id: str) -> tuple[City, int]:
    """Return the city and the starting state of a task."""
    problem = f"unknown task {task_id!r}: an id reads like 'classic/2.3/red-green' or 'map-0042/0.1/blue-yellow'"
    parts = str(task_id).split("/")
    if len(parts) != 3:
        raise UsageError(problem)
    city = load_city(parts[0])
    state = city.start_of(task_id)
    if state is None:
        raise UsageError(problem + f", and must start in one of the {len(city.starts)} starts of {city.name}")
    return city, state


def split_of_task(task_id: str) -> Split:
    """Return the split of a task, by its start on the classic map and by its city on the generated ones."""
    city, _, _ = task_id.partition("/")
    if len(city) == len(city_name(NEW_CITIES[0])):
        return "test"
    return split_of(FAMILY, task_id if city == CLASSIC else city, SHARES)


class TaxiTasks(DrawnTasks):
    """The tasks of one kind of map in one split; `draw` chooses from its `pool` first."""

    def __init__(self, map_kind: str, split: str) -> None:
        require_choice("map", map_kind, get_args(MapKind))
        check_split(split)
        self.classic = map_kind == "classic"
        self.split = split
        self.pool = _pool(map_kind, split)

    def draw(self, uniform: Callable[[], float]) -> str:
        """Return the id of a task: uniform over the starts, or over the cities and then their starts."""
        pool = self.pool
        name = pool[int(uniform() * len(pool))]
        if self.classic:
            return name
        return _draw_start(name, uniform)

    def draw_new(self, uniform: Callable[[], float]) -> str:
        """Return the id of a task in a generated city of so high a number that no list holds it."""
        if self.classic:
            return super().draw_new(uniform)
        return _draw_start(city_name(NEW_CITIES[int(uniform() * len(NEW_CITIES))]), uniform)

    def split_of(self, task_id: str) -> str:
        city, _ = parse_task_id(task_id)
        other = "generated" if self.classic else "classic"
        if (city.name == CLASSIC) != self.classic:
            raise UsageError(f"task {task_id!r} is on another kind of map: pass map={other!r}")
        return split_of_task(task_id)

    def ids(self) -> Iterator[str]:
        """Yield every task id of the split; on generated maps there are millions."""
        if self.classic:
            yield from self.pool
        else:
            for name in self.pool:
                yield from _starts(name)


def _starts(name: str) -> Iterator[str]:
    city = load_city(name)
    return map(city.task_id, city.starts)


def _draw_start(name: str, uniform: Callable[[], float]) -> str:
    city = load_city(name)
    return city.task_id(city.starts[int(uniform() * len(city.starts))])


@lru_cache(maxsize=16)
def _pool(map_kind: str, split: str) -> tuple[str, ...]:
    """Return task ids of the classic map, or names of generated cities."""
    names = _starts(CLASSIC) if map_kind == "classic" else map(city_name, range(GENERATED_CITIES))
    return tuple(name for name in names if split in ("all", split_of_task(name)))
