"""The dataset's own labels: one file a split, in `datasets/autoexplore`.

A project's documentation may have another licence than its code. Evidence from files that may not be quoted stands by
position and hash, in characters of the file with its lines ended by line feeds; who has the files restores its text.
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Callable, Sequence
from fnmatch import fnmatch
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple, cast

from natlang_envs.autoexplore.dataset.catalogue import catalogue, data_folder
from natlang_envs.autoexplore.dataset.labels import (
    KNOWN_SPLITS,
    PARTS,
    Evidence,
    KnownSplit,
    Label,
    Part,
    parse,
    read_labels,
    read_record,
)
from natlang_envs.errors import require_choice
from natlang_envs.tasks import hash_fraction

VALIDATION = 150  # known questions; as on the boards, half are about files that no question of known_train is about


class Restriction(NamedTuple):
    """Files of a repository whose text is not quoted."""

    repository: str
    files: tuple[str, ...]  # patterns of paths; `*` matches folders too
    licence: str  # the SPDX identifier
    holder: str

    def covers(self, repository: str, path: str) -> bool:
        return repository == self.repository and any(fnmatch(path, pattern) for pattern in self.files)


RESTRICTIONS = (
    Restriction("nltk", ("web/*", "nltk/test/*.doctest"), "CC-BY-NC-ND-3.0-US", "NLTK Project"),
    Restriction("celery", ("docs/*",), "CC-BY-SA-4.0", "Ask Solem and the contributors of Celery"),
)


class Quotation(NamedTuple):
    """A span of a file that may not be quoted here: where it stands, in characters, and its SHA-256."""

    path: str
    start: int
    length: int
    sha256: str


def part_file(part: Part) -> Path:
    return data_folder() / f"{part}.jsonl"


@cache
def load_labels(part: Part | KnownSplit) -> tuple[Label, ...]:
    """Return the labels of a split of the dataset.

    Evidence that may not be quoted has no text unless the files of its repository are here.
    """
    if part == "known_test":
        return (*load_labels("test_seen"), *load_labels("known"))
    if part == "known_validation":
        return known_validation(load_labels("train"))
    if part == "known_train":
        held_out = frozenset(label.id for label in load_labels("known_validation"))
        return tuple(label for label in load_labels("train") if label.id not in held_out)
    return tuple(read_shipped(part_file(part)))


def known_validation(train: Sequence[Label]) -> tuple[Label, ...]:
    """Return the questions of train that are held out for choosing settings, in the order of a hash of their ids.

    Half are about files that further training questions are about, and half about files that none else is about; no
    two are about one file.
    """
    asked = Counter((label.repository, path) for label in train for path in label.targets)
    taken: set[tuple[str, str]] = set()
    chosen: dict[bool, list[Label]] = {True: [], False: []}
    for label in sorted(train, key=lambda each: hash_fraction(f"known_validation/{each.id}")):
        files = {(label.repository, path) for path in label.targets}
        group = chosen[any(asked[file] > 1 for file in files)]
        if len(group) < VALIDATION // 2 and not files & taken:
            group.append(label)
            taken |= files
    return tuple(label for label in train if any(label in group for group in chosen.values()))


def read_shipped(path: Path) -> list[Label]:
    """Return the labels of a file as splits are shipped, with the text of quotations as far as files are here."""
    return read_labels(path, lambda value: parse(_restored_line(value)))


def part_named(name: str) -> Part | KnownSplit:
    return cast("Part | KnownSplit", require_choice("split", name, (*PARTS, *KNOWN_SPLITS)))


def digest() -> str:
    """Return the SHA-256 of the dataset: of the list of repositories and of the labels' files, in order."""
    total = hashlib.sha256()
    for path in (data_folder() / "repositories.toml", *map(part_file, PARTS)):
        total.update(f"{hashlib.sha256(path.read_bytes()).hexdigest()} {path.name}\n".encode())
    return total.hexdigest()


def licence_of_quotes(repository: str, path: str) -> str | None:
    return next((each.licence for each in RESTRICTIONS if each.covers(repository, path)), None)


def _restored_line(value: object) -> object:
    """Return the object of a line with the text of its evidence; what is malformed is left for `parse` to refuse."""
    content = cast("dict[str, Any]", value) if isinstance(value, dict) else {}
    if not isinstance(content.get("evidence"), list):
        return cast("object", value)
    return content | {"evidence": [_with_text(str(content.get("repository")), each) for each in content["evidence"]]}


def _with_text(repository: str, value: Any) -> Any:
    if not isinstance(value, dict) or "sha256" not in value:
        return value  # pyright: ignore[reportUnknownVariableType]
    return restored(repository, read_record(Quotation, cast("object", value), "evidence without text"))._asdict()


def restored(repository: str, quotation: Quotation) -> Evidence:
    """Return the evidence that a quotation stands for; its text is empty where the repository is not fetched."""
    entry = catalogue().get(repository)
    file = None if entry is None else entry.folder / quotation.path
    if file is None or not file.is_file():
        return Evidence(quotation.path, "")
    text = file.read_bytes().decode("utf-8", "replace").replace("\r\n", "\n")
    span = text[quotation.start : quotation.start + quotation.length]
    right = hashlib.sha256(span.encode()).hexdigest() == quotation.sha256
    return Evidence(quotation.path, span if right else "")


def quotation_of(text: str, evidence: Evidence) -> Quotation:
    """Return where a span of evidence stands in the text of its file."""
    digest = hashlib.sha256(evidence.text.encode()).hexdigest()
    return Quotation(evidence.path, text.index(evidence.text), len(evidence.text), digest)


def withheld(label: Label, text_of: Callable[[str], str]) -> dict[str, Any]:
    """Return the object of a label, without text that may not be quoted; `text_of` reads a file of its repository."""
    spans = [
        each if licence_of_quotes(label.repository, each.path) is None else quotation_of(text_of(each.path), each)
        for each in label.evidence
    ]
    return json.loads(label.to_json()) | {"evidence": [each._asdict() for each in spans]}
