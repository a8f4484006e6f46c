"""The statistics of scores, against textbook values."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from natlang_envs import UsageError
from natlang_envs.evaluation.statistics import (
    clustered_bootstrap,
    difference_interval,
    over_rounds,
    over_seeds,
    paired_p,
    success_interval,
    two_level_interval,
    wilson,
)


@pytest.mark.parametrize(
    ("successes", "trials", "low", "high"),
    [
        # Newcombe (1998), Statistics in Medicine 17, table I, method 3.
        (81, 263, 0.2553, 0.3662),
        (15, 148, 0.0624, 0.1605),
        (0, 20, 0.0, 0.1611),
        (1, 29, 0.0061, 0.1718),
    ],
)
def test_wilson_gives_the_textbooks_values(successes: int, trials: int, low: float, high: float) -> None:
    assert wilson(successes, trials) == pytest.approx((low, high), abs=5e-5)


@given(trials=st.integers(1, 5_000), data=st.data())
def test_wilson_holds_the_rate_and_is_symmetric(trials: int, data: st.DataObject) -> None:
    successes = data.draw(st.integers(0, trials))
    low, high = wilson(successes, trials)
    assert 0.0 <= low <= successes / trials <= high <= 1.0
    assert low < high
    mirrored = wilson(trials - successes, trials)
    assert (1 - mirrored.high, 1 - mirrored.low) == pytest.approx((low, high))
    wider = wilson(2 * successes, 2 * trials)
    assert wider.high - wider.low < high - low, "twice the episodes, at the same rate, narrow the interval"


def test_an_interval_needs_episodes() -> None:
    with pytest.raises(UsageError, match="at least one episode"):
        wilson(0, 0)


groups = st.lists(st.lists(st.booleans(), min_size=1, max_size=5), min_size=1, max_size=20)


@given(groups=groups)
def test_the_bootstrap_is_the_same_each_time_and_in_bounds(groups: list[list[bool]]) -> None:
    low, high = clustered_bootstrap(groups)
    assert clustered_bootstrap(groups) == (low, high)
    rates = [sum(group) / len(group) for group in groups]
    assert min(rates) - 1e-9 <= low <= high <= max(rates) + 1e-9


def test_the_bootstrap_resamples_tasks_and_not_episodes() -> None:
    independent = clustered_bootstrap([[index % 2 == 0] for index in range(200)])
    assert independent == pytest.approx(wilson(100, 200), abs=0.02)
    # The same 200 episodes, but all ten of a task alike: only twenty of them are independent.
    clustered = clustered_bootstrap([[index % 2 == 0] * 10 for index in range(20)])
    assert clustered == pytest.approx(wilson(10, 20), abs=0.04)


def test_over_seeds_is_students_t() -> None:
    # Mean 0.5, standard deviation 0.1, t = 4.303 with two degrees of freedom.
    half = 4.303 * 0.1 / np.sqrt(3)
    assert over_seeds([0.4, 0.5, 0.6]) == pytest.approx((0.5 - half, 0.5 + half))
    assert over_seeds([0.9, 1.0]) == pytest.approx((0.95 - 12.706 * 0.05, 1.0))
    assert over_seeds([0.7] * 10) == pytest.approx((0.7, 0.7))
    low, high = over_seeds([0.4, 0.6] * 15)  # 30 seeds: t is 2.045
    assert high - low == pytest.approx(2 * 2.045 * np.std([0.4, 0.6] * 15, ddof=1) / np.sqrt(30), rel=1e-3)
    for wrong in ([], [0.5]):
        with pytest.raises(UsageError, match="at least 2 of them"):
            over_seeds(wrong)


# Seeds and tasks.


def test_where_only_seeds_differ_the_interval_is_students_and_where_only_tasks_do_it_is_of_tasks() -> None:
    rates = [[each] * 1000 for each in (0.4, 0.5, 0.6)]
    low, high = two_level_interval(rates)
    assert (low + high) / 2 == pytest.approx(0.5)
    assert high - low == pytest.approx(np.diff(over_seeds([0.4, 0.5, 0.6]))[0], rel=0.15)  # drawn in from 0 and 1
    alike = [[float(task % 2) for task in range(100)]] * 3
    assert two_level_interval(alike) == pytest.approx(wilson(50, 100), abs=1e-3)


@given(st.lists(st.lists(st.booleans(), min_size=7, max_size=7), min_size=2, max_size=14))
def test_an_interval_over_seeds_and_tasks_holds_the_rate_and_is_no_narrower_than_wilsons(
    outcomes: list[list[bool]],
) -> None:
    low, high = two_level_interval(outcomes)
    won, episodes = sum(map(sum, outcomes)), 7 * len(outcomes)
    assert 0 <= low <= won / episodes <= high <= 1
    assert high - low >= np.diff(wilson(won, episodes))[0] - 1e-9
    assert two_level_interval(outcomes[::-1]) == pytest.approx((low, high))
    mirrored = two_level_interval([[not each for each in seed] for seed in outcomes])
    assert (1 - mirrored.high, 1 - mirrored.low) == pytest.approx((low, high))


def test_an_interval_over_seeds_and_tasks_needs_two_of_each() -> None:
    for wrong in ([], [[1.0, 0.0]], [[1.0], [0.0]], [[1.0, 0.0], [1.0]]):
        with pytest.raises(UsageError, match="at least two seeds"):
            two_level_interval(wrong)


@pytest.mark.parametrize("seeds", [2, 3, 5])
@pytest.mark.parametrize("of_seeds", [0.0, 0.5], ids=["equal seeds", "seeds differ"])
@pytest.mark.parametrize("of_tasks", [0.0, 1.5], ids=["equal tasks", "tasks differ"])
def test_intervals_over_seeds_and_tasks_hold_the_truth_95_times_in_100(
    seeds: int, of_seeds: float, of_tasks: float
) -> None:
    # Students of one teacher: log-odds of 1.5 on average, which differ by seed and by task. The truth is the rate of
    # seeds and tasks that were never drawn.
    rng = np.random.default_rng(0)
    odds = 1.5 + rng.normal(0, of_seeds, 100_000) + rng.normal(0, of_tasks, 100_000)
    truth = float((1 / (1 + np.exp(-odds))).mean())
    held = over = 0
    for _ in range(300):
        odds = 1.5 + rng.normal(0, of_seeds, (seeds, 1)) + rng.normal(0, of_tasks, (1, 100))
        drawn = rng.random((seeds, 100)) < 1 / (1 + np.exp(-odds))
        low, high = two_level_interval(drawn.tolist())
        held += low <= truth <= high
        below, above = wilson(int(drawn.sum()), drawn.size)
        over += below <= truth <= above
    assert held / 300 >= 0.93
    if of_seeds and seeds > 2:  # what takes all episodes for independent holds it far too seldom
        assert over / 300 < 0.85


def test_intervals_are_right_where_all_episodes_end_alike() -> None:
    assert success_interval([[False] * 10] * 44) == wilson(0, 44)
    assert success_interval([[True] * 10] * 44) == wilson(44, 44)
    assert success_interval([[True] * 10] * 44).low < 0.93


def test_an_interval_near_zero_is_no_narrower_than_that_of_independent_episodes() -> None:
    low, high = success_interval([[True] + [False] * 9] + [[False] * 10] * 43)
    assert low == 0.0
    assert high >= wilson(1, 440).high


def once(*results: bool) -> dict[str, list[bool]]:
    return {str(number): [each] for number, each in enumerate(results)}


def test_paired_test_is_mcnemars() -> None:
    # Seven tasks that only the first agent solves: p = 2 / 2**7.
    assert paired_p(once(*[True] * 100), once(*[True] * 93, *[False] * 7)) == pytest.approx(2 / 128)
    # Discordant 3 and 10: 2 * (1 + 13 + 78 + 286) / 2**13.
    one, other = once(*[True] * 3, *[False] * 10, True), once(*[False] * 3, *[True] * 10, True)
    assert paired_p(one, other) == pytest.approx(2 * 378 / 8192)
    assert paired_p(one, one) == 1.0
    with pytest.raises(UsageError, match="the same tasks"):
        paired_p(one, once(True))


def test_paired_test_of_repeated_tasks_counts_all_signs() -> None:
    # Differences of 1, 1/2 and 1/2: of the eight ways to sign them, two are as far from nothing as all three.
    one = {"a": [True, True], "b": [True, True], "c": [True, True]}
    other = {"a": [False, False], "b": [True, False], "c": [False, True]}
    assert paired_p(one, other) == pytest.approx(2 / 8)
    uneven = {str(task): [True] * (task + 2) + [False] for task in range(30)}
    assert 0 < paired_p(uneven, {task: [False] for task in uneven}) < 1e-8
    good = {str(task): [True] * 9 + [False] for task in range(20)}
    bad = {str(task): [False] * 9 + [True] for task in range(20)}
    assert paired_p(good, bad) == paired_p(bad, good) < 0.001
    assert paired_p({"a": [True, True], "b": [False]}, {"a": [True], "b": [False]}) == 1.0
    assert paired_p({"a": [True, True], "b": [False]}, {"a": [False], "b": [True]}) == 1.0


@given(st.lists(st.tuples(st.booleans(), st.booleans()), min_size=1, max_size=60))
def test_paired_test_is_symmetric_and_a_probability(pairs: list[tuple[bool, bool]]) -> None:
    one, other = once(*[a for a, _ in pairs]), once(*[b for _, b in pairs])
    assert 0 < paired_p(one, other) == paired_p(other, one) <= 1


def test_an_interval_over_rounds_is_that_of_their_tasks_unless_the_rounds_lie_far_apart() -> None:
    half = [[True]] * 100 + [[False]] * 100
    for count in (1, 2, 3):
        assert over_rounds([half] * count) == wilson(100 * count, 200 * count)
    apart = [half, [[True]] * 200, [[False]] * 200]
    assert over_rounds(apart) == over_seeds([0.5, 1.0, 0.0])
    assert over_rounds(apart[:2]) == wilson(300, 400)
    # Runs of one task are no further tasks.
    assert over_rounds([[[True] * 5] * 20 + [[False] * 5] * 20]) == success_interval(
        [[True] * 5] * 20 + [[False] * 5] * 20
    )


def test_an_interval_over_rounds_holds_the_rate_as_often_as_it_says() -> None:
    random = np.random.default_rng(0)
    for spread in (0.0, 0.1):
        held = 0
        for _ in range(300):
            rates = np.clip(0.6 + spread * random.standard_normal(3), 0, 1)
            low, high = over_rounds([[[bool(each)] for each in random.random(200) < rate] for rate in rates])
            held += low <= 0.6 <= high
        assert held / 300 > 0.92


@pytest.mark.parametrize(
    ("one", "of", "other", "of_other", "low", "high"),
    [(56, 70, 48, 80, 0.0524, 0.3339), (9, 10, 3, 10, 0.1705, 0.8090), (10, 10, 0, 20, 0.6791, 1.0)],
)
def test_the_interval_of_a_difference_has_the_textbooks_values(
    one: int, of: int, other: int, of_other: int, low: float, high: float
) -> None:
    # Newcombe (1998), Statistics in Medicine 17, page 873, method 10.
    found = difference_interval(one / of, wilson(one, of), other / of_other, wilson(other, of_other))
    assert found == pytest.approx((low, high), abs=5e-5)
