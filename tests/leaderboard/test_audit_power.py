"""How often a recording that was chosen passes an audit: simulated, with the tests of the audit itself."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from numpy.typing import NDArray

from leaderboard.audit import Audit
from leaderboard.audit.auditing import EPISODES, _at_most_p
from natlang_envs.evaluation.statistics import paired_p

STEPS = 5  # of an episode; the first error loses it
AUDITS = 200

Tries = NDArray[np.bool_]  # of each episode and step, whether the agent errs


def tries(random: np.random.Generator, rate: float) -> Tries:
    return random.random((EPISODES, STEPS)) > rate ** (1 / STEPS)


def won(played: Tries) -> NDArray[np.bool_]:
    return ~played.any(axis=1)


def once(random: np.random.Generator, rate: float) -> tuple[Tries, Tries]:
    """Return what the round's random numbers give, and what was recorded."""
    first = tries(random, rate)
    return first, first


def best_of_two_episodes(random: np.random.Generator, rate: float) -> tuple[Tries, Tries]:
    first, second = tries(random, rate), tries(random, rate)
    return first, np.where(won(first)[:, None], first, second)


def best_of_twenty_runs(random: np.random.Generator, rate: float) -> tuple[Tries, Tries]:
    runs = [tries(random, rate) for _ in range(20)]
    return runs[0], max(runs, key=lambda each: int(won(each).sum()))


def audited(
    random: np.random.Generator, given: Tries, recorded: Tries, rate: float, fresh: float, *, live: bool
) -> bool:
    """Return whether an audit passes a recording of an agent that wins the other tasks at the rate `fresh`."""
    ends = np.where(recorded.any(axis=1), recorded.argmax(axis=1), STEPS - 1)
    differs = (given != recorded) & (np.arange(STEPS) <= ends[:, None])
    steps = int((ends + 1).sum())
    again, wins = won(tries(random, rate)), int(won(recorded).sum())
    won_fresh = int(won(tries(random, fresh)).sum())
    by_episode = [{str(n): [bool(each)] for n, each in enumerate(played)} for played in (won(recorded), again)]
    found = Audit(
        entry="",
        recording="",
        same=steps - int(differs.sum()),
        drifted=0,
        impossible=0,
        steps=steps,
        surprise=None,
        recorded=wins,
        again=int(again.sum()),
        p=paired_p(*by_episode),
        fresh=won_fresh,
        played_fresh=EPISODES,
        fresh_p=_at_most_p(won_fresh, EPISODES, wins, EPISODES),
        sampling=True,
        exact=live,
        others=int(differs.any(axis=1).sum()),
        episodes=EPISODES,
        open=(),
    )
    return not found.problem


def passes(record: Callable[[np.random.Generator, float], tuple[Tries, Tries]], rate: float, *, live: bool) -> float:
    """Return how often a recording passes that is not what the round's random numbers give, or that has to be it."""
    random = np.random.default_rng(0)
    both = [record(random, rate) for _ in range(AUDITS)]
    chosen = [each for each in both if record is once or not np.array_equal(*each)]
    return sum(audited(random, *each, rate, rate, live=live) for each in chosen) / AUDITS


@pytest.mark.parametrize("rate", [0.5, 0.8, 0.9, 0.95])
@pytest.mark.parametrize("record", [best_of_two_episodes, best_of_twenty_runs])
def test_in_a_live_round_a_recording_that_was_chosen_does_not_pass(
    record: Callable[[np.random.Generator, float], tuple[Tries, Tries]], rate: float
) -> None:
    assert passes(record, rate, live=True) == 0


@pytest.mark.parametrize("rate", [0.5, 0.8, 0.9])
def test_an_honest_recording_passes(rate: float) -> None:
    assert passes(once, rate, live=True) >= 0.93


def test_without_a_round_the_best_of_twenty_runs_often_passes() -> None:
    assert passes(best_of_twenty_runs, 0.5, live=False) > 0.5
    assert passes(best_of_two_episodes, 0.5, live=False) == 0


@pytest.mark.parametrize(("fallback", "most"), [(0.9, 0.01), (0.95, 0.2)])
def test_who_knows_the_listed_tasks_by_heart_seldom_passes_and_has_nothing_of_it_in_a_round(
    fallback: float, most: float
) -> None:
    random = np.random.default_rng(0)
    known = np.zeros((EPISODES, STEPS), np.bool_)
    static = [audited(random, known, known, 1.0, fallback, live=False) for _ in range(AUDITS)]
    assert np.mean(static) <= most
    # In a round it knows no task: what it records is what it can, and the listed tasks' rate is nowhere ranked.
    rates = [won(once(random, fallback)[1]).mean() for _ in range(AUDITS)]
    assert abs(np.mean(rates) - fallback) < 0.01
