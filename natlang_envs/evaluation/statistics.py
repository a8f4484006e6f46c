"""Scores, their 95% intervals, and paired tests of two agents on the same tasks."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import comb, lcm, sqrt
from typing import NamedTuple

import numpy as np

from natlang_envs.errors import UsageError
from natlang_envs.trajectory import Trajectory

_Z = 1.959963984540054  # the 97.5% quantile of the normal distribution
_T_975 = (12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262)  # of Student's t, 1 to 9 degrees of freedom
_RESAMPLES = 10_000
_FINEST = 1_000  # parts of a success that the paired test tells apart


class Interval(NamedTuple):
    """A 95% interval."""

    low: float
    high: float


@dataclass(frozen=True)
class Score:
    """The score of a set of episodes.

    Attributes:
        success_rate: The part of the episodes that ended in success.
        interval: Its 95% interval.
        episodes: Number of episodes.
        tasks: Number of different tasks.
        mean_return: Mean sum of rewards.
        mean_steps: Mean length.
        mean_regret: Mean number of steps beyond the environment's own plan, over successful episodes; None without any.
    """

    success_rate: float
    interval: Interval
    episodes: int
    tasks: int
    mean_return: float
    mean_steps: float
    mean_regret: float | None


def wilson(successes: int, trials: int) -> Interval:
    """Return Wilson's score interval for a proportion."""
    if trials < 1:
        raise UsageError("an interval needs at least one episode")
    return _score_interval(successes / trials, _Z**2 / trials)


def _score_interval(rate: float, doubt: float) -> Interval:
    """Return the rates r that are at most sqrt(doubt * r * (1 - r)) from the observed one."""
    spread = 1 + doubt
    centre = (rate + doubt / 2) / spread
    half = sqrt(rate * (1 - rate) * doubt + doubt**2 / 4) / spread
    low = 0.0 if rate == 0 else max(0.0, centre - half)
    high = 1.0 if rate == 1 else min(1.0, centre + half)
    return Interval(low, high)


def clustered_bootstrap(groups: Sequence[Sequence[bool]]) -> Interval:
    """Return the percentile interval of a success rate, resampling whole tasks; always the same for the same input."""
    sums = np.array([sum(group) for group in groups], dtype=np.float64)
    sizes = np.array([len(group) for group in groups], dtype=np.float64)
    samples = np.random.default_rng(0).integers(len(groups), size=(_RESAMPLES, len(groups)))
    rates = sums[samples].sum(axis=1) / sizes[samples].sum(axis=1)
    low, high = np.quantile(rates, (0.025, 0.975))
    return Interval(float(low), float(high))


def success_interval(groups: Sequence[Sequence[bool]]) -> Interval:
    """Return the 95% interval of a success rate.

    Where each task was played once it is Wilson's. Else it is the bootstrap over tasks, widened to Wilson's interval
    over the episodes, which holds near 0 and 1, where resampling sees too little spread. If all episodes ended alike,
    it is Wilson's interval over the tasks.

    Args:
        groups: For each task, whether each of its episodes was a success.
    """
    successes, episodes = sum(map(sum, groups)), sum(map(len, groups))
    if all(len(group) == 1 for group in groups):
        return wilson(successes, episodes)
    if successes in (0, episodes):
        return wilson(len(groups) if successes else 0, len(groups))
    resampled, single = clustered_bootstrap(groups), wilson(successes, episodes)
    return Interval(min(resampled.low, single.low), max(resampled.high, single.high))


def paired_p(one: Mapping[str, Sequence[bool]], other: Mapping[str, Sequence[bool]]) -> float:
    """Return the two-sided p-value of equally good agents, from their common tasks.

    It is the exact test of signs: were they equally good, each task's difference of their success rates might as well
    be the other way round. Where both played each task once this is McNemar's exact test. Recordings of several
    training seeds count as runs of one agent: the p-value is of these seeds, on other tasks.

    Args:
        one: For each task, whether each of its episodes was a success.
        other: The same of the other agent, on the same tasks.

    Raises:
        UsageError: They did not play the same tasks.
    """
    if set(one) != set(other) or not one:
        raise UsageError("a paired test needs two agents that played the same tasks")
    parts = min(_FINEST, lcm(*{len(each) for played in (one, other) for each in played.values()}))
    rates = [sum(one[task]) / len(one[task]) - sum(other[task]) / len(other[task]) for task in sorted(one)]
    differences = [round(parts * each) for each in rates if round(parts * each)]
    chances = np.ones(1)  # of each sum of the differences seen so far, the least first
    for size, times in Counter(map(abs, differences)).most_common():
        wider = np.zeros(len(chances) + 2 * size * times)
        for won in range(times + 1):
            wider[2 * size * won :][: len(chances)] += comb(times, won) / 2**times * chances
        chances = wider
    total = len(chances) // 2
    as_far = abs(sum(differences))
    return min(1.0, float(chances[: total - as_far + 1].sum() + chances[total + as_far :].sum()))


