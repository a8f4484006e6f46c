"""Files of change tasks: one a repository, JSON lines.

The first line tells of the repository: `format`, `repository`, `kind`, `digest`, `tests`. Each further line is the
outcomes of a source's edits where nothing is broken (`scanned`), or a task with its table (`id`). The package's files
are compressed.
"""

from __future__ import annotations

import gzip
import json
import zlib
from collections.abc import Callable
from functools import cache, cached_property, lru_cache
from pathlib import Path
from typing import cast

from natlang_envs.change.making.fork_runner import files_of, open_subject
from natlang_envs.change.making.make_tasks import FORMAT, Row
from natlang_envs.change.repositories import change_repository, listed_folder
from natlang_envs.errors import UsageError, reason
from natlang_envs.repository.texts import MAX_QUESTION

YOURS = "yours"  # the kind of code that a user's own tasks are of
_HEAD = {"format": int, "repository": str, "kind": str, "digest": str, "tests": list}
_TASK = {
    **dict.fromkeys(("id", "file", "new", "operator", "function", "failing", "edits_digest", "issue"), str),
    **dict.fromkeys(("line", "start", "end", "restoring", "shown"), int),
    "table": dict,
}


class Book:
    """The tasks of one repository, by their ids `repository/…`.

    Raises:
        UsageError: The file holds no tasks.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        head, *rows = _read(path)
        if head.get("format") != FORMAT:
            raise UsageError(f"{path} has the format {head.get('format')!r}, not {FORMAT}: make the tasks again")
        _check(path, 1, head, _HEAD)
        self.repository: str = head["repository"]
        self.kind: str = head["kind"]
        self.digest: str = head["digest"]
        self.tests: tuple[str, ...] = tuple(map(str, head["tests"]))
        self.scanned: dict[str, Row] = {row["scanned"]: row for row in rows if "scanned" in row}
        self.tasks: dict[str, Row] = {}
        for number, row in enumerate(rows, 2):
            if "scanned" not in row and "rejected" not in row:
                _check(path, number, row, _TASK)
                self.tasks[f"{self.repository}/{row['id']}"] = row
        if not self.tasks:
            raise UsageError(f"{path} holds no task: make some with natlang data mutate")
        missing = sorted({row["file"] for row in self.tasks.values()} - set(self.scanned))
        if missing:
            raise UsageError(f"{path} lacks the outcomes of the edits of {missing[0]}: make the tasks again")

    def __reduce__(self) -> tuple[Callable[[Path], Book], tuple[Path]]:
        """Pickle as its file."""
        return open_book, (self.path,)

    @cached_property
    def folder(self) -> Path:
        """Where the repository lies, unless it is the user's own.

        Raises:
            UsageError: It has to be fetched.
        """
        return change_repository(self.repository).folder

    def sources(self, root: Path) -> dict[str, str]:
        """Return the sources that can be edited.

        Raises:
            UsageError: They are not those that the tasks were made of.
        """
        tests = files_of(self.tests)
        another = root.is_dir() and not all((root / file).exists() for file in (*tests, *self.scanned))
        subject = None if another else open_subject(root, tests, tuple(self.scanned))
        if subject is None or subject.digest != self.digest:
            remedy = f"give the folder of {self.repository} as it was, or make the tasks again"
            raise UsageError(f"the Python files of {root} are not those of {self.path.name}: {remedy}")
        return dict(subject.sources)


def _read(path: Path) -> list[Row]:
    try:
        content = path.read_bytes()
        text = (gzip.decompress(content) if path.suffix == ".gz" else content).decode()
        rows = [json.loads(line) for line in text.splitlines()]
    except (OSError, EOFError, ValueError, zlib.error) as error:
        raise UsageError(f"{path} cannot be read ({reason(error)}): make tasks with natlang data mutate") from None
    if not rows or not all(isinstance(row, dict) for row in rows):
        raise UsageError(f"{path} holds no tasks: make them with natlang data mutate")
    return cast("list[Row]", rows)


def _check(path: Path, line: int, row: Row, kinds: dict[str, type]) -> None:
    for name, kind in kinds.items():
        if type(row.get(name)) is not kind:
            raise UsageError(f"{path}, line {line}: {name!r} must be a JSON {kind.__name__}: make the tasks again")
    if not 0 < len(row.get("issue", "-")) <= MAX_QUESTION:
        raise UsageError(f"{path}, line {line}: an issue has 1 to {MAX_QUESTION:,} characters")


@lru_cache(maxsize=64)
def _book(path: Path, mark: tuple[int, int]) -> Book:
    del mark
    return Book(path)


def open_book(path: str | Path) -> Book:
    """Return the tasks of a file, read once while it stays as it is.

    Raises:
        UsageError: It holds no tasks.
    """
    real = Path(path).absolute()
    try:
        status = real.stat()
    except OSError as error:
        raise UsageError(f"{path} cannot be read ({error.strerror}): make tasks with natlang data mutate") from None
    return _book(real, (status.st_mtime_ns, status.st_size))


@cache
def shipped_books(split: str) -> dict[str, Book]:
    """Return the books of a split of the package, by repository."""
    return {book.repository: book for book in map(open_book, sorted(listed_folder(split).glob("*.jsonl.gz")))}
