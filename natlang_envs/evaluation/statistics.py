"""Scores, their 95% intervals, and paired tests of two agents on the same tasks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import comb, sqrt
from typing import NamedTuple

import numpy as np

from natlang_envs.errors import UsageError
from natlang_envs.trajectory import Trajectory

_Z = 1.959963984540054  # the 97.5% quantile of the normal distribution
_T_975 = (12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262)  # of Student's t, 1 to 9 degrees of freedom
_RESAMPLES = 10_000


class Interval(NamedTuple):
    """A 95% interval."""

    low: float
    high: float


@dataclass(frozen=True)
class Score:
    """What a set of episodes earned.

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
    rate = successes / trials
    spread = 1 + _Z**2 / trials
    centre = (rate + _Z**2 / (2 * trials)) / spread
    half = _Z * sqrt(rate * (1 - rate) / trials + _Z**2 / (4 * trials**2)) / spread
    low = 0.0 if successes == 0 else max(0.0, centre - half)
    high = 1.0 if successes == trials else min(1.0, centre + half)
    return Interval(low, high)


def clustered_bootstrap(groups: Sequence[Sequence[bool]]) -> Interval:
    """Return the percentile interval of a success rate, resampling whole tasks; always the same for the same input."""
    sums = np.array([sum(group) for group in groups], dtype=np.float64)
    sizes = np.array([len(group) for group in groups], dtype=np.float64)
    draws = np.random.default_rng(0).integers(len(groups), size=(_RESAMPLES, len(groups)))
    rates = sums[draws].sum(axis=1) / sizes[draws].sum(axis=1)
    low, high = np.quantile(rates, (0.025, 0.975))
    return Interval(float(low), float(high))


def repeated_interval(groups: Sequence[Sequence[bool]]) -> Interval:
    """Return the 95% interval of a success rate where tasks are played several times.

    It is the bootstrap over tasks, widened to Wilson's interval over the episodes, which holds near 0 and 1, where
    resampling sees too little spread. If all episodes ended alike, it is Wilson's interval over the tasks.
    """
    successes, episodes = sum(map(sum, groups)), sum(map(len, groups))
    if successes in (0, episodes):
        return wilson(len(groups) if successes else 0, len(groups))
    drawn, single = clustered_bootstrap(groups), wilson(successes, episodes)
    return Interval(min(drawn.low, single.low), max(drawn.high, single.high))


def success_interval(groups: Sequence[Sequence[bool]]) -> Interval:
    """Return the 95% interval of a success rate: Wilson's where each task was played once, else `repeated_interval`.

    Args:
        groups: For each task, whether each of its episodes was a success.
    """
    if all(len(group) == 1 for group in groups):
        return wilson(sum(map(sum, groups)), len(groups))
    return repeated_interval(groups)


def paired_p(one: Mapping[str, Sequence[bool]], other: Mapping[str, Sequence[bool]]) -> float:
    """Return the two-sided p-value of two agents being equally good, from the tasks that both played.

    Where both played each task once it is McNemar's exact test; else the signs of the differences of the tasks'
    success rates are drawn at random, always with the same draws.

    Args:
        one: For each task, whether each of its episodes was a success.
        other: The same of the other agent, on the same tasks.

    Raises:
        UsageError: They did not play the same tasks.
    """
    if set(one) != set(other) or not one:
        raise UsageError("a paired test needs two agents that played the same tasks")
    if all(len(one[task]) == len(other[task]) == 1 for task in one):
        won = sum(one[task][0] and not other[task][0] for task in one)
        lost = sum(other[task][0] and not one[task][0] for task in one)
        tail = sum(comb(won + lost, each) for each in range(min(won, lost) + 1))
        return min(1.0, 2 * tail / 2 ** (won + lost))
    rates = [sum(one[task]) / len(one[task]) - sum(other[task]) / len(other[task]) for task in sorted(one)]
    differences = np.array([each for each in rates if each])
    if not len(differences):
        return 1.0
    signs = np.random.default_rng(0).choice((-1.0, 1.0), size=(_RESAMPLES, len(differences)))
    as_far = np.abs(signs @ differences) >= abs(differences.sum()) - 1e-9
    return float((as_far.sum() + 1) / (_RESAMPLES + 1))


def over_seeds(rates: Sequence[float]) -> Interval:
    """Return the 95% interval of the mean over 2 to 10 training seeds, by Student's t."""
    if not 2 <= len(rates) <= 10:
        raise UsageError(f"an interval over seeds needs 2 to 10 of them, not {len(rates)}")
    half = _T_975[len(rates) - 2] * float(np.std(rates, ddof=1)) / sqrt(len(rates))
    mean = float(np.mean(rates))
    return Interval(max(0.0, mean - half), min(1.0, mean + half))


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
    """Return what the episodes earned.

    Args:
        trajectories: At least one.
        plan_lengths: For each task, the number of steps of the environment's own plan.
    """
    groups: dict[str, list[bool]] = {}
    for each in trajectories:
        groups.setdefault(each.task_id, []).append(each.success)
    successes = sum(each.success for each in trajectories)
    regrets = [len(each.actions) - plan_lengths[each.task_id] for each in trajectories if each.success]
    return Score(
        success_rate=successes / max(1, len(trajectories)),
        interval=success_interval(list(groups.values())),
        episodes=len(trajectories),
        tasks=len(groups),
        mean_return=float(np.mean([sum(each.rewards) for each in trajectories])),
        mean_steps=float(np.mean([len(each.actions) for each in trajectories])),
        mean_regret=float(np.mean(regrets)) if regrets else None,
    )
