"""Fits the two small networks: which entry of a listing leads on, and what a read text tells."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
import torch
from torch import nn

from natlang_envs.autoexplore.repository.navigation import navigation_of
from natlang_envs.autoexplore.repository.texts import FILE_BUDGET
from natlang_envs.autoexplore.repository.tree import open_repository
from reference_agent.search.judge import Asked, Network, Row
from reference_agent.search.listings import Question, entries_of, examples

_HIDDEN = 24
_CANDIDATES = 12  # files whose texts are compared for a question


class Case(NamedTuple):
    """Rows to choose from, and which of them are right; `base` adds a choice "none of these" of logit 0."""

    rows: Row
    right: tuple[int, ...]
    base: bool


def entry_cases(asked: Asked, question: Question, rng: np.random.Generator) -> list[Case]:
    """Return a case for each listing on the way to the targets, with about half of its folders entered before."""
    repository = open_repository(question.folder)
    cases: list[Case] = []
    for each in examples([question]):
        entered = {
            entry: entries_of(repository, entry[:-1])
            for entry in each.entries
            if entry.endswith("/") and rng.random() < 0.4
        }
        cases.append(Case(asked.entry_rows(each.entries, entered), each.right, False))
    return cases


def text_cases(asked: Asked, question: Question, rng: np.random.Generator, draws: int = 2) -> list[Case]:
    """Return cases of read files: siblings of a target, top-level files and others; in some the target is missing."""
    repository = open_repository(question.folder)
    atlas = navigation_of(repository, FILE_BUDGET)
    files = repository.files
    cases: list[Case] = []
    for _ in range(draws):
        target = question.targets[int(rng.integers(len(question.targets)))]
        folder = target.rpartition("/")[0]
        beside = [each for each in entries_of(repository, folder) if not each.endswith("/")]
        top = [each for each in entries_of(repository, "") if not each.endswith("/")]
        chosen = [target] if rng.random() < 0.7 else []
        for pool, count in ((beside, 6), (top, 2), (files, 3)):
            if pool:
                rates = asked.likeness(pool) * 12 + rng.gumbel(size=len(pool))
                chosen += [pool[int(index)] for index in np.argsort(-rates)[:count]]
        chosen = [each for each in dict.fromkeys(chosen) if each == target or each not in question.targets]
        chosen = chosen[:_CANDIDATES]
        if chosen:
            rows = np.stack([asked.text_row(each, atlas.text(each)) for each in chosen])
            cases.append(Case(rows, (0,) if chosen[0] == target else (), True))
    return cases


def fit(
    cases: Sequence[Case],
    seed: int = 0,
    epochs: int = 30,
    rate: float = 3e-3,
    report: Callable[[int, int, float], None] = lambda step, steps, value: None,
) -> Network:
    """Fit a network to choose the right rows; a second or a few."""
    torch.manual_seed(seed)
    rng = np.random.default_rng(seed)
    stacked = np.concatenate([each.rows for each in cases])
    mean, scale = stacked.mean(0), stacked.std(0) + 1e-3
    first, second = nn.Linear(stacked.shape[1], _HIDDEN), nn.Linear(_HIDDEN, 1)
    optimizer = torch.optim.AdamW([*first.parameters(), *second.parameters()], lr=rate, weight_decay=0.01)
    widest = max(len(each.rows) for each in cases) + 1
    rows = np.zeros((len(cases), widest, stacked.shape[1]), np.float32)
    open_, right = np.zeros((len(cases), widest), bool), np.zeros((len(cases), widest), bool)
    for index, case in enumerate(cases):
        count = len(case.rows)
        rows[index, 1 : count + 1] = (case.rows - mean) / scale
        open_[index, 1 : count + 1] = True
        open_[index, 0] = case.base
        right[index, [place + 1 for place in case.right] or [0]] = True
    data = torch.from_numpy(rows), torch.from_numpy(open_), torch.from_numpy(right)
    for epoch in range(epochs):
        order = torch.from_numpy(rng.permutation(len(cases)))
        optimizer.param_groups[0]["lr"] = rate * (1 - epoch / epochs)
        whole = 0.0
        for part in order.split(64):
            some, listed, answers = (each[part] for each in data)
            logits = second(torch.tanh(first(some)))[..., 0]
            logits = torch.cat([torch.zeros_like(logits[:, :1]), logits[:, 1:]], 1).masked_fill(~listed, -1e9)
            chances = torch.log_softmax(logits, 1)
            loss = -torch.logsumexp(chances.masked_fill(~answers, -1e9), 1).mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            whole += float(loss.detach()) * len(part)
        report(epoch + 1, epochs, whole / len(cases))
    held = {
        "mean": mean,
        "scale": scale,
        "in": first.weight.detach().numpy().T.copy(),
        "hidden": first.bias.detach().numpy().copy(),
        "out": second.weight.detach().numpy()[0].copy(),
    }
    return Network({name: value.astype(np.float32) for name, value in held.items()})


def accuracy(network: Network, cases: Sequence[Case]) -> tuple[float, float]:
    """Return how often the best row is right, and how often one of the three best is."""
    hits = []
    for case in cases:
        if case.right:
            order = np.argsort(-network(case.rows))
            hits.append((order[0] in case.right, bool(set(order[:3].tolist()) & set(case.right))))
    top, three = np.mean(hits, axis=0)
    return float(top), float(three)
