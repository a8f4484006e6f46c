"""Checks every label, counts them, and measures how far two simple searchers come."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from natlang_envs.autoexplore.baselines import DepthFirstSearch
from natlang_envs.autoexplore.dataset.catalogue import catalogue, repository_folder
from natlang_envs.autoexplore.dataset.checks import (
    duplicate_problems,
    evidence_elsewhere,
    label_problems,
    ranked_paths,
    repository_problems,
    text_of,
)
from natlang_envs.autoexplore.dataset.labels import PARTS, WORDINGS, Label, Part, Wording
from natlang_envs.autoexplore.episode import HORIZON, ExploreEpisode
from natlang_envs.autoexplore.tasks import ExploreTask
from natlang_envs.evaluation.statistics import Interval, wilson
from natlang_envs.repository.texts import FILE_BUDGET
from natlang_envs.repository.tree import open_repository

Parts = Mapping[str, Sequence[Label]]  # by the name of the part
Folders = Callable[[str], Path | None]  # a repository's files by its name; None where they are not here
DEPTHS = ("0-1", "2", "3+", "any")


class LabelCheck(NamedTuple):
    problems: tuple[str, ...]  # one line each
    # The repositories whose files are not here: for their labels, what needs files was not checked.
    skipped: tuple[str, ...]


def folder_here(name: str) -> Path | None:
    """Return the folder of a repository of the dataset, if it is here."""
    here = name in catalogue() and (catalogue()[name].is_cached or catalogue()[name].is_shipped)
    return repository_folder(name) if here else None


def check(
    parts: Parts,
    progress: Callable[[int, int], None] = lambda done, total: None,
    *,
    folders: Folders = folder_here,
    explained: Callable[[Label], Collection[str]] | None = None,
) -> LabelCheck:
    """Check every label of all parts, against the files as far as they are here.

    `explained` returns the files that may hold a label's evidence without being targets; without it none is looked
    for.
    """
    everything = [(part, number, label) for part in parts for number, label in enumerate(parts[part], 1)]
    problems = leaks(parts)
    found: dict[int, list[str]] = {}
    for wording in WORDINGS:
        for at, problem in duplicate_problems([label.asked(wording) for _, _, label in everything]):
            found.setdefault(at, []).append(problem)
    here = {label.repository: folders(label.repository) for *_, label in everything}
    for at, (part, number, label) in enumerate(everything):
        progress(at, len(everything))
        lines = [*label_problems(label), *found.get(at, ())]
        if label.by_hand and explained is not None:
            lines.append("there is no evidence")
        if folder := here[label.repository]:
            repository = open_repository(folder)
            lines += repository_problems(repository, label)
            if explained is not None:
                stands = set(evidence_elsewhere(repository, label.targets, label.evidence)) - set(explained(label))
                lines += [f"evidence stands in {path} too: make it a target, or explain" for path in sorted(stands)]
        problems += [f"{part}.jsonl, line {number} ({label.id}): {line}" for line in dict.fromkeys(lines)]
    return LabelCheck(tuple(problems), tuple(name for name, folder in here.items() if folder is None))


def counts(parts: Parts, of: Callable[[Label], str]) -> dict[str, Counter[str]]:
    """Return how many labels of each part there are of each value, sorted by value."""
    table: dict[str, Counter[str]] = {}
    for part, labels in parts.items():
        for label in labels:
            table.setdefault(of(label), Counter())[part] += 1
    return dict(sorted(table.items()))


def depth_group(label: Label) -> str:
    return DEPTHS[max(0, min(label.depth - 1, 2))]


@dataclass(frozen=True)
class Rate:
    """How often a searcher succeeded; without labels, or without the files to search, there is no rate."""

    successes: int
    trials: int
    missing: int = 0

    @property
    def interval(self) -> Interval | None:
        return wilson(self.successes, self.trials) if self.trials else None

    def __str__(self) -> str:
        if self.interval is None:
            return "files not here" if self.missing else "no label"
        low, high = self.interval
        shown = f"{self.successes / self.trials:.0%} ({low:.0%} to {high:.0%}, {self.trials} labels)"
        return f"{shown}, {self.missing} without files" if self.missing else shown


def bm25_right(label: Label, wording: Wording = "hard", folders: Folders = folder_here) -> bool | None:
    """Return whether the file that BM25 ranks first is a target; None where that takes files that are not here."""
    if label.asked(wording) == label.question:
        return bool(label.bm25) and label.bm25[0].path in label.targets
    folder = folders(label.repository)
    return None if folder is None else ranked_paths(open_repository(folder), label.asked(wording))[0] in label.targets


def depth_first_right(label: Label, wording: Wording = "hard", folders: Folders = folder_here) -> bool | None:
    """Return whether the depth-first searcher names a target within the horizon; None if the files are not here."""
    folder = folders(label.repository)
    if folder is None:
        return None
    question = label.asked(wording)
    episode = ExploreEpisode(ExploreTask(label.id, folder, question, label.targets), FILE_BUDGET)
    search = DepthFirstSearch(question)
    for step in range(HORIZON):
        command = search.choose(episode.place.commands, HORIZON - step)
        outcome = episode.act(command, step + 1 == HORIZON)
        if outcome.terminated:
            return outcome.success
        search.saw(command, outcome.feedback)
    return False


def rates(labels: Iterable[Label], right: Callable[[Label], bool | None]) -> dict[str, Rate]:
    results: dict[str, list[bool | None]] = {group: [] for group in DEPTHS}
    for label in labels:
        result = right(label)
        results[depth_group(label)].append(result)
        results["any"].append(result)
    return {
        group: Rate(given.count(True), len(given) - given.count(None), given.count(None))
        for group, given in results.items()
    }


def wordings_of(labels: Iterable[Label]) -> tuple[Wording, ...]:
    """Return the wordings that labels have: where none has a natural one, the hard one alone."""
    return WORDINGS if any(label.natural for label in labels) else ("hard",)


def searcher_rows(labels: Sequence[Label], wording: Wording, folders: Folders = folder_here) -> list[list[str]]:
    """Return for each group of depths its name, BM25's rate and that of the depth-first searcher."""
    first = rates(labels, lambda label: bm25_right(label, wording, folders))
    search = rates(labels, lambda label: depth_first_right(label, wording, folders))
    return [[depth, str(first[depth]), str(search[depth])] for depth in DEPTHS]