def over_seeds(rates: Sequence[float]) -> Interval:
    """Return the 95% interval of the mean over training seeds, by Student's t, for what is no success on listed tasks.

    For success rates, `two_level_interval` reckons with other tasks too.
    """
    if len(rates) < 2:
        raise UsageError(f"an interval over seeds needs at least 2 of them, not {len(rates)}")
    half = _student(len(rates) - 1) * float(np.std(rates, ddof=1)) / sqrt(len(rates))
    mean = float(np.mean(rates))
    return Interval(max(0.0, mean - half), min(1.0, mean + half))


def two_level_interval(rates: Sequence[Sequence[float]]) -> Interval:
    """Return the 95% interval of a success rate over training seeds and tasks, for other seeds on other tasks.

    Seeds and tasks are crossed: every seed played the same tasks, so a hard task is hard for all of them. The variance
    of the mean has two parts: that of the seeds' rates, as in Student's interval over seeds, with one degree of freedom
    fewer than there are seeds; and what tasks add beyond chance, from an analysis of variance. The margins of the two
    (t and z times their standard errors) are added in squares. As in Wilson's interval the margin is taken to shrink
    towards 0 and 1. It is never narrower than Wilson's over all episodes; where all ended alike it is Wilson's over the
    tasks. `tests/natlang_envs/test_statistics.py` simulates how often it holds the truth: in at least nine cases of ten
    with very uneven seeds, mostly in 95 to 99 of 100.

    Args:
        rates: For each seed, its success rate on each task, in one order of the tasks.
    """
    if len(rates) < 2 or len({len(each) for each in rates}) != 1 or len(rates[0]) < 2:
        raise UsageError("intervals over seeds and tasks need at least two seeds, and two tasks that all played")
    table = np.array(rates, dtype=np.float64)
    seeds, tasks = table.shape
    mean = float(table.mean())
    if mean in (0.0, 1.0):
        return _score_interval(mean, _Z**2 / tasks)
    by_seed, by_task = table.mean(axis=1), table.mean(axis=0)
    chance = ((table - by_seed[:, None] - by_task + mean) ** 2).sum() / ((seeds - 1) * (tasks - 1) * seeds * tasks)
    of_seeds = by_seed.var(ddof=1) / seeds
    of_tasks = max(0.0, by_task.var(ddof=1) / tasks - chance)
    margin = _student(seeds - 1) ** 2 * of_seeds + _Z**2 * of_tasks
    return _score_interval(mean, max(float(margin) / (mean * (1 - mean)), _Z**2 / table.size))


def _student(freedom: int) -> float:
    """Return the 97.5% quantile of Student's t; beyond the table by Fisher's expansion, right to three places."""
    if freedom <= len(_T_975):
        return _T_975[freedom - 1]
    z, n = _Z, freedom
    return z + (z**3 + z) / (4 * n) + (5 * z**5 + 16 * z**3 + 3 * z) / (96 * n**2)


def over_rounds(rounds: Sequence[Sequence[Sequence[bool]]]) -> Interval:
    """Return the 95% interval of a success rate over rounds, each with tasks of its own.

    It is that of all tasks together. From three rounds on it is at least as wide as Student's t over the rounds: an
    agent that is another one in another month has a rate less certain than its number of tasks says.

    Args:
        rounds: For each round and each of its tasks, whether each of its episodes was a success.
    """
    together = success_interval([task for tasks in rounds for task in tasks])
    if len(rounds) < 3:  # two say hardly anything of how far rounds lie apart
        return together
    spread = over_seeds([sum(map(sum, tasks)) / sum(map(len, tasks)) for tasks in rounds])
    return Interval(min(together.low, spread.low), max(together.high, spread.high))


def difference_interval(one: float, of_one: Interval, other: float, of_other: Interval) -> Interval:
    """Return the 95% interval of one rate less another that is independent of it, from their intervals (Newcombe)."""
    low = float(np.hypot(one - of_one.low, of_other.high - other))
    high = float(np.hypot(of_one.high - one, other - of_other.low))
    return Interval(one - other - low, one - other + high)


def score(trajectories: Sequence[Trajectory], plan_lengths: dict[str, int]) -> Score:
    """Return the score of episodes.

    Args:
        trajectories: At least one.
        plan_lengths: For each task that has one, the number of steps of the environment's own plan.
    """
    groups: dict[str, list[bool]] = {}
    for each in trajectories:
        groups.setdefault(each.task_id, []).append(each.success)
    successes = sum(each.success for each in trajectories)
    planned = [each for each in trajectories if each.success and each.task_id in plan_lengths]
    regrets = [len(each.actions) - plan_lengths[each.task_id] for each in planned]
    return Score(
        success_rate=successes / max(1, len(trajectories)),
        interval=success_interval(list(groups.values())),
        episodes=len(trajectories),
        tasks=len(groups),
        mean_return=float(np.mean([sum(each.rewards) for each in trajectories])),
        mean_steps=float(np.mean([len(each.actions) for each in trajectories])),
        mean_regret=float(np.mean(regrets)) if regrets else None,
    )
