"""Plays the learned searcher with other settings of its planner, on training and on validation questions.

`python benchmarks/autoexplore_planner.py RUN --kind depth1` prints a table: the shipped settings, those of the rows
`planner-…` in the log of test evaluations, and the best of some random ones. RUN is a folder that `reflect-rl search
train` has written; the training questions are those of `PRACTICE`, rated by the judge that has not seen them. No test
question is opened.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from report import show

from natlang_envs.autoexplore.dataset.labels import WORDINGS
from reference_agent.search.games import play
from reference_agent.search.judge import Asked
from reference_agent.search.listings import Question
from reference_agent.search.planner import Plan
from reference_agent.search.practice import Exercise
from reference_agent.search.run import KINDS, Judgement, Searcher
from reference_agent.search.train import SETTINGS, fits, labelled, plan_of, player, practice_questions

GRID: dict[str, tuple[float, ...]] = {
    "temperature": (0.8, 1.0, 1.2, 1.5),
    "convincing": (0.6, 0.7, 0.8),
    "deeper": (0.3, 0.4, 0.5, 0.6, 0.8, 1.0),
    "inside": (1.0, 2.0, 3.0, 4.0, 5.0),
    "group": (2, 4, 8),
}
PLAYED_ON_TEST = {
    "depth1": dict(zip(GRID, (1.0, 0.8, 0.5, 3.0, 4), strict=True)),
    "depth2": dict(zip(GRID, (1.2, 0.7, 0.8, 3.0, 4), strict=True)),
}
SHOWN = 12


class Scores(NamedTuple):
    """The shares of the games in which the target was named, and in which it was read."""

    won: float
    read: float


def score(asked: Sequence[tuple[Question, Asked]], searcher: Searcher, kind: str, settings: dict[str, float]) -> Scores:
    """Play each question once by the planner with these settings."""
    others: dict[str, Any] = {name: value for name, value in settings.items() if name != "temperature"}
    plan = Plan(**others, deepest=plan_of(kind).deepest)
    won = read = 0
    for question, each in asked:
        judged = Judgement(each, searcher.networks[kind], searcher.networks["text"], settings["temperature"])
        played = play(question, player(Exercise(question, judged), kind, plan))
        won += played.success
        read += any(target in played.read for target in question.targets)
    return Scores(won / len(asked), read / len(asked))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("run", type=Path)
    parser.add_argument("--kind", choices=KINDS, default="depth1")
    parser.add_argument("--draws", type=int, default=70, help="Random settings that are tried.")
    given = parser.parse_args()
    torch.set_num_threads(1)
    searcher = Searcher.load(given.run)
    searcher.reader.read_cache(given.run / "cache" / "reader.npz")
    told = searcher.rarity, searcher.usual
    held_out = labelled("validation")
    parts = {
        "train": [
            (each, Asked(each.text, searcher.judges[1:], searcher.reader, *told, each.repository))
            for each in practice_questions(labelled("train"))
            if fits(each, KINDS[given.kind])
        ]
    }
    for index, wording in enumerate(WORDINGS):
        parts[wording] = [
            (each, Asked(each.text, searcher.judges, searcher.reader, *told))
            for each in held_out[index :: len(WORDINGS)]
            if fits(each, KINDS[given.kind])
        ]
    rng = np.random.default_rng(1)
    fixed = [dict(SETTINGS[given.kind]), *filter(None, [PLAYED_ON_TEST.get(given.kind)])]
    drawn = [{name: values[rng.integers(len(values))] for name, values in GRID.items()} for _ in range(given.draws)]
    scored = [
        (settings, [score(part, searcher, given.kind, settings) for part in parts.values()])
        for settings in (*fixed, *drawn)
    ]
    # Training counts as much as validation's two wordings together.
    best = sorted(scored[len(fixed) :], key=lambda pair: -sum(pair[1][0]) - sum(map(sum, pair[1][1:])) / len(WORDINGS))
    show(
        (*GRID, *(f"{name} ({len(part)}): won (read)" for name, part in parts.items())),
        [
            (*(f"{settings[name]:g}" for name in GRID), *(f"{each.won:.0%} ({each.read:.0%})" for each in found))
            for settings, found in (*scored[: len(fixed)], *best[:SHOWN])
        ],
    )


if __name__ == "__main__":
    main()
