"""A weighted random choice with integer weights, so that rounding cannot change a draw."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable
from itertools import accumulate
from typing import Generic, TypeVar

from natlang_envs.task_random import TaskRandom

Outcome = TypeVar("Outcome")


class WeightedChoice(Generic[Outcome]):
    """Outcomes, each drawn in proportion to its weight.

    Attributes:
        outcomes: Those with a weight above 0, in the order given.

    Args:
        weights: Pairs of an outcome and its weight, a whole number of at least 0.
    """

    def __init__(self, weights: Iterable[tuple[Outcome, int]]) -> None:
        kept = [(outcome, weight) for outcome, weight in weights if weight > 0]
        self.outcomes = tuple(outcome for outcome, _ in kept)
        self._sums = tuple(accumulate(weight for _, weight in kept))

    def draw(self, random: TaskRandom) -> Outcome:
        """Return an outcome; there must be one."""
        if len(self.outcomes) == 1:
            random.position += 1  # whatever the number is
            return self.outcomes[0]
        return self.outcomes[bisect_right(self._sums, random.below(self._sums[-1]))]

    def at(self, fraction: float) -> Outcome:
        """Return the outcome at a fraction, in [0, 1), of the sum of the weights; there must be one."""
        return self.outcomes[bisect_right(self._sums, int(fraction * self._sums[-1]))]
