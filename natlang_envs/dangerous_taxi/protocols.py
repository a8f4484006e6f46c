"""Writes the protocol files of DangerousTaxi; a test compares the committed files with this.

python -m natlang_envs.dangerous_taxi.protocols
"""

from __future__ import annotations

from collections.abc import Iterator

from natlang_envs.dangerous_taxi.city import load_city
from natlang_envs.dangerous_taxi.tasks import TaxiTasks
from natlang_envs.evaluation.protocols import Episode, Protocol, write_protocols
from natlang_envs.task_random import TaskRandom
from natlang_envs.tasks import hash_fraction

_STAGES = {"pickup": ("NatLang/DangerousTaxi-Pickup-v0", 15), "dropoff": ("NatLang/DangerousTaxi-Dropoff-v0", 30)}
_STARTS, _CITIES, _LIVE_TASKS = 100, 200, 200
_PUBLIC = "its map has 300 starts in 500 states, and a table of them all plays it"


def _held_out_starts() -> tuple[Episode, ...]:
    """100 different starts of the classic map's test split, in the order of a hash."""
    ids = sorted(TaxiTasks("classic", "test").ids(), key=lambda task_id: hash_fraction(f"paper/{task_id}"))
    return tuple(Episode(task_id, seed) for seed, task_id in enumerate(ids[:_STARTS]))


def _held_out_cities() -> tuple[Episode, ...]:
    """200 different cities of the test split, one start in each; on the 200 before them settings were chosen."""
    pool = sorted(TaxiTasks("generated", "test").pool, key=lambda name: hash_fraction(f"v1/{name}"))
    episodes: list[Episode] = []
    for seed, name in enumerate(pool[_CITIES : 2 * _CITIES]):
        city = load_city(name)
        start = city.starts[TaskRandom(f"v2/start/{name}").below(len(city.starts))]
        episodes.append(Episode(city.task_id(start), seed))
    return tuple(episodes)


def protocols() -> Iterator[Protocol]:
    starts = "100 initialisations of the classic map, as many as the paper's, all in the test split."
    cities = "200 generated maps that no training split holds, one start in each."
    kinds = (
        ("", "classic", _held_out_starts(), starts, _PUBLIC),
        ("-cities", "generated", _held_out_cities(), cities, _LIVE_TASKS),
    )
    for stage, (env_id, horizon) in _STAGES.items():
        for family, kind, episodes, description, live in kinds:
            name, kwargs = f"dangerous-taxi-{stage}{family}/v1", {"map": kind, "split": "test"}
            yield Protocol(name, env_id, kwargs, horizon, 1, episodes, description, live=live)


if __name__ == "__main__":
    write_protocols(protocols())
