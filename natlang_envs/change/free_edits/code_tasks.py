"""The code tasks of ChangeFree: broken repositories, and their judge, which compares answers of recorded calls.

A file of tasks has, for each repository, a line that names it and its tests, and then a line for each task.
"""

from __future__ import annotations

import hashlib
import json
import re
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from typing import Any

from natlang_envs.change.free_edits.free_task import ChangeVerdict, FreeTask
from natlang_envs.change.free_edits.inside.verdict import RecordedCalls, failing, record
from natlang_envs.change.free_edits.sandbox_tests import LIMITS, SCRIPTS, RunOutcomes, asking, run_tests
from natlang_envs.change.free_edits.test_files import by_file, function_of, without
from natlang_envs.change.making.fork_runner import SourcesWithTests, files_of, names_of
from natlang_envs.change.repositories import RepositoryEntry, change_repository, data_folder
from natlang_envs.change.task_files import failing_before, read_journal
from natlang_envs.errors import UsageError
from natlang_envs.files import cache_folder, whole_folder, write_whole
from natlang_envs.sandbox import AutoExploreSandbox, CommandResult

Piece = tuple[str, int, int, str]  # a file, from and to which character of it, and the text in their place
_NOT_SHOWN = {"__pycache__", ".git"}
_EXPLAINED = 5  # failing tests that `test` explains
_LONGEST = 1_000  # characters for each
_ADDRESS = re.compile(r"\b0x[0-9a-f]+")  # of an object, another one each time
_opened = cache(RepositoryEntry.open)


@dataclass(frozen=True, eq=False)
class CodeTask(FreeTask):
    """A repository with something wrong in its sources.

    Sources may differ at the end; tests, settings and new files are put back before the score is taken. The id is
    `repository/digest of the edits`, the kind `statement`, `guard`, `branch`, `body` or `combined`.
    """

    repository: RepositoryEntry  # as it should be
    digest: str  # the SHA-256 of its Python files
    pieces: tuple[Piece, ...]  # the edits that broke it, in the order in which they are applied
    tests: tuple[str, ...]
    failing: frozenset[str]  # the tests that fail since
    shown: tuple[str, ...]  # those of them that the player can see; the functions of the others are left out

    about = "code"

    @property
    def hidden(self) -> frozenset[tuple[str, str]]:
        """The files and functions of the tests that the player cannot see."""
        return frozenset(map(function_of, self.failing)) - frozenset(map(function_of, self.shown))

    @property
    def right(self) -> SourcesWithTests:
        """The repository as it should be."""
        tested = _opened(self.repository)
        if tested.digest != self.digest:
            raise UsageError(f"{tested.root} is not the repository of the task {self.id}: install natlang-envs again")
        return tested

    def folder(self) -> Path:
        """Return a folder with the broken repository as the player sees it, made at first use."""
        folder = cache_folder() / "changing" / f"{self.id.replace('/', '-')}-{self.right.digest[:12]}"
        if not folder.is_dir():
            with whole_folder(folder, keep=True) as unfinished:
                for path, content in self.contents().items():
                    (unfinished / path).parent.mkdir(parents=True, exist_ok=True)
                    (unfinished / path).write_bytes(content)
        return folder

    def contents(self) -> dict[str, bytes]:
        """Return the files of the broken repository as the player sees them."""
        root, texts = self.right.root, broken(self.right.sources, self.pieces)
        hidden = by_file(self.hidden)
        found: dict[str, bytes] = {}
        for path in sorted(root.rglob("*")):
            name = path.relative_to(root).as_posix()
            if path.is_file() and not _NOT_SHOWN & set(name.split("/")):
                found[name] = texts[name].encode() if name in texts else path.read_bytes()
                if name in hidden:
                    found[name] = without(found[name].decode(), hidden[name]).encode()
        return found

    @cached_property
    def _before(self) -> dict[str, str]:
        sources = self.right.sources
        return {**sources, **broken(sources, self.pieces)}

    def before(self) -> Mapping[str, str]:
        return self._before

    def check(self, sandbox: AutoExploreSandbox) -> CommandResult:
        """Run the tests that the player can see, over the files as they are."""
        run = run_tests(sandbox, explain=True)
        failed = [test for test in run.parts if not run.passed(test)]
        unread = [name for name in run.reasons if name not in run.parts]
        lines = [f"{name} cannot be imported:\n{_explained(run, name)}" for name in unread[:_EXPLAINED]]
        lines += [f"{test} fails:\n{_explained(run, test)}" for test in failed[:_EXPLAINED]]
        lines += [f"{test} fails" for test in failed[_EXPLAINED:]]
        if not run.whole:
            return CommandResult("", "The run ended before it said anything.\n", 1)
        lines.append(f"{len(run.parts) - len(failed)} of {len(run.parts)} tests pass.")
        return CommandResult("\n".join(lines) + "\n", "", 1 if failed or unread or not run.parts else 0)

    def solution(self) -> Mapping[str, str]:
        return {file: self.right.sources[file] for file, *_ in self.pieces}

    def score(self, kept: Mapping[str, str]) -> ChangeVerdict:
        """Compare what calls of the changed sources answer with what those of the right ones do."""
        if not kept:
            return ChangeVerdict("unsolved", "No source of the repository was changed, so the same tests fail.")
        right = self.right
        hidden = dict.fromkeys(files_of(self.tests), "")
        before = {path: text.encode() for path, text in {**hidden, **self._before}.items()}
        changed = {**before, **{path: text.encode() for path, text in kept.items()}}
        recorded = self.recorded_calls()
        with (
            AutoExploreSandbox(self.folder(), limits=LIMITS) as theirs,
            AutoExploreSandbox(right.root, limits=LIMITS) as ours,
        ):
            runs = asking(theirs, changed), asking(theirs, before), asking(ours, tests=True)
            failed = failing(recorded, *runs, self.tests, right.arguments)
        if failed is None:
            return ChangeVerdict("unsolved", "Calls that no test makes are answered as before, or wrong otherwise.")
        if failed:
            what = "1 of them does" if len(failed) == 1 else f"{len(failed)} of them do"
            return ChangeVerdict("unsolved", f"{len(self.tests)} tests were to pass, and {what} not.")
        return ChangeVerdict("solved", f"All {len(self.tests)} tests pass.")

    def recorded_calls(self) -> RecordedCalls:
        """Return the calls of the right repository, recorded at first use."""
        return _recorded(self.repository, self.right.digest)


