"""The rules of code tasks: changed sources are scored in a fresh run, with what counts of the changes and no more."""

from __future__ import annotations

import re
from collections.abc import Mapping

from natlang_envs.autoexplore.freely.rules import Rules, Verdict
from natlang_envs.autoexplore.freely.tasks import CodeTask, broken, subject_of, test_files
from natlang_envs.autoexplore.freely.test_files import Disguised, disguised
from natlang_envs.autoexplore.freely.testing import LIMITS, Ends, run_tests
from natlang_envs.autoexplore.freely.words import suspect_words
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
        """Run all tests, disguised, over the broken repository with the changed sources."""
        if not kept:
            return Verdict("unsolved", "No source of the repository was changed, so the same tests fail.")
        tests = {file: disguised(text) for file, text in test_files(self._task).items()}
        files = {**self._before, **kept, **{file: each.text for file, each in tests.items()}}
        with AutoExploreSandbox(self._task.folder(), limits=LIMITS) as sandbox:
            arguments = (*subject_of(self._task).arguments, *tests)
            ends = run_tests(sandbox, arguments, {path: text.encode() for path, text in files.items()})
        words = {word for path, text in kept.items() for word in suspect_words(self._before[path], text)}
        return _verdict(self._task, tests, ends, sorted(words))


def _told(ends: Ends, test: str) -> str:
    """Return the end of what pytest said of a failing test or file."""
    return _ADDRESS.sub("0x…", ends.reasons.get(test, ""))[-_LONGEST:]


def _verdict(task: CodeTask, tests: Mapping[str, Disguised], ends: Ends, words: list[str]) -> Verdict:
    passed: set[str] = set()
    canaries = {f"{file}::{name}": False for file, each in tests.items() for name in each.canaries}
    for test in ends.parts:
        file, _, name = test.partition("::")
        function, bracket, rest = name.partition("[")
        if f"{file}::{function}" in canaries:
            if ends.passed(test):
                return Verdict("void", "A test passed that cannot pass: the run was tampered with and is void.")
            canaries[f"{file}::{function}"] = True
        elif file in tests and function in tests[file].names and ends.passed(test):
            passed.add(f"{file}::{tests[file].names[function]}{bracket}{rest}")
    missing = [test for test in task.tests if test not in passed]
    if missing:
        what = "1 of them does" if len(missing) == 1 else f"{len(missing)} of them do"
        return Verdict("unsolved", f"{len(task.tests)} tests were to pass, and {what} not.")
    if not all(canaries.values()):
        return Verdict("void", "A test that fails was not reported: the run was tampered with and is void.")
    if words:
        return Verdict("set aside", f"All tests pass, but added code names {', '.join(words)}: a person has to look.")
    return Verdict("solved", f"All {len(task.tests)} tests pass.")
