"""Writes `room_habits.json.gz`: what the official training games show of each seen room, and of things inside things.

python -m tools.alfworld.make_room_habits

needs the official games, see `official.data_folder`. Only the official training games are counted, and of them only
those in rooms that no split holds out. That something which never moves lies in a second receptacle is a fact of its
room and is noted for all rooms.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from natlang_envs.alfworld.games.floor_plans import room
from natlang_envs.alfworld.games.official import data_folder
from natlang_envs.alfworld.games.pddl_writer import receptacle_id, thing_id
from natlang_envs.alfworld.games.splits import HELD_OUT_PLANS, UNSEEN_PLANS
from tools.alfworld.make_floor_plans import ABOUT, SPLITS, write_table
from tools.alfworld.official_statistics import OfficialGame, by_room, histogram, official_games, unmangled

HABITS = Path(__file__).parents[2] / "natlang_envs" / "alfworld" / "games" / "room_habits.json.gz"


def main(path: Path = HABITS) -> None:
    folder = data_folder()
    games = {split: list(official_games(folder, split)) for split in SPLITS}
    train = [game for game in games["train"] if game.room not in (*UNSEEN_PLANS, *HELD_OUT_PLANS)]
    content: dict[str, Any] = {
        "about": ABOUT.replace("make_floor_plans", "make_room_habits"),
        "inside": _inside(train),
        "fixtures": _fixtures(game for split in SPLITS for game in games[split]),
    }
    write_table(path, content, {number: _room(found) for number, found in by_room(train)})


def _room(games: Sequence[OfficialGame]) -> dict[str, Any]:
    """Return for each type how often there were 1, 2, and so on, and in which types of receptacles they lay."""
    here = room(games[0].room)
    there = Counter(each.type for each in here.receptacles)
    numbers: dict[str, Counter[int]] = defaultdict(Counter)
    lying: dict[str, Counter[str]] = defaultdict(Counter)
    for game in games:
        for kind, number in Counter(game.objects.values()).items():
            if kind in here.movable and kind != game.goal[0]:
                numbers[kind][number] += 1
        for thing, kind in game.objects.items():
            if kind in here.movable and kind != game.goal[0]:
                types = [game.receptacles[each] for each in game.places.get(thing, ())]
                lying[kind]["+".join(sorted(types, key=lambda each: (there[each], each)))] += 1
    return {kind: [histogram(counts), dict(sorted(lying[kind].items()))] for kind, counts in sorted(numbers.items())}


def _inside(games: Iterable[OfficialGame]) -> dict[str, dict[str, int]]:
    """Return of each type, in 1,000 pairs that lie close to each other, how many lie in an object of another type."""
    close: dict[str, Counter[str]] = defaultdict(Counter)
    held: dict[str, Counter[str]] = defaultdict(Counter)
    for game in games:
        within = {*game.inside}
        for thing, places in game.places.items():
            for holder, others in game.places.items():
                if holder == thing or holder not in game.objects or thing not in game.objects:
                    continue
                if {*places} & {*others}:
                    close[game.objects[thing]][game.objects[holder]] += 1
                    held[game.objects[thing]][game.objects[holder]] += (thing, holder) in within
    return {
        kind: {holder: round(1_000 * times / close[kind][holder]) for holder, times in sorted(row.items()) if times}
        for kind, row in sorted(held.items())
        if any(row.values())
    }


def _fixtures(games: Iterable[OfficialGame]) -> dict[str, dict[str, list[int]]]:
    """Return the other receptacles that what never moves lies in: room, number of the fixture, receptacles."""
    found: dict[str, dict[str, list[int]]] = {}
    for number, played in by_room(games):
        here = room(number)
        ids = {unmangled(receptacle_id(each)): index for index, each in enumerate(here.receptacles)}
        for index, each in enumerate(here.fixtures):
            name = unmangled(thing_id(each.type, each.spot))
            places = Counter(place for game in played for place in game.places.get(name, ()))
            other = [ids[place] for place, times in sorted(places.items()) if times == len(played)]
            other = [place for place in other if place != each.receptacle]
            if other:
                found.setdefault(str(number), {})[str(index)] = other
    return found


if __name__ == "__main__":
    main()
