"""What fails after each listed edit of a file, and after each listed edit of a file that one of them has broken.

A test's outcome after two edits follows from its outcomes after each, unless the test reaches both places. So the
mutations of a file are *scanned* once, with the lines that each test reaches after each of them, and few of the pairs
are run. An edit inside a function that did not run while modules were imported changes that function only; any other is
`apart`: everything is imported again for it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, partial
from typing import Any

from natlang_envs.change.making.code_locations import CodeLocations
from natlang_envs.change.making.fork_runner import Reply, Runner, outcome_of
from natlang_envs.repository.mutations import Edit, apply, edits

AT_ONCE = 1000  # jobs of a batch
CONTROLLED = 40  # jobs, after which the tests run unchanged
_EVERY_LINE = -1

Job = dict[str, Any]


@dataclass
class Scan:
    """A file's mutations."""

    outcomes: list[int]  # the tests that fail after each
    covered: list[bool]  # whether a test, or the import, reaches its place
    apart: list[bool]  # whether everything is imported again for it
    # The lines, as bits of a number, that each test reaches after it, by the test's number: those that ran.
    reached: list[dict[int, int]]
    base: list[int]  # the lines that each test reaches without an edit
    imported: dict[int, list[int]]  # first lines of functions that run at import after an edit, by its number, or -1
    alone: bool = False  # whether each run needs a process of its own, since the tests leave something behind unseen

    def reaching(self, number: int, lines: int) -> int:
        """Return the tests that reach one of some lines after an edit."""
        reached = self.reached[number]
        return sum(1 << test for test, base in enumerate(self.base) if reached.get(test, base) & lines)


def scan(runner: Runner, tests: Sequence[str], file: str, text: str) -> Scan:
    """Run the tests after each listed edit of a file whose text is `text`, with which all of them pass."""
    try:
        return _scan(runner, tests, file, text, alone=False)
    except _LeftBehindError:
        return _scan(runner, tests, file, text, alone=True)


def _scan(runner: Runner, tests: Sequence[str], file: str, text: str, alone: bool) -> Scan:
    path, locations, listed = runner.path(file), CodeLocations(text), edits(text)
    numbers = {name: number for number, name in enumerate(tests)}
    (cover,) = runner.ask({file: text}, [{"tests": tests, "trace": path}])
    base = [int(cover["lines"][name], 16) for name in tests]
    imported = {-1: _imported(cover, path)}
    found = Scan([0] * len(listed), [], [], [{} for _ in listed], base, imported, alone)

    def note(number: int, reply: Reply, ran: Sequence[str]) -> None:
        found.outcomes[number] = outcome_of(reply, tests)
        lines = reply.get("lines", {})
        found.reached[number] = {numbers[each]: int(lines[each], 16) if each in lines else _EVERY_LINE for each in ran}

    jobs: dict[int, Job] = {}
    for number, edit in enumerate(listed):
        span, function = locations.statement_bits(edit.line), locations.first_line(edit.line)
        reached = [name for name, lines in zip(tests, base, strict=True) if lines & span]
        found.apart.append(function is None or function in imported[-1])
        found.covered.append(found.apart[-1] or bool(reached))
        if reached and not found.apart[-1]:
            change = locations.change(edit.line, apply(text, edit))
            jobs[number] = {"tests": reached, "file": path, "changes": [change], "trace": path}
    for number, reply in _asked(runner, {file: text}, jobs, tests, alone):
        if "apart" in reply:
            found.apart[number] = True
            continue
        note(number, reply, jobs[number]["tests"])
        span = locations.statement_bits(listed[number].line)
        if not alone and not all(lines & span for lines in found.reached[number].values()):
            raise _LeftBehindError
    for number, edit in enumerate(listed):
        if found.apart[number]:
            (reply,) = runner.ask({file: apply(text, edit)}, [{"tests": tests, "trace": path}])
            note(number, reply, tests)
            imported[number] = _imported(reply, path)
    return found


def _imported(reply: Reply, path: str) -> list[int]:
    """Return which functions ran at import; a reply without them may hide any."""
    return sorted({line for file, line in reply["imported"] if file == path}) if "imported" in reply else [_EVERY_LINE]


def tabulate(
    runner: Runner, tests: Sequence[str], file: str, text: str, found: Scan, chosen: Sequence[int]
) -> list[list[int]]:
    """Return what fails after each listed edit of a file, whose text is `text`, for each of the `chosen` mutations.

    `found` is the scan of the file, `chosen` are numbers of mutations that have broken it.
    """
    try:
        return _tabulate(runner, tests, file, text, found, chosen, found.alone)
    except _LeftBehindError:
        return _tabulate(runner, tests, file, text, found, chosen, alone=True)


