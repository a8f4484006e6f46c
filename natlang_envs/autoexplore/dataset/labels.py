"""Labels: a question about a repository, the files that answer it, and what shows that they do.

One JSON object a line. What a labeller writes and what a command fills in stand in one object: see `Label`. Those
of the dataset come from `shipped`.
"""

from __future__ import annotations

import gzip
import hashlib
import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, fields
from functools import cache
from inspect import Parameter, signature
from pathlib import Path
from typing import Any, Literal, NamedTuple, TypeVar, cast, get_args, get_origin, get_type_hints

from natlang_envs.errors import UsageError, reason, require_choice
from natlang_envs.files import write_whole
from natlang_envs.repository.texts import MAX_QUESTION
from natlang_envs.spaces import escape_surrogates

T = TypeVar("T")
Kind = Literal["documentation", "code", "data"]
Difficulty = Literal["shares", "no words shared with the path"]
Part = Literal["train", "validation", "test", "test_seen", "known"]
KnownSplit = Literal["known_train", "known_validation", "known_test"]
Wording = Literal["natural", "hard"]
KINDS: tuple[Kind, ...] = get_args(Kind)
PARTS: tuple[Part, ...] = get_args(Part)
KNOWN_SPLITS: tuple[KnownSplit, ...] = get_args(KnownSplit)  # views of train, and of test_seen and known
WORDINGS: tuple[Wording, ...] = get_args(Wording)
RANKED = 5  # files of BM25's ranking that stand in a label with a verdict


class Evidence(NamedTuple):
    """A span of a target that supports the answer: the text as it stands in the file."""

    path: str
    text: str


class FileVerdict(NamedTuple):
    """A file that BM25 ranks high, whether it answers the question, and why, in a few words."""

    path: str
    answers: bool
    why: str


class Elsewhere(NamedTuple):
    """A file that holds evidence of a label word for word and is no target, and why not."""

    path: str
    why: str


@dataclass(frozen=True)
class Label:
    """A question.

    Attributes:
        repository: Its name in `repositories.toml`.
        question: One line; where there is a natural wording too, this is the hard one.
        answer: What the files say.
        targets: All files that answer it, sorted.
        evidence: At least one span for each target.
        path: The fewest commands to the nearest target, with `cat` before `id`.
        depth: The folders to enter for it.
        kind: Of the nearest target.
        difficulty: Whether the question shares a word with the path of a target.
        bm25: The files that BM25 ranks highest for `question`, best first.
        natural: The question as a user of the repository would ask it; empty where there is but one wording.
        elsewhere: Files that hold its evidence and do not answer.
        part: Which part of the nearest target `cat` shows with its evidence, from 1; 0 where nobody has said.
    """

    repository: str
    question: str
    answer: str
    targets: tuple[str, ...]
    evidence: tuple[Evidence, ...]
    path: tuple[str, ...]
    depth: int
    kind: Kind
    difficulty: Difficulty
    bm25: tuple[FileVerdict, ...]
    natural: str = ""
    elsewhere: tuple[Elsewhere, ...] = ()
    part: int = 0

    @property
    def id(self) -> str:
        """The id of its task: the repository, and 8 hex digits of the question; other labels do not change it."""
        return f"{self.repository}/{hashlib.sha256(self.question.encode()).hexdigest()[:8]}"

    @property
    def by_hand(self) -> bool:
        """Whether a person wrote it in the short form, without evidence."""
        return not (self.evidence or self.bm25)

    def asked(self, wording: Wording) -> str:
        return self.natural or self.question if wording == "natural" else self.question

    def to_json(self) -> str:
        return record_json(self)


def wording_named(name: str) -> Wording:
    return cast("Wording", require_choice("wording", name, WORDINGS))


def parse(value: object) -> Label:
    label = read_record(Label, value, "a label")
    for name in ("question", "natural") if label.natural else ("question",):
        text: str = getattr(label, name)
        if text != " ".join(text.split()) or not 0 < len(text) <= MAX_QUESTION:
            raise ValueError(f"{name} must be one line of 1 to {MAX_QUESTION:,} characters")
    if not label.targets:
        raise ValueError("targets must name at least one file")
    return label


def read_record(record: type[T], value: object, what: str, of: str = "") -> T:
    """Return a JSON object as a dataclass or a named tuple; what has a default may be left out.

    Raises:
        ValueError: It has other names, or values of other types.
    """
    types, required = _fields(record)
    content = read_object(value, required, what, optional=types)
    return record(**{name: _typed(each, types[name], f"{of}{name}") for name, each in content.items()})


