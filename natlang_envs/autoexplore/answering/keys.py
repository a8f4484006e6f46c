"""Keys: what an answer to a labelled question has to say, and what it may not."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, cast

from natlang_envs.autoexplore.dataset.catalogue import data_folder
from natlang_envs.autoexplore.dataset.labels import WORDINGS, Wording, read_lines, read_object
from natlang_envs.errors import UsageError
from natlang_envs.files import write_whole

POLARITIES = ("", "yes", "no")


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
    says: str = ""
    wordings: tuple[Wording, ...] = WORDINGS
    listed: bool = False

    @property
    def variants(self) -> tuple[str, ...]:
        """The variants of all atoms."""
        return tuple(variant for atom in self.atoms for variant in atom)

    def to_json(self) -> str:
        content: dict[str, Any] = {"id": self.id, "atoms": self.atoms}
        for name in ("never", "also", "says"):
            if getattr(self, name):
                content[name] = getattr(self, name)
        if self.wordings != WORDINGS:
            content["wordings"] = self.wordings
        if self.listed:
            content["listed"] = True
        return json.dumps(content, ensure_ascii=False)


def parse_key(value: object) -> AnswerKey:
    """Return the key of a JSON object.

    Raises:
        ValueError: It has other names, or values of other kinds.
    """
    content: dict[str, Any] = {"never": [], "also": [], "says": "", "wordings": list(WORDINGS), "listed": False}
    content |= read_object(value, ("id", "atoms"), "a key", optional=tuple(content))
    atoms = content["atoms"]
    if not isinstance(atoms, list) or not atoms:
        raise ValueError("atoms is a list of lists of variants, with at least one")
    content["atoms"] = tuple(_phrases(each, "each of atoms") for each in cast("list[object]", atoms))
    if not all(content["atoms"]):
        raise ValueError("an atom has at least one variant")
    for name in ("never", "also", "wordings"):
        content[name] = _phrases(content[name], name)
    if content["says"] not in POLARITIES:
        raise ValueError(f'says is "yes" or "no", not {content["says"]!r}')
    if not content["wordings"] or not set(content["wordings"]) <= set(WORDINGS):
        raise ValueError(f"wordings is one or both of {', '.join(WORDINGS)}")
    if type(content["listed"]) is not bool:
        raise ValueError("listed is true or false")
    return AnswerKey(**content)


def _phrases(value: object, what: str) -> tuple[str, ...]:
    given = cast("list[object]", value) if isinstance(value, list) else [None]
    if not all(isinstance(each, str) and each.strip() for each in given):
        raise ValueError(f"{what} is a list of texts")
    return tuple(cast("list[str]", given))


def keys_file() -> Path:
    return data_folder() / "answer_keys.jsonl.gz"


def read_keys(path: Path) -> dict[str, AnswerKey]:
    """Return the keys of a file by the ids of their labels.

    Raises:
        UsageError: A line is no key, or the second one of its label.
    """
    keys: dict[str, AnswerKey] = {}
    for number, key in read_lines(path, parse_key):
        if keys.setdefault(key.id, key) is not key:
            raise UsageError(f"{path}, line {number}: {key.id} has a key already: leave one of them out")
    return keys


def write_keys(path: Path, keys: Iterable[AnswerKey]) -> None:
    """Write keys, one a line, packed where the file's name ends in `.gz`."""
    content = "".join(f"{each.to_json()}\n" for each in keys).encode()
    write_whole(path, gzip.compress(content, mtime=0) if path.suffix == ".gz" else content)


@cache
def shipped_keys() -> dict[str, AnswerKey]:
    """Return the keys of the dataset, by the ids of their labels."""
    return read_keys(keys_file())
