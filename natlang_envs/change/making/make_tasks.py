"""Makes change tasks from a repository with tests: breaks one place, keeps what its tests notice, tabulates every edit.

A *mutation* is an edit of a source as it is. A *task* is a mutation that two tests notice at least and one does not,
with its *table*: which tests fail after each edit that is listed for the broken file. One of those edits restores it.

The journal is a file of JSON lines: what it is about, the scan of each source, then a line for each mutation that was
checked, each table, and each finished task. After an interruption, making continues behind its last whole line.
"""

from __future__ import annotations

import hashlib
import platform
import sys
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any, NamedTuple

from natlang_envs.change.making.code_locations import CodeLocations
from natlang_envs.change.making.fork_runner import SECONDS, Runner, SourcesWithTests, Tell, counting, outcome_of
from natlang_envs.change.making.issues import HiddenNames
from natlang_envs.change.making.outcome_tables import Scan, scan, tabulate
from natlang_envs.change.making.usable_tests import usable
from natlang_envs.change.task_files import (
    YOURS,
    Row,
    TaskFile,
    edits_digest,
    pack,
    read_journal,
    unpack,
    write_task_file,
)
from natlang_envs.errors import UsageError
from natlang_envs.files import json_line
from natlang_envs.repository.mutations import Edit, apply, edits, restoring

JOURNAL = 4  # the version of its format
FEWEST_FAILING = 2
MOST_IN_A_FUNCTION = 3
MOST_OF_AN_OPERATOR = 15  # percent of the tasks
MORE_IN_A_FUNCTION = 6  # where many tasks count more than different ones
MORE_OF_AN_OPERATOR = 20


class Mutation(NamedTuple):
    """An edit that breaks a file."""

    name: str  # the id of its task
    file: str
    number: int  # its index in the list of edits
    edit: Edit
    function: str  # the function that it is in, with its class; empty outside of functions
    failing: int  # the tests that fail with it

    @property
    def place(self) -> tuple[str, str]:
        return self.file, self.function


def make(
    tested: SourcesWithTests,
    journal: Path,
    count: int,
    *,
    more: bool = False,
    seconds: float = SECONDS,
    pythons: Sequence[str] = (),
    tell: Tell | None = None,
) -> Iterator[Row]:
    """Make tasks and write them into a journal; yield its rows, those that were there before, too.

    The last rows are the finished tasks. Before them: one with `left_out` (what cannot be used, with reasons), one with
    `scanned` for each source, those of mutations that were `rejected`, and tables without an issue.

    There may be fewer tasks than `count`. `more` adds tasks that are more alike, in functions and operators, where the
    rules leave room. A run of all tests may take so many `seconds` of processor time. A task must be the same under
    other interpreters, `pythons`, which need pytest. `tell` is told the progress of seeking usable tests, and of trying
    the edits.
    """
    if count < 1:
        raise UsageError(f"{count} tasks: ask for one at least")
    rows = read_journal(journal)
    about: Row = {"format": JOURNAL, "repository": tested.digest, "count": count, "more": more}
    asked = [list(tested.tests), list(tested.arguments), seconds, list(pythons)]
    if rows and {name: rows[0].get(name) for name in about} != about:
        raise UsageError(f"{journal} is of another repository, count or version: choose another file")
    if rows and rows[0].get("asked", asked) != asked:
        raise UsageError(f"{journal} is of other tests, arguments, seconds or interpreters: choose another file")
    if journal.exists():  # an interrupted write may have left a part of a line
        with journal.open("r+b") as file:
            file.truncate(journal.read_bytes().rfind(b"\n") + 1)
    if not rows:
        tests, left_out = usable(tested, seconds, (sys.executable, *pythons), tell)
        row = {**about, "asked": asked, "tests": tests, "left_out": {**tested.left_out, **left_out}}
        rows = [_write(journal, row)]
    with ExitStack() as stack:
        interpreters = [(sys.executable, False), *((each, False) for each in pythons), (sys.executable, True)]
        runners = [
            stack.enter_context(Runner(tested, seconds, python, messages, rows[0]["left_out"]))
            for python, messages in interpreters
        ]
        yield from _Making(tested, journal, rows, runners).make(count, more, tell)


