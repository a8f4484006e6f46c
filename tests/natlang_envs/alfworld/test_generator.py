"""Generated games: every one can be won, none is like its neighbour, and an id names the same game everywhere."""

from __future__ import annotations

import hashlib
import os
import random
import shutil
import subprocess
import sys
from collections import Counter
from dataclasses import fields
from itertools import combinations, islice
from pathlib import Path
from typing import Literal

import pytest

from natlang_envs.alfworld.engine.game import GRAMMARS, Game, bits, parse_game
from natlang_envs.alfworld.engine.goals import LOOK, TASK_TYPES, TWO
from natlang_envs.alfworld.engine.world import World
from natlang_envs.alfworld.games.floor_plans import floor_plans, room
from natlang_envs.alfworld.games.generator import (
    EXAMPLE,
    GeneratedTaskId,
    aim_of,
    draw_task_id,
    generate,
    generated_game,
    parse_task_id,
    rooms_for,
    task_ids,
)
from natlang_envs.alfworld.observation_memory import read_goal
from natlang_envs.alfworld.tasks import make_tasks
from natlang_envs.errors import UsageError
from tests.support.alfworld_samples import win_by_the_plan

FEW, MANY = 60, 2_000
ROOT = Path(__file__).resolve().parents[3]
# Run where nothing is installed: the generator needs the standard library alone, and what `natlang_envs` itself
# imports (Gymnasium) is left out by bare packages of their names.
DIGEST = """
import hashlib, sys, types
for name in ("natlang_envs", "natlang_envs.alfworld"):
    bare = sys.modules[name] = types.ModuleType(name)
    bare.__path__ = [sys.argv[1] + name.removeprefix("natlang_envs").replace(".", "/")]
from natlang_envs.alfworld.games.generator import generate
digest = hashlib.sha256()
for task_id in sys.stdin.read().split():
    digest.update("\\n".join(generate(task_id)).encode())
print(digest.hexdigest())
"""


def sample(count: int) -> list[str]:
    """Ids all over the rooms and numbers, as many of each task type, one in six of them in unseen rooms."""
    rng, found = random.Random(0), list[str]()
    for index in range(count):
        task_type, seen = TASK_TYPES[index % 6], index // 6 % 6 > 0
        found.append(str(GeneratedTaskId(task_type, rng.choice(rooms_for(task_type, seen)), rng.randrange(1_000))))
    return found


def check(task_id: str) -> None:
    """Check that a game is one of its task, is not won, and is won by a plan."""
    task, text = parse_task_id(task_id), generate(task_id)
    aim, game = aim_of(task), parse_game(text)
    target = game.goal.toggle_type if task.task_type == LOOK else game.goal.receptacle_type
    assert (game.goal.task_type, game.goal.object_type, target) == tuple(part.lower() for part in aim)
    assert read_goal(text.task) == game.goal
    world = World(game)
    assert "You are in the middle of a room." in world.intro()
    win_by_the_plan(world)


def digest_here(ids: list[str]) -> str:
    digest = hashlib.sha256()
    for task_id in ids:
        digest.update("\n".join(generate(task_id)).encode())
    return digest.hexdigest()


def digest_elsewhere(python: str, hash_seed: int, ids: list[str]) -> str:
    environ = {**os.environ, "PYTHONPATH": str(ROOT), "PYTHONHASHSEED": str(hash_seed), "LC_ALL": "C"}
    command = [python, "-c", DIGEST, str(ROOT / "natlang_envs")]
    done = subprocess.run(command, input="\n".join(ids), env=environ, capture_output=True, text=True, check=True)
    return done.stdout.strip()


def python_of(version: str) -> str:
    """A Python of a version that runs, or skip: pyenv's shims are there without running."""
    places = Path.home() / ".pyenv" / "versions"
    found = [shutil.which(f"python{version}"), *map(str, places.glob(f"{version}.*/bin/python"))]
    for python in filter(None, found):
        if subprocess.run([python, "--version"], capture_output=True, check=False).returncode == 0:
            return python
    pytest.skip(f"there is no Python {version} here")


def contents(game: Game) -> dict[str, list[str]]:
    """The types of things in each receptacle, by its name."""
    return {
        receptacle.name: sorted(game.things[thing].type for thing in bits(inside))
        for receptacle, inside in zip(game.receptacles, game.contents, strict=True)
    }


