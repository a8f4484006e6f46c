"""The facts of the floor plans: consistent, and what the alfworld package and the official games say."""

from __future__ import annotations

import gzip
import re
from collections import Counter
from pathlib import Path

import pytest

from natlang_envs.alfworld.engine.game import parse_game
from natlang_envs.alfworld.games.floor_plans import Room, floor_plans, room, room_numbers
from natlang_envs.alfworld.games.generator import generate, task_ids
from natlang_envs.alfworld.games.official import official_ids, official_text
from natlang_envs.alfworld.games.splits import UNSEEN_PLANS
from natlang_envs.errors import UsageError
from tests.support.alfworld_real import needs_official, needs_package
from tests.support.alfworld_samples import official_folder
from tools.alfworld import make_floor_plans as make_facts
from tools.alfworld.official_statistics import read_package, unmangled

OPENABLE = {"Cabinet", "Drawer", "Fridge", "Microwave", "Safe"}


def rooms() -> list[Room]:
    return [room(number) for number in room_numbers()]


def first_game(number: int) -> str:
    seen = room(number).seen
    return generate(next(task for task in task_ids(seen, numbers=range(1)) if f"/{number}/" in task)).problem


def receptacles(problem: str) -> set[str]:
    return set(re.findall(r"\((?:receptacleType|receptacleAtLocation|openable) [^()?]+\)", problem))


def test_the_112_floor_plans_are_there_with_four_unseen_ones() -> None:
    assert Counter(each.kind for each in rooms()) == dict.fromkeys(
        ("kitchen", "living room", "bedroom", "bathroom"), 28
    )
    assert tuple(each.number for each in rooms() if not each.seen) == UNSEEN_PLANS


def test_every_index_leads_to_something_and_nothing_stands_in_two_places() -> None:
    known = floor_plans()
    for each in rooms():
        places = {receptacle.location for receptacle in each.receptacles}
        assert places | {fixture.location for fixture in each.fixtures} == set(range(len(each.locations)))
        assert all(-1 <= fixture.receptacle < len(each.receptacles) for fixture in each.fixtures)
        assert len({(one.base, one.type, one.spot) for one in each.receptacles}) == len(each.receptacles)
        assert {one.type for one in each.receptacles if one.openable} <= OPENABLE
        assert not {*each.movable} & {fixture.type for fixture in each.fixtures}
        assert {*each.movable} <= known.numbers.keys()
        assert each.movable == tuple(sorted(each.movable))


def test_the_file_is_compact_and_says_where_it_is_from() -> None:
    content = gzip.decompress(make_facts.FACTS.read_bytes())
    assert len(content) < 300_000
    assert b"MIT" in content
    assert b"ALFRED" in content


@pytest.mark.parametrize("number", [0, 9_999, -1])
def test_an_unknown_floor_plan_is_named(number: int) -> None:
    with pytest.raises(UsageError, match=rf"^there is no floor plan {number}: .*$"):
        room(number)


@needs_package
def test_the_alfworld_package_says_the_same() -> None:
    package, known = read_package(), floor_plans()
    assert {kind: sorted(things) for kind, things in known.fits.items()} == package.fits
    assert {action: sorted(things) for action, things in known.actions.items()} == package.actions
    assert known.holders == frozenset(package.holders)
    for each in rooms():
        types = {*package.types[each.number]}
        assert {*each.movable} | {one.type for one in (*each.fixtures, *each.receptacles)} <= types
        assert types & known.numbers.keys() == {*each.movable}


@needs_package
def test_the_alfworld_package_opens_the_same_receptacles() -> None:
    package = read_package()
    for number in room_numbers()[::4]:
        problem = first_game(number)
        kinds = {unmangled(name): kind for name, kind in re.findall(r"\(receptacleType (\S+) (\w+)Type\)", problem)}
        opened = {unmangled(name) for name in re.findall(r"\(openable (\S+)\)", problem)}
        assert opened == {name for name in package.openable[number] if kinds.get(name) in OPENABLE}


@needs_official
def test_official_games_have_the_same_receptacles_at_the_same_locations() -> None:
    folder = official_folder()
    assert folder is not None
    for task_id in (*official_ids(folder, "valid_seen"), *official_ids(folder, "valid_unseen")):
        text = official_text(folder, task_id)
        number = int(task_id.split("/")[2].rpartition("-")[2])
        assert receptacles(first_game(number)) == receptacles(text.problem)
        ours, theirs = (parse_game(each) for each in (text._replace(problem=first_game(number)), text))
        assert [one._replace(location=0) for one in ours.receptacles] == [
            one._replace(location=0) for one in theirs.receptacles
        ]
        assert {thing.type for thing in ours.things} == {thing.type for thing in theirs.things}


@pytest.mark.slow
@needs_package
@needs_official
def test_the_file_is_what_the_package_and_the_official_games_make(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ALFWORLD_DATA", str(official_folder()))
    made = tmp_path / "facts.json.gz"
    make_facts.main(made)
    assert made.read_bytes() == make_facts.FACTS.read_bytes()
