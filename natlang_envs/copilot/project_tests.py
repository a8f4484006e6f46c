"""The tests of a project, run in the sandbox with the pytest of its environment, before changes and after them."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator
from typing import NamedTuple

from natlang_envs.errors import UsageError
from natlang_envs.sandbox.commands.parser import quote
from natlang_envs.sandbox.sandbox import AutoExploreSandbox, CommandResult

_SAID = ".natlang-tests.json"  # the outcomes, in the sandbox until they are read
_CODE = """
import json, sys
import pytest
class _Noted:
    def __init__(self):
        self.found = {}
    def pytest_runtest_logreport(self, report):
        if report.failed or (report.when != "teardown" and self.found.get(report.nodeid) != "failed"):
            self.found[report.nodeid] = report.outcome
    def pytest_collectreport(self, report):
        if report.failed:
            self.found[report.nodeid] = "failed"
outcomes = _Noted()
code = pytest.main(["-q"], plugins=[outcomes])
with open(sys.argv[1], "w") as file:
    json.dump([int(code), outcomes.found], file)
"""
_TELLS = re.compile(r"E  |ERROR(?!: usage)|(\S+: )?error: |\w+Error\b")  # why pytest does not start
_RAN = (0, 1, 2, 5)  # pytest's exit codes with outcomes: all passed, some failed, interrupted, none were found


class ProjectTests(NamedTuple):
    """The outcomes of a project's tests."""

    outcomes: dict[str, str]  # "passed", "failed" or "skipped", by the id of the test, or a file that is not collected
    problem: str = ""  # why they could not be run

    @property
    def words(self) -> str:
        """How many passed, failed and were skipped."""
        if self.problem:
            return self.problem
        count = Counter(self.outcomes.values())
        said = [f"{count[each]:,} {each}" for each in ("passed", "failed", "skipped") if count[each]]
        return ", ".join(said) or "pytest finds none"

    def broken_since(self, before: ProjectTests) -> list[str]:
        """Return the tests that fail, or are gone, and did not fail before, in order."""
        worse = {test for test, outcome in self.outcomes.items() if outcome == "failed"}
        worse |= {test for test, outcome in before.outcomes.items() if outcome == "passed"} - self.outcomes.keys()
        return sorted(test for test in worse if before.outcomes.get(test) != "failed")

    def mended_since(self, before: ProjectTests) -> list[str]:
        """Return the tests that failed before and pass, in order."""
        return sorted(
            test
            for test, outcome in before.outcomes.items()
            if (outcome, self.outcomes.get(test)) == ("failed", "passed")
        )


def run_project_tests(sandbox: AutoExploreSandbox) -> ProjectTests:
    """Run the tests that pytest finds in a sandbox from its root, as it is now; nothing that they write is kept.

    Args:
        sandbox: A sandbox with an `environment`.

    Raises:
        UsageError: The sandbox has no environment, or is closed.

    Example:
        >>> run_project_tests(AutoExploreSandbox("shop", environment=".venv")).words
        '12 passed'
    """
    if sandbox.environment is None:
        raise UsageError("the sandbox has no environment, so no pytest: give environment='.venv'")
    before = sandbox.snapshot()
    try:
        sandbox.restore(before._replace(cwd=""))
        done = sandbox.execute(f"python -c {quote(_CODE)} {_SAID}")
        said = sandbox.overlay.read(_SAID) if sandbox.overlay.kind(_SAID) == "file" else b""
    finally:
        sandbox.restore(before)
    if "No module named 'pytest'" in done.stderr:
        return ProjectTests({}, f"pytest is not in {sandbox.environment.folder}: install it there")
    try:
        code, outcomes = json.loads(said)
    except ValueError:
        return ProjectTests({}, _reason(done))
    return ProjectTests(dict(outcomes)) if code in _RAN else ProjectTests({}, _reason(done))


def _reason(done: CommandResult) -> str:
    lines = [line.strip() for line in (*done.stdout.splitlines(), *done.stderr.splitlines()) if line.strip()]
    told = [*filter(_TELLS.match, lines)] or lines or ["they say nothing"]
    return f"they cannot be run: {done.stopped or told[-1]}"


def compared(before: ProjectTests, after: ProjectTests) -> Iterator[str]:
    """Yield in words what became of a project's tests: a line each for before and after, and for each that changed."""
    yield f"Tests before: {before.words}."
    yield f"Tests after: {after.words}."
    yield from (f"Broken: {test}" for test in after.broken_since(before))
    yield from (f"Mended: {test}" for test in after.mended_since(before))
