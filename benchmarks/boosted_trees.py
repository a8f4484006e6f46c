"""Gradient-boosted trees of two levels that tell two groups apart, in numpy: how well they do it out of sample."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float32]
Bools = NDArray[np.bool_]

FOLDS = 5
_ROUNDS, _RATE, _RIDGE = 150, 0.2, 5.0
_CUTS = 12  # thresholds of a feature


def auc(scores: NDArray[np.float64], label: Bools) -> float:
    """Return the area under the ROC curve: how often one of the group scores above one of the others; ties half."""
    _, inverse, counts = np.unique(scores, return_inverse=True, return_counts=True)
    ranks = (np.cumsum(counts) - (counts - 1) / 2)[inverse]
    inside = int(label.sum())
    return float((ranks[label].sum() - inside * (inside + 1) / 2) / (inside * (len(label) - inside)))


def separability(features: NDArray[np.float64], label: Bools) -> tuple[float, list[int]]:
    """Return the AUC of trees that never saw the rows they score, and the features by how much they helped.

    Args:
        features: A row for each member of either group.
        label: Which group each row is of.
    """
    cuts = [(column, cut) for column, values in enumerate(features.T) for cut in _thresholds(values)]
    above = np.stack([features[:, column] > cut for column, cut in cuts], axis=1).astype(np.float32)
    fold = np.random.default_rng(0).permutation(len(label)) % FOLDS
    scores = np.zeros(len(label))
    gains = np.zeros(features.shape[1])
    for held in range(FOLDS):
        out = fold == held
        scores[out], helped = _boost(above[~out], label[~out], above[out])
        np.add.at(gains, [column for column, _ in cuts], helped)
    return auc(scores, label), [int(each) for each in np.argsort(-gains)]


def _thresholds(values: NDArray[np.float64]) -> list[float]:
    known = np.unique(values)
    if len(known) > _CUTS:
        known = np.unique(np.quantile(values, np.linspace(0, 1, _CUTS + 1)))
    return [float(each) for each in known[:-1]]


def _boost(above: Floats, label: Bools, unseen: Floats) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the scores of unseen rows, and how much each cut helped."""
    score, result = np.zeros(len(above)), np.zeros(len(unseen))
    helped = np.zeros(above.shape[1])
    for _ in range(_ROUNDS):
        chance = 1 / (1 + np.exp(-score))
        slope, bend = (label - chance).astype(np.float32), (chance * (1 - chance)).astype(np.float32)
        root, gain = _cut(above, slope, bend)
        helped[root] += gain
        for side in (False, True):
            rows, new = (above[:, root] > 0) == side, (unseen[:, root] > 0) == side
            if not rows.any():
                continue
            here = above[rows]
            leaf, gain = _cut(here, slope[rows], bend[rows])
            helped[leaf] += gain
            for value in (0.0, 1.0):
                there = here[:, leaf] == value
                step = _RATE * slope[rows][there].sum() / (bend[rows][there].sum() + _RIDGE)
                score[np.flatnonzero(rows)[there]] += step
                result[new & (unseen[:, leaf] == value)] += step
    return result, helped


def _cut(above: Floats, slope: Floats, bend: Floats) -> tuple[int, float]:
    """Return the cut that helps most, and how much."""
    up, weight = slope @ above, bend @ above
    down, rest = slope.sum() - up, bend.sum() - weight
    gains = up**2 / (weight + _RIDGE) + down**2 / (rest + _RIDGE) - slope.sum() ** 2 / (bend.sum() + _RIDGE)
    best = int(gains.argmax())
    return best, float(gains[best])