def _tabulate(
    runner: Runner, tests: Sequence[str], file: str, text: str, found: Scan, chosen: Sequence[int], alone: bool
) -> list[list[int]]:
    rows = [_Row(text, found, number, len(tests)) for number in chosen]
    # By the text that is imported: the row, the column, the tests that run, and the job.
    cells: defaultdict[str, list[tuple[_Row, int, int, Job]]] = defaultdict(list)
    for row in rows:
        for column in range(len(row.listed)):
            mask, imported, changes = row.cell(column)
            if mask:
                names = [name for bit, name in enumerate(tests) if mask >> bit & 1]
                job = {"tests": names, "file": runner.path(file), **({"changes": changes} if changes else {})}
                cells[imported].append((row, column, mask, job))
    for imported, here in cells.items():
        apart: list[tuple[_Row, int]] = []
        jobs = dict(enumerate(job for *_, job in here))
        for number, reply in _asked(runner, {file: imported}, jobs, tests, alone):
            row, column, mask, _ = here[number]
            if "apart" in reply:
                apart.append((row, column))
            else:
                row.note(column, mask, outcome_of(reply, tests), "failed" in reply)
        for row, column in apart:
            (reply,) = runner.ask({file: row.edited(column)}, [{"tests": tests}])
            row.outcomes[column] = outcome_of(reply, tests)
    return [row.outcomes for row in rows]


class _Row:
    """The table of one broken file while it is made."""

    def __init__(self, text: str, found: Scan, number: int, tests: int) -> None:
        self._found = found
        self._number = number
        self._text = text
        self._all = (1 << tests) - 1
        self._before = edits(text)
        self._edit = self._before[number]
        self._broken = apply(text, self._edit)
        self._locations = CodeLocations(self._broken)
        self._span = self._locations.statement_bits(self._edit.line)
        self._before_it = sum(1 << test for test, lines in enumerate(found.base) if lines & self._span)
        self._reaching = cache(partial(found.reaching, number))
        self._same = {each[1:4]: index for index, each in enumerate(self._before)}
        self.listed = edits(self._broken)
        self.outcomes = [found.outcomes[number]] * len(self.listed)

    def edited(self, column: int) -> str:
        return apply(self._broken, self.listed[column])

    def cell(self, column: int) -> tuple[int, str, list[Any]]:
        """Return the tests to run for a cell, the text to import, and the functions to change then.

        The outcome of the other tests goes into `outcomes`.
        """
        edit, found, broken = self.listed[column], self._found, self._number
        other = self._in_the_original(edit)
        function = self._locations.first_line(edit.line)
        apart = found.apart[other] if other is not None else function is None or function in found.imported[-1]
        # A test has to run unless the mutation alone, or the edit alone, keeps it from the other's place.
        here = self._all if apart else self._reaching(self._locations.statement_bits(edit.line))
        there = self._all if other is None or found.apart[broken] else self._reached_after(other)
        mask = here & there
        outcome = found.outcomes[broken] & ~here
        if other is not None:
            outcome |= found.outcomes[other] & here & ~there
        self.outcomes[column] = outcome
        if not mask:
            return 0, "", []
        whole, imported, changed = self.edited(column), self._text, [self._edit.line, edit.line]
        imports = found.imported[-1]
        if apart:
            if other is None or found.apart[broken]:
                return mask, whole, []
            imported, imports = apply(self._text, self._before[other]), found.imported[other]
            changed = [self._edit.line]
        elif found.apart[broken]:
            imported, imports, changed = self._broken, found.imported[broken], [edit.line]
        changes = list(dict.fromkeys(self._locations.change(line, whole) for line in changed))
        if _EVERY_LINE in imports or any(each.line in imports for each in changes):
            return mask, whole, []
        return mask, imported, changes

    def _reached_after(self, other: int) -> int:
        """Return the tests that reach the mutation's statement after another edit."""
        tests = self._before_it
        for test, lines in self._found.reached[other].items():
            tests = tests | 1 << test if lines & self._span else tests & ~(1 << test)
        return tests

    def note(self, column: int, mask: int, outcome: int, ran: bool) -> None:
        self.outcomes[column] = self.outcomes[column] & ~mask | outcome & mask if ran else self._all

    def _in_the_original(self, edit: Edit) -> int | None:
        """Return the number of the same edit of the original, where it does not touch the mutation."""
        mutation = self._edit
        until = mutation.start + len(mutation.new)
        if edit.end <= mutation.start:
            shift = 0
        elif edit.start >= until:
            shift = mutation.end - until
        else:
            return None
        return self._same.get((edit.start + shift, edit.end + shift, edit.new))


class _LeftBehindError(Exception):
    """Something that no mark shows went from one run to the next."""


def _asked(
    runner: Runner, overlay: Mapping[str, str], jobs: Mapping[int, Job], tests: Sequence[str], alone: bool
) -> Iterator[tuple[int, Reply]]:
    """Do numbered jobs, not too many at once; now and then the tests run unchanged, which must be as before them."""
    numbers = list(jobs)
    control: Job = {"tests": tests, "changes": [], "file": ""}
    for begin in range(0, len(numbers), AT_ONCE):
        part = numbers[begin : begin + AT_ONCE]
        asked: list[Job] = [{**control, "alone": True}]
        for number in part:
            asked.append({**jobs[number], "alone": True} if alone else jobs[number])
            if len(asked) % CONTROLLED == 0:
                asked.append(control)
        replies = runner.ask(overlay, asked)
        controls = [reply for job, reply in zip(asked, replies, strict=True) if job is control]
        if not alone and any(reply.get("failed") != replies[0].get("failed") for reply in controls):
            raise _LeftBehindError
        others = (reply for job, reply in zip(asked[1:], replies[1:], strict=True) if job is not control)
        yield from zip(part, others, strict=True)
