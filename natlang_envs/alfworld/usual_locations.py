"""Where things usually lie: what a player may know of rooms that it has never seen."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping
from functools import lru_cache

from natlang_envs.alfworld.games.floor_plans import facts, room, room_numbers

Chances = Mapping[str, Mapping[str, float]]


class Places:
    """How likely a receptacle of each type holds an object of each type; types are as in observations, "sidetable".

    Args:
        chances: Object type to receptacle types and their weights: an object lies in a receptacle with a chance
            proportional to the weight of the receptacle's type.
    """

    def __init__(self, chances: Chances) -> None:
        self._chances = {
            thing: {place.lower(): float(weight) for place, weight in row.items()}
            for thing, row in ((thing.lower(), row) for thing, row in chances.items())
        }

    def weight(self, object_type: str, receptacle_type: str) -> float:
        """Return the weight of a receptacle; 0 where such an object never lies."""
        return self._chances.get(object_type, {}).get(receptacle_type, 0.0)

    def shares(self, object_type: str, receptacle_types: Mapping[str, str]) -> dict[str, float]:
        """Return the chance of each receptacle that it is where an object lies; equal ones if it lies nowhere here.

        Args:
            object_type: The type of the object.
            receptacle_types: Receptacle to type, all of a room.
        """
        weights = {name: self.weight(object_type, kind) for name, kind in receptacle_types.items()}
        total = sum(weights.values())
        return {name: weight / total if total else 1 / len(weights) for name, weight in weights.items()}


@lru_cache(maxsize=1)
def usual_places() -> Places:
    """Return the table of `facts.json`, and where the lamps stand, counted over the rooms that are not held out."""
    return Places({**_lamps(), **facts().places})


def _lamps() -> Chances:
    standing: dict[str, Counter[str]] = defaultdict(Counter)
    there: Counter[str] = Counter()
    for each in map(room, room_numbers()):
        if not each.seen:
            continue
        there.update(receptacle.type for receptacle in each.receptacles)
        for fixture in each.fixtures:
            if fixture.type.endswith("Lamp") and fixture.receptacle >= 0:
                standing[fixture.type][each.receptacles[fixture.receptacle].type] += 1
    return {lamp: {kind: number / there[kind] for kind, number in row.items()} for lamp, row in standing.items()}
