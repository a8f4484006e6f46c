"""DangerousTaxi: the model test file of an environment.

What is tested here, and of its words in `test_dangerous_taxi_words.py`, is what only this environment promises. The
promises that all environments make (determinism, infos, snapshots, vector form …) are tested by the conformance checks,
see `test_conformance.py`; generated cities have a file of their own. Wherever it can be, the truth comes from outside
the code under test: from Gymnasium's own `TaxiEnv`, from a search written in `taxi_truth.py`, or from a file under
`tests/golden/` that only `--remake-golden` changes.
"""

from __future__ import annotations

import gc
import re
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pytest
from gymnasium.envs.toy_text.taxi import TaxiEnv
from hypothesis import given
from hypothesis import strategies as st

from natlang_envs import UsageError
from natlang_envs.dangerous_taxi.city import CITIES_KEPT, IN_TAXI, City, load_city, taxi_rules
from natlang_envs.dangerous_taxi.env import DangerousTaxiEnv
from natlang_envs.dangerous_taxi.tasks import TaxiTasks
from natlang_envs.dangerous_taxi.words import COMMANDS, describe_state
from natlang_envs.evaluation import Agent, evaluate
from natlang_envs.evaluation.agents import RandomAgent, RandomLegalAgent
from natlang_envs.evaluation.protocols import Episode, Protocol
from tests import strategies
from tests.support.taxi_truth import (
    DELIVERY,
    DROPOFF,
    GREEN,
    IDS,
    ILLEGAL,
    PICKUP,
    RED,
    classic,
    fewest_steps,
    make,
    place,
    reachable_states,
    taxi_table,
)

# The classic map.


def test_there_are_300_starts() -> None:
    ids = list(TaxiTasks("classic", "all").ids())
    assert len(ids) == len(set(ids)) == 300
    assert set(classic().starts) == set(np.flatnonzero(TaxiEnv().initial_state_distrib).tolist())


def test_the_table_is_gymnasiums() -> None:
    expected = [[-1 if outcome is ILLEGAL else outcome[0] for outcome in row] for row in taxi_table()]
    assert classic().next_states.tolist() == expected


def test_our_rules_on_the_classic_geometry_give_gymnasiums_table() -> None:
    city = classic()
    assert (taxi_rules(city.rows, city.columns, city.landmarks, city.walls) == city.next_states).all()


def test_state_numbers_are_gymnasiums() -> None:
    taxi = TaxiEnv()
    for state in range(500):
        assert classic().decode(state) == tuple(taxi.decode(state))
        assert classic().encode(*classic().decode(state)) == state


def test_404_states_are_reachable_and_no_two_read_alike() -> None:
    states = reachable_states()
    assert len(states) == 404
    texts = {describe_state(classic(), state) for state in states}
    assert len(texts) == 404
    assert max(map(len, texts)) < 1_000


@pytest.mark.parametrize(
    ("env_id", "is_goal", "mean", "longest"),
    [
        (PICKUP, lambda _state, action, _delivered: action == 4, 5.57, 9),
        (DROPOFF, lambda _state, _action, delivered: delivered, 13.07, 18),
        (DELIVERY, lambda _state, _action, delivered: delivered, 13.07, 18),
    ],
)
def test_the_oracle_is_as_short_as_a_search_over_gymnasiums_table(
    env_id: str, is_goal: Callable[[int, int, bool], bool], mean: float, longest: int
) -> None:
    env = make(env_id)
    lengths = []
    for state in classic().starts:
        env.reset(options={"task_id": classic().task_id(state)})
        lengths.append(len(env.oracle()))
        assert lengths[-1] == fewest_steps(state, is_goal)
    assert np.mean(lengths) == pytest.approx(mean, abs=0.01)
    assert max(lengths) == longest <= env.horizon


# Rules and rewards.