def mutate(tested: SourcesWithTests, out: Path, count: int, seconds: float, tell: Tell | None = None) -> Iterator[Row]:
    """Make tasks of a user's own repository, yield each row of `make`, and write the tasks into a file at the end.

    Until then a journal lies beside the file, from which an interrupted call continues. `count` is the largest number
    of tasks; the other arguments are those of `make`.
    """
    if out.suffix != ".jsonl":
        raise UsageError(f"{out} does not end in .jsonl, by which a file of tasks is known: choose another name")
    if out.exists():
        raise UsageError(f"{out} is there, and runs may have been played on it: choose another name, or delete it")
    journal = out.with_name(f"{out.stem}.journal")
    journal.parent.mkdir(parents=True, exist_ok=True)
    finished, reached = 0, False
    for row in make(tested, journal, count, seconds=seconds, tell=tell):
        finished += "issue" in row
        reached = reached or any(lines != "0" for lines in row.get("base", ()))
        yield row
    if not reached:
        raise UsageError(f"no test of {tested.root} reaches its sources: do they import a copy that is installed?")
    if not finished:
        raise UsageError(f"no bug in {tested.root} is noticed by two tests and missed by one: add tests")
    write_task_file(journal, out, tested.root.name, YOURS, (".".join(platform.python_version_tuple()[:2]),))
    TaskFile(out)
    journal.unlink()


