"""DangerousTaxi: the model test file of an environment.

What is tested here is what only this environment promises: its rules, its numbers, its words. The promises that all
environments make (determinism, infos, snapshots, vector form …) are tested by the conformance checks, see
`test_conformance.py`; generated cities have a file of their own. Wherever it can be, the truth comes from outside the
code under test: from Gymnasium's own `TaxiEnv`, from a search written here, or from a file under `tests/golden/` that
only `--remake-golden` changes.
"""

from __future__ import annotations

import re
import sys
from collections import deque
from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple

import gymnasium
import numpy as np
import pytest
from gymnasium.envs.toy_text.taxi import TaxiEnv
from hypothesis import given
from hypothesis import strategies as st

from natlang_envs import NatLangEnv, UsageError, unwrap
from natlang_envs.dangerous_taxi.city import IN_TAXI, LANDMARKS, City, load_city, taxi_rules
from natlang_envs.dangerous_taxi.env import DangerousTaxiEnv
from natlang_envs.dangerous_taxi.render import render_ansi, render_rgb
from natlang_envs.dangerous_taxi.tasks import TaxiTasks, task_id_of
from natlang_envs.dangerous_taxi.words import COMMANDS, MAX_OBSERVATION, describe_state
from natlang_envs.evaluation import Agent, evaluate
from natlang_envs.evaluation.agents import RandomAgent, RandomLegalAgent
from natlang_envs.evaluation.protocols import Episode, Protocol
from tests import strategies
from tests.strategies import CITY_SAMPLE

PICKUP, DROPOFF, DELIVERY = (f"NatLang/DangerousTaxi{name}-v0" for name in ("-Pickup", "-Dropoff", ""))
IDS = (PICKUP, DROPOFF, DELIVERY)
ILLEGAL = object()


def make(env_id: str, **kwargs: Any) -> NatLangEnv:
    return unwrap(gymnasium.make(env_id, **kwargs))


def place(env: NatLangEnv, state: int, city: str = "classic") -> None:
    """Put an environment into any state: a snapshot says where the taxi is."""
    env.reset(options={"task_id": task_id_of(load_city(city), load_city(city).starts[0])})
    env.restore(env.snapshot()._replace(state=(state,)))


# The truth from outside: Gymnasium's transition table, and what of it DangerousTaxi calls illegal.


@cache
def taxi_table() -> list[list[Any]]:
    """For every state and action of TaxiEnv, the next state and whether the passenger is delivered, or ILLEGAL."""
    table: list[list[Any]] = []
    for state, actions in sorted(TaxiEnv().P.items()):
        row: list[Any] = []
        for action in range(6):
            ((_, after, reward, delivered),) = actions[action]
            stands_still = action < 4 and after == state
            drops_elsewhere = action == 5 and not delivered
            punished = reward == -10
            row.append(ILLEGAL if stands_still or drops_elsewhere or punished else (after, delivered))
        table.append(row)
    return table


def fewest_steps(start: int, is_goal: Callable[[int, int, bool], bool]) -> int:
    """Breadth-first search over Gymnasium's table; `is_goal(state, action, delivered)` ends it."""
    queue, seen = deque([(start, 0)]), {start}
    while queue:
        state, steps = queue.popleft()
        for action, outcome in enumerate(taxi_table()[state]):
            if outcome is ILLEGAL:
                continue
            after, delivered = outcome
            if is_goal(state, action, delivered):
                return steps + 1
            if after not in seen and not delivered:
                seen.add(after)
                queue.append((after, steps + 1))
    raise AssertionError(f"no way from state {start}")


def reachable_states() -> set[int]:
    """Every state that a legal game can be in, its last one included."""
    queue, seen = list(classic().starts), set(classic().starts)
    while queue:
        for outcome in taxi_table()[queue.pop()]:
            if outcome is ILLEGAL or outcome[0] in seen:
                continue
            seen.add(outcome[0])
            if not outcome[1]:
                queue.append(outcome[0])
    return seen


def classic() -> City:
    return load_city("classic")


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
        env.reset(options={"task_id": task_id_of(classic(), state)})
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