@pytest.mark.parametrize("env_id", IDS)
def test_every_command_in_every_reachable_state_does_what_gymnasiums_table_says(env_id: str) -> None:
    env = make(env_id)
    goal = 4 if env_id == PICKUP else 5
    pays = {PICKUP: {4: 20.0}, DROPOFF: {4: 20.0, 5: 20.0}, DELIVERY: {5: 20.0}}[env_id]
    for state in reachable_states():
        _, _, passenger, destination = classic().decode(state)
        if passenger == destination or (passenger == IN_TAXI and env_id == PICKUP):
            continue  # the game is over
        for action, command in enumerate(COMMANDS):
            place(env, state)
            observation, reward, terminated, truncated, info = env.step(command)
            outcome = taxi_table()[state][action]
            assert not truncated
            if outcome is ILLEGAL:
                assert (reward, terminated, info["success"]) == (-10.0, True, False)
                after = state
            else:
                assert reward == pays.get(action, -1.0)
                assert terminated is info["success"] is (action == goal)
                after = outcome[0]
            assert env.snapshot().state == (after,)
            text = describe_state(classic(), after)
            assert observation == (f"{info['feedback']}\n{text}" if terminated else text)


@pytest.mark.parametrize(
    ("env_id", "expected"),
    [
        (PICKUP, lambda steps: -(steps - 1) + 20.0),
        (DROPOFF, lambda steps: -(steps - 2) + 40.0),
        (DELIVERY, lambda steps: -(steps - 1) + 20.0),
    ],
)
def test_returns_of_a_perfect_game(env_id: str, expected: Callable[[int], float]) -> None:
    env = make(env_id)
    for task_id in list(TaxiTasks("classic", "all").ids())[::17]:
        env.reset(options={"task_id": task_id})
        plan = env.oracle()
        rewards, ends = zip(*(env.step(command)[1:3] for command in plan), strict=True)
        assert sum(rewards) == expected(len(plan))
        assert ends == (False,) * (len(plan) - 1) + (True,)


class Illegal(NamedTuple):
    """Where the taxi is, where the passenger is, and a command that ends the game there."""

    row: int
    column: int
    passenger: int
    command: str


@pytest.mark.parametrize(
    "case",
    [
        Illegal(4, 2, RED, "move south"),
        Illegal(0, 2, RED, "move north"),
        Illegal(2, 4, RED, "move east"),
        Illegal(2, 0, RED, "move west"),
        Illegal(0, 1, RED, "move east"),  # a wall, not the border
        Illegal(0, 2, RED, "move west"),
        Illegal(2, 2, RED, "pick up passenger"),  # nobody at an ordinary corner
        Illegal(0, 4, RED, "pick up passenger"),  # a landmark, but the passenger waits at another
        Illegal(0, 0, IN_TAXI, "pick up passenger"),  # already in the taxi
        Illegal(0, 4, RED, "drop off passenger"),  # an empty taxi at the destination
        Illegal(0, 0, RED, "drop off passenger"),  # an empty taxi where the passenger waits
        Illegal(2, 2, IN_TAXI, "drop off passenger"),
        Illegal(0, 0, IN_TAXI, "drop off passenger"),  # another landmark: Gymnasium pays -1 here and lets them out
        Illegal(4, 3, IN_TAXI, "drop off passenger"),
        Illegal(2, 2, RED, "Move South"),
        Illegal(2, 2, RED, "move south."),
        Illegal(2, 2, RED, "move  south"),
        Illegal(2, 2, RED, "jump"),
        Illegal(2, 2, RED, ""),
    ],
    ids=lambda case: "-".join(map(str, case)),
)
@pytest.mark.parametrize("env_id", IDS)
@pytest.mark.parametrize("first_step", [True, False])
def test_one_illegal_command_ends_the_game(env_id: str, case: Illegal, first_step: bool) -> None:
    env = make(env_id)
    place(env, classic().encode(case.row, case.column, case.passenger, GREEN))
    if not first_step:
        there_and_back = {"move south": "move north", "move north": "move south", "move east": "move west"}
        out = next(command for command in env.safe_commands() if command in there_and_back)
        env.step(out)
        env.step(there_and_back[out])
    _, reward, terminated, truncated, info = env.step(case.command)
    assert (reward, terminated, truncated, info["success"]) == (-10.0, True, False, False)
    assert info["feedback"].endswith("illegal, the game is over.")
    assert info["admissible_commands"] == COMMANDS


def test_all_six_commands_are_listed_at_every_step() -> None:
    env = make(DROPOFF)
    _, info = env.reset(seed=0)
    infos = [info, *(env.step(command)[4] for command in env.oracle())]
    assert all(info["admissible_commands"] == COMMANDS for info in infos)


