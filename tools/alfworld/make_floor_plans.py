"""Writes `floor_plans.json.gz` from the alfworld package and official games; a test holds it to what they say.

python -m tools.alfworld.make_floor_plans

needs `pip install --no-deps alfworld` (2.5 MB) and the official games, see `official.data_folder`. From the package
come what fits where, what can be done to what, and the types of objects in each floor plan; from the games the
receptacles of each floor plan with their places, and what never moves. How often things are and where they lie is
counted over the official training games only: nothing is learned from the contents of the rooms that test.
"""

from __future__ import annotations

import gzip
import json
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from natlang_envs.alfworld.games.official import data_folder
from natlang_envs.alfworld.games.splits import OfficialSplit
from natlang_envs.errors import UsageError
from natlang_envs.files import write_whole
from tools.alfworld.official_statistics import OfficialGame, Package, by_room, histogram, official_games, read_package

FACTS = Path(__file__).parents[2] / "natlang_envs" / "alfworld" / "games" / "floor_plans.json.gz"
ABOUT = (
    "Facts about the rooms of AI2-THOR (MIT, Allen Institute for AI) as ALFRED and ALFWorld (both MIT, Mohit Shridhar"
    " and others) use them, gathered by tools/alfworld/make_floor_plans.py."
)
KEEPS_TARGET_EMPTY = ("pick_and_place_simple", "pick_two_obj_and_place")
SPLITS: tuple[OfficialSplit, ...] = ("train", "valid_seen", "valid_unseen")
_ID = re.compile(
    r"(?P<base>[A-Za-z]+)\|(?P<x>[+-]?\d\d\.\d\d)\|(?P<y>[+-]?\d\d\.\d\d)\|(?P<z>[+-]?\d\d\.\d\d)(?:\|\w+)?"
)
_ROUNDS = 200  # of the fit of weights: they change by less than a thousandth from then on
_SCALE = 1000  # what the largest weight of a type becomes

Context = tuple[tuple[str, int], ...]  # what there is to choose from, and how many of each


def main(path: Path = FACTS) -> None:
    folder, package = data_folder(), read_package()
    games = {split: list(official_games(folder, split)) for split in SPLITS}
    every = [game for split in SPLITS for game in games[split]]
    movable = {game.objects[thing] for game in every for thing in game.pickupable & game.objects.keys()}
    # Two rooms have a footstool that stands beside everything, out of reach: it belongs to what never moves.
    movable.discard("Footstool")
    head = {
        "about": ABOUT,
        "fits": package.fits,
        "actions": package.actions,
        "holders": package.holders,
        **_counts(games["train"], movable),
    }
    write_table(path, head, {number: _room(played, package, movable) for number, played in by_room(every)})


def write_table(path: Path, head: Mapping[str, Any], rooms: Mapping[int, Any]) -> None:
    """Write a JSON object, with a line for each key and each room."""

    def lines(values: Mapping[Any, Any]) -> list[str]:
        return [f'"{key}": {json.dumps(value, separators=(",", ":"))}' for key, value in values.items()]

    every = [*lines(head), '"rooms": {\n' + ",\n".join(lines(rooms)) + "\n}"]
    write_whole(path, gzip.compress(("{\n" + ",\n".join(every) + "\n}\n").encode(), mtime=0))


