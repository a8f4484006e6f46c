"""Prior knowledge of where objects usually are, which holds for unseen rooms too."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping
from functools import lru_cache

from natlang_envs.alfworld.games.floor_plans import floor_plans, room, room_numbers

_Shares = Mapping[str, Mapping[str, float]]


class UsualLocations:
    """The probability that a receptacle of a type holds an object of a type; types are as in texts, "sidetable".

    It is in proportion to the weights of `chances`, by object type and receptacle type.
    """

    def __init__(self, chances: _Shares) -> None:
        self._chances = {
            thing.lower(): {place.lower(): float(weight) for place, weight in row.items()}
            for thing, row in chances.items()
        }

    def weight(self, object_type: str, receptacle_type: str) -> float:
        """Return the weight of a receptacle; 0 where such an object never lies."""
        return self._chances.get(object_type, {}).get(receptacle_type, 0.0)

    def shares(self, object_type: str, receptacle_types: Mapping[str, str]) -> dict[str, float]:
        """Return the probability of each receptacle, given with its type; all are equal if none is usual."""
        weights = {name: self.weight(object_type, kind) for name, kind in receptacle_types.items()}
        total = sum(weights.values())
        return {name: weight / total if total else 1 / len(weights) for name, weight in weights.items()}


@lru_cache(maxsize=1)
def usual_locations() -> UsualLocations:
    """Return the table of `floor_plans.json.gz`, and the lamps' locations, counted over the rooms not held out."""
    return UsualLocations({**_lamps(), **floor_plans().places})


def _lamps() -> _Shares:
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