@cache
def _fields(record: type) -> tuple[dict[str, Any], list[str]]:
    """Return the types of a record's fields, and the names of those that have no default."""
    given = signature(record).parameters.values()
    return get_type_hints(record), [each.name for each in given if each.default is Parameter.empty]


def _typed(value: Any, kind: Any, name: str) -> Any:
    """Return a JSON value as it stands in a record: a list as a tuple, an object as a record."""
    if get_origin(kind) is tuple:
        if not isinstance(value, list):
            raise ValueError(f"{name} must be list, not {json.dumps(value)[:60]}")
        return tuple(_typed(each, get_args(kind)[0], f"each of {name}") for each in cast("list[Any]", value))
    if hasattr(kind, "_fields"):
        return read_record(kind, value, name, f"{name.removeprefix('each of ')}'s ")
    if get_origin(kind) is Literal:
        if value not in (known := get_args(kind)):
            raise ValueError(f"{name} must be one of {', '.join(filter(None, known))}; not {value!r}")
        return value
    if type(value) is not kind:
        raise ValueError(f"{name} must be {kind.__name__}, not {json.dumps(value)[:60]}")
    if isinstance(value, str) and not value.isascii() and escape_surrogates(value) != value:
        raise ValueError(f"{name} holds what is no Unicode text")
    return value


def record_json(record: Any) -> str:
    """Return a dataclass as a JSON object, without what is as by default."""
    values: dict[str, Any] = {each.name: getattr(record, each.name) for each in fields(record)}
    content = {each.name: _listed(values[each.name]) for each in fields(record) if values[each.name] != each.default}
    return json.dumps(content, ensure_ascii=False)


def _listed(value: Any) -> Any:
    if not isinstance(value, tuple):
        return value
    return [each._asdict() if hasattr(each, "_asdict") else each for each in cast("tuple[Any, ...]", value)]


def read_object(value: object, names: Iterable[str], what: str, optional: Iterable[str] = ()) -> dict[str, Any]:
    """Return a JSON object that has exactly these keys."""
    if not isinstance(value, dict):
        raise ValueError(f"{what} is a JSON object, not {json.dumps(value)[:60]}")
    content = dict(cast("dict[str, Any]", value))
    missing, unknown = sorted(set(names) - set(content)), sorted(set(content) - {*names, *optional})
    if missing or unknown:
        if {"digest", "tests"} <= {*unknown}:
            raise ValueError(f"{what} has no digest and no tests; tasks of natlang data mutate have: pass --tasks")
        raise ValueError(f"{what} has exactly the keys {', '.join(names)}; missing {missing}, unknown {unknown}")
    return content


def read_lines(path: Path, parse_one: Callable[[object], T]) -> Iterator[tuple[int, T]]:
    """Yield the number and the content of each line of a file of JSON objects, which may be packed by gzip."""
    try:
        content = path.read_bytes()
        text = (gzip.decompress(content) if path.suffix == ".gz" else content).decode("utf-8")
    except (OSError, EOFError, UnicodeDecodeError) as error:
        raise UsageError(f"{path} cannot be read ({reason(error)}): give a file of one JSON object a line") from None
    # Not `splitlines`: an answer may hold U+2028 and its like, which JSON leaves as they are.
    for number, line in enumerate(text.split("\n"), 1):
        if line.strip():
            try:
                yield number, parse_one(json.loads(line))
            except (ValueError, RecursionError) as error:
                raise UsageError(f"{path}, line {number}: {error}") from None


def read_labels(path: Path, parse_one: Callable[[object], Label] = parse) -> list[Label]:
    """Return the labels of a file; a line that asks what an earlier one does is refused."""
    labels: dict[str, Label] = {}
    for number, label in read_lines(path, parse_one):
        if labels.setdefault(label.id, label) is not label:
            raise UsageError(f"{path}, line {number}: its question is that of an earlier line: leave one of them out")
    return list(labels.values())


def write_labels(path: Path, labels: Iterable[Label]) -> None:
    write_whole(path, "".join(f"{label.to_json()}\n" for label in labels).encode())


def json_lines(objects: Iterable[Mapping[str, Any]]) -> bytes:
    return "".join(f"{json.dumps(each, ensure_ascii=False)}\n" for each in objects).encode()