class _Making:
    """Makes what the rows of a journal lack."""

    def __init__(self, tested: SourcesWithTests, journal: Path, rows: list[Row], runners: Sequence[Runner]) -> None:
        self._tested = tested
        self._journal = journal
        self._runners = runners  # this interpreter, the others, and this one with messages of failures
        self._first = rows[0]
        self._tests: list[str] = rows[0]["tests"]
        self._scanned = {row["scanned"]: row for row in rows if "scanned" in row}
        self._checked = {row["checked"]: row for row in rows if "checked" in row}
        self._tables = {row["id"]: row for row in rows if "table" in row and "issue" not in row}
        self._finished = {row["id"]: row for row in rows if "issue" in row}

    def make(self, count: int, more: bool, tell: Tell | None) -> Iterator[Row]:
        yield self._first
        runner, sources = self._runners[0], self._tested.sources
        listed = {file: len(edits(text)) for file, text in sources.items()}
        begun, total = 0, sum(listed.values())
        for file, text in sources.items():
            runner.told = counting(tell, "edits", begun, listed[file], total)
            begun += listed[file]
            if file not in self._scanned:
                packed = _packed_scan(scan(runner, self._tests, file, text))
                self._scanned[file] = _write(self._journal, {"scanned": file, **packed})
            yield self._scanned[file]
        runner.told = counting(None, "", 0, 0, 0)
        scans = {file: _unpacked_scan(row) for file, row in self._scanned.items()}
        mutations = sorted(_mutations(self._tested, scans), key=lambda each: each.name)
        chosen = self._choose(mutations, count, more)
        while missing := [each for each in chosen if each.name not in self._checked]:
            yield from self._check(missing, scans)
            chosen = self._choose(mutations, count, more)
        for file, text in sources.items():
            here = [each for each in chosen if each.file == file]
            wanted = [each for each in here if each.name not in self._tables]
            outcomes = tabulate(runner, self._tests, file, text, scans[file], [each.number for each in wanted])
            for mutation, row in zip(wanted, outcomes, strict=True):
                self._tables[mutation.name] = _write(self._journal, _task(text, mutation, row))
            yield from (self._tables[each.name] for each in here)
        yield from self._finish(chosen, scans)

    def _choose(self, mutations: Sequence[Mutation], count: int, more: bool) -> list[Mutation]:
        """Return as many mutations as the rules permit, at most `count`, in the order of their names."""
        good = [
            each for each in mutations
            if each.failing.bit_count() in range(FEWEST_FAILING, len(self._tests))
            and "rejected" not in self._checked.get(each.name, {})
        ]  # fmt: skip
        chosen = _permitted(good, count)
        return _and_more(good, chosen, count) if more else chosen

    def _check(self, mutations: Sequence[Mutation], scans: Mapping[str, Scan]) -> Iterator[Row]:
        """Run mutations again, in another order, and with the other interpreters."""
        again: dict[str, list[int]] = defaultdict(list)
        for runner in self._runners[:-1]:
            for more in ({"protocol": True}, {"shuffle": 1}) if runner is self._runners[0] else ({},):
                for mutation, reply in self._replies(runner, mutations, scans, more):
                    again[mutation.name].append(outcome_of(reply, self._tests))
        for mutation in mutations:
            row: Row = {"checked": mutation.name}
            text = self._tested.sources[mutation.file]
            if restoring(apply(text, mutation.edit), text) is None:
                row["rejected"] = "no listed edit restores it"
            elif set(again[mutation.name][:2]) != {mutation.failing}:
                row["rejected"] = "its runs differ"
            elif set(again[mutation.name]) != {mutation.failing}:
                row["rejected"] = "the interpreters differ"
            self._checked[mutation.name] = _write(self._journal, row)
            yield row

    def _finish(self, chosen: Sequence[Mutation], scans: Mapping[str, Scan]) -> Iterator[Row]:
        """Add what a task shows: one of the failing tests, and its issue."""
        hidden = HiddenNames(self._tested.sources)
        wanted = [each for each in chosen if each.name not in self._finished]
        shown = {each.name: hidden.shown(self._tests, each.failing) for each in wanted}
        jobs = {each.name: {"tests": [self._tests[shown[each.name]]], "messages": True} for each in wanted}
        for mutation, reply in self._replies(self._runners[-1], wanted, scans, jobs):
            number = shown[mutation.name]
            test = self._tests[number]
            issue = hidden.issue(test, reply.get("messages", {}).get(test))
            row = {**self._tables[mutation.name], "shown": number, "issue": issue}
            self._finished[mutation.name] = _write(self._journal, row)
        yield from (self._finished[each.name] for each in chosen)

    def _replies(
        self, runner: Runner, mutations: Sequence[Mutation], scans: Mapping[str, Scan], more: Mapping[str, Any]
    ) -> Iterator[tuple[Mutation, Row]]:
        """Run the tests with each mutation; `more` is for all jobs, or by the names of the mutations."""
        jobs = {each.name: {"tests": self._tests, **more.get(each.name, more)} for each in mutations}
        texts = {each.name: apply(self._tested.sources[each.file], each.edit) for each in mutations}
        inside = [each for each in mutations if not scans[each.file].apart[each.number]]
        locations = {file: CodeLocations(text) for file, text in self._tested.sources.items()}
        changes: list[Row] = []
        for each in inside:
            change = locations[each.file].change(each.edit.line, texts[each.name])
            changes.append({**jobs[each.name], "file": runner.path(each.file), "changes": [change]})
        yield from zip(inside, runner.ask({}, changes), strict=True)
        for each in mutations:
            if scans[each.file].apart[each.number]:
                (reply,) = runner.ask({each.file: texts[each.name]}, [jobs[each.name]])
                yield each, reply


def _permitted(good: Sequence[Mutation], count: int) -> list[Mutation]:
    """Return the first mutations that keep the rules together, at most `count`."""
    while True:
        rules = _Rules(count, MOST_IN_A_FUNCTION, MOST_OF_AN_OPERATOR)
        chosen = [each for each in good if rules.keep(each)]
        if len(chosen) == count or not chosen:
            return chosen
        count = len(chosen)


