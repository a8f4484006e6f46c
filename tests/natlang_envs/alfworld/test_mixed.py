"""Made-up rooms: every game can be won, no room is met twice, and the real TextWorld plays them as our engine does."""

from __future__ import annotations

import random
import subprocess
import sys
from collections import Counter
from itertools import chain

import gymnasium
import pytest

from natlang_envs.alfworld.engine.goals import TASK_TYPES
from natlang_envs.alfworld.engine.world import World
from natlang_envs.alfworld.env import ALFWorldEnv
from natlang_envs.alfworld.games.floor_plans import Room, room, room_numbers
from natlang_envs.alfworld.games.generator import rooms_for
from natlang_envs.alfworld.games.synthetic_rooms import EXAMPLE, MixedTasks, mix
from natlang_envs.alfworld.observation_memory import read_goal
from natlang_envs.errors import UsageError
from natlang_envs.task_random import TaskRandom
from tests.support.alfworld_real import needs_textworld
from tests.support.alfworld_samples import win_by_the_plan
from tools.alfworld.parity_recordings import play, replay

TASKS = MixedTasks("all")
SEEN = [room(number) for number in room_numbers() if room(number).seen]


def sample(count: int) -> list[str]:
    """Ids of all task types, all over the rooms and numbers."""
    rng, found = random.Random(0), list[str]()
    for _ in range(count):
        task_type = TASK_TYPES[rng.randrange(6)]
        found.append(f"mixed/{task_type}/{rng.choice(rooms_for(task_type, True))}/{rng.randrange(1_000):03}")
    return found


@pytest.mark.parametrize("task_id", sample(40))
def test_a_game_can_be_won_and_is_what_its_id_says(task_id: str) -> None:
    TASKS.check(task_id)
    game = TASKS.game(task_id)
    assert game.goal.task_type == task_id.split("/")[1]
    assert read_goal(TASKS.text(task_id).task) == game.goal
    win_by_the_plan(World(game))


def types(here: Room) -> Counter[str]:
    return Counter(each.type for each in here.receptacles)


def test_a_room_has_of_each_type_as_many_places_as_some_room_of_its_kind() -> None:
    for number, here in enumerate(SEEN):
        mixed = mix(here, TaskRandom(f"test {number}"))
        known = [types(other) for other in SEEN if other.kind == here.kind]
        assert all(any(other[kind] == count for other in known) for kind, count in types(mixed).items())
        assert (mixed.number, len(mixed.movable)) == (here.number, len(here.movable))
        spots = [(each.type, each.spot) for each in mixed.receptacles]
        assert len(set(spots)) == len(spots)
        for each in mixed.fixtures:
            assert -1 <= each.receptacle < len(mixed.receptacles)
            assert 0 <= each.location < len(mixed.locations)


def test_lamps_stand_where_they_stood() -> None:
    standing = {
        (lamp.type, here.receptacles[lamp.receptacle].type)
        for here in SEEN
        for lamp in here.fixtures
        if lamp.receptacle >= 0
    }
    for number, here in enumerate(SEEN):
        mixed = mix(here, TaskRandom(f"lamps {number}"))
        for lamp in mixed.fixtures:
            if lamp.receptacle >= 0:
                assert (lamp.type, mixed.receptacles[lamp.receptacle].type) in standing


def test_hardly_two_games_share_a_room() -> None:
    rooms = {
        tuple(sorted(each.name for each in TASKS.game(f"mixed/pick_and_place_simple/212/{n:03}").receptacles))
        for n in range(60)
    }
    assert len(rooms) > 55


def test_an_id_is_the_same_game_in_another_process() -> None:
    code = (
        "from natlang_envs.alfworld.games.synthetic_rooms import MixedTasks; print(hash_of(MixedTasks('all').text(ID)))"
    )
    before = "import hashlib; hash_of = lambda text: hashlib.sha256(repr(text).encode()).hexdigest(); ID = "
    done = [
        subprocess.run(
            [sys.executable, "-c", f"{before}{EXAMPLE!r}\n{code}"],
            env={"PYTHONHASHSEED": seed, "PYTHONPATH": ":".join(sys.path)},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("1", "2")
    ]
    assert done[0] == done[1] != ""


def test_splits_hold_other_games_and_draw_their_own() -> None:
    splits = [MixedTasks(split) for split in ("train", "validation", "test")]
    ids = [list(each.ids()) for each in splits]
    assert sorted(chain.from_iterable(ids)) == sorted(TASKS.ids())
    rng = random.Random(1)
    for tasks, known in zip(splits, map(set, ids), strict=True):
        assert {tasks.draw(rng.random) for _ in range(50)} <= known
    with pytest.raises(UsageError, match=r"is in the split '[a-z]+', not 'train': pass split="):
        splits[0].check("mixed/pick_heat_then_place_in_recep/12/950")


def test_a_goal_is_refused_in_one_line() -> None:
    with pytest.raises(UsageError, match=r"^made-up rooms take no goal \('Tomato-Microwave'\): leave goal out[^\n]*$"):
        ALFWorldEnv(source="mixed", goal="Tomato-Microwave")


@pytest.mark.parametrize(
    "task_id",
    ["mixed/pick_heat_then_place_in_recep/10/000", "mixed/dance/12/000", "mixed/12", "generated/seen/dance/12/000", ""],
)
def test_an_id_that_is_none_is_refused(task_id: str) -> None:
    with pytest.raises(UsageError, match=f"the id of a game in a made-up room reads like {EXAMPLE!r}"):
        TASKS.check(task_id)
    with pytest.raises(UsageError, match=r"leave task_types out, or name it"):
        MixedTasks("all", ["look_at_obj_in_light"]).check(EXAMPLE)


@needs_textworld
@pytest.mark.parametrize(
    "task_id", [sample(4)[0], *(pytest.param(each, marks=pytest.mark.slow) for each in sample(4)[1:])]
)
def test_textworld_plays_them_alike(task_id: str) -> None:
    from natlang_envs.alfworld.textworld.backend import TextWorldWorld
    from tools.alfworld.textworld_speed import faster

    text = TASKS.text(task_id)
    with faster():
        recorded = play(TextWorldWorld(text), text, task_id)
    assert replay(World(TASKS.game(task_id)), recorded) == recorded
    envs = [gymnasium.make("NatLang/ALFWorld-v0", source="mixed", backend=each) for each in ("native", "textworld")]
    with faster():
        assert len({env.reset(seed=3, options={"task_id": task_id})[0] for env in envs}) == 1
