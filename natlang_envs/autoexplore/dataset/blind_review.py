"""Blind readings: somebody given a question and the tree alone names a file, or all files that answer it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import partial
from pathlib import Path
from typing import NamedTuple

from natlang_envs.autoexplore.dataset.catalogue import data_folder
from natlang_envs.autoexplore.dataset.labels import Label, json_lines, read_lines, read_record
from natlang_envs.autoexplore.dataset.report import Rate
from natlang_envs.files import write_whole
from natlang_envs.tasks import hash_fraction


class BlindReading(NamedTuple):
    """What a reader named: the label's id, its repository and question, and a file; empty where it is still open."""

    id: str
    repository: str
    question: str
    file: str


def readings_file() -> Path:
    return data_folder() / "readings" / "second.jsonl.gz"


def sample(labels: Iterable[Label]) -> list[BlindReading]:
    """Return a tenth of each repository's labels, by a hash of their ids, without anything that tells the answer."""
    by_repository: dict[str, list[Label]] = {}
    for label in labels:
        by_repository.setdefault(label.repository, []).append(label)
    return [
        BlindReading(label.id, label.repository, label.question, "")
        for group in by_repository.values()
        for label in sorted(group, key=lambda each: hash_fraction(f"second/{each.id}"))[: -(-len(group) // 10)]
    ]


def write_readings(path: Path, readings: Iterable[BlindReading]) -> None:
    write_whole(path, json_lines(each._asdict() for each in readings))


def read_readings(path: Path) -> list[BlindReading]:
    """Return the readings of a file; none where it does not exist."""
    parse_one = partial(read_record, BlindReading, what="a reading")
    return [reading for _, reading in read_lines(path, parse_one)] if path.exists() else []


def agreement(readings: Iterable[BlindReading], labels: Mapping[str, Label]) -> Rate:
    """Return how often the file named is a target; readings of labels that are gone, and open ones, do not count."""
    told = [each for each in readings if each.file and each.id in labels]
    return Rate(sum(each.file in labels[each.id].targets for each in told), len(told))


class FullReading(NamedTuple):
    """The id of a label, and all files that a reader who did not know it found to answer its question."""

    id: str
    files: tuple[str, ...]


class Completeness(NamedTuple):
    """How often a reader of the whole tree found a target, and how often it named a file that is none."""

    found: Rate
    further: Rate


def fresh_reading_file() -> Path:
    """Return the file of the blind reading made when the labels were finished; no target was added from it."""
    return data_folder() / "readings" / "fresh.jsonl.gz"


def known_reading_file() -> Path:
    """Return the file of the blind reading of questions about known repositories, six files each."""
    return data_folder() / "readings" / "known.jsonl.gz"


def completeness(labels: Mapping[str, Label], path: Path | None = None) -> Completeness:
    """Compare the committed readings of whole trees, or those of another file, with the labels."""
    lines = read_lines(path or data_folder() / "readings" / "full.jsonl.gz", _parse_full)
    read = [(set(each.files), set(labels[each.id].targets)) for _, each in lines if each.id in labels]
    found = sum(bool(files & targets) for files, targets in read)
    further = sum(bool(files - targets) for files, targets in read)
    return Completeness(Rate(found, len(read)), Rate(further, len(read)))


def _parse_full(value: object) -> FullReading:
    reading = read_record(FullReading, value, "a reading of the whole tree")
    if not reading.files:
        raise ValueError("a reading of the whole tree names at least one file")
    return reading
