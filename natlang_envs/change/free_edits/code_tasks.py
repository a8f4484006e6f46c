"""The code tasks of ChangeFree: which edits broke a repository, what fails since, and what the issue says.

A file of tasks has, for each repository, a line that names it and its tests, and then a line for each task.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from natlang_envs.change.free_edits.test_files import function_of, without
from natlang_envs.change.making.fork_runner import Subject
from natlang_envs.change.making.make_tasks import mask_of
from natlang_envs.change.repositories import ChangeRepository, change_repository, data_folder
from natlang_envs.errors import UsageError
from natlang_envs.files import cache_folder, whole_folder

Piece = tuple[str, int, int, str]  # a file, from and to which character of it, and what stands there in their place
KINDS = ("statement", "guard", "branch", "body", "combined")
_NOT_SHOWN = ("__pycache__", ".git")


@dataclass(frozen=True)
class CodeTask:
    """A repository with something wrong in its sources.

    Attributes:
        id: `repository/digest of the edits`.
        kind: What was done, one of `KINDS`.
        repository: The repository as it should be.
        digest: Of its Python files.
        pieces: The edits that broke it, in the order in which they are applied.
        tests: All tests.
        failing: Those that fail since.
        shown: Those of them that the player can see; the functions of the others are left out.
        issue: What is asked.
    """

    id: str
    kind: str
    repository: ChangeRepository
    digest: str
    pieces: tuple[Piece, ...]
    tests: tuple[str, ...]
    failing: frozenset[str]
    shown: tuple[str, ...]
    issue: str

    about = "code"

    @property
    def hidden(self) -> frozenset[tuple[str, str]]:
        """The files and functions of the tests that the player cannot see."""
        return frozenset(map(function_of, self.failing)) - frozenset(map(function_of, self.shown))

    def folder(self) -> Path:
        """Return a folder with the broken repository as the player sees it, made at first use."""
        subject = subject_of(self)
        folder = cache_folder() / "changing" / f"{self.id.replace('/', '-')}-{subject.digest[:12]}"
        if not folder.is_dir():
            with whole_folder(folder, keep=True) as unfinished:
                for path, content in contents(self).items():
                    (unfinished / path).parent.mkdir(parents=True, exist_ok=True)
                    (unfinished / path).write_bytes(content)
        return folder


def broken(sources: Mapping[str, str], pieces: tuple[Piece, ...]) -> dict[str, str]:
    """Return the texts of the files that edits change, after them; the places are those of the text before each."""
    texts: dict[str, str] = {}
    for file, start, end, new in pieces:
        text = texts.get(file, sources[file])
        texts[file] = text[:start] + new + text[end:]
    return texts


def contents(task: CodeTask) -> dict[str, bytes]:
    """Return the files of the broken repository as the player sees them."""
    subject = subject_of(task)
    texts = broken(subject.sources, task.pieces)
    hidden: dict[str, set[str]] = {}
    for file, name in task.hidden:
        hidden.setdefault(file, set()).add(name)
    found: dict[str, bytes] = {}
    for path in sorted(subject.root.rglob("*")):
        name = path.relative_to(subject.root).as_posix()
        if path.is_file() and not set(_NOT_SHOWN) & set(name.split("/")):
            found[name] = texts[name].encode() if name in texts else path.read_bytes()
            if name in hidden:
                found[name] = without(found[name].decode(), hidden[name]).encode()
    return found


def test_files(task: CodeTask) -> dict[str, str]:
    """Return the files of all tests, whole."""
    files = dict.fromkeys(function_of(each)[0] for each in task.tests)
    return {file: (subject_of(task).root / file).read_text(encoding="utf-8") for file in files}


@cache
def _subject(repository: ChangeRepository) -> Subject:
    return repository.open()


def subject_of(task: CodeTask) -> Subject:
    """Return a task's repository.

    Raises:
        UsageError: Its files are not those that the task is of.
    """
    subject = _subject(task.repository)
    if subject.digest != task.digest:
        raise UsageError(f"{subject.root} is not the repository of the task {task.id}: install natlang-envs again")
    return subject


def tasks_file(split: str) -> Path:
    """Return the file of a split's code tasks."""
    return data_folder() / "free" / f"{split}.jsonl"


@cache
def code_tasks(split: str) -> Mapping[str, CodeTask]:
    """Return the code tasks of a split by their ids, in the order of the file."""
    path = tasks_file(split)
    return {each.id: each for each in read_tasks(path)} if path.exists() else {}


def read_tasks(path: Path) -> Iterator[CodeTask]:
    """Read a file of tasks."""
    head: dict[str, Any] = {}
    for line in path.read_text(encoding="utf-8").splitlines():
        row: dict[str, Any] = json.loads(line)
        if "repository" in row:
            head = row
        else:
            yield task_of(row, head, change_repository(head["repository"]))


def task_of(row: Mapping[str, Any], head: Mapping[str, Any], repository: ChangeRepository) -> CodeTask:
    """Return the task of a line; `head` is the line of its repository."""
    tests = tuple(head["tests"])
    failing = mask_of(row)
    return CodeTask(
        id=row["id"],
        kind=row["kind"],
        repository=repository,
        digest=head["digest"],
        pieces=tuple((file, start, end, new) for file, start, end, new in row["pieces"]),
        tests=tests,
        failing=frozenset(name for place, name in enumerate(tests) if failing >> place & 1),
        shown=tuple(tests[each] for each in row["shown"]),
        issue=row["issue"],
    )
