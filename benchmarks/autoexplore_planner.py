"""Plays the learned searcher with other settings of its planner, on training and on validation questions.

`python benchmarks/autoexplore_planner.py RUN --kind depth1` prints a table: the shipped settings, then the best that
were drawn. RUN is a folder that `reflect-rl search train` has written; the training questions are those of `PRACTICE`,
rated by the judge that has not seen them. No test question is opened.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import torch
from report import show

from reference_agent.search.belief import believe
from reference_agent.search.games import play
from reference_agent.search.judge import Asked
from reference_agent.search.listings import Question
from reference_agent.search.planner import Plan, choose
from reference_agent.search.practice import holds_of
from reference_agent.search.run import KINDS, Judgement, Searcher
from reference_agent.search.train import PRACTICE, SETTINGS, fits, labelled, plan_of

HEADER = ("temperature", "convincing", "deeper", "inside", "group", "train: won", "read", "validation: won", "read")
GRID = {
    "temperature": (0.8, 1.0, 1.2, 1.5),
    "convincing": (0.6, 0.7, 0.8),
    "deeper": (0.3, 0.4, 0.5, 0.6, 0.8, 1.0),
    "inside": (1.0, 2.0, 3.0, 4.0, 5.0),
    "group": (2, 4, 8),
}


def scores(asked: dict[Question, Asked], searcher: Searcher, kind: str, plan: Plan, warmth: float) -> tuple[str, str]:
    """Return in which share of the games the target was named, and in which it was read."""
    holds, won, read = holds_of(KINDS[kind]), 0, 0
    for question, each in asked.items():
        judged = Judgement(each, searcher.networks[kind], searcher.networks["text"], warmth)
        played = play(
            question, lambda search, _, judged=judged: choose(search, believe(search, judged, holds), plan).command
        )
        won += played.success
        read += any(target in played.read for target in question.targets)
    return f"{won / len(asked):.1%}", f"{read / len(asked):.1%}"


def some(questions: Sequence[Question], kind: str, most: int) -> list[Question]:
    """Return at most so many of the questions that fit a kind, drawn once."""
    fitting = [each for each in questions if fits(each, KINDS[kind])]
    order = np.random.default_rng(1).permutation(len(fitting))[:most]
    return [fitting[int(index)] for index in order]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("run", type=Path)
    parser.add_argument("--kind", choices=KINDS, default="depth1")
    parser.add_argument("--questions", type=int, default=150, help="Of each part.")
    parser.add_argument("--draws", type=int, default=70, help="Settings that are tried.")
    given = parser.parse_args()
    torch.set_num_threads(1)
    searcher = Searcher.load(given.run)
    searcher.reader.read_cache(given.run / "cache" / "reader.npz")
    told = searcher.rarity, searcher.usual
    train = some([each for each in labelled("train") if each.repository in PRACTICE], given.kind, given.questions)
    held = some(labelled("validation"), given.kind, given.questions)
    parts = (
        {each: Asked(each.text, searcher.judges[1:], searcher.reader, *told, each.repository) for each in train},
        {each: Asked(each.text, searcher.judges, searcher.reader, *told) for each in held},
    )
    rng = np.random.default_rng(1)
    tried = [dict(SETTINGS[given.kind])]
    tried += [{name: values[rng.integers(len(values))] for name, values in GRID.items()} for _ in range(given.draws)]
    rows: list[tuple[str, ...]] = []
    for each in tried:
        settings = {name: value for name, value in each.items() if name != "temperature"}
        plan = replace(plan_of(given.kind), **settings)
        found = [cell for part in parts for cell in scores(part, searcher, given.kind, plan, each["temperature"])]
        rows.append((*(f"{each[name]:g}" for name in GRID), *found))
    best = sorted(rows[1:], key=lambda row: -sum(float(cell.rstrip("%")) for cell in row[-4:]))
    show(HEADER, [rows[0], *best[:12]])


if __name__ == "__main__":
    main()
