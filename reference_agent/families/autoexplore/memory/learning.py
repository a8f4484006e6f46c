"""Counts the words of questions about each part of each file: made from the files by rules, and those of training."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from natlang_envs.autoexplore.dataset.labels import WORDINGS, Label, Wording
from natlang_envs.autoexplore.dataset.made_questions import EACH, asked_about, text_asked_about, ways
from natlang_envs.errors import UsageError
from natlang_envs.repository.texts import FILE_BUDGET
from natlang_envs.repository.tree import Repository, open_repository
from reference_agent.memory.names import LAST_PART, MOST, Known, NameMemory, Places, words_asked

Report = Callable[[int, int], None]


class Counted(NamedTuple):
    """Counts of a memory before training questions are added."""

    known: list[Known]
    firsts: list[dict[str, int]]  # the number of the first part of each file that can be read
    words: dict[str, int]
    asked: list[tuple[int, int]]  # a word and a part, once for each question

    def add(self, text: str, place: int) -> None:
        self.asked.extend((self.words.setdefault(word, len(self.words)), place) for word in words_asked(text))


def count(
    folders: Mapping[str, Path], each: int = EACH, texts: bool = False, report: Report = lambda done, total: None
) -> Counted:
    """Count the words of at most `each` made questions a file, or with `texts` of all that the files say, and of paths.

    `report` is called with the files that are done and their number. Raises `UsageError` if a folder cannot be read, or
    there is nothing in any to be asked about.
    """
    opened = {name: open_repository(folder) for name, folder in folders.items()}
    found = Counted([], [], {}, [])
    total, done, place = sum(len(each.files) for each in opened.values()), 0, 0
    for name, repository in opened.items():
        reached = {path for path, _ in ways(repository)}
        parts: list[int] = []
        firsts: dict[str, int] = {}
        for path in repository.files:
            text = text_asked_about(repository, path) if path in reached else ""
            parts.append(min(LAST_PART, -(-len(text) // FILE_BUDGET)))
            if text:
                firsts[path] = place
                for part in range(parts[-1]):
                    found.add(path, place + part)
                    if texts:
                        shown = text[part * FILE_BUDGET : (part + 1) * FILE_BUDGET]
                        for line in shown.split("\n"):
                            found.add(line, place + part)
                for asked in () if texts else asked_about(path, text, each):
                    found.add(asked.question, place + min(asked.part, LAST_PART) - 1)
            place += parts[-1]
            done += 1
            report(done, total)
        found.known.append(Known(name, repository.files, tuple(parts)))
        found.firsts.append(firsts)
    if not place:
        raise UsageError(f"{', '.join(map(str, folders.values()))}: no file holds text: choose other --repositories")
    return found


def remember(counted: Counted, labels: Sequence[Label], folders: Mapping[str, Path], source: str) -> NameMemory:
    words, asked = dict(counted.words), list(counted.asked)
    whole = Counted(counted.known, counted.firsts, words, asked)
    names = [each.name for each in counted.known]
    for label in labels:
        number = names.index(label.repository)
        for path, part in _parts_of(label, open_repository(folders[label.repository])):
            if path in counted.firsts[number]:
                place = counted.firsts[number][path] + min(
                    part, counted.known[number].parts[_at(counted, number, path)]
                )
                for question in {label.asked(wording) for wording in WORDINGS}:
                    whole.add(question, place - 1)
    order = sorted(words)
    numbers = np.empty(len(order), np.int64)
    numbers[[words[word] for word in order]] = np.arange(len(order))
    pairs = np.array(asked, np.int64).reshape(-1, 2)
    places = sum(sum(each.parts) for each in counted.known)
    keys, counts = np.unique(numbers[pairs[:, 0]] * places + pairs[:, 1], return_counts=True)
    begins: Places = np.searchsorted(keys // places, np.arange(len(order) + 1))
    small = np.uint16 if places <= 1 << 16 else np.uint32
    return NameMemory(
        counted.known, order, begins, (keys % places).astype(small), counts.clip(max=MOST).astype(np.uint8), source
    )


def _at(counted: Counted, number: int, path: str) -> int:
    return counted.known[number].files.index(path)


def _parts_of(label: Label, repository: Repository) -> Iterator[tuple[str, int]]:
    for path, text in label.evidence:
        if repository.kind(path) == "file":
            at = text_asked_about(repository, path).find(text) if text else 0
            yield path, label.part or max(at, 0) // FILE_BUDGET + 1


def folds_of(labels: Sequence[Label], folds: int) -> list[list[Label]]:
    """Return labels in so many parts, drawn by their ids."""
    shuffled = sorted(labels, key=lambda label: label.id)
    random.Random(0).shuffle(shuffled)
    return [shuffled[fold::folds] for fold in range(folds)]


class RecallAccuracy(NamedTuple):
    """Shares of held-out questions in a wording: a right file is first, among three, eight; its part is right."""

    wording: Wording
    questions: int
    first: float
    three: float
    eight: float
    part: float  # of the targets, whichever place they have


def held_out(
    counted: Counted, labels: Sequence[Label], folders: Mapping[str, Path], folds: int
) -> list[RecallAccuracy]:
    parts_of_labels = folds_of(labels, folds)
    ranks: dict[Wording, list[int]] = {wording: [] for wording in WORDINGS}
    parts: dict[Wording, list[bool]] = {wording: [] for wording in WORDINGS}
    names = [each.name for each in counted.known]
    for fold, held in enumerate(parts_of_labels):
        rest = [label for at, other in enumerate(parts_of_labels) if at != fold for label in other]
        memory = remember(counted, rest, folders, "")
        for label in held:
            evidence = dict(_parts_of(label, open_repository(folders[label.repository])))
            for wording in WORDINGS:
                found = memory.recall(names.index(label.repository), label.asked(wording))
                at = [number for number, each in enumerate(found) if each.path in label.targets]
                ranks[wording].append(min(at, default=len(found)))
                parts[wording] += [found[number].part == evidence.get(found[number].path) for number in at]
    measured: list[RecallAccuracy] = []
    for wording, each in ranks.items():
        first, three, eight = (sum(rank < most for rank in each) / max(1, len(each)) for most in (1, 3, 8))
        measured.append(
            RecallAccuracy(wording, len(each), first, three, eight, sum(parts[wording]) / max(1, len(parts[wording])))
        )
    return measured
