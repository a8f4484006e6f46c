"""Keys: what an answer to a labelled question has to say, and what it may not."""

from __future__ import annotations

import gzip
import json
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Literal, NamedTuple

from natlang_envs.autoexplore.dataset.catalogue import data_folder
from natlang_envs.autoexplore.dataset.labels import (
    WORDINGS,
    Evidence,
    Label,
    Wording,
    read_lines,
    read_record,
    record_json,
)
from natlang_envs.errors import UsageError, require_choice
from natlang_envs.files import write_whole

_EMBEDDED = Path(__file__).parents[1] / "repositories" / "answers.jsonl"


@dataclass(frozen=True)
class AnswerKey:
    """What makes an answer to a label right.

    Attributes:
        id: That of the label.
        atoms: What has to be said: of each atom any one of its variants, a word, number or phrase.
        never: Phrases that contradict it, such as the other members of a closed set.
        also: Phrases that are true beside it and that an answer may add.
        says: `"yes"` or `"no"` where the opposite contradicts it, else `""`; neither is enough for success.
        wordings: The wordings of the question that the label's answer answers.
        listed: Whether the listed form can give it: its words stand in quotable lines, on a way that is short enough.
    """

    id: str
    atoms: tuple[tuple[str, ...], ...]
    never: tuple[str, ...] = ()
    also: tuple[str, ...] = ()
    says: Literal["", "yes", "no"] = ""
    wordings: tuple[Wording, ...] = WORDINGS
    listed: bool = False

    @property
    def variants(self) -> tuple[str, ...]:
        """The variants of all atoms."""
        return tuple(variant for atom in self.atoms for variant in atom)

    def to_json(self) -> str:
        return record_json(self)


def parse_key(value: object) -> AnswerKey:
    """Return the key of a JSON object.

    Raises:
        ValueError: It has other names, or values of other kinds.
    """
    key = read_record(AnswerKey, value, "a key")
    if not key.atoms or not all(key.atoms):
        raise ValueError("atoms is a list of lists of variants, at least one list of at least one variant")
    if not all(each.strip() for each in (*key.variants, *key.never, *key.also)):
        raise ValueError("atoms, never and also have no empty text")
    if not key.wordings:
        raise ValueError(f"wordings is one or both of {', '.join(WORDINGS)}")
    return key


class Answered(NamedTuple):
    """What is known of a question: its label, and the key of its answer."""

    label: Label
    key: AnswerKey


def keys_file() -> Path:
    return data_folder() / "answer_keys.jsonl.gz"


def read_keys(path: Path, labels: Collection[str] | None = None) -> dict[str, AnswerKey]:
    """Return the keys of a file by the ids of their labels, which are among `labels` where these are given.

    Raises:
        UsageError: A line is no key, the second one of its label, or that of no label.
    """
    keys: dict[str, AnswerKey] = {}
    for number, key in read_lines(path, parse_key):
        if keys.setdefault(key.id, key) is not key:
            raise UsageError(f"{path}, line {number}: {key.id} has a key already: leave one of them out")
        if labels is not None:
            require_choice(f"label of the key in {path}, line {number}:", key.id, labels)
    return keys


def write_keys(path: Path, keys: Iterable[AnswerKey]) -> None:
    """Write keys, one a line, packed where the file's name ends in `.gz`."""
    content = "".join(f"{each.to_json()}\n" for each in keys).encode()
    write_whole(path, gzip.compress(content, mtime=0) if path.suffix == ".gz" else content)


@cache
def shipped_keys() -> dict[str, AnswerKey]:
    """Return the keys of the dataset, by the ids of their labels."""
    return read_keys(keys_file())


@cache
def embedded_answers() -> dict[str, Answered]:
    """Return what is right for questions about embedded repositories, by the ids of the tasks."""
    rows: list[dict[str, Any]] = [json.loads(line) for line in _EMBEDDED.read_text(encoding="utf-8").splitlines()]
    return {row["id"]: _answered(**row) for row in rows}


def _answered(id: str, answer: str, evidence: Sequence[Sequence[str]], **key: Any) -> Answered:
    proof = tuple(Evidence(*each) for each in evidence)
    targets = tuple(sorted({each.path for each in proof}))
    label = Label(id.partition("/")[0], "", answer, targets, proof, (), 0, "data", "shares", ())
    return Answered(label, parse_key({"id": id, **key}))