@pytest.mark.parametrize("task_id", sample(FEW))
def test_a_game_can_be_won_and_is_what_its_id_says(task_id: str) -> None:
    check(task_id)


@pytest.mark.slow
def test_2000_games_can_be_won() -> None:
    for task_id in sample(MANY):
        check(task_id)


def test_a_room_has_all_its_receptacles_and_types_of_objects() -> None:
    for task_id in sample(FEW):
        here, game = room(parse_task_id(task_id).room), parse_game(generate(task_id))
        assert Counter(one.type for one in game.receptacles) == Counter(one.type.lower() for one in here.receptacles)
        held = Counter(thing.type for thing in game.things)
        assert {kind.lower() for kind in here.movable} <= held.keys()
        assert max(held[kind.lower()] for kind in here.movable) <= 7  # as officially


def test_the_objects_of_the_task_are_enough_and_none_is_where_it_shall_go() -> None:
    for task_id in sample(6 * FEW):
        task, game = parse_task_id(task_id), parse_game(generate(task_id))
        aim = aim_of(task)
        lying = [
            receptacle.type
            for receptacle, inside in zip(game.receptacles, game.contents, strict=True)
            for thing in bits(inside & game.pickupable)
            if game.things[thing].type == aim.object_type.lower()
        ]
        assert len(lying) >= (2 if task.task_type == TWO else 1)
        assert len(lying) == game.wanted.bit_count()
        if task.task_type in (TWO, "pick_and_place_simple"):
            assert aim.target_type.lower() not in lying


def test_neighbours_differ_in_where_things_lie() -> None:
    for task_type, number in (("pick_heat_then_place_in_recep", 12), ("pick_two_obj_and_place", 424)):
        games = [parse_game(generate(str(GeneratedTaskId(task_type, number, n)))) for n in range(12)]
        for one, two in combinations(map(contents, games), 2):
            same = sum((Counter(one[place]) & Counter(two[place])).total() for place in one)
            assert same < 0.7 * sum(map(len, one.values()))
        assert len({game.start for game in games}) > 1


def test_neighbours_differ_in_what_they_ask() -> None:
    aims = Counter(aim_of(GeneratedTaskId("pick_and_place_simple", 12, n)) for n in range(300))
    assert len(aims) > 12
    assert max(aims.values()) < 60
    assert len({generate(str(GeneratedTaskId(LOOK, 308, n))).task for n in range(30)}) > 10


def test_the_grammar_changes_nothing_but_the_grammar() -> None:
    old, new = (generate(EXAMPLE, grammar) for grammar in GRAMMARS[:2])
    assert old._replace(grammar=new.grammar) == new
    assert generate(EXAMPLE) == old
    with pytest.raises(UsageError, match=r"unknown grammar '1\.0'"):
        generate(EXAMPLE, "1.0")


@pytest.mark.parametrize("hash_seed", [1, 2])
def test_another_process_makes_the_same_games(hash_seed: int) -> None:
    ids = sample(FEW)
    assert digest_elsewhere(sys.executable, hash_seed, ids) == digest_here(ids)


@pytest.mark.slow
@pytest.mark.parametrize("version", ["3.11", "3.12", "3.13"])
def test_other_pythons_make_the_same_2000_games(version: str) -> None:
    ids = sample(MANY)
    assert digest_elsewhere(python_of(version), 3, ids) == digest_here(ids)


def test_games_stay_as_they_were_released(golden) -> None:
    lines = (f"{task_id} {digest_here([task_id])}" for task_id in sample(FEW))
    golden("alfworld_games.txt", "\n".join(lines) + "\n")


def test_ids_are_listed_once_each_and_name_a_game() -> None:
    for seen in (True, False):
        ids = list(task_ids(seen, numbers=range(3)))
        assert len(set(ids)) == len(ids) == 3 * sum(len(rooms_for(each, seen)) for each in TASK_TYPES)
        assert [str(parse_task_id(each)) for each in ids] == ids
        assert {each.split("/")[1] for each in ids} == {"seen" if seen else "unseen"}
    assert sum(1 for _ in task_ids(True)) > 300_000


def test_games_are_found_by_what_they_are_about() -> None:
    found = list(islice(task_ids(True, ["pick_and_place_simple"], aim="Tomato-Microwave"), 20))
    assert len(found) == 20
    assert all("tomato" in generate(each).task and "microwave" in generate(each).task for each in found[:3])
    kitchen = [each for each in task_ids(False, ["pick_and_place_simple"]) if "/10/" in each]
    about = {each for each in kitchen if aim_of(parse_task_id(each))[1:] == ("Tomato", "Microwave")}
    assert {*task_ids(False, ["pick_and_place_simple"], aim="Tomato-Microwave")} == about
    assert not list(task_ids(True, aim="Tomato-Bed"))