def _and_more(good: Sequence[Mutation], chosen: Sequence[Mutation], count: int) -> list[Mutation]:
    """Return the chosen mutations, and further ones that keep the wider rules with them, rare operators first."""
    times = Counter(each.edit.operator for each in good)
    rest = sorted(good, key=lambda each: (times[each.edit.operator], each.name))
    for most in range(count, len(chosen), -1):
        rules = _Rules(most, MORE_IN_A_FUNCTION, MORE_OF_AN_OPERATOR)
        for each in chosen:
            rules.add(each)
        further = [each for each in rest if rules.keep(each)]
        if len(chosen) + len(further) == most:
            return sorted([*chosen, *further], key=lambda each: each.name)
    return list(chosen)


class _Rules:
    """Permits one task a line, few a function, and few of an operator: in percent of `count`."""

    def __init__(self, count: int, functions: int, percent: int) -> None:
        self._left = count
        self._most = {"function": functions, "operator": max(1, count * percent // 100)}
        self._lines: set[tuple[str, int]] = set()
        self._functions: Counter[tuple[str, str]] = Counter()
        self._operators: Counter[str] = Counter()

    def keep(self, mutation: Mutation) -> bool:
        """Keep a mutation if the rules permit it, and return whether they did."""
        permitted = (
            self._left > 0
            and (mutation.file, mutation.edit.line) not in self._lines
            and self._functions[mutation.place] < self._most["function"]
            and self._operators[mutation.edit.operator] < self._most["operator"]
        )
        if permitted:
            self.add(mutation)
        return permitted

    def add(self, mutation: Mutation) -> None:
        self._left -= 1
        self._lines.add((mutation.file, mutation.edit.line))
        self._functions[mutation.place] += 1
        self._operators[mutation.edit.operator] += 1


def _mutations(tested: SourcesWithTests, scans: Mapping[str, Scan]) -> Iterator[Mutation]:
    for file, text in tested.sources.items():
        locations = CodeLocations(text)
        for number, edit in enumerate(edits(text)):
            named = f"{tested.digest}\0{file}\0{edit.start}\0{edit.end}\0{edit.new}"
            name = hashlib.sha256(named.encode()).hexdigest()[:16]
            yield Mutation(name, file, number, edit, locations.function_name(edit.line), scans[file].outcomes[number])


def _task(text: str, mutation: Mutation, outcomes: Sequence[int]) -> Row:
    edit = mutation.edit
    listed = edits(apply(text, edit))
    back = restoring(apply(text, edit), text)
    assert back is not None
    right = listed.index(back)
    if outcomes[right]:
        raise RuntimeError(f"{mutation.name}: tests fail though the mutation is taken back")
    return {
        "id": mutation.name, "file": mutation.file, "line": edit.line, "start": edit.start, "end": edit.end,
        "new": edit.new, "operator": edit.operator, "function": mutation.function, "failing": f"{mutation.failing:x}",
        "restoring": right, "edits_digest": edits_digest(listed), "table": pack(outcomes),
    }  # fmt: skip


def _bits(flags: Iterable[bool]) -> str:
    return "".join("01"[each] for each in flags)


def _packed_scan(found: Scan) -> Row:
    masks = list(dict.fromkeys(mask for each in found.reached for mask in each.values()))
    index = {mask: number for number, mask in enumerate(masks)}
    return {
        **pack(found.outcomes),
        "covered": _bits(found.covered),
        "apart": _bits(found.apart),
        "base": [f"{each:x}" for each in found.base],
        "imported": list(found.imported.items()),
        "alone": found.alone,
        "masks": [f"{each:x}" for each in masks],
        "reached": [[[test, index[mask]] for test, mask in each.items()] for each in found.reached],
    }


def _unpacked_scan(row: Row) -> Scan:
    masks = [int(each, 16) for each in row["masks"]]
    return Scan(
        outcomes=unpack(row),
        covered=[each == "1" for each in row["covered"]],
        apart=[each == "1" for each in row["apart"]],
        reached=[{test: masks[index] for test, index in each} for each in row["reached"]],
        base=[int(each, 16) for each in row["base"]],
        imported=dict(row["imported"]),
        alone=row["alone"],
    )


def _write(journal: Path, row: Row) -> Row:
    with journal.open("ab") as file:
        file.write(json_line(row))
    return row
