"""Tasks and splits of generated games: who is in which, what is drawn how often, and what is refused."""

from __future__ import annotations

import json
from collections import Counter
from itertools import islice
from typing import Any

import gymnasium
import numpy as np
import pytest

from natlang_envs import UsageError, unwrap
from natlang_envs.alfworld.games.generated_tasks import GeneratedTasks
from natlang_envs.alfworld.games.generator import aim_of, parse_task_id
from natlang_envs.alfworld.games.splits import TASK_TYPES, UNSEEN_PLANS
from natlang_envs.alfworld.tasks import AlfredTasks, make_tasks

TOMATO: tuple[Any, ...] = (["pick_and_place_simple"], "Tomato-Microwave")
SPLITS = ("train", "validation", "test")


def drawn(tasks: AlfredTasks, count: int, seed: int = 0) -> list[str]:
    random = np.random.default_rng(seed).random
    return [tasks.draw(random) for _ in range(count)]


@pytest.mark.parametrize("split", ["train", "validation", "test", "all"])
@pytest.mark.parametrize("which", [(), TOMATO])
def test_what_is_drawn_is_accepted_and_by_the_right_split_alone(split: str, which: tuple[Any, ...]) -> None:
    tasks = GeneratedTasks(split, *which)
    found = drawn(tasks, 50)
    assert len(set(found)) > 10
    others = {name: GeneratedTasks(name, *which) for name in SPLITS}
    for task_id in found:
        tasks.check(task_id)
        for name, other in others.items():
            if split == "all":
                continue
            if name == split:
                other.check(task_id)
            else:
                with pytest.raises(UsageError, match=f"is in the split '{split}', not '{name}': pass split='{split}'"):
                    other.check(task_id)
        if split == "all":
            assert sum(_accepts(other, task_id) for other in others.values()) == 1


def _accepts(tasks: GeneratedTasks, task_id: str) -> bool:
    try:
        tasks.check(task_id)
    except UsageError:
        return False
    return True


def test_only_the_test_split_has_the_unseen_rooms() -> None:
    for split in SPLITS:
        rooms = {parse_task_id(task_id).room for task_id in drawn(GeneratedTasks(split), 300)}
        assert (rooms <= set(UNSEEN_PLANS)) if split == "test" else not rooms & set(UNSEEN_PLANS)
    everything = {parse_task_id(task_id).room for task_id in drawn(GeneratedTasks("all"), 600)}
    assert everything & set(UNSEEN_PLANS)
    assert len(everything) > 80


def test_ids_are_listed_once_in_a_fixed_order() -> None:
    tasks = GeneratedTasks("test", ["pick_heat_then_place_in_recep"])
    ids = list(tasks.ids())
    assert len(ids) == len(set(ids)) == 1_000
    assert {parse_task_id(each).room for each in ids} == {10}
    assert set(drawn(tasks, 50)) <= set(ids)
    assert len(list(GeneratedTasks("validation", ["pick_heat_then_place_in_recep"]).ids())) % 100 == 0


@pytest.mark.parametrize("source", ["generated", "mixed", "realistic"])
@pytest.mark.parametrize(
    ("split", "remedy"),
    [
        ("eval_out_of_distribution", "pass source='official', or split='test' for other games"),
        ("valid_unseen", "pass source='official', or split='test' for other games"),
        ("eval_in_distribution", "pass source='official', or split='validation' for other games"),
        ("valid_seen", "pass source='official', or split='validation' for other games"),
        ("valid_train", "pass source='official'$"),
    ],
)
def test_a_split_of_the_official_games_is_of_no_other_source(source: str, split: str, remedy: str) -> None:
    with pytest.raises(UsageError, match=f"only the official games have the split '{split}': {remedy}"):
        gymnasium.make("NatLang/ALFWorld-v0", split=split, source=source)


def test_task_types_are_drawn_as_often_as_officially() -> None:
    counts = Counter(parse_task_id(task_id).task_type for task_id in drawn(GeneratedTasks("train"), 3_000))
    official = dict(zip(TASK_TYPES, (790, 308, 650, 459, 533, 813), strict=True))
    for task_type, number in official.items():
        assert counts[task_type] / 3_000 == pytest.approx(number / 3_553, abs=0.03)


def test_a_goal_draws_its_games_alone_and_every_one_of_them() -> None:
    tasks = GeneratedTasks("test", *TOMATO)
    ids = list(tasks.ids())
    assert len(ids) >= 20
    for task_id in ids:
        aim = aim_of(parse_task_id(task_id))
        assert (aim.object_type, aim.target_type) == ("Tomato", "Microwave")
    assert set(drawn(tasks, 2_000)) == set(ids)
    other = next(task_id for task_id in GeneratedTasks("test", ["pick_and_place_simple"]).ids() if task_id not in ids)
    with pytest.raises(UsageError, match=r"has the goal '\w+-\w+', not 'Tomato-Microwave': leave goal out"):
        tasks.check(other)


