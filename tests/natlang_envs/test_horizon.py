"""The horizon where Gymnasium's wrappers and trainers look for it, and what `max_episode_steps` does in every form."""

from __future__ import annotations

import pickle
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium.envs.registration import EnvSpec
from gymnasium.wrappers import TimeAwareObservation, TimeLimit

from natlang_envs import ENVIRONMENTS, UsageError, unwrap
from natlang_envs.conformance import Case
from natlang_envs.conformance.vectors import vector_equals_sync
from natlang_envs.learners.wrappers import ScaleReward

EMBEDDED: dict[str, Any] = {"dataset": "embedded"}
EXPLORE, HOUSE, TAXI = "NatLang/AutoExplore-v0", "NatLang/ALFWorld-v0", "NatLang/DangerousTaxi-v0"


@pytest.mark.parametrize("env_id", [entry.id for entry in ENVIRONMENTS])
def test_the_spec_tells_the_horizon_and_nothing_is_wrapped(env_id: str) -> None:
    for more in ({}, {"horizon": 4}):
        env = gymnasium.make(env_id, **more)
        assert env is env.unwrapped
        for each in (env, ScaleReward(env)):
            assert each.spec is not None
            assert each.spec.max_episode_steps == unwrap(env).horizon
        timed = TimeAwareObservation(env, flatten=False)
        assert timed.max_timesteps == unwrap(env).horizon


@pytest.mark.parametrize(
    "again",
    [lambda spec: EnvSpec.from_json(spec.to_json()), lambda s: pickle.loads(pickle.dumps(s)), lambda spec: spec],
    ids=["JSON", "pickle", "itself"],
)
def test_what_is_made_again_counts_for_itself(again: Any) -> None:
    env = gymnasium.make(EXPLORE, horizon=2, **EMBEDDED)
    env = gymnasium.make(again(ScaleReward(env).spec))
    assert not isinstance(env.env, TimeLimit)  # type: ignore[attr-defined]
    env.reset(seed=0)
    env.step("look")
    assert env.step("look")[2:4] == (True, False), "the last step of AutoExplore terminates"
    assert env.spec is not None
    assert unwrap(env.spec.make()).horizon == 2


def test_what_is_made_from_a_spec_is_the_same_environment() -> None:
    env = gymnasium.make(TAXI, horizon=6)
    again = gymnasium.make(env.spec)
    assert again is again.unwrapped
    assert again.spec == env.spec
    env.reset(seed=0)
    start = unwrap(env).snapshot()
    for each in (env, again, pickle.loads(pickle.dumps(env))):
        assert each.spec.max_episode_steps == 6
        for _ in range(3):
            unwrap(each).restore(start)
            assert [each.step(unwrap(each).safe_commands()[0])[3] for _ in range(6)] == [False] * 5 + [True]
    many = gymnasium.make_vec(env.spec, 2, vectorization_mode="sync")
    assert all(each is each.unwrapped for each in many.envs)


def test_a_limit_that_was_asked_for_is_part_of_the_spec() -> None:
    env = gymnasium.make(HOUSE, max_episode_steps=3)
    assert env.spec is not None
    assert env.spec.max_episode_steps == 3
    again = gymnasium.make(EnvSpec.from_json(env.spec.to_json()))
    again.reset(seed=0)
    assert [again.step("look")[3] for _ in range(3)] == [False, False, True]


@pytest.mark.parametrize(
    "case",
    [
        pytest.param(Case(TAXI, {"map": "generated"}), marks=pytest.mark.slow),
        Case(EXPLORE, EMBEDDED),
        Case(HOUSE, {"horizon": 3}),
    ],
    ids=str,
)
def test_max_episode_steps_is_as_in_sync(case: Case) -> None:
    vector_equals_sync(Case(case.env_id, {**case.kwargs, "max_episode_steps": 3}))


@pytest.mark.parametrize("limit", [0, 31, 2.5, "3", -2])
def test_a_limit_beyond_the_horizon_is_refused_by_the_vector_form(limit: Any) -> None:
    with pytest.raises(UsageError, match="max_episode_steps must be from 1 to the horizon of 30 steps"):
        gymnasium.make_vec(TAXI, 2, max_episode_steps=limit)
    assert gymnasium.make_vec(TAXI, 2, max_episode_steps=-1).reset(seed=0), "Gymnasium's word for no limit"


def test_restore_sets_the_count_of_a_time_limit_too() -> None:
    env = gymnasium.make(HOUSE, max_episode_steps=4)
    env.reset(seed=0)
    saved = unwrap(env).snapshot()
    for _ in range(3):  # a search that comes back to the start again and again
        assert [env.step("look")[3] for _ in range(4)] == [False, False, False, True]
        unwrap(env).restore(saved)
    fresh = gymnasium.make(HOUSE, max_episode_steps=4)
    unwrap(fresh).restore(saved)
    assert fresh.step("look")[3] is False, "no reset has gone through the limit"


@pytest.mark.parametrize("env_id", [TAXI, HOUSE])
def test_an_episode_that_was_cut_short_goes_on_from_a_snapshot(env_id: str) -> None:
    envs: Any = gymnasium.make_vec(env_id, 2, max_episode_steps=2)
    envs.reset(seed=3)
    saved = envs.call("snapshot")
    commands = [each[0] for each in envs.call("safe_commands")]
    first = envs.step(commands)
    envs.step([each[0] for each in envs.call("safe_commands")])
    envs.call("restore", saved[0])
    assert envs.call("snapshot") == (saved[0],) * 2
    again = envs.step([commands[0]] * 2)
    assert again[0][0] == first[0][0]
    assert not np.any(again[3])
