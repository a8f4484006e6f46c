"""Files of change tasks with listed edits, one a repository: JSON lines, compressed where the name ends in `.gz`.

The first line is about the repository: `format`, `repository`, `kind`, `digest`, `tests`. Each further line is either a
task with its table (`id`), or what each edit of a source makes fail in the unbroken repository (`scanned`). An outcome
is the set of tests that fail, as the bits of a number: bit `n` is the `n`-th test.
"""

from __future__ import annotations

import gzip
import hashlib
import json
import zlib
from collections.abc import Callable, Mapping, Sequence
from functools import cache, cached_property, lru_cache
from pathlib import Path
from typing import Any, cast

from natlang_envs.change.making.fork_runner import files_of, open_tested
from natlang_envs.change.repositories import change_repository, listed_folder
from natlang_envs.errors import UsageError, reason
from natlang_envs.files import json_line, write_whole
from natlang_envs.repository.mutations import Edit
from natlang_envs.repository.texts import MAX_QUESTION

Row = dict[str, Any]

FORMAT = 1
YOURS = "yours"  # the kind of code that a user's own tasks are of
PYTHONS = ("3.11", "3.12", "3.13")  # under which the shipped tasks are the same
_HEAD = {"format": int, "repository": str, "kind": str, "digest": str, "tests": list}
_TASK = {
    **dict.fromkeys(("id", "file", "new", "operator", "function", "failing", "edits_digest", "issue"), str),
    **dict.fromkeys(("line", "start", "end", "restoring", "shown"), int),
    "table": dict,
}


def edits_digest(listed: Sequence[Edit]) -> str:
    """Return a digest of a list of edits: a table has it, so that its columns can be compared with a list."""
    return hashlib.sha256(repr([tuple(each) for each in listed]).encode()).hexdigest()[:16]


def edit_of(row: Mapping[str, Any]) -> Edit:
    return Edit(*(row[name] for name in Edit._fields))


def failing_before(row: Mapping[str, Any]) -> int:
    """Return the tests that fail before anything is mended."""
    return int(str(row["failing"]), 16)


def pack(outcomes: Sequence[int]) -> dict[str, Any]:
    """Return outcomes as JSON: the distinct ones in hexadecimal, and for each edit the index of its own."""
    distinct = {outcome: index for index, outcome in enumerate(dict.fromkeys(outcomes))}
    return {"outcomes": [f"{each:x}" for each in distinct], "edits": [distinct[each] for each in outcomes]}


def unpack(packed: Mapping[str, Any]) -> list[int]:
    distinct = [int(each, 16) for each in packed["outcomes"]]
    return [distinct[index] for index in packed["edits"]]


class TaskFile:
    """The tasks of one repository, by their ids `repository/…`; a file without tasks is refused."""

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

    def __reduce__(self) -> tuple[Callable[[Path], TaskFile], tuple[Path]]:
        return open_task_file, (self.path,)

    @cached_property
    def folder(self) -> Path:
        """The folder of the repository, unless it is the user's own."""
        return change_repository(self.repository).folder

    def sources(self, root: Path) -> dict[str, str]:
        """Return the sources that can be edited."""
        tests = files_of(self.tests)
        another = root.is_dir() and not all((root / file).exists() for file in (*tests, *self.scanned))
        tested = None if another else open_tested(root, tests, tuple(self.scanned))
        if tested is None or tested.digest != self.digest:
            remedy = f"give the folder of {self.repository} as it was, or make the tasks again"
            raise UsageError(f"the Python files of {root} are not those of {self.path.name}: {remedy}")
        return dict(tested.sources)


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
def _task_file(path: Path, mark: tuple[int, int]) -> TaskFile:
    del mark
    return TaskFile(path)


def open_task_file(path: str | Path) -> TaskFile:
    """Return the tasks of a file, which is read again only when it has changed."""
    real = Path(path).absolute()
    try:
        status = real.stat()
    except OSError as error:
        raise UsageError(f"{path} cannot be read ({error.strerror}): make tasks with natlang data mutate") from None
    return _task_file(real, (status.st_mtime_ns, status.st_size))


@cache
def shipped_task_files(split: str) -> dict[str, TaskFile]:
    """Return the files of a split of the suite's own tasks, by repository."""
    return {each.repository: each for each in map(open_task_file, sorted(listed_folder(split).glob("*.jsonl.gz")))}


def read_journal(journal: Path) -> list[Row]:
    """Return the whole lines of a journal or of a task file, without checks; an unfinished last line is left out."""
    if not journal.exists():
        return []
    content = journal.read_bytes()
    if journal.suffix == ".gz":
        content = gzip.decompress(content)
    try:
        return [json.loads(line) for line in content[: content.rfind(b"\n") + 1].splitlines()]
    except ValueError:
        raise UsageError(f"{journal} is no journal of tasks: choose another file") from None


def write_task_file(journal: Path, out: Path, repository: str, kind: str, pythons: tuple[str, ...] = PYTHONS) -> int:
    """Write the finished tasks of a journal of `make_tasks.make`, the same bytes each time; return how many they are.

    The file is compressed if its name ends in `.gz`. The kind says whose the repository is: `own`, `public` or `yours`.
    `pythons` are the versions under which the tasks were checked.
    """
    rows = read_journal(journal)
    tasks = [row for row in rows if "issue" in row]
    if not tasks:
        raise UsageError(f"{journal} holds no finished task: go on with making")
    head: Row = {
        "format": FORMAT, "repository": repository, "kind": kind, "digest": rows[0]["repository"],
        "tests": rows[0]["tests"], "python": list(pythons),
    }  # fmt: skip
    scans = [
        {name: row[name] for name in ("scanned", "outcomes", "edits", "covered")} for row in rows if "scanned" in row
    ]
    out.parent.mkdir(parents=True, exist_ok=True)
    text = b"".join(map(json_line, [head, *tasks, *scans]))
    write_whole(out, gzip.compress(text, mtime=0) if out.suffix == ".gz" else text)
    return len(tasks)