def test_a_type_that_is_not_asked_for_is_refused() -> None:
    tasks = GeneratedTasks("all", ["look_at_obj_in_light", "pick_two_obj_and_place"])
    assert {parse_task_id(each).task_type for each in drawn(tasks, 40)} == {
        "look_at_obj_in_light",
        "pick_two_obj_and_place",
    }
    with pytest.raises(UsageError, match="is of the type 'pick_heat_then_place_in_recep': leave task_types out"):
        tasks.check("generated/unseen/pick_heat_then_place_in_recep/10/007")


@pytest.mark.parametrize(
    "task_id",
    [
        "",
        "generated",
        "generated/seen/pick_heat_then_place_in_recep/10/007",  # the room is unseen
        "generated/unseen/pick_heat_then_place_in_recep/10/7",
        "generated/unseen/pick_heat_then_place_in_recep/10/1007",
        "generated/unseen/pick_heat_then_place_in_recep/010/007",
        "generated/unseen/pick_heat_then_place_in_recep/219/007",  # a living room
        "generated/unseen/pick_heat/10/007",
        "generated/unseen/pick_heat_then_place_in_recep/10/\u0660\u0660\u0667",
        "official/valid_seen/pick_and_place_simple-Mug-None-Shelf-1/trial_1",
    ],
)
def test_other_ids_are_refused_in_one_line(task_id: str) -> None:
    with pytest.raises(UsageError) as caught:
        GeneratedTasks("all").check(task_id)
    assert "\n" not in str(caught.value)


def test_every_game_is_parsed_once_for_all_environments() -> None:
    one, two = (make_tasks("all", None, None, "generated", None, None) for _ in range(2))
    (task_id,) = drawn(one, 1)
    assert one.game(task_id) is two.game(task_id)
    other = make_tasks("all", None, None, "generated", "0.4.2", None)
    assert other.game(task_id).grammar.name == "0.4.2"
    assert other.text(task_id).problem == one.text(task_id).problem


def test_the_arguments_go_through_json() -> None:
    kwargs = {"split": "test", "task_types": ["look_at_obj_in_light"], "grammar": "0.4.2"}
    env = gymnasium.make("NatLang/ALFWorld-v0", **kwargs)
    assert env.spec is not None
    again = gymnasium.make(gymnasium.envs.registration.EnvSpec.from_json(env.spec.to_json()))
    assert again.reset(seed=4) == env.reset(seed=4)
    assert again.spec is not None
    assert json.loads(again.spec.to_json())["kwargs"] == {**kwargs, "horizon": 50}


def test_the_two_environments_draw_from_what_they_say() -> None:
    env = unwrap(gymnasium.make("NatLang/ALFWorld-TomatoMicrowave-v0"))
    rooms = {parse_task_id(each).room for each in env.tasks.ids()}
    assert {5, 6, 8, 13} <= rooms, "the kitchens of the official tomato games"
    assert len(list(islice(env.tasks.ids(), 500))) == 500, "more than enough to train on"


@pytest.mark.parametrize("which", [(), TOMATO])
def test_new_games_are_drawn_that_no_list_holds(which: tuple[Any, ...]) -> None:
    tasks = GeneratedTasks("test", *which)
    random = np.random.default_rng(0).random
    found = [tasks.draw_new(random) for _ in range(20)]
    assert len(set(found)) == 20
    assert not set(found) & set(tasks.ids())
    for task_id in found:
        tasks.check(task_id)
        assert parse_task_id(task_id).room in UNSEEN_PLANS
        assert not _accepts(GeneratedTasks("train"), task_id)
        assert tasks.game(task_id).goal.task_type == parse_task_id(task_id).task_type
    assert len({tasks.text(task_id).problem for task_id in found}) == 20


def test_seen_rooms_have_no_new_games_and_a_wrong_number_is_refused() -> None:
    with pytest.raises(UsageError, match="the games of seen rooms have the numbers 000 to 999"):
        parse_task_id("generated/seen/pick_heat_then_place_in_recep/12/123456789012345")
    for number in ("1000", "012345678901234", "1234567890123456"):
        with pytest.raises(UsageError, match="the id of a generated game reads like"):
            parse_task_id(f"generated/unseen/pick_heat_then_place_in_recep/10/{number}")
