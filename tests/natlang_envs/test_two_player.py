"""The two-player form: PettingZoo's own tests, and that it is the single-player environment seen by two."""

from __future__ import annotations

import json
import warnings
from typing import Any

import gymnasium
import numpy as np
import pettingzoo
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pettingzoo.test import api_test, parallel_api_test, render_test, seed_test

from natlang_envs import ENVIRONMENTS, UsageError
from natlang_envs.two_player import MAX_REFLECTION, POLICY, REFLECTOR, TwoPlayerEnv, aec_env, parallel_env
from tests import strategies
from tests.support.corridor import Corridor

IDS = [entry.id for entry in ENVIRONMENTS]
DROPOFF = "NatLang/DangerousTaxi-Dropoff-v0"


def make(kind: str, env_id: str, **kwargs: Any) -> Any:
    """Make it through PettingZoo's registry, where PettingZoo has one (since 1.27)."""
    if hasattr(pettingzoo, "make"):
        return pettingzoo.make(kind, env_id, **kwargs)
    return {"aec": aec_env, "parallel": parallel_env}[kind](env_id, **kwargs)


@pytest.mark.parametrize("env_id", IDS)
def test_pettingzoos_api_test_passes(env_id: str) -> None:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        api_test(make("aec", env_id), num_cycles=300, verbose_progress=False)
    # It recommends arrays of one size; these observations are texts and a mask, and one of the two actions is a text.
    recommended = ("Observation is not a NumPy array", "space for each agent probably should", "Agents have different")
    surprising = [str(each.message) for each in caught if not any(part in str(each.message) for part in recommended)]
    assert not surprising


@pytest.mark.parametrize("env_id", IDS)
def test_pettingzoos_seed_test_passes(env_id: str) -> None:
    seed_test(lambda: make("aec", env_id), num_cycles=100)


@pytest.mark.parametrize("env_id", IDS)
def test_pettingzoos_render_test_passes_in_the_modes_that_are_named(env_id: str) -> None:
    modes = aec_env(env_id).metadata["render_modes"]
    assert modes == gymnasium.make(env_id).metadata["render_modes"]

    def make_for(render_mode: str) -> Any:
        # The test asks for "human" whether it is named or not; an environment without pictures cannot show one.
        return make("aec", env_id, render_mode="ansi" if render_mode == "human" else render_mode)

    render_test(make_for)
    if "rgb_array" not in modes:
        with pytest.raises(UsageError, match="unknown render_mode"):
            aec_env(env_id, render_mode="rgb_array")


def test_a_policy_action_that_is_no_whole_number_is_refused() -> None:
    env = aec_env(DROPOFF)
    env.reset(seed=0)
    env.step("Go.")
    for wrong in (1.9, "1", None):
        with pytest.raises(TypeError):
            env.step(wrong)
    env.step(np.int64(1))


@pytest.mark.parametrize("env_id", IDS)
def test_pettingzoos_parallel_api_test_passes(env_id: str) -> None:
    parallel_api_test(make("parallel", env_id), num_cycles=300)


def test_arguments_reach_the_environment() -> None:
    env = make("aec", DROPOFF, map="generated", split="test", history="none")
    env.reset(seed=0)
    assert env.infos[POLICY]["task_id"].startswith("map-")
    with pytest.raises(UsageError, match="unknown split"):
        aec_env(DROPOFF, split="tset")
    with pytest.raises(UsageError, match="history must be"):
        aec_env(DROPOFF, history="some")  # type: ignore[arg-type]


@given(
    choices=st.lists(st.integers(0, 5), min_size=1, max_size=31), seed=strategies.seeds, reflection=strategies.any_text
)
def test_it_is_the_single_player_environment_seen_by_two(choices: list[int], seed: int, reflection: str) -> None:
    single = gymnasium.make(DROPOFF)
    observation, info = single.reset(seed=seed)
    env = aec_env(DROPOFF)
    env.reset(seed=seed)
    total = 0.0
    for choice in choices:
        for agent in (REFLECTOR, POLICY):
            assert env.agent_selection == agent
            seen, _, terminated, truncated, seen_info = env.last()
            assert seen in env.observation_space(agent)
            assert seen_info == info
            assert observation in seen["text"]
            assert info["task"] in seen["text"]
            assert (terminated, truncated) == (False, False)
            env.step(reflection if agent == REFLECTOR else choice)
        observation, reward, *end, info = single.step(info["admissible_commands"][choice])
        total += float(reward)
        assert env.rewards == {REFLECTOR: reward, POLICY: reward}
        assert set(env.terminations.values()) == {end[0]}
        assert set(env.truncations.values()) == {end[1]}
        if any(end):
            break
    if any(end):
        for agent in (REFLECTOR, POLICY):
            seen = env.last()[0]
            assert env.agent_selection == agent
            assert observation in seen["text"]
            env.step(None)
        assert env.agents == []


def test_the_policy_sees_the_reflection_and_the_numbered_actions() -> None:
    env = aec_env(DROPOFF)
    env.reset(seed=0)
    before = env.observe(REFLECTOR)["text"]
    assert before.endswith("Reflection: ")
    env.step("There is a wall to the east.")
    seen = env.last()[0]
    lines = seen["text"].splitlines()
    assert "Reflection: There is a wall to the east." in lines
    commands = env.infos[POLICY]["admissible_commands"]
    labels = [line.partition(". ")[0] for line in lines if line.partition(". ")[2] in commands]
    assert len(set(labels)) == len(commands)
    assert seen["action_mask"].tolist() == [1] * len(commands)
    assert set(env.observe(REFLECTOR)) == {"text"}
    env.step(0)
    assert "a wall to the east" not in env.observe(POLICY)["text"], "a reflection is for one step"
    assert f"- {commands[0]}: " in env.observe(REFLECTOR)["text"], "the path shows the step"