RED, GREEN, YELLOW, BLUE = range(4)  # the destination is always Green, at row 0, column 4


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
        Illegal(2, 2, RED, " move south"),
        Illegal(2, 2, RED, "move south\n"),
        Illegal(2, 2, RED, "jump"),
        Illegal(2, 2, RED, ""),
    ],
    ids=str,
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
    observation, info = env.reset(options={"task_id": task_id_of(load_city(city), starts[seed % len(starts)])})
    for step, action in enumerate(actions, 1):
        legal = action in env.safe_commands()
        state = env.snapshot().state
        observation, reward, terminated, truncated, info = env.step(action)
        assert observation in env.observation_space
        assert reward in ((-1.0, 20.0) if legal else (-10.0,))
        assert legal or (terminated and not info["success"] and env.snapshot().state == state)
        assert truncated == (step == env.horizon and not terminated)
        if terminated or truncated:
            break


# Words.


class Read(NamedTuple):
    """What a reader gathers from an observation."""

    rows: int
    columns: int
    landmarks: tuple[tuple[int, int], ...]
    walls: frozenset[tuple[int, int]]
    taxi: tuple[int, int]
    passenger: str
    destination: str


def read(text: str) -> Read:
    """Understand an observation without the code that wrote it."""

    def numbers(pattern: str) -> tuple[int, ...]:
        found = re.search(pattern, text)
        assert found, f"{pattern!r} is not in {text!r}"
        return tuple(map(int, found.groups()))

    walls = set()
    for west, _, first, last in re.findall(r"between columns (\d) and (\d) in rows? (\d)(?: to (\d))?", text):
        walls |= {(row, int(west)) for row in range(int(first), int(last or first) + 1)}
    found = re.search(r"The passenger (is in the taxi|waits at \w+|has arrived at \w+)", text)
    goal = re.search(r"The destination is (\w+)", text)
    assert found
    assert goal
    for place, row, column in re.findall(r"(\w+) \(row (\d), column (\d)\)", text):
        assert f"{place} is at row {row}, column {column}." in text, "a place that is said twice is the same place"
    (last_row,), (last_column,) = numbers(r"Rows 0 to (\d)"), numbers(r"columns 0 to (\d)")
    return Read(
        rows=last_row + 1,
        columns=last_column + 1,
        landmarks=tuple((r, c) for r, c in (numbers(rf"{name} is at row (\d), column (\d)") for name in LANDMARKS)),
        walls=frozenset(walls),
        taxi=numbers(r"The taxi is at row (\d), column (\d)"),  # type: ignore[arg-type]
        passenger=found[1],
        destination=goal[1],
    )


@pytest.mark.parametrize("name", ["classic", *CITY_SAMPLE[::5]])
def test_an_observation_says_all_of_the_state(name: str) -> None:
    city = load_city(name)
    for state in range(len(city.next_states)):
        row, column, passenger, destination = city.decode(state)
        text = describe_state(city, state)
        seen = read(text)
        assert seen[:4] == (city.rows, city.columns, city.landmarks, city.walls)
        assert seen.taxi == (row, column)
        assert seen.destination == LANDMARKS[destination]
        if passenger == IN_TAXI:
            assert seen.passenger == "is in the taxi"
        else:
            assert (
                seen.passenger == f"{'has arrived' if passenger == destination else 'waits'} at {LANDMARKS[passenger]}"
            )
        assert len(text) < MAX_OBSERVATION - 1_000  # room for the answer to the last command


@pytest.mark.parametrize("name", ["classic", *CITY_SAMPLE])
def test_the_walls_in_the_text_are_the_walls_that_block(name: str) -> None:
    city = load_city(name)
    seen = read(describe_state(city, city.starts[0]))
    for row in range(city.rows):
        for column in range(city.columns):
            south, north, east, west = city.next_states[city.encode(row, column, RED, GREEN)][:4] == -1
            assert south == (row == city.rows - 1)
            assert north == (row == 0)
            assert east == (column == city.columns - 1 or (row, column) in seen.walls)
            assert west == (column == 0 or (row, column - 1) in seen.walls)


# Baselines.


