"""Runs a repository's tests, as it is and after each listed edit of a file.

An outcome is the set of tests that fail, as the bits of a number: bit `n` is the `n`-th test that is collected.
"""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any

from natlang_envs.autoexplore.changing.mutations import apply, edits
from natlang_envs.autoexplore.changing.places import Places
from natlang_envs.errors import UsageError

SECONDS = 2.0  # of processor time for a run of all tests
_WORKER = Path(__file__).parent / "worker.py"
_ENVIRONMENT = {"PYTHONHASHSEED": "0", "TZ": "UTC", "LC_ALL": "C.UTF-8", "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}

Reply = dict[str, Any]


@dataclass(frozen=True)
class Subject:
    """A repository to break: its sources by path, and the files and folders of its tests."""

    root: Path
    sources: Mapping[str, str]
    tests: tuple[str, ...]
    digest: str

    def path(self, file: str) -> str:
        """Return a source's whole path."""
        return str(self.root / file)


def open_subject(root: Path, tests: Sequence[str] = ("tests",)) -> Subject:
    """Read a repository.

    Args:
        root: Its folder.
        tests: Files and folders of its tests, relative to it. Whatever else is Python may be broken.

    Raises:
        UsageError: There are no tests or no sources, or one is not UTF-8.
    """
    root = root.resolve()
    for each in tests:
        if not (root / each).exists():
            raise UsageError(f"{root / each} does not exist: name the folder with the tests")
    sources: dict[str, str] = {}
    whole = hashlib.sha256()
    for path in sorted(root.rglob("*.py")):
        file = path.relative_to(root).as_posix()
        if any(part.startswith((".", "__pycache__")) for part in file.split("/")):
            continue
        content = path.read_bytes()
        whole.update(f"{file}\0{len(content)}\0".encode() + content)
        if path.name != "conftest.py" and not any(file == each or file.startswith(f"{each}/") for each in tests):
            try:
                sources[file] = content.decode()
            except UnicodeDecodeError:
                raise UsageError(f"{path} is not UTF-8") from None
    if not sources:
        raise UsageError(f"{root} has no Python sources outside {', '.join(tests)}")
    return Subject(root, sources, tuple(tests), whole.hexdigest())


class Runner:
    """Runs a repository's tests in a process of its own; a context manager."""

    def __init__(self, subject: Subject, seconds: float = SECONDS) -> None:
        self.subject = subject
        self._folder = tempfile.TemporaryDirectory(prefix="natlang-changing-")
        command = [sys.executable, "-P", "-s", str(_WORKER), str(subject.root), str(seconds), self._folder.name]
        self._process = subprocess.Popen(
            [*command, *subject.tests],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env={**os.environ, **_ENVIRONMENT},
            start_new_session=True,
        )

    def __enter__(self) -> Runner:
        return self

    def __exit__(self, *_: type[BaseException] | BaseException | TracebackType | None) -> None:
        self._process.kill()
        self._process.communicate()
        self._folder.cleanup()

    def ask(self, overlay: Mapping[str, str], jobs: Sequence[Mapping[str, Any]]) -> list[Reply]:
        """Do jobs, each in a fork, with source texts in place of files; return a reply for each."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        texts = {self.subject.path(file): text for file, text in overlay.items()}
        self._process.stdin.write(json.dumps({"overlay": texts, "jobs": jobs}).encode() + b"\n")
        self._process.stdin.flush()
        replies = [self._process.stdout.readline() for _ in jobs]
        if not all(replies):
            raise UsageError(f"the tests of {self.subject.root} end the process that runs them: leave those out")
        return [json.loads(reply) for reply in replies]


@dataclass(frozen=True)
class Table:
    """What fails after each listed edit of a file.

    Attributes:
        base: The tests that fail without an edit.
        outcomes: The tests that fail after each edit, in the order of `edits`.
        covered: Whether a test, or the import, reaches the edit's place.
    """

    base: int
    outcomes: list[int]
    covered: list[bool]


def all_pass(runner: Runner) -> list[str]:
    """Return the tests in the order of collection.

    Raises:
        UsageError: They cannot be collected, one fails, or their outcome depends on their order.
    """
    first, again, other = runner.ask({}, [{}, {}, {"shuffle": 1}])
    where = runner.subject.root
    if "failed" not in first or not first["tests"]:
        reason = "take too long" if first.get("hung") else "cannot be collected"
        raise UsageError(f"the tests of {where} {reason}: run pytest there")
    if first["failed"]:
        raise UsageError(f"{first['failed'][0]} fails before anything is broken: mend it or leave it out")
    odd = sorted({*again.get("failed", ()), *other.get("failed", ())})
    if odd or "failed" not in again or "failed" not in other:
        raise UsageError(f"{odd[0] if odd else where} passes and fails: its outcome depends on chance or order")
    return list(first["tests"])


def tabulate(runner: Runner, tests: Sequence[str], file: str, text: str) -> Table:
    """Run the tests after each listed edit of a file whose text is `text`.

    A test that does not reach the edited statement keeps its outcome, so it is not run. An edit inside a function that
    did not run at import changes that function only; others have everything imported again.
    """
    runner_file = runner.subject.path(file)
    (cover,) = runner.ask({file: text}, [{"cover": runner_file}])
    everything = (1 << len(tests)) - 1
    listed = edits(text)
    if "lines" not in cover:
        return Table(everything, [everything] * len(listed), [True] * len(listed))
    bits = {name: 1 << number for number, name in enumerate(tests)}
    base = everything & ~sum(bits[name] for name in cover["tests"] if name in bits) | _mask(cover["failed"], bits)
    places = Places(text)
    lines = {name: frozenset(found) for name, found in cover["lines"].items()}
    outcomes: dict[int, int] = {}
    covered: list[bool] = []
    jobs: dict[int, dict[str, Any]] = {}
    for number, edit in enumerate(listed):
        span = places.statement(edit.line)
        reached = [name for name in cover["tests"] if not lines[name].isdisjoint(span)]
        function = places.function(edit.line)
        apart = function is None or function[1] in cover["imported"]
        covered.append(apart or bool(reached))
        if apart:
            continue
        if reached:
            source = apply(text, edit)
            jobs[number] = {"tests": reached, "file": runner_file, "source": source, "function": function}
        else:
            outcomes[number] = base
    for (number, job), reply in zip(jobs.items(), runner.ask({file: text}, list(jobs.values())), strict=True):
        if "failed" in reply:
            outcomes[number] = base & ~_mask(job["tests"], bits) | _mask(reply["failed"], bits)
        elif "hung" in reply:
            outcomes[number] = everything
    for number, edit in enumerate(listed):
        if number not in outcomes:
            outcomes[number] = failing(runner, tests, {file: apply(text, edit)})[0]
    return Table(base, [outcomes[number] for number in range(len(listed))], covered)


def failing(
    runner: Runner, tests: Sequence[str], overlay: Mapping[str, str], jobs: Sequence[Mapping[str, Any]] = ({},)
) -> list[int]:
    """Return for each job the tests that fail with an overlay; all of them where nothing can be imported."""
    bits = {name: 1 << number for number, name in enumerate(tests)}
    everything = (1 << len(tests)) - 1
    return [
        everything & ~_mask(reply["tests"], bits) | _mask(reply["failed"], bits) if "failed" in reply else everything
        for reply in runner.ask(overlay, jobs)
    ]


def _mask(names: Iterable[str], bits: Mapping[str, int]) -> int:
    return sum({bits[name] for name in names if name in bits})