def _counts(games: list[OfficialGame], movable: set[str]) -> dict[str, Any]:
    """Return what is counted over the training games: tasks, numbers of objects, and where they lie."""
    kinds: dict[str, Counter[int]] = defaultdict(Counter)
    numbers: dict[str, Counter[int]] = defaultdict(Counter)
    goal_numbers: dict[str, Counter[int]] = defaultdict(Counter)
    loose: dict[str, Counter[bool]] = defaultdict(Counter)
    for game in games:
        kinds[game.task_type][game.room // 100] += 1
        for kind, number in Counter(game.objects.values()).items():
            if kind == game.goal[0]:
                goal_numbers[game.task_type][number] += 1
            elif kind in movable:
                numbers[kind][number] += 1
        for thing, kind in game.objects.items():
            if kind in movable:
                loose[kind][thing not in game.places] += 1
    return {
        "aims": _aims(games),
        "kinds": {task: dict(sorted(kinds[task].items())) for task in sorted(kinds)},
        "numbers": {kind: histogram(numbers[kind]) for kind in sorted(numbers)},
        "goal_numbers": {task: histogram(goal_numbers[task]) for task in sorted(goal_numbers)},
        "loose": {kind: round(_SCALE * n[True] / n.total()) for kind, n in sorted(loose.items()) if n[True]},
        "places": _places(games, movable),
        "single": _single(games),
    }


def _aims(games: Iterable[OfficialGame]) -> dict[str, dict[str, int]]:
    """Return for each task type the weights of what it can be about, among what is possible in a room."""
    asked: dict[str, Counter[str]] = defaultdict(Counter)
    for game in games:
        asked[game.task_type]["-".join(game.goal)] += 1
    choices: dict[str, Counter[Context]] = defaultdict(Counter)
    for game in games:
        things, ends = {*game.objects.values()}, {*game.receptacles.values(), *game.objects.values()}
        pairs = {each: each.split("-") for each in asked[game.task_type]}
        possible = [each for each, (thing, end) in pairs.items() if thing in things and end in ends]
        choices[game.task_type][tuple((each, 1) for each in sorted(possible))] += 1
    return {task: _fit(asked[task], choices[task]) for task in sorted(asked)}


def _single(games: Iterable[OfficialGame]) -> list[str]:
    """Return the types of receptacles, such as towel holders, that never hold more than one object."""
    most: dict[str, int] = defaultdict(int)
    for game in games:
        held = Counter(receptacle for holders in game.places.values() for receptacle in holders)
        for receptacle, number in held.items():
            kind = game.receptacles[receptacle]
            most[kind] = max(most[kind], number)
    return sorted(kind for kind, number in most.items() if number == 1)


def _places(games: Iterable[OfficialGame], movable: set[str]) -> dict[str, dict[str, int]]:
    """Return for each type of object the weight of each type of receptacle."""
    lying: dict[str, Counter[str]] = defaultdict(Counter)
    choices: dict[str, Counter[Context]] = defaultdict(Counter)
    for game in games:
        there = Counter(game.receptacles.values())
        for thing, receptacles in game.places.items():
            kind = game.objects.get(thing, "")
            if kind not in movable:
                continue
            barred = game.goal[1] if kind == game.goal[0] and game.task_type in KEEPS_TARGET_EMPTY else None
            for receptacle in receptacles:  # two where one stands within the other: half an object in each
                lying[kind][game.receptacles[receptacle]] += 1
            choices[kind][tuple(sorted((each, n) for each, n in there.items() if each != barred))] += len(receptacles)
    return {kind: _fit(lying[kind], choices[kind]) for kind in sorted(lying)}


def _fit(chosen: Counter[str], choices: Counter[Context]) -> dict[str, int]:
    """Return the weights of a Plackett-Luce model of `chosen` outcomes among `choices`, by minorize-maximize steps."""
    weights = dict.fromkeys(chosen, 1.0)
    for _ in range(_ROUNDS):
        exposure: dict[str, float] = dict.fromkeys(chosen, 0.0)
        for context, times in choices.items():
            open_to = [(kind, number) for kind, number in context if kind in weights]
            rate = times / sum(weights[kind] * number for kind, number in open_to)
            for kind, number in open_to:
                exposure[kind] += rate * number
        weights = {each: times / exposure[each] for each, times in chosen.items()}
    top = max(weights.values())
    return {kind: max(1, round(_SCALE * weight / top)) for kind, weight in sorted(weights.items())}


def _room(games: list[OfficialGame], package: Package, movable: set[str]) -> dict[str, Any]:
    """Return what is the same in every game of a floor plan."""
    places: dict[str, Counter[str]] = defaultdict(Counter)
    things: Counter[tuple[str, str, str | None]] = Counter()
    first = games[0]
    for game in games:
        for receptacle in game.receptacles:
            places[receptacle][game.locations[receptacle]] += 1
        for thing, kind in game.objects.items():
            if kind not in movable and thing in game.locations:
                things[thing, kind, min(game.places.get(thing, ()), default=None)] += 1
    # One room's receptacles are reached from other places in two of its games: what most games say counts.
    at = {receptacle: counts.most_common(1)[0][0] for receptacle, counts in places.items()}
    fixtures = [each for each, times in sorted(things.items(), key=lambda item: item[0][0]) if times == len(games)]
    seen_from = {each[0]: Counter(game.locations[each[0]] for game in games).most_common(1)[0][0] for each in fixtures}
    locations = sorted({*at.values(), *seen_from.values()})
    order = {location: index for index, location in enumerate(locations)}
    receptacles = sorted(first.receptacles)
    number = {receptacle: index for index, receptacle in enumerate(receptacles)}
    return {
        "locations": [[int(part) for part in location.split("|")[1:]] for location in locations],
        "receptacles": [
            [
                first.receptacles[each],
                *_millimetres(each),
                order[at[each]],
                int(each in first.openable),
                # What a basin belongs to, which its id begins with.
                *([base] if (base := each.partition("|")[0]) != first.receptacles[each] else []),
            ]
            for each in receptacles
        ],
        "fixtures": [
            [kind, *_millimetres(thing), order[seen_from[thing]], -1 if holder is None else number[holder]]
            for thing, kind, holder in fixtures
        ],
        "movable": [kind for kind in package.types[first.room] if kind in movable],
    }


def _millimetres(thing: str) -> list[int]:
    match = _ID.fullmatch(thing)
    if match is None:
        raise UsageError(f"{thing!r} is no id of AI2-THOR: copy the official games again")
    # "+00.00" is less than a centimetre, "00.00" is nothing; names are numbered in the order of such ids.
    tiny = {"+00.00": 1, "-00.00": -1}
    return [tiny.get(match[axis]) or round(100 * float(match[axis])) * 10 for axis in "xyz"]


if __name__ == "__main__":
    main()