def success_rate(agent: Agent, env_id: str, horizon: int, runs: int) -> float:
    episodes = tuple(Episode(task_id, seed) for seed, task_id in enumerate(TaxiTasks("classic", "all").ids()))
    _, trajectories = evaluate(agent, Protocol("all-starts", env_id, {}, horizon, runs, episodes, ""))
    return float(np.mean([each.success for each in trajectories]))


@pytest.mark.parametrize(
    ("agent", "env_id", "horizon", "low", "high"),
    [
        # The seeds are fixed, so nothing here is left to chance. The bands are wide enough for other random numbers.
        (RandomAgent(), PICKUP, 15, 0.007, 0.02),
        (RandomLegalAgent(), PICKUP, 15, 0.09, 0.14),
        (RandomAgent(), DROPOFF, 30, 0.0, 0.002),
        (RandomLegalAgent(), DROPOFF, 30, 0.005, 0.025),
    ],
)
def test_chance_wins_rarely(agent: Agent, env_id: str, horizon: int, low: float, high: float) -> None:
    assert low <= success_rate(agent, env_id, horizon, runs=10) <= high


# Pictures and recorded games.


def test_the_ansi_picture(golden: Callable[[str, str], None]) -> None:
    waiting = classic().encode(2, 3, RED, GREEN)
    pictures = [
        render_ansi(classic(), waiting),
        render_ansi(classic(), classic().encode(4, 1, IN_TAXI, BLUE)),
        render_ansi(load_city("map-0042"), load_city("map-0042").starts[7]),
    ]
    golden("dangerous-taxi-render.txt", "\n\n".join(pictures) + "\n")
    env = make(DELIVERY, render_mode="ansi")
    place(env, waiting)
    assert env.render() == pictures[0]


def test_no_two_states_look_alike() -> None:
    states = sorted(reachable_states())
    assert len({render_ansi(classic(), state) for state in states}) == 404
    assert len({render_rgb(classic(), state).tobytes() for state in states}) == 404


def test_the_rgb_picture() -> None:
    env = make(DELIVERY, map="generated", render_mode="rgb_array")
    env.reset(seed=0)
    city = load_city(env.snapshot().task_id.split("/")[0])
    picture = env.render()
    assert isinstance(picture, np.ndarray)
    assert picture.dtype == np.uint8
    assert picture.shape == (city.rows * 40, city.columns * 40, 3)
    env.step(env.safe_commands()[0])
    assert (env.render() != picture).any()
    assert make(DELIVERY).render() is None
    assert "pygame" not in sys.modules


@pytest.mark.parametrize("env_id", IDS)
@pytest.mark.parametrize("task_id", ["classic/2.3/red-green", "map-0042/0.1/blue-yellow"])
def test_golden_transcripts(env_id: str, task_id: str, golden: Callable[[str, str], None]) -> None:
    """A perfect game, a wrong step and unknown words: every character that a player sees."""
    env = make(env_id, map="classic" if task_id.startswith("classic") else "generated")
    lines = [env_id]
    for ending in (None, "drop off passenger", "look around"):
        observation, info = env.reset(seed=0, options={"task_id": task_id})
        lines += ["", f"task: {info['task']} ({info['task_id']})", observation]
        for action in env.oracle() if ending is None else [*env.oracle()[:2], ending]:
            observation, reward, terminated, truncated, info = env.step(action)
            end = "terminated" if terminated else "truncated" if truncated else "goes on"
            lines += [f"> {action}", f"[{info['feedback']}]", observation, f"{reward} {end} {info['success']}"]
    city = task_id.split("/")[0]
    golden(f"{env_id.removeprefix('NatLang/')}-{city}.txt", "\n".join(lines) + "\n")


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
        (42, "unknown task 42"),
    ],
)
def test_wrong_tasks_are_named(task_id: Any, words: str) -> None:
    with pytest.raises(UsageError, match=re.escape(words)):
        make(DELIVERY).reset(options={"task_id": task_id})


def test_a_task_of_another_split_is_named_with_its_own() -> None:
    task_id = next(TaxiTasks("classic", "test").ids())
    with pytest.raises(UsageError, match=re.escape("is in the split 'test', not 'train': pass split='test'")):
        make(PICKUP, split="train").reset(options={"task_id": task_id})
