"""ALFWorld, many episodes at a time: equal to the same environments alone, and sharing what games have in common."""

from __future__ import annotations

from typing import Any, cast

import gymnasium
import numpy as np
import pytest
from gymnasium.vector import AutoresetMode

from natlang_envs import NatLangEnv, UsageError, unwrap
from natlang_envs.alfworld.engine.world import World
from natlang_envs.alfworld.env import ALFWorldEnv
from natlang_envs.conformance.case import Case
from natlang_envs.conformance.vectors import vector_equals_sync
from natlang_envs.episodes import EpisodesVectorEnv
from natlang_envs.task_random import TaskRandom
from tests.support.alfworld_samples import official_folder

ANY, TOMATO = "NatLang/ALFWorld-v0", "NatLang/ALFWorld-TomatoMicrowave-v0"
EPISODES = 32
FOLDER = official_folder()


def make(env_id: str = ANY, num_envs: int = EPISODES, **kwargs: Any) -> EpisodesVectorEnv:
    envs = gymnasium.make_vec(env_id, num_envs, vectorization_mode="vector_entry_point", **kwargs)
    assert isinstance(envs, EpisodesVectorEnv)
    return envs


@pytest.mark.parametrize("env_id", [ANY, TOMATO])
def test_many_episodes_are_what_they_are_alone(env_id: str) -> None:
    envs = make(env_id, split="test", horizon=12, autoreset_mode=AutoresetMode.DISABLED)
    ids = [next_id for next_id, _ in zip(envs.tasks.ids(), range(EPISODES // 4), strict=False)] * 4
    alone: list[NatLangEnv] = [unwrap(gymnasium.make(env_id, split="test", horizon=12)) for _ in ids]
    observations, infos = envs.reset(seed=0, options={"task_id": ids})
    assert list(observations) == [env.reset(options={"task_id": each})[0] for env, each in zip(alone, ids, strict=True)]
    random = TaskRandom(env_id)
    ended = False
    while not ended:
        plans = [env.reference() for env in alone]
        commands = [
            plan[0] if random.below(2) else each[random.below(len(each))]
            for plan, each in zip(plans, infos["admissible_commands"], strict=True)
        ]
        observations, rewards, terminated, truncated, infos = envs.step(commands)
        for index, env in enumerate(alone):
            observation, reward, *ends, info = env.step(commands[index])
            assert observations[index] == observation
            assert [rewards[index], terminated[index], truncated[index]] == [reward, *ends]
            assert {key: infos[key][index] for key in info} == info
        ended = bool((terminated | truncated).any())


def test_success_pays_and_the_next_episode_begins_in_the_same_step() -> None:
    envs = make(TOMATO, 4, autoreset_mode=AutoresetMode.SAME_STEP)
    single = unwrap(gymnasium.make(TOMATO))
    _, infos = envs.reset(seed=5)
    task_id = infos["task_id"][0]
    single.reset(options={"task_id": task_id})
    plan = single.reference()
    envs.reset(options={"task_id": task_id})
    for command in plan:
        _, rewards, terminated, truncated, infos = envs.step([command] * 3 + ["look"])
    assert rewards.tolist() == [1.0, 1.0, 1.0, 0.0]
    assert terminated.tolist() == [True, True, True, False]
    assert not truncated.any()
    assert infos["final_info"]["success"].tolist() == [True, True, True, False]
    assert infos["success"].tolist() == [False] * 4
    assert [infos["task_id"][3], infos["admissible_commands"][3]] == [task_id, infos["admissible_commands"][3]]
    assert all("look" in each for each in infos["admissible_commands"])


def test_episodes_of_one_game_share_it() -> None:
    envs = make(num_envs=8)
    task_id = next(envs.tasks.ids())
    envs.reset(options={"task_id": task_id})
    worlds = [cast("ALFWorldEnv", game).world for game in envs.games]
    assert len({id(cast("World", world).game) for world in worlds}) == 1
    assert len({id(world) for world in worlds}) == 8


def test_a_mask_begins_some_episodes_and_leaves_the_others() -> None:
    envs = make(num_envs=4, split="test")
    envs.reset(seed=1)
    observations, *_, infos = envs.step(["inventory"] * 4)
    again, after = envs.reset(seed=9, options={"reset_mask": np.array([True, False, False, True])})
    assert again[1:3] == observations[1:3]
    assert after["_task"].tolist() == [True, False, False, True]
    assert again[0].startswith("-= Welcome")
    assert envs.step(["inventory"] * 4)[4]["task_id"][1:3].tolist() == infos["task_id"][1:3].tolist()


def test_wrong_arguments_are_refused_as_by_the_single_environment() -> None:
    for changed in ({"split": "tset"}, {"task_types": ["pick"]}, {"backend": "x"}, {"autoreset_mode": "Never"}):
        with pytest.raises(UsageError) as caught:
            make(num_envs=2, **changed)
        assert "\n" not in str(caught.value)


@pytest.mark.skipif(FOLDER is None, reason="the official games are not here: set $ALFWORLD_DATA")
def test_official_games_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ALFWORLD_DATA", str(FOLDER))
    vector_equals_sync(Case(ANY, {"source": "official", "split": "test", "horizon": 9}))
