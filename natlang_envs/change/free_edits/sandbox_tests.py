"""Runs tests and calls of a sandbox's files in the sandbox."""

from __future__ import annotations

import json
import secrets
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from natlang_envs.change.free_edits.inside import verdict
from natlang_envs.change.free_edits.pinned_pytest import INSIDE, lab
from natlang_envs.change.making.fork_runner import files_of
from natlang_envs.change.making.recheck import Run
from natlang_envs.sandbox import AutoExploreSandbox, Limits

SECONDS = 10  # of processor time for a run of all tests, or of all calls
LIMITS = Limits(seconds=240.0, output=16 << 20)  # of a sandbox that is asked: a busy machine changes no result
SCRIPTS = Path(verdict.__file__).parent
_SCRIPTS = "/opt/judge"


class RunOutcomes(NamedTuple):
    """The outcomes of a run of tests."""

    parts: Mapping[str, Sequence[Sequence[str]]]  # of setup, call and teardown of each test that was begun
    reasons: Mapping[str, str]  # pytest's words about failed tests, where asked for, and files that cannot be imported
    whole: bool  # whether the run answered: one that was ended from inside, or ran out of time, may not

    def passed(self, test: str) -> bool:
        """Return whether a test was run and all of its parts passed."""
        return verdict.passed(self.parts.get(test, ()))


def asking(
    sandbox: AutoExploreSandbox, files: Mapping[str, bytes] | None = None, *, tests: bool = False
) -> verdict.Run:
    """Return what asks the referee over a copy of the files of a sandbox with `LIMITS`; nothing done there is kept.

    `files` are put above those of the sandbox, whatever is in their place. `tests`: pytest is there.
    """
    beside = {_SCRIPTS: SCRIPTS, **({INSIDE: lab()} if tests else {})}

    def run(asked: Mapping[str, Any]) -> Any:
        name = f"asked-{secrets.token_hex(8)}"
        request = json.dumps({"seconds": SECONDS, "lab": INSIDE, **asked}).encode()
        done = sandbox.judge(f"python {_SCRIPTS}/referee.py {name}", {**(files or {}), name: request}, beside)
        try:
            return json.loads(done.stdout)
        except (ValueError, RecursionError):  # whoever is judged may write anything
            return None

    return run


def run_tests(sandbox: AutoExploreSandbox, tests: Sequence[str] = (), *, explain: bool = False) -> RunOutcomes:
    """Run files of tests or ids over a copy of a sandbox's files; without any, what the repository's settings say.

    What they say of themselves is believed: no score rests on it. `explain`: the reasons say why a test failed.
    """
    found = asking(sandbox, tests=True)({"arguments": tests, "explain": explain})
    try:
        parts = {str(test): [(str(part), str(end)) for part, end in each] for test, each in found["parts"].items()}
        return RunOutcomes(parts, {str(test): str(why) for test, why in found["reasons"].items()}, whole=True)
    except (TypeError, KeyError, AttributeError, ValueError):
        return RunOutcomes({}, {}, whole=False)


def in_sandbox(sandbox: AutoExploreSandbox, arguments: Sequence[str] = ()) -> Run:
    """Return what runs tests of a repository in a sandbox over it, with the lab's pytest and arguments for that."""

    def run(tests: list[str], file: str, text: str) -> frozenset[str]:
        sandbox.reset()
        sandbox.overlay.write(file, text.encode())
        outcomes = run_tests(sandbox, (*arguments, *files_of(tests)))
        return frozenset(each for each in tests if not outcomes.passed(each))

    return run