@pytest.mark.parametrize("seen", [True, False])
def test_draws_follow_the_official_mix(seen: bool) -> None:
    uniform = random.Random(0).random
    drawn = [parse_task_id(draw_task_id(uniform, seen, numbers=range(5, 7))) for _ in range(4_000)]
    assert {task.number for task in drawn} == {5, 6}
    assert all(room(task.room).seen == seen for task in drawn)
    kinds = {(task, kind): n for task, row in floor_plans().kinds.items() for kind, n in row.items()}
    possible = {
        key: n for key, n in kinds.items() if any(room(each).kind == key[1] for each in rooms_for(key[0], seen))
    }
    counted = Counter((task.task_type, room(task.room).kind) for task in drawn)
    for key, times in possible.items():
        assert counted[key] / len(drawn) == pytest.approx(times / sum(possible.values()), abs=0.02)


@pytest.mark.parametrize(
    ("task_id", "problem"),
    [
        ("", "unknown task ''"),
        ("generated/seen/pick_heat_then_place_in_recep/12", "the id of a generated game reads like"),
        ("generated/seen/pick_heat_then_place_in_recep/12/45", "the id of a generated game reads like"),
        ("generated/seen/pick_heat_then_place_in_recep/12/1000", "the id of a generated game reads like"),
        ("generated/seen/pick_heat_then_place_in_recep/12/٣٤٥", "the id of a generated game reads like"),
        ("generated/seen/pick_heat_then_place_in_recep/12/" + "9" * 5_000, "the id of a generated game reads like"),
        ("official/seen/pick_heat_then_place_in_recep/12/345", "the id of a generated game reads like"),
        ("generated/seen/pick_heat/12/345", "unknown task type 'pick_heat'"),
        ("generated/seen/pick_heat_then_place_in_recep/31/345", "there is no floor plan 31"),
        ("generated/seen/pick_heat_then_place_in_recep/401/345", "floor plan 401 has no such task"),
        ("generated/unseen/pick_heat_then_place_in_recep/12/345", "has the id 'generated/seen/"),
        ("generated/seen/pick_heat_then_place_in_recep/012/345", "recep/12/345'"),
    ],
)
def test_an_id_that_is_none_is_named_in_one_line(task_id: str, problem: str) -> None:
    with pytest.raises(UsageError) as caught:
        generate(task_id)
    assert problem in str(caught.value)
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 500


@pytest.mark.parametrize("source", ["generated", "mixed"])
def test_a_game_is_played_as_it_is_written_down(source: Literal["generated", "mixed"]) -> None:
    """What is made without PDDL is what parsing the PDDL gives, in every attribute."""

    def facts(game: Game) -> dict[str, object]:
        known: dict[str, object] = {
            each.name: getattr(game, each.name)
            for each in fields(Game)
            if not each.name.startswith("_") and each.name not in ("actions_cache", "lists")  # other tests play
        }
        shelves = list(range(len(game.receptacles)))
        known["places"] = [(place.receptacles, place.doors, place.ways, place.pick(shelves)) for place in game.places]
        known["destinations"] = list(game.destinations.items())
        return known

    for number, task_id in enumerate(sample(FEW)):
        tasks = make_tasks("all", None, None, source, GRAMMARS[number % len(GRAMMARS)], None)
        if source == "mixed":
            task_id = task_id.replace("generated/seen", "mixed")
        if source == "generated" or "unseen" not in task_id:
            assert facts(tasks.game(task_id)) == facts(parse_game(tasks.text(task_id))), task_id


def test_spots_are_drawn_when_they_are_asked_for_and_are_always_the_same() -> None:
    task_id = "generated/seen/pick_heat_then_place_in_recep/12/345"
    made, again = generated_game(task_id), generated_game(task_id)
    made.game("json_2.1.1")
    assert [each.spot for each in made.layout.objects] == [each.spot for each in again.layout.objects]
    assert made.text("json_2.1.1") == again.text("json_2.1.1") == generate(task_id)
    spots = [(each.type, each.spot) for each in made.layout.objects]
    assert len(set(spots)) == len(spots)
