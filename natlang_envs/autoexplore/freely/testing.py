"""Runs the tests of a sandbox's files with the lab's pytest, in the sandbox, and says how each ended."""

from __future__ import annotations

import json
import secrets
from collections import defaultdict
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple, cast

from natlang_envs.autoexplore.changing.checking import Run
from natlang_envs.autoexplore.changing.running import files_of
from natlang_envs.autoexplore.freely.lab import INSIDE, lab
from natlang_envs.sandbox import AutoExploreSandbox, Limits
from natlang_envs.sandbox.commands.context import ROOT
from natlang_envs.sandbox.commands.parser import quote

SECONDS = 10  # of processor time for a run of all tests
LIMITS = Limits(seconds=240.0)  # of a sandbox whose tests are run: a busy machine changes no result
_OPTIONS = ("--assert=plain", "--tb=no")
_TOLD = ("--assert=rewrite", "--tb=short")


class Ends(NamedTuple):
    """How a run of tests ended.

    Attributes:
        parts: For each test that was begun, how its parts ended.
        reasons: What pytest said of those that failed, where that was asked for; of files that cannot be imported, too.
        whole: Whether the run said anything at all: one that is ended from inside, or is out of time, may not.
    """

    parts: Mapping[str, tuple[tuple[str, str], ...]]
    reasons: Mapping[str, str]
    whole: bool

    def passed(self, test: str) -> bool:
        """Return whether a test was run and all of its parts passed."""
        found = self.parts.get(test, ())
        return ("call", "passed") in found and all(end == "passed" for _, end in found)


@cache
def _code() -> str:
    return (Path(__file__).parent / "referee.py").read_text(encoding="utf-8")


def run_tests(
    sandbox: AutoExploreSandbox,
    tests: Sequence[str] = (),
    files: Mapping[str, bytes] | None = None,
    *,
    explain: bool = False,
) -> Ends:
    """Run tests over a copy of a sandbox's files; nothing that they do is kept.

    Args:
        sandbox: The sandbox, made with `LIMITS`.
        tests: Files of tests and ids; without any, what the repository's settings say.
        files: Files to put above those of the sandbox, whatever is in their place.
        explain: Say why a test failed.

    Raises:
        UsageError: The lab is not here, or nothing isolates on this machine.
    """
    ticket, name = secrets.token_hex(16), f"ticket-{secrets.token_hex(8)}"
    words = ("-c", _code(), name, INSIDE, str(SECONDS), *(_TOLD if explain else _OPTIONS), *tests)
    line = f"python {' '.join(map(quote, words))}"
    done = sandbox.judge(line, {**(files or {}), name: ticket.encode()}, {INSIDE: lab()})
    parts: defaultdict[str, list[tuple[str, str]]] = defaultdict(list)
    reasons: dict[str, str] = {}
    if not done.stdout.startswith(ticket):
        return Ends({}, {}, whole=False)
    for row in _rows(done.stdout.removeprefix(ticket).partition("\n")[0]):
        test, part, end, why = (str(row.get(each, "")) for each in ("test", "part", "end", "why"))
        if part != "import":
            parts[test].append((part, end))
        if why and test not in reasons:
            reasons[test] = why
    return Ends({test: tuple(found) for test, found in parts.items()}, reasons, whole=True)


def in_sandbox(sandbox: AutoExploreSandbox, arguments: Sequence[str] = ()) -> Run:
    """Return what runs tests of a repository in the sandbox over it, with the lab's pytest.

    Args:
        sandbox: The sandbox, made with `LIMITS`.
        arguments: For pytest, besides.
    """
    inside = [each.replace("{root}", ROOT) for each in arguments]

    def run(tests: list[str], file: str, text: str) -> frozenset[str]:
        sandbox.reset()
        sandbox.overlay.write(file, text.encode())
        ends = run_tests(sandbox, (*inside, *files_of(tests)))
        return frozenset(each for each in tests if not ends.passed(each))

    return run


def _rows(said: str) -> list[dict[str, Any]]:
    """Return the objects that the second process wrote; it may write anything."""
    rows: list[dict[str, Any]] = []
    for line in json.loads(said):
        try:
            row = json.loads(line)
        except (ValueError, RecursionError):
            continue
        if isinstance(row, dict):
            rows.append(cast("dict[str, Any]", row))
    return rows
