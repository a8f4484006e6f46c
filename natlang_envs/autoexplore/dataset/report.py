"""Checks every label, counts them, and measures how far two simple searchers come."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from natlang_envs.autoexplore.dataset.catalogue import COFFEE, catalogue, repository_folder
from natlang_envs.autoexplore.dataset.checks import (
    HORIZON,
    duplicate_problems,
    label_problems,
    repository_problems,
    text_of,
)
from natlang_envs.autoexplore.dataset.labels import PARTS, Label, Part
from natlang_envs.autoexplore.episode import Episode
from natlang_envs.autoexplore.repository.texts import FILE_BUDGET
from natlang_envs.autoexplore.repository.tree import open_repository
from natlang_envs.autoexplore.search import DepthFirstSearch
from natlang_envs.autoexplore.tasks import ExploreTask
from natlang_envs.evaluation.statistics import Interval, wilson
from tools.dataset.assemble import leaks

Parts = dict[Part, Sequence[Label]]
DEPTHS = ("0-1", "2", "3+", "any")


class Checked(NamedTuple):
    """What checking found.

    Attributes:
        problems: One line each.
        skipped: The repositories whose files are not here: for their labels, what needs files was not checked.
    """

    problems: tuple[str, ...]
    skipped: tuple[str, ...]


def check(parts: Parts, progress: Callable[[int, int], None] = lambda done, total: None) -> Checked:
    """Check every label of all parts, against the files as far as they are here."""
    everything = [(part, number, label) for part in parts for number, label in enumerate(parts[part], 1)]
    problems = leaks(parts)
    near = duplicate_problems([label.question for _, _, label in everything])
    found: dict[int, list[str]] = {}
    for at, problem in near:
        found.setdefault(at, []).append(problem)
    names = {label.repository for *_, label in everything}
    here = {name for name in names if name in catalogue() and (name == COFFEE or catalogue()[name].is_cached)}
    for at, (part, number, label) in enumerate(everything):
        progress(at, len(everything))
        lines = [*label_problems(label), *found.get(at, ())]
        if label.repository in here:
            lines += repository_problems(open_repository(repository_folder(label.repository)), label)
        problems += [f"{part}.jsonl, line {number}: {line}" for line in dict.fromkeys(lines)]
    return Checked(tuple(problems), tuple(name for name in catalogue() if name in names - here))


def counts(parts: Parts, of: Callable[[Label], str]) -> dict[str, Counter[Part]]:
    """Return how many labels of each part there are of each value, sorted by value."""
    table: dict[str, Counter[Part]] = {}
    for part, labels in parts.items():
        for label in labels:
            table.setdefault(of(label), Counter())[part] += 1
    return dict(sorted(table.items()))


def depth_group(label: Label) -> str:
    """Return the group of depths that a label belongs to."""
    return DEPTHS[0] if label.depth <= 1 else DEPTHS[1] if label.depth == 2 else DEPTHS[2]


@dataclass(frozen=True)
class Rate:
    """How often a searcher succeeded; without labels, or without the files to search, there is no rate."""

    successes: int
    trials: int
    missing: int = 0

    @property
    def interval(self) -> Interval | None:
        """The 95% interval."""
        return wilson(self.successes, self.trials) if self.trials else None

    def __str__(self) -> str:
        if self.interval is None:
            return "files not here" if self.missing else "no label"
        low, high = self.interval
        shown = f"{self.successes / self.trials:.0%} ({low:.0%} to {high:.0%}, {self.trials} labels)"
        return f"{shown}, {self.missing} without files" if self.missing else shown


def bm25_right(label: Label) -> bool:
    """Return whether the file that BM25 ranks first is a target."""
    return bool(label.bm25) and label.bm25[0].path in label.targets


def depth_first_right(label: Label) -> bool | None:
    """Return whether the depth-first searcher names a target within the horizon; None if the files are not here."""
    entry = catalogue()[label.repository]
    if not entry.is_cached and label.repository != COFFEE:
        return None
    episode = Episode(
        ExploreTask(label.id, repository_folder(label.repository), label.question, label.targets), FILE_BUDGET
    )
    search = DepthFirstSearch(label.question)
    for step in range(HORIZON):
        command = search.choose(episode.place.commands, HORIZON - step)
        outcome = episode.act(command, step + 1 == HORIZON)
        if outcome.terminated:
            return outcome.success
        search.saw(command, outcome.feedback)
    return False


def rates(labels: Iterable[Label], right: Callable[[Label], bool | None]) -> dict[str, Rate]:
    """Return a searcher's rate for each group of depths."""
    results: dict[str, list[bool | None]] = {group: [] for group in DEPTHS}
    for label in labels:
        result = right(label)
        results[depth_group(label)].append(result)
        results["any"].append(result)
    return {
        group: Rate(sum(each is True for each in given), sum(each is not None for each in given), given.count(None))
        for group, given in results.items()
    }


def seen_by_players(labels: Sequence[Label]) -> float:
    """Return the share of labels with evidence among the first characters of a file, which `cat` shows."""
    seen: list[bool] = []
    for label in labels:
        if label.repository == COFFEE or catalogue()[label.repository].is_cached:
            repository = open_repository(repository_folder(label.repository))
            seen.append(any(text in text_of(repository, path)[:FILE_BUDGET] for path, text in label.evidence))
    return float(np.mean(seen)) if seen else float("nan")


def all_parts(load: Callable[[Part], Sequence[Label]]) -> Parts:
    """Return every part."""
    return {part: load(part) for part in PARTS}
