"""What fails after each listed edit of a file, and after each listed edit of a file that one of them has broken.

A test's outcome after two edits is known from those after each, unless the test reaches both places: so a file's
mutations are *scanned* once, with the lines that each test reaches after each of them, and of the pairs few are run.
An edit inside a function that did not run while modules were imported changes that function only; any other is `apart`
and has everything imported again.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any

from natlang_envs.change.making.code_locations import Places
from natlang_envs.change.making.fork_runner import Reply, Runner, outcome_of
from natlang_envs.repository.mutations import Edit, apply, edits

AT_ONCE = 1000  # jobs of a batch
CONTROLLED = 40
_EVERY_LINE = -1

Job = dict[str, Any]
Function = tuple[str, int]


@dataclass
class Scan:
    """A file's mutations.

    Attributes:
        outcomes: The tests that fail after each.
        covered: Whether a test, or the import, reaches its place.
        apart: Whether everything is imported again for it.
        reached: The lines, as bits of a number, that each test reaches after it, by the test's number: those that ran.
        base: The lines that each test reaches without an edit.
        imported: The first lines of functions that run at import after an edit, by its number; -1 is without one.
        alone: Whether each run needs a process of its own, since the tests leave something behind unseen.
    """

    outcomes: list[int]
    covered: list[bool]
    apart: list[bool]
    reached: list[dict[int, int]]
    base: list[int]
    imported: dict[int, list[int]]
    alone: bool = False

    def reaches(self, number: int, test: int) -> int:
        """Return the lines that a test reaches after an edit."""
        return self.reached[number].get(test, self.base[test])


def scan(runner: Runner, tests: Sequence[str], file: str, text: str) -> Scan:
    """Run the tests after each listed edit of a file whose text is `text`, with which all of them pass."""
    try:
        return _scan(runner, tests, file, text, alone=False)
    except _LeftBehindError:
        return _scan(runner, tests, file, text, alone=True)


def _scan(runner: Runner, tests: Sequence[str], file: str, text: str, alone: bool) -> Scan:
    path, places, listed = runner.path(file), Places(text), edits(text)
    numbers = {name: number for number, name in enumerate(tests)}
    (cover,) = runner.ask({file: text}, [{"tests": tests, "trace": path}])
    base = [int(cover["lines"][name], 16) for name in tests]
    imported = {-1: _imported(cover, path)}
    found = Scan([0] * len(listed), [], [], [{} for _ in listed], base, imported, alone)
    jobs: dict[int, Job] = {}
    for number, edit in enumerate(listed):
        span = lines_of(places, edit.line)
        reached = [name for name in tests if base[numbers[name]] & span]
        function = places.function(edit.line)
        found.apart.append(function is None or function[1] in imported[-1])
        found.covered.append(found.apart[-1] or bool(reached))
        if reached and not found.apart[-1]:
            change = places.change(edit.line, apply(text, edit))
            jobs[number] = {"tests": reached, "file": path, "changes": [change], "trace": path}
    for number, reply in _asked(runner, {file: text}, jobs, tests, alone):
        if "apart" in reply:
            found.apart[number] = True
        else:
            _note(found, number, reply, tests, numbers, jobs[number]["tests"])
            span = lines_of(places, listed[number].line)
            if not alone and not all(lines & span for lines in found.reached[number].values()):
                raise _LeftBehindError
    for number, edit in enumerate(listed):
        if found.apart[number]:
            overlay = {file: apply(text, edit)}
            (reply,) = runner.ask(overlay, [{"tests": tests, "trace": path}])
            _note(found, number, reply, tests, numbers, tests)
            imported[number] = _imported(reply, path)
    return found


def _note(
    found: Scan, number: int, reply: Reply, tests: Sequence[str], numbers: Mapping[str, int], ran: Sequence[str]
) -> None:
    found.outcomes[number] = outcome_of(reply, tests)
    lines = reply.get("lines", {})
    found.reached[number] = {numbers[each]: int(lines[each], 16) if each in lines else _EVERY_LINE for each in ran}


def _imported(reply: Reply, path: str) -> list[int]:
    """Return which functions ran at import; a reply without them may hide any."""
    return sorted({line for file, line in reply["imported"] if file == path}) if "imported" in reply else [_EVERY_LINE]


def lines_of(places: Places, line: int) -> int:
    """Return the lines of a statement as the bits of a number."""
    return sum(1 << each for each in places.statement(line))


@dataclass
class _Load:
    """Cells of tables that are run with the same imported text."""

    text: str
    cells: list[tuple[int, int, int]] = field(
        default_factory=list[tuple[int, int, int]]
    )  # the row, column and mask of tests
    jobs: list[Job] = field(default_factory=list[Job])


def tabulate(
    runner: Runner, tests: Sequence[str], file: str, text: str, found: Scan, chosen: Sequence[int]
) -> list[list[int]]:
    """Return what fails after each listed edit of the file, for each of the mutations that have broken it.

    Args:
        runner: What runs the tests.
        tests: Their names.
        file: The file.
        text: Its text as it is.
        found: Its scan.
        chosen: The numbers of the mutations.
    """
    try:
        return _tabulate(runner, tests, file, text, found, chosen, found.alone)
    except _LeftBehindError:
        return _tabulate(runner, tests, file, text, found, chosen, alone=True)


def _tabulate(
    runner: Runner, tests: Sequence[str], file: str, text: str, found: Scan, chosen: Sequence[int], alone: bool
) -> list[list[int]]:
    rows = [_Row(text, found, number, len(tests)) for number in chosen]
    loads: dict[str, _Load] = {}
    for place, row in enumerate(rows):
        for column in range(len(row.listed)):
            mask, imported, changes = row.cell(column)
            if mask:
                load = loads.setdefault(imported, _Load(imported))
                load.cells.append((place, column, mask))
                names = [name for bit, name in enumerate(tests) if mask >> bit & 1]
                load.jobs.append(
                    {"tests": names, "file": runner.path(file), **({"changes": changes} if changes else {})}
                )
    for load in loads.values():
        again: list[tuple[int, int]] = []
        for number, reply in _asked(runner, {file: load.text}, dict(enumerate(load.jobs)), tests, alone):
            place, column, mask = load.cells[number]
            if "apart" in reply:
                again.append((place, column))
            else:
                rows[place].note(column, mask, outcome_of(reply, tests), "failed" in reply)
        for place, column in again:
            overlay = {file: rows[place].edited(column)}
            (reply,) = runner.ask(overlay, [{"tests": tests}])
            rows[place].outcomes[column] = outcome_of(reply, tests)
    return [row.outcomes for row in rows]


class _Row:
    """The table of one broken file while it is made."""

    def __init__(self, text: str, found: Scan, number: int, tests: int) -> None:
        self._found = found
        self._number = number
        self._text = text
        self._all = (1 << tests) - 1
        self._tests = tests
        self._before = edits(text)
        self._edit = self._before[number]
        self._broken = apply(text, self._edit)
        self._places = Places(self._broken)
        self._span = lines_of(self._places, self._edit.line)
        self._before_it = sum(1 << test for test, lines in enumerate(found.base) if lines & self._span)
        self._reaching = cache(self._lines_reached)
        self._same = {each[1:4]: place for place, each in enumerate(self._before)}
        self.listed = edits(self._broken)
        self.outcomes = [found.outcomes[number]] * len(self.listed)

    def edited(self, column: int) -> str:
        """Return the text after an edit of the broken file."""
        return apply(self._broken, self.listed[column])

    def cell(self, column: int) -> tuple[int, str, list[Any]]:
        """Return the tests to run for a cell, the text to import, and the functions to change then.

        What the other tests' outcome is goes into `outcomes`.
        """
        edit, found, broken = self.listed[column], self._found, self._number
        other = self._in_the_original(edit)
        function = self._places.function(edit.line)
        apart = found.apart[other] if other is not None else function is None or function[1] in found.imported[-1]
        # A test has to run unless the mutation alone, or the edit alone, keeps it from the other's place.
        here = self._all if apart else self._reaching(lines_of(self._places, edit.line))
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
        if apart and found.apart[broken]:
            return mask, whole, []
        if apart and other is not None:
            imported, imports, changed = (
                apply(self._text, self._before[other]),
                found.imported[other],
                [self._edit.line],
            )
        elif apart:
            return mask, whole, []
        elif found.apart[broken]:
            imported, imports, changed = self._broken, found.imported[broken], [edit.line]
        changes = list(dict.fromkeys(self._places.change(line, whole) for line in changed))
        if _EVERY_LINE in imports or any(each.line in imports for each in changes):
            return mask, whole, []
        return mask, imported, changes

    def _lines_reached(self, span: int) -> int:
        """Return the tests that reach lines of a span after the mutation."""
        found = self._found
        return sum(1 << test for test in range(self._tests) if found.reaches(self._number, test) & span)

    def _reached_after(self, other: int) -> int:
        """Return the tests that reach the mutation's statement after another edit."""
        tests = self._before_it
        for test, lines in self._found.reached[other].items():
            tests = tests | 1 << test if lines & self._span else tests & ~(1 << test)
        return tests

    def note(self, column: int, mask: int, outcome: int, ran: bool) -> None:
        """Note what failed of the tests that were run for a cell."""
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