def seen_by_players(labels: Sequence[Label], folders: Folders = folder_here) -> float:
    """Return the share of labels with evidence, and files here, that have it where `cat` begins; NaN of none."""
    told = [label for label in labels if not label.by_hand]
    here = [(label, open_repository(folder)) for label in told if (folder := folders(label.repository))]
    seen = (
        any(
            repository.kind(path) == "file" and text in text_of(repository, path)[:FILE_BUDGET]
            for path, text in label.evidence
        )
        for label, repository in here
    )
    return sum(seen) / len(here) if here else float("nan")


def all_parts(load: Callable[[Part], Sequence[Label]]) -> Parts:
    return {part: load(part) for part in PARTS}


def leaks(parts: Parts) -> list[str]:
    """Return in one line each what stands in two parts that must not share it: a file, or a repository.

    Each question of known is about a file that train asks about, and it may have further targets anywhere.
    """
    files: dict[tuple[str, str], str] = {}
    problems: list[str] = []
    for part, labels in parts.items():
        for label in labels if part in PARTS else ():
            split = catalogue()[label.repository].split if label.repository in catalogue() else None
            if split != ("train" if part in ("test_seen", "known") else part):
                problems.append(f"{part}: {label.id} is of a repository of the split {split}")
            asked = {path: files.get((label.repository, path)) for path in label.targets}
            if part == "known":
                if "train" not in asked.values():
                    problems.append(f"known: {label.id} is about no file that train asks about")
                continue
            problems += [
                f"{label.repository}: {path} is in {other} and in {part}"
                for path, other in asked.items()
                if other not in (None, part)
            ]
            files |= {(label.repository, path): part for path, other in asked.items() if other is None}
    return problems