@given(env_id=st.sampled_from(IDS), city=strategies.cities, seed=strategies.seeds, actions=strategies.actions)
def test_any_words_get_an_answer(env_id: str, city: str, seed: int, actions: list[str]) -> None:
    env = make(env_id, map="classic" if city == "classic" else "generated")
    starts = load_city(city).starts
    observation, info = env.reset(options={"task_id": load_city(city).task_id(starts[seed % len(starts)])})
    for step, action in enumerate(actions, 1):
        legal = action.strip() in env.safe_commands()
        state = env.snapshot().state
        observation, reward, terminated, truncated, info = env.step(action)
        assert observation in env.observation_space
        assert reward in ((-1.0, 20.0) if legal else (-10.0,))
        assert legal or (terminated and not info["success"] and env.snapshot().state == state)
        assert truncated == (step == env.horizon and not terminated)
        if terminated or truncated:
            break


# Baselines.


def success_rate(agent: Agent, env_id: str, horizon: int, runs: int) -> float:
    episodes = tuple(Episode(task_id, seed) for seed, task_id in enumerate(TaxiTasks("classic", "all").ids()))
    _, trajectories = evaluate(agent, Protocol("all-starts", env_id, {}, horizon, runs, episodes, ""))
    return float(np.mean([each.success for each in trajectories]))


@pytest.mark.parametrize(
    ("agent", "env_id", "horizon", "low", "high"),
    [
        # The seeds are fixed, so nothing here is left to chance. The bands are wide enough for other random numbers.
        (RandomLegalAgent(), PICKUP, 15, 0.09, 0.14),
        pytest.param(RandomAgent(), PICKUP, 15, 0.007, 0.02, marks=pytest.mark.slow),
        pytest.param(RandomAgent(), DROPOFF, 30, 0.0, 0.002, marks=pytest.mark.slow),
        pytest.param(RandomLegalAgent(), DROPOFF, 30, 0.005, 0.025, marks=pytest.mark.slow),
    ],
)
def test_chance_wins_rarely(agent: Agent, env_id: str, horizon: int, low: float, high: float) -> None:
    assert low <= success_rate(agent, env_id, horizon, runs=10) <= high


# Bad input.


@pytest.mark.parametrize(
    ("kwargs", "words"),
    [
        ({"stage": "drive"}, "unknown stage 'drive'"),
        ({"map": "clasic"}, "unknown map 'clasic': choose one of classic"),
        ({"split": "tset"}, "unknown split 'tset': choose one of test"),
        ({"horizon": 0}, "horizon must be a whole number of at least 1"),
        ({"horizon": 1.5}, "horizon must be a whole number of at least 1"),
        ({"render_mode": "svg"}, "unknown render_mode 'svg': choose one of ansi, rgb_array"),
    ],
)
def test_wrong_arguments_are_named(kwargs: dict[str, Any], words: str) -> None:
    with pytest.raises(UsageError, match=re.escape(words)):
        DangerousTaxiEnv(**kwargs)


@pytest.mark.parametrize(
    ("task_id", "words"),
    [
        ("classic", "unknown task"),
        ("classic/2.3/red-red", "unknown task"),
        ("classic/5.0/red-green", "must start in one of the 300 starts of classic"),
        ("classic/2.03/red-green", "unknown task"),
        ("Classic/2.3/red-green", "unknown city 'Classic'"),
        ("map-10000/0.0/red-green", "unknown city"),
        ("map-42/0.0/red-green", "unknown city"),
        ("map-٠٠٤٢/0.0/red-green", "unknown city"),
        ("map-0042/0.1/blue-yellow", "is on another kind of map: pass map='generated'"),
        (42, "task_id must be the id of a task, a str, not 42"),
    ],
)
def test_wrong_tasks_are_named(task_id: Any, words: str) -> None:
    with pytest.raises(UsageError, match=re.escape(words)):
        make(DELIVERY).reset(options={"task_id": task_id})


def test_a_task_of_another_split_is_named_with_its_own() -> None:
    task_id = next(TaxiTasks("classic", "test").ids())
    with pytest.raises(UsageError, match=re.escape("is in the split 'test', not 'train': pass split='test'")):
        make(PICKUP, split="train").reset(options={"task_id": task_id})


def test_few_cities_are_kept_in_memory() -> None:
    env = DangerousTaxiEnv(map="generated")
    for seed in range(CITIES_KEPT + 10):
        env.reset(seed=seed)
    gc.collect()
    assert sum(isinstance(each, City) for each in gc.get_objects()) <= CITIES_KEPT + 2, "and the classic one, and ours"
