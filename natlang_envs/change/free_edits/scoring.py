"""The rules of code tasks: changed sources are scored by calls, with what counts of the changes and no more."""

from __future__ import annotations

import hashlib
import json
import re
import sys
from collections.abc import Mapping
from functools import cache

from natlang_envs.change.free_edits.code_tasks import CodeTask, broken, subject_of, test_files
from natlang_envs.change.free_edits.free_task import Rules, Verdict
from natlang_envs.change.free_edits.inside.verdict import Book, failing, make
from natlang_envs.change.free_edits.sandbox_tests import LIMITS, SCRIPTS, Ends, asking, run_tests
from natlang_envs.change.repositories import ChangeRepository
from natlang_envs.files import cache_folder, write_whole
from natlang_envs.sandbox import AutoExploreSandbox, CommandResult

_TOLD = 5  # failing tests that `test` explains
_LONGEST = 1_000  # characters for each
_ADDRESS = re.compile(r"\b0x[0-9a-f]+")  # of an object, another one each time


class CodeRules(Rules):
    """The rules of a code task: sources may differ; tests, settings and new files are put back."""

    def __init__(self, task: CodeTask) -> None:
        self._task = task
        sources = subject_of(task).sources
        self._before = {**sources, **broken(sources, task.pieces)}

    def before(self) -> Mapping[str, str]:
        """Return the sources of the broken repository."""
        return self._before

    def check(self, sandbox: AutoExploreSandbox) -> CommandResult:
        """Run the tests that the player can see, over the files as they are."""
        ends = run_tests(sandbox, explain=True)
        failed = [test for test in ends.parts if not ends.passed(test)]
        unread = [name for name in ends.reasons if name not in ends.parts]
        lines = [f"{name} cannot be imported:\n{_told(ends, name)}" for name in unread[:_TOLD]]
        lines += [f"{test} fails:\n{_told(ends, test)}" for test in failed[:_TOLD]]
        lines += [f"{test} fails" for test in failed[_TOLD:]]
        if not ends.whole:
            return CommandResult("", "The run ended before it said anything.\n", 1)
        lines.append(f"{len(ends.parts) - len(failed)} of {len(ends.parts)} tests pass.")
        return CommandResult("\n".join(lines) + "\n", "", 1 if failed or unread or not ends.parts else 0)

    def solution(self) -> Mapping[str, str]:
        """Return the sources that were broken as they should be."""
        sources = subject_of(self._task).sources
        return {file: sources[file] for file in dict.fromkeys(each[0] for each in self._task.pieces)}

    def score(self, kept: Mapping[str, str]) -> Verdict:
        """Compare what calls of the changed sources answer with what those of the right ones do."""
        if not kept:
            return Verdict("unsolved", "No source of the repository was changed, so the same tests fail.")
        subject, tests = subject_of(self._task), self._task.tests
        hidden = dict.fromkeys(test_files(self._task), "")
        before = {path: text.encode() for path, text in {**hidden, **self._before}.items()}
        changed = {**before, **{path: text.encode() for path, text in kept.items()}}
        book = calls_of(self._task)
        with (
            AutoExploreSandbox(self._task.folder(), limits=LIMITS) as theirs,
            AutoExploreSandbox(subject.root, limits=LIMITS) as ours,
        ):
            runs = asking(theirs, changed), asking(theirs, before), asking(ours, tests=True)
            failed = failing(book, *runs, tests, subject.arguments)
        if failed is None:
            return Verdict("unsolved", "Calls that no test makes are answered as before, or wrong otherwise.")
        if failed:
            what = "1 of them does" if len(failed) == 1 else f"{len(failed)} of them do"
            return Verdict("unsolved", f"{len(tests)} tests were to pass, and {what} not.")
        return Verdict("solved", f"All {len(tests)} tests pass.")


def calls_of(task: CodeTask) -> Book:
    """Return the calls of a task's repository, recorded at first use.

    Raises:
        UsageError: The lab or the task's repository is not here, or nothing isolates on this machine.
    """
    subject = subject_of(task)
    return _calls(task.repository, subject.digest)


@cache
def _calls(repository: ChangeRepository, digest: str) -> Book:
    scripts = b"".join(each.read_bytes() for each in sorted(SCRIPTS.glob("*.py")))
    name = hashlib.sha256(f"{digest} {sys.version}".encode() + scripts).hexdigest()[:16]
    path = cache_folder() / "calls" / f"{repository.name}-{name}.json"
    try:
        return Book(*json.loads(path.read_bytes()))
    except (OSError, ValueError, TypeError):
        subject = repository.open()
        with AutoExploreSandbox(subject.root, limits=LIMITS) as sandbox:
            book = make(asking(sandbox, tests=True), list(subject.sources), subject.arguments)
        path.parent.mkdir(parents=True, exist_ok=True)
        write_whole(path, json.dumps(book).encode())
        return book


def _told(ends: Ends, test: str) -> str:
    """Return the end of what pytest said of a failing test or file."""
    return _ADDRESS.sub("0x…", ends.reasons.get(test, ""))[-_LONGEST:]
