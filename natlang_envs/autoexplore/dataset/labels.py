"""Labels: a question about a repository, the files that answer it, and what shows that they do.

One JSON object a line. What a labeller writes and what a command fills in stand in one object: see `Label`. Those
of the dataset come from `shipped`.
"""

from __future__ import annotations

import gzip
import hashlib
import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path
from typing import Any, Literal, NamedTuple, TypeVar, cast, get_args, get_type_hints

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
DIFFICULTIES: tuple[Difficulty, ...] = get_args(Difficulty)
PARTS: tuple[Part, ...] = get_args(Part)
KNOWN_SPLITS: tuple[KnownSplit, ...] = get_args(KnownSplit)  # views of train, and of test_seen and known
WORDINGS: tuple[Wording, ...] = get_args(Wording)
RANKED = 5  # files of BM25's ranking that stand in a label with a verdict

WRITTEN = ("repository", "question", "answer", "targets", "evidence", "kind")  # what a labeller writes
MADE = ("path", "depth", "difficulty", "bm25")  # what a command fills in
OPTIONAL = ("natural", "elsewhere", "part")


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


_ROWS: dict[str, tuple[type[Any], str]] = {
    "evidence": (Evidence, "evidence"),
    "bm25": (FileVerdict, "a file of bm25"),
    "elsewhere": (Elsewhere, "each of elsewhere"),
}
_hints = cache(get_type_hints)


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
        content = asdict(self)
        for name in _ROWS:
            content[name] = [each._asdict() for each in getattr(self, name)]
        kept = {name: each for name, each in content.items() if each or name not in OPTIONAL}
        return json.dumps(kept, ensure_ascii=False)


def wording_named(name: str) -> Wording:
    return cast("Wording", require_choice("wording", name, WORDINGS))


def parse(value: object) -> Label:
    content: dict[str, Any] = {"natural": "", "elsewhere": [], "part": 0}
    content |= read_object(value, (*WRITTEN, *MADE), "a label", optional=OPTIONAL)
    for name in ("repository", "question", "answer", "kind", "difficulty", "natural"):
        _check(content[name], str, name)
    for name in ("question", "natural") if content["natural"] else ("question",):
        if content[name] != " ".join(content[name].split()) or not 0 < len(content[name]) <= MAX_QUESTION:
            raise ValueError(f"{name} must be one line of 1 to {MAX_QUESTION:,} characters")
    for name in ("depth", "part"):
        _check(content[name], int, name)
    for name, known in (("kind", KINDS), ("difficulty", DIFFICULTIES)):
        if content[name] not in known:
            raise ValueError(f"{name} must be one of {', '.join(known)}; not {content[name]!r}")
    for name in ("targets", "path"):
        content[name] = tuple(_check(each, str, f"each of {name}") for each in _check(content[name], list, name))
    if not content["targets"]:
        raise ValueError("targets must name at least one file")
    for name, (row, what) in _ROWS.items():
        content[name] = tuple(_row(row, each, what, name) for each in _check(content[name], list, name))
    return Label(**content)


def _row(row: type[Any], value: object, what: str, of: str) -> Any:
    kinds = _hints(row)
    content = read_object(value, kinds, what)
    return row(**{name: _check(content[name], kind, f"{of}'s {name}") for name, kind in kinds.items()})


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


def _check(value: Any, kind: type, name: str) -> Any:
    if type(value) is not kind:
        raise ValueError(f"{name} must be {kind.__name__}, not {json.dumps(value)[:60]}")
    if isinstance(value, str) and not value.isascii() and escape_surrogates(value) != value:
        raise ValueError(f"{name} holds what is no Unicode text")
    return value


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
