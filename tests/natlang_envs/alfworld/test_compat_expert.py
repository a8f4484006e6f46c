"""The expert's plans in the adapter's infos: lists, planned when they are read."""

from __future__ import annotations

import copy
import json
import operator
import pickle
import random
from collections.abc import Callable
from typing import Any

import pytest

from natlang_envs.alfworld.compat import AlfredTWEnv
from natlang_envs.alfworld.compat.expert_plan import ExpertPlan, Planner
from natlang_envs.alfworld.engine.game import parse_game, read_game_file
from natlang_envs.alfworld.engine.world import World
from natlang_envs.alfworld.expert import Expert
from natlang_envs.alfworld.plans import reference
from tests.support.compat_games import config

pytestmark = [pytest.mark.filterwarnings("ignore:.*official games"), pytest.mark.usefixtures("generated_games")]
KEY = "extra.expert_plan"


@pytest.mark.parametrize("expert", ["handcoded", "planner"])
def test_the_expert_s_plan_wins_in_training_only(expert: str) -> None:
    env = AlfredTWEnv(config(env__expert_type=expert))
    batch = env.init_env(env.num_games)
    _, infos = batch.reset()
    for _ in range(50):
        plans = infos[KEY]
        _, scores, dones, infos = batch.step([plan[0] if plan else "look" for plan in plans])
        if all(dones):
            break
    assert all(scores)
    evaluated = AlfredTWEnv(config(env__expert_type=expert), "eval_in_distribution")
    assert KEY not in evaluated.init_env(1).reset()[1]


@pytest.mark.parametrize("kind", ["handcoded", "planner"])
@pytest.mark.parametrize("seed", range(3))
def test_a_plan_is_of_its_moment_whenever_it_is_read(kind: Any, seed: int) -> None:
    game = parse_game(read_game_file(AlfredTWEnv(config()).game_files[seed]))
    world, chance = World(game), random.Random(seed)
    observation = world.intro()
    expert = Expert(observation, goal=game.goal)
    read, unread = Planner(game, kind), Planner(game, kind)
    plans: list[list[str]] = []
    kept: list[list[str]] = []
    for _ in range(40):
        plans.append(reference(world) if kind == "planner" else [expert.choose(observation, world.commands)])
        assert read.plan() == plans[-1]
        kept.append(unread.plan())
        command = chance.choice([plans[-1][0], *world.commands, "nonsense", " look "])
        observation = world.step(command)
        expert.observe(command.strip(), observation)
        read.observe(command)
        unread.observe(command)
        if world.won:
            break
    for number in chance.sample(range(len(plans)), len(plans)):
        assert kept[number] == plans[number]
    if world.won:
        assert read.plan() == unread.plan() == ([] if kind == "planner" else ["look"])


def test_a_plan_that_nobody_reads_is_not_made(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[object] = []
    plain = Expert.choose
    monkeypatch.setattr(Expert, "choose", lambda self, *given: asked.append(0) or plain(self, *given))
    batch = AlfredTWEnv(config()).init_env(4)
    _, infos = batch.reset()
    for _ in range(6):
        for key in infos:
            infos[key] = infos[key][0]  # as verl-agent's manager takes infos apart
        assert set(infos) == {"won", "admissible_commands", "extra.gamefile", KEY}
        *_, infos = batch.step(["look"] * 4)
    assert asked == []
    assert infos[KEY][3][0] in infos["admissible_commands"][3]
    assert len(asked) == 7


READERS: dict[str, Callable[[Any], Any]] = {
    "first": lambda plan: plan[0],
    "slice": lambda plan: plan[1:],
    "length": len,
    "truth": bool,
    "list": list,
    "tuple": tuple,
    "unpacked": lambda plan: [*plan],
    "two": lambda plan: (lambda one, two: (two, one))(*plan),
    "sorted": sorted,
    "reversed": lambda plan: list(reversed(plan)),
    "joined": ", ".join,
    "contains": lambda plan: "look" in plan,
    "index": lambda plan: plan.index("look"),
    "count": lambda plan: plan.count("look"),
    "equal": lambda plan: plan == ["go to bed 1", "look"],
    "equal to the right": lambda plan: operator.eq(["go to bed 1", "look"], plan),
    "unequal": lambda plan: plan != ["go to bed 1", "look"],
    "less": lambda plan: plan < ["z"],
    "more to the right": lambda plan: operator.gt(["z"], plan),
    "equal to itself": lambda plan: plan == copy.copy(plan),
    "sum": lambda plan: operator.add(plan, ["x"]),
    "sum to the right": lambda plan: operator.add(["x"], plan),
    "times": lambda plan: 2 * plan + plan * 2,
    "extends": lambda plan: (lambda other: other.extend(plan) or other)(["x"]),
    "in place": lambda plan: (lambda other: other.__iadd__(plan))(["x"]),
    "in the middle": lambda plan: (lambda other: other.__setitem__(slice(1, 1), plan) or other)(["x", "y"]),
    "text": str,
    "repr": repr,
    "format": lambda plan: f"{plan}",
    "json": json.dumps,
    "json of infos": lambda plan: json.dumps({KEY: [plan]}, indent=1),
    "pickle": lambda plan: pickle.loads(pickle.dumps(plan)),
    "old pickle": lambda plan: pickle.loads(pickle.dumps(plan, protocol=0)),
    "copy": lambda plan: plan.copy(),
    "copied": copy.copy,
    "deep copy": copy.deepcopy,
    "append": lambda plan: plan.append("x") or plan,
    "pop": lambda plan: (plan.pop(), plan),
    "insert": lambda plan: plan.insert(0, "x") or plan,
    "remove": lambda plan: plan.remove("look") or plan,
    "clear": lambda plan: plan.clear() or plan,
    "sort": lambda plan: plan.sort(reverse=True) or plan,
    "set": lambda plan: plan.__setitem__(0, "x") or plan,
    "delete": lambda plan: plan.__delitem__(0) or plan,
    "map": lambda plan: list(map(str.upper, plan)),
    "loop": lambda plan: [each for each in plan],  # noqa: C416
    "enumerated": lambda plan: list(enumerate(plan)),
    "zip": lambda plan: list(zip(plan, plan, strict=True)),
    "largest": max,
}


@pytest.mark.parametrize("name", READERS)
def test_a_plan_reads_as_a_list_does(name: str) -> None:
    lists = ["go to bed 1", "look"]
    plan = ExpertPlan(lists.copy)
    assert isinstance(plan, list)
    read = READERS[name](plan)
    assert read == READERS[name](lists.copy())
    assert type(READERS[name](ExpertPlan(lists.copy))) in (type(read), ExpertPlan)


def test_two_plans_that_were_not_read_are_equal_and_add_up() -> None:
    plans = [ExpertPlan(["look"].copy) for _ in range(6)]
    assert plans[0] == plans[1]
    assert plans[2] + plans[3] == ["look", "look"]
    plans[4].extend(plans[5])
    assert plans[4] == ["look", "look"]
    for made in (pickle.loads(pickle.dumps(ExpertPlan(["look"].copy))), copy.deepcopy(ExpertPlan(["look"].copy))):
        assert type(made) is list
        assert made == ["look"]
