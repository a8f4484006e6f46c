"""The editions of the dataset's labels.

The first is the four files of labels as they were published, byte for byte. The second is the first with what
`amendments.jsonl` says of each label: a natural wording, further targets, a corrected answer, or that the label goes.
The third is the second with what `amendments_3.jsonl` says, and the labels of `further_<part>.jsonl`. Ids stay.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any, Literal, NamedTuple

from natlang_envs.autoexplore.dataset.further import further_file, read_further
from natlang_envs.autoexplore.dataset.labels import (
    DIFFICULTIES,
    KINDS,
    PARTS,
    Difficulty,
    Evidence,
    Kind,
    Label,
    Part,
    Verdict,
    read_labels,
    read_lines,
    read_object,
)
from natlang_envs.autoexplore.dataset.locations import data_folder
from natlang_envs.autoexplore.dataset.quotations import Quotation, span_of, with_text
from natlang_envs.errors import UsageError
from natlang_envs.files import write_whole

Edition = Literal[1, 2, 3]
EDITIONS: tuple[Edition, ...] = (1, 2, 3)
NEWEST: Edition = 3


class Elsewhere(NamedTuple):
    """A file that holds evidence of a label word for word and is no target, and why not."""

    path: str
    why: str


@dataclass(frozen=True)
class Amendment:
    """What an edition says of a label of the one before.

    Attributes:
        id: The label's id.
        natural: Its natural wording.
        answer: The corrected answer; empty where it was right.
        added: Evidence in files that answer too, and are targets now.
        dropped: Why the label goes; empty where it stays.
        elsewhere: Files that hold its evidence and do not answer.
        path: The fewest commands, where a target that was added changes them.
        kind: Of the nearest target, where that has changed.
        difficulty: Where a target that was added changes it.
    """

    id: str
    natural: str = ""
    answer: str = ""
    added: tuple[Evidence | Quotation, ...] = ()
    dropped: str = ""
    elsewhere: tuple[Elsewhere, ...] = ()
    path: tuple[str, ...] = ()
    kind: Kind | Literal[""] = ""
    difficulty: Difficulty | Literal[""] = ""

    def to_json(self) -> str:
        """Return its line, without what is empty."""
        content: dict[str, Any] = {"id": self.id, "natural": self.natural, "answer": self.answer}
        content |= {"added": [each._asdict() for each in self.added], "dropped": self.dropped}
        content |= {"elsewhere": [each._asdict() for each in self.elsewhere], "path": self.path, "kind": self.kind}
        content["difficulty"] = self.difficulty
        return json.dumps({name: value for name, value in content.items() if value}, ensure_ascii=False)


def parse_amendment(value: object) -> Amendment:
    """Return an amendment from the object of its line.

    Raises:
        ValueError: Something in it is unknown or of another type.
    """
    names = ("natural", "answer", "added", "dropped", "elsewhere", "path", "kind", "difficulty")
    content = read_object(value, ("id",), "an amendment", optional=names)
    for name in ("added", "elsewhere", "path"):
        content[name] = content.get(name, [])
        if not isinstance(content[name], list):
            raise ValueError(f"{name} must be a list")
    content["added"] = tuple(span_of(each) for each in content["added"])
    content["elsewhere"] = tuple(
        Elsewhere(**read_object(each, Elsewhere._fields, "each of elsewhere")) for each in content["elsewhere"]
    )
    content["path"] = tuple(content["path"])
    texts = (content.get(name, "") for name in ("id", "natural", "answer", "dropped", "kind", "difficulty"))
    if not all(isinstance(each, str) for each in (*texts, *content["path"])):
        raise ValueError("each of id, natural, answer, dropped, path, kind and difficulty must be text")
    if content.get("kind", "") not in ("", *KINDS):
        raise ValueError(f"kind must be one of {', '.join(KINDS)}")
    if content.get("difficulty", "") not in ("", *DIFFICULTIES):
        raise ValueError(f"difficulty must be one of {', '.join(DIFFICULTIES)}")
    return Amendment(**content)


def part_file(part: Part) -> Path:
    """Return the file of a part, first edition."""
    return data_folder() / f"{part}.jsonl"


def amendments_file(edition: Edition = 2) -> Path:
    """Return the file of the amendments that an edition makes."""
    return data_folder() / ("amendments.jsonl" if edition == 2 else f"amendments_{edition}.jsonl")


@cache
def amendments(edition: Edition = 2) -> Mapping[str, Amendment]:
    """Return the amendments that an edition makes, by the ids of their labels.

    Raises:
        UsageError: A line is no amendment; the message names its number.
    """
    path = amendments_file(edition)
    return {each.id: each for _, each in read_lines(path, parse_amendment)} if path.exists() else {}


def write_amendments(path: Path, given: Iterable[Amendment]) -> None:
    """Write one amendment a line."""
    write_whole(path, "".join(f"{each.to_json()}\n" for each in given).encode())


@cache
def load_labels(part: Part, edition: Edition = 1) -> tuple[Label, ...]:
    """Return the labels of a part of the dataset.

    Evidence that may not be quoted here is read from the files of its repository; where they are not, it is empty.

    Raises:
        UsageError: A line is no label; the message names the file and the line's number.
    """
    if edition == 1:
        path = part_file(part)
        return tuple(read_labels(path)) if path.exists() else ()
    known = amendments(edition)
    amended = (amend(label, known[label.id]) if label.id in known else label for label in unamended(part, edition))
    return tuple(label for label in amended if label is not None)


def unamended(part: Part, edition: Edition) -> tuple[Label, ...]:
    """Return the labels that the amendments of an edition are about: those of the edition before, and further ones."""
    return load_labels(part) if edition == 2 else (*load_labels(part, 2), *read_further(part))


def explained(label: Label, edition: Edition) -> list[str]:
    """Return the files that may hold a label's evidence in an edition without being targets: it says why."""
    told = [amendments(each).get(label.id) for each in EDITIONS if 2 <= each <= edition]
    return [each.path for amendment in told if amendment for each in amendment.elsewhere]