def test_rewards_are_shared_and_cumulated_between_turns() -> None:
    env = aec_env("NatLang/DangerousTaxi-Pickup-v0")
    env.reset(seed=0, options={"task_id": "classic/1.0/red-green"})
    received: dict[str, list[float]] = {REFLECTOR: [], POLICY: []}
    choices = iter((1, 4))
    for agent in env.agent_iter():
        _, reward, terminated, truncated, _ = env.last()
        received[agent].append(reward)
        ended = terminated or truncated
        env.step(None if ended else "north, then the passenger" if agent == REFLECTOR else next(choices))
    assert received == {REFLECTOR: [0, -1.0, 20.0], POLICY: [0, -1.0, 20.0]}


def test_actions_that_are_not_listed_are_refused() -> None:
    env = TwoPlayerEnv(Corridor())
    env.reset(seed=0, options={"task_id": "room-0/room-3"})  # at the western end two of the three commands are listed
    env.step("east")
    assert env.observe(POLICY)["action_mask"].tolist() == [1, 1, 0]
    assert env.observe(POLICY)["action_mask"] in env.observation_space(POLICY)["action_mask"]  # type: ignore[index]
    for wrong in (2, -1, 99):
        with pytest.raises(UsageError, match=f"the policy's action {wrong} is none of the 2 listed"):
            env.step(wrong)
    env.step(np.int64(0))
    assert env.infos[POLICY]["feedback"] == "You walk on."


@pytest.mark.parametrize("wrong", [None, 3, b"no", ["no"]])
def test_a_reflection_is_a_string(wrong: Any) -> None:
    env = TwoPlayerEnv(Corridor())
    env.reset(seed=0)
    with pytest.raises(TypeError, match="the reflector's action is a str"):
        env.step(wrong)
    assert env.agent_selection == REFLECTOR


@pytest.mark.parametrize("reflection", ["x" * 10_000, "\ud800" * 5_000, "a \ud800 b\0", ""])
def test_any_reflection_can_be_shown(reflection: str) -> None:
    env = TwoPlayerEnv(Corridor())
    env.reset(seed=0)
    env.step(reflection)
    seen = env.observe(POLICY)
    assert seen in env.observation_space(POLICY)
    assert len(seen["text"]) < MAX_REFLECTION + 1_000
    json.dumps(seen["text"]).encode()


def test_the_parallel_form_lets_one_speak_at_a_time() -> None:
    env = parallel_env(DROPOFF)
    env.reset(seed=3)
    active = REFLECTOR
    order = []
    while env.agents:
        order.append(active)
        actions = {REFLECTOR: "look at the walls", POLICY: 4}
        _, rewards, _, _, infos = env.step(actions)
        assert len(set(rewards.values())) <= 1, "both get the same reward"
        active = infos[REFLECTOR]["active_agent"] if env.agents else ""
    assert order == [REFLECTOR, POLICY], "a pickup where nobody waits ends the game at its first step"


def test_it_renders_and_closes() -> None:
    env = aec_env(DROPOFF, render_mode="ansi")
    env.reset(seed=0)
    assert "+---------+" in env.render()
    env.close()


def test_spaces_are_the_same_objects_each_time() -> None:
    env = aec_env(DROPOFF)
    for agent in (REFLECTOR, POLICY):
        assert env.observation_space(agent) is env.observation_space(agent)
        assert env.action_space(agent) is env.action_space(agent)


@pytest.mark.parametrize("env_id", ["NatLang/ALFWorld-v0", "NatLang/DangerousTaxi-v0"])
def test_learners_without_masks_can_play_to_the_end(env_id: str) -> None:
    env = aec_env(env_id, invalid="noop")
    env.reset(seed=0)
    for agent in env.possible_agents:
        env.action_space(agent).seed(0)
    for agent in env.agent_iter():  # it draws any index, listed or not
        ended = env.terminations[agent] or env.truncations[agent]
        env.step(None if ended else env.action_space(agent).sample())
    assert not env.agents
    with pytest.raises(UsageError, match="invalid"):
        aec_env(env_id, invalid="skip")  # pyright: ignore[reportArgumentType]
    env = aec_env(env_id, invalid="noop")
    env.reset(seed=0)
    env.step("I do not know.")
    space = env.action_space("policy_0")
    last = int(space.n) - 1  # pyright: ignore[reportAttributeAccessIssue]
    listed = len(env.infos["policy_0"]["admissible_commands"])
    env.step(last)
    if last >= listed:
        assert env.infos["policy_0"]["feedback"] == "Nothing happens."


def test_both_players_may_have_one_observation_space() -> None:
    env = aec_env("NatLang/ALFWorld-v0", equal_spaces=True)
    env.reset(seed=0)
    assert env.observation_space("reflector_0") == env.observation_space("policy_0")
    for agent in env.possible_agents:
        assert env.observation_space(agent).contains(env.observe(agent))
    assert env.observe("reflector_0")["action_mask"].all()
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        api_test(env, num_cycles=20)
    assert not any("mask" in str(each.message) for each in said)
