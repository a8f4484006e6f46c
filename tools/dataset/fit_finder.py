"""Fits the weights of `natlang_envs.finder.ranking` on the training repositories: `python -m tools.dataset.fit_finder`.

The questions are the training labels in both wordings, those of `finder_questions.txt`, which ask where a thing is
done, and names that the repositories define. For the calibration, labels are also asked of repositories that cannot
answer.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch

from natlang_envs.autoexplore.dataset.catalogue import catalogue, repository_folder
from natlang_envs.autoexplore.dataset.shipped import load_labels
from natlang_envs.finder import FileIndex
from natlang_envs.finder.definitions import definitions
from natlang_envs.finder.documents import kind_of, read_text
from natlang_envs.finder.ranking import FIRST, WEIGHTS, candidates
from natlang_envs.repository.tree import open_repository

NAMES_OF_EACH = 16
ASKED_FOR = 6.0  # set by hand: a question that is a name alone is about its definition
DECAY = 3e-4
LARGE = ("file", "path", "alike", "plain", "depth", "length")  # features that are ten times as large as the others
# What a question counts for the ranking, and for the calibration.
_COUNTS = {"natural": (1.0, 1.0), "hard": (0.5, 1.0), "where": (3.0, 12.0), "name": (1.0, 0.0), "foreign": (0.0, 1.0)}
_FOREIGN = 350


class FinderQuestion(NamedTuple):
    """A question about a repository, of a sort, and the files that answer it."""

    sort: str
    repository: str
    question: str
    targets: tuple[str, ...]


@cache
def _index(name: str) -> FileIndex:
    return FileIndex(open_repository(repository_folder(name)))


def questions() -> Iterator[FinderQuestion]:
    """Yield the questions about the training repositories."""
    train = [name for name, entry in catalogue().items() if entry.split == "train"]
    labels = load_labels("train")
    for label in labels:
        for sort in ("natural", "hard"):
            yield FinderQuestion(sort, label.repository, label.asked(sort), label.targets)
    for line in (Path(__file__).parent / "finder_questions.txt").read_text(encoding="utf-8").splitlines():
        repository, question, targets = line.split("|")
        yield FinderQuestion("where", repository, question, tuple(targets.split(",")))
    chance = random.Random(1)
    for name in train:
        found: dict[str, set[str]] = {}
        repository = _index(name).repository
        for path in (path for path in repository.files if path.endswith(".py") and kind_of(path) == "code"):
            text = read_text(repository, path)
            for _, each in definitions(path, text, text.splitlines()):
                found.setdefault(each, set()).add(path)
        known = sorted(each for each, paths in found.items() if len(paths) <= FIRST and not each.startswith("__"))
        for each in chance.sample(known, min(len(known), NAMES_OF_EACH)):
            yield FinderQuestion("name", name, each, tuple(found[each]))
    for label in chance.sample(labels, _FOREIGN):
        other = chance.choice([name for name in train if name != label.repository])
        yield FinderQuestion("foreign", other, label.asked("natural"), ())


def main() -> None:
    """Print the weights, and those of the calibration."""
    names = list(WEIGHTS)
    asked, features, right = [], [], []
    for each in questions():
        paths, values, _ = candidates(_index(each.repository).postings, each.question)
        if paths:
            asked.append(each)
            features.append(torch.tensor(np.stack([values[name] for name in names], 1), dtype=torch.float64))
            right.append(torch.tensor([path in each.targets for path in paths]))
    counted = torch.tensor(
        [_COUNTS[each.sort][0] * bool(found.any()) for each, found in zip(asked, right, strict=True)]
    )
    values = torch.nn.utils.rnn.pad_sequence(features, batch_first=True)
    targets = torch.nn.utils.rnn.pad_sequence(right, batch_first=True)
    there = torch.nn.utils.rnn.pad_sequence(
        [torch.ones(len(each), dtype=torch.bool) for each in right], batch_first=True
    )
    sizes = torch.tensor([10.0 if name in LARGE else 1.0 for name in names], dtype=torch.float64)
    fixed = names.index("asked_for")
    weights = torch.zeros(len(names), dtype=torch.float64, requires_grad=True)

    def scores() -> torch.Tensor:
        given = weights / sizes
        given = torch.cat([given[:fixed], torch.tensor([ASKED_FOR], dtype=torch.float64), given[fixed + 1 :]])
        return (values @ given).masked_fill(~there, -1e9)

    def ranking_loss() -> torch.Tensor:
        shares = scores().log_softmax(1).masked_fill(~targets, -1e9).logsumexp(1)
        return -(counted * shares).sum() / counted.sum() + DECAY * (weights**2).sum()

    _minimise(weights, ranking_loss)
    for name, value in zip(names, (weights / sizes).tolist(), strict=True):
        print(f"{name}: {ASKED_FOR if name == 'asked_for' else value:.4g}")

    with torch.no_grad():
        shares, order = scores().softmax(1).sort(stable=True, dim=1, descending=True)
        share = shares[:, :FIRST].sum(1).clamp(0.01, 0.995)
        met = values[:, :, names.index("words")].gather(1, order)[:, :FIRST].amax(1)
        found = targets.gather(1, order)[:, :FIRST].any(1).double()
        known = torch.stack([torch.logit(share) * met, met, torch.ones_like(met)], 1)
        count = torch.tensor([_COUNTS[each.sort][1] for each in asked])
    calibration = torch.zeros(3, dtype=torch.float64, requires_grad=True)
    _minimise(
        calibration,
        lambda: torch.nn.functional.binary_cross_entropy_with_logits(known @ calibration, found, weight=count),
    )
    print("share, met, neither:", ", ".join(f"{each:.4g}" for each in calibration.tolist()))
    for sort in _COUNTS:
        here = [number for number, each in enumerate(asked) if each.sort == sort]
        print(f"{sort}: {len(here)} questions, {found[here].mean():.1%} in three")


def _minimise(weights: torch.Tensor, loss: Callable[[], torch.Tensor]) -> None:
    optimizer = torch.optim.LBFGS([weights], max_iter=200, line_search_fn="strong_wolfe")

    def closure() -> torch.Tensor:
        optimizer.zero_grad()
        value = loss()
        value.backward()
        return value

    optimizer.step(closure)  # pyright: ignore[reportUnknownMemberType, reportArgumentType]


if __name__ == "__main__":
    main()