def amend(label: Label, amendment: Amendment) -> Label | None:
    """Return a label with an amendment; None where it is dropped."""
    if amendment.dropped:
        return None
    added = [with_text(label.repository, each) for each in amendment.added]
    targets = tuple(sorted({*label.targets, *(each.path for each in added)}))
    verdicts = tuple(
        Verdict(each.path, True, "it is a target") if each.path in targets and not each.answers else each
        for each in label.bm25
    )
    return replace(
        label,
        natural=amendment.natural or label.natural,
        answer=amendment.answer or label.answer,
        targets=targets,
        evidence=(*label.evidence, *added),
        path=amendment.path or label.path,
        depth=min(target.count("/") for target in targets),
        kind=amendment.kind or label.kind,
        difficulty=amendment.difficulty or label.difficulty,
        bm25=verdicts,
    )


def part_named(name: str) -> Part:
    """Return a part by name.

    Raises:
        UsageError: There is none.
    """
    for part in PARTS:
        if part == name:
            return part
    raise UsageError(f"unknown split {name!r}: choose one of {', '.join(PARTS)}")


def edition_named(number: int) -> Edition:
    """Return an edition by its number.

    Raises:
        UsageError: There is none.
    """
    for edition in EDITIONS:
        if edition == number:
            return edition
    raise UsageError(f"there is no edition {number}: choose one of {', '.join(map(str, EDITIONS))}")


def digest(edition: Edition) -> str:
    """Return the SHA-256 of an edition: of the list of repositories and of the labels' files, in order."""
    total = hashlib.sha256()
    paths = [data_folder() / "repositories.toml", *(part_file(part) for part in PARTS)]
    if edition >= 2:
        paths.append(amendments_file())
    if edition >= 3:
        paths += [data_folder() / "more_repositories.toml", amendments_file(3), *map(further_file, PARTS)]
    for path in paths:
        content = path.read_bytes() if path.exists() else b""
        total.update(f"{hashlib.sha256(content).hexdigest()} {path.name}\n".encode())
    return total.hexdigest()