def broken(sources: Mapping[str, str], pieces: tuple[Piece, ...]) -> dict[str, str]:
    """Return the texts of the files that edits change; the places of an edit are those of the text before it."""
    texts: dict[str, str] = {}
    for file, start, end, new in pieces:
        text = texts.get(file, sources[file])
        texts[file] = text[:start] + new + text[end:]
    return texts


@cache
def _recorded(repository: RepositoryEntry, digest: str) -> RecordedCalls:
    scripts = b"".join(each.read_bytes() for each in sorted(SCRIPTS.glob("*.py")))
    name = hashlib.sha256(f"{digest} {sys.version}".encode() + scripts).hexdigest()[:16]
    path = cache_folder() / "calls" / f"{repository.name}-{name}.json"
    try:
        return RecordedCalls(*json.loads(path.read_bytes()))
    except (OSError, ValueError, TypeError):
        right = repository.open()
        with AutoExploreSandbox(right.root, limits=LIMITS) as sandbox:
            recorded = record(asking(sandbox, tests=True), list(right.sources), right.arguments)
        path.parent.mkdir(parents=True, exist_ok=True)
        write_whole(path, json.dumps(recorded).encode())
        return recorded


def _explained(run: RunOutcomes, test: str) -> str:
    """Return the end of pytest's words about a failing test or file."""
    return _ADDRESS.sub("0x…", run.reasons.get(test, ""))[-_LONGEST:]


def tasks_file(split: str) -> Path:
    return data_folder() / "free" / f"{split}.jsonl.gz"


@cache
def code_tasks(split: str) -> Mapping[str, CodeTask]:
    tasks: dict[str, CodeTask] = {}
    head: dict[str, Any] = {}
    for row in read_journal(tasks_file(split)):
        if "repository" in row:
            head = row
        else:
            tasks[row["id"]] = task_of(row, head, change_repository(head["repository"]))
    return tasks


def task_of(row: Mapping[str, Any], head: Mapping[str, Any], repository: RepositoryEntry) -> CodeTask:
    """Return the task of a line; `head` is the line of its repository."""
    tests = tuple(head["tests"])
    return CodeTask(
        id=row["id"],
        kind=row["kind"],
        issue=row["issue"],
        repository=repository,
        digest=head["digest"],
        pieces=tuple((file, start, end, new) for file, start, end, new in row["pieces"]),
        tests=tests,
        failing=names_of(failing_before(row), tests),
        shown=tuple(tests[each] for each in row["shown"]),
    )
