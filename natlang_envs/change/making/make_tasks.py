"""Makes change tasks from a repository with tests: breaks one place, keeps what its tests notice, tabulates every edit.

A *mutation* is an edit of a source as it is. A *task* is a mutation that two tests notice at least and one does not,
with its *table*: which tests fail after each edit that is listed for the broken file. One of those edits restores it.

The journal is a file of JSON lines: what it is about, the scan of each source, then a line for each mutation that was
checked, each table, and each finished task. Making goes on behind its last whole line.
"""

from __future__ import annotations

import gzip
import hashlib
import json
import sys
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any, NamedTuple

from natlang_envs.change.making.code_locations import Places
from natlang_envs.change.making.fork_runner import SECONDS, Runner, Subject, outcome_of
from natlang_envs.change.making.issues import Private
from natlang_envs.change.making.outcome_tables import Scan, scan, tabulate
from natlang_envs.change.making.usable_tests import usable
from natlang_envs.errors import UsageError
from natlang_envs.files import json_line
from natlang_envs.repository.mutations import Edit, apply, edits, restoring

FORMAT = 1  # of finished tasks
JOURNAL = 4
FEWEST_FAILING = 2
MOST_IN_A_FUNCTION = 3
MOST_OF_AN_OPERATOR = 15  # percent of the tasks
MORE_IN_A_FUNCTION = 6  # where many tasks count more than different ones
MORE_OF_AN_OPERATOR = 20

Row = dict[str, Any]


class Mutation(NamedTuple):
    """An edit that breaks a file, by its task's id and its number; the function that it is in, and what then fails."""

    name: str
    file: str
    number: int
    edit: Edit
    function: str
    failing: int


def task_id(subject: Subject, file: str, edit: Edit) -> str:
    """Return a task's id: a digest of the repository and of the place and text of the mutation."""
    text = f"{subject.digest}\0{file}\0{edit.start}\0{edit.end}\0{edit.new}"
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def edits_digest(listed: Sequence[Edit]) -> str:
    """Return a digest of a list of edits, by which a table knows that its columns are still those."""
    return hashlib.sha256(repr([tuple(each) for each in listed]).encode()).hexdigest()[:16]


def edit_of(row: Mapping[str, Any]) -> Edit:
    """Return the edit by which a task's row breaks its file."""
    return Edit(*(row[name] for name in Edit._fields))


def mask_of(row: Mapping[str, Any]) -> int:
    """Return the tests that fail before anything is mended, as the bits of a number."""
    return int(str(row["failing"]), 16)


def pack(outcomes: Sequence[int]) -> dict[str, Any]:
    """Return outcomes as JSON: the different ones in hexadecimal, and the number of each edit's."""
    different = list(dict.fromkeys(outcomes))
    places = {outcome: place for place, outcome in enumerate(different)}
    return {"outcomes": [f"{each:x}" for each in different], "edits": [places[each] for each in outcomes]}


def unpack(packed: dict[str, Any]) -> list[int]:
    """Return the outcomes that were packed."""
    different = [int(each, 16) for each in packed["outcomes"]]
    return [different[place] for place in packed["edits"]]


def make(
    subject: Subject,
    journal: Path,
    count: int,
    *,
    more: bool = False,
    seconds: float = SECONDS,
    pythons: Sequence[str] = (),
) -> Iterator[Row]:
    """Make tasks and write them into a journal; yield its rows as they are made, those of an earlier making too.

    The last rows are the finished tasks. Before them: one with `left_out` (what cannot be used, with reasons), one with
    `scanned` for each source, those of mutations that were `rejected`, and tables without an issue.

    Args:
        subject: The repository.
        journal: The file; it is made, or gone on with.
        count: How many tasks are wanted. There may be fewer.
        more: Whether to add tasks that are more alike, in functions and operators, where the rules leave room.
        seconds: Of processor time that a run of all tests may take.
        pythons: Other interpreters under which a task must be the same; they need pytest.

    Raises:
        UsageError: The journal is of another repository, count, tests or seconds, or no test can be used.
    """
    if count < 1:
        raise UsageError(f"{count} tasks: ask for one at least")
    rows = read_journal(journal)
    about: Row = {"format": JOURNAL, "repository": subject.digest, "count": count, "more": more}
    asked = [list(subject.tests), list(subject.arguments), seconds, list(pythons)]
    if rows and {name: rows[0].get(name) for name in about} != about:
        raise UsageError(f"{journal} is of another repository, count or version: choose another file")
    if rows and rows[0].get("asked", asked) != asked:
        raise UsageError(f"{journal} is of other tests, arguments, seconds or interpreters: choose another file")
    _cut(journal)
    if not rows:
        tests, left_out = usable(subject, seconds, (sys.executable, *pythons))
        rows = [
            _write(journal, {**about, "asked": asked, "tests": tests, "left_out": {**subject.left_out, **left_out}})
        ]
    with ExitStack() as stack:
        runners = [
            stack.enter_context(Runner(subject, seconds, python, messages, rows[0]["left_out"]))
            for python, messages in (
                (sys.executable, False),
                *((each, False) for each in pythons),
                (sys.executable, True),
            )
        ]
        yield from _Making(subject, journal, rows, runners).make(count, more)


class _Making:
    """A making that goes on behind the rows of its journal."""

    def __init__(self, subject: Subject, journal: Path, rows: list[Row], runners: Sequence[Runner]) -> None:
        self._subject = subject
        self._journal = journal
        self._runners = runners
        self._first = rows[0]
        self._tests: list[str] = rows[0]["tests"]
        self._scanned = {row["scanned"]: row for row in rows if "scanned" in row}
        self._checked = {row["checked"]: row for row in rows if "checked" in row}
        self._tables = {row["id"]: row for row in rows if "table" in row and "issue" not in row}
        self._finished = {row["id"]: row for row in rows if "issue" in row}

    def make(self, count: int, more: bool) -> Iterator[Row]:
        yield self._first
        runner = self._runners[0]
        for file, text in self._subject.sources.items():
            if file not in self._scanned:
                found = scan(runner, self._tests, file, text)
                self._scanned[file] = self._write({"scanned": file, **_packed_scan(found)})
            yield self._scanned[file]
        scans = {file: _unpacked_scan(row) for file, row in self._scanned.items()}
        mutations = list(_mutations(self._subject, scans))
        chosen = self._choose(mutations, count, more)
        while missing := [each for each in chosen if each.name not in self._checked]:
            yield from self._check(missing, scans)
            chosen = self._choose(mutations, count, more)
        for file, text in self._subject.sources.items():
            here = [each for each in chosen if each.file == file]
            wanted = [each for each in here if each.name not in self._tables]
            outcomes = tabulate(runner, self._tests, file, text, scans[file], [each.number for each in wanted])
            for mutation, found in zip(wanted, outcomes, strict=True):
                self._tables[mutation.name] = self._write(_task(text, mutation, found))
            yield from (self._tables[each.name] for each in here)
        yield from self._finish(chosen, scans)

    def _choose(self, mutations: Sequence[Mutation], count: int, more: bool) -> list[Mutation]:
        """Return as many mutations as the rules permit, at most `count`, in the order of their names."""
        good = [
            each for each in sorted(mutations, key=lambda each: each.name)
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
            text = self._subject.sources[mutation.file]
            if restoring(apply(text, mutation.edit), text) is None:
                row["rejected"] = "no listed edit restores it"
            elif set(again[mutation.name][:2]) != {mutation.failing}:
                row["rejected"] = "its runs differ"
            elif set(again[mutation.name]) != {mutation.failing}:
                row["rejected"] = "the interpreters differ"
            self._checked[mutation.name] = self._write(row)
            yield row

    def _finish(self, chosen: Sequence[Mutation], scans: Mapping[str, Scan]) -> Iterator[Row]:
        """Add what a task shows: the shown test, and the issue that it tells."""
        private = Private(self._subject.sources)
        wanted = [each for each in chosen if each.name not in self._finished]
        shown = {each.name: private.shown(self._tests, each.failing) for each in wanted}
        jobs = {each.name: {"tests": [self._tests[shown[each.name]]], "messages": True} for each in wanted}
        for mutation, reply in self._replies(self._runners[-1], wanted, scans, jobs):
            number = shown[mutation.name]
            name = self._tests[number]
            issue = private.issue(name, reply.get("messages", {}).get(name))
            row = {**self._tables[mutation.name], "shown": number, "issue": issue}
            self._finished[mutation.name] = self._write(row)
        yield from (self._finished[each.name] for each in chosen)

    def _replies(
        self, runner: Runner, mutations: Sequence[Mutation], scans: Mapping[str, Scan], more: Mapping[str, Any]
    ) -> Iterator[tuple[Mutation, Row]]:
        """Run the tests with each mutation; `more` is said in each job, or in those of the mutations it names."""
        jobs = {each.name: {"tests": self._tests, **more.get(each.name, more)} for each in mutations}
        inside = [each for each in mutations if not scans[each.file].apart[each.number]]
        texts = {each.name: apply(self._subject.sources[each.file], each.edit) for each in mutations}
        places = {file: Places(text) for file, text in self._subject.sources.items()}
        changes: list[Row] = []
        for each in inside:
            change = places[each.file].change(each.edit.line, texts[each.name])
            changes.append({**jobs[each.name], "file": runner.path(each.file), "changes": [change]})
        yield from zip(inside, runner.ask({}, changes), strict=True)
        for each in mutations:
            if scans[each.file].apart[each.number]:
                (reply,) = runner.ask({each.file: texts[each.name]}, [jobs[each.name]])
                yield each, reply

    def _write(self, row: Row) -> Row:
        return _write(self._journal, row)


def sharpness(rows: Iterable[Row]) -> Counter[str]:
    """Count a journal's mutations: those that a test or the import reaches, and those that one or two tests notice."""
    counts: Counter[str] = Counter()
    for row in rows:
        if "scanned" in row:
            for outcome, covered in zip(unpack(row), row["covered"], strict=True):
                counts["listed"] += 1
                if covered == "1":
                    counts["covered"] += 1
                    counts["noticed"] += outcome.bit_count() >= 1
                    counts["by two"] += outcome.bit_count() >= 2
    return counts


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
    """One task a line, few a function, and few of an operator: in percent of `count`."""

    def __init__(self, count: int, functions: int, percent: int) -> None:
        self._room = count
        self._few = functions
        self._most = max(1, count * percent // 100)
        self._lines: set[tuple[str, int]] = set()
        self._functions: Counter[tuple[str, str]] = Counter()
        self._operators: Counter[str] = Counter()

    def keep(self, mutation: Mutation) -> bool:
        """Keep a mutation if the rules permit it, and say whether they did."""
        line, function, operator = mutation.edit.line, mutation.function, mutation.edit.operator
        if (
            not self._room
            or (mutation.file, line) in self._lines
            or self._functions[mutation.file, function] >= self._few
            or self._operators[operator] >= self._most
        ):
            return False
        self.add(mutation)
        return True

    def add(self, mutation: Mutation) -> None:
        """Keep a mutation."""
        self._room -= 1
        self._lines.add((mutation.file, mutation.edit.line))
        self._functions[mutation.file, mutation.function] += 1
        self._operators[mutation.edit.operator] += 1


def _mutations(subject: Subject, scans: Mapping[str, Scan]) -> Iterator[Mutation]:
    for file, text in subject.sources.items():
        places = Places(text)
        for number, edit in enumerate(edits(text)):
            name = task_id(subject, file, edit)
            yield Mutation(name, file, number, edit, places.function_name(edit.line), scans[file].outcomes[number])


def _task(text: str, mutation: Mutation, outcomes: Sequence[int]) -> Row:
    """Return a task's row."""
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


def _packed_scan(found: Scan) -> Row:
    masks = list(dict.fromkeys(mask for each in found.reached for mask in each.values()))
    places = {mask: place for place, mask in enumerate(masks)}
    return {
        **pack(found.outcomes),
        "covered": "".join("01"[each] for each in found.covered),
        "apart": "".join("01"[each] for each in found.apart),
        "base": [f"{each:x}" for each in found.base],
        "imported": list(found.imported.items()),
        "alone": found.alone,
        "masks": [f"{each:x}" for each in masks],
        "reached": [[[test, places[mask]] for test, mask in each.items()] for each in found.reached],
    }


def _unpacked_scan(row: Row) -> Scan:
    masks = [int(each, 16) for each in row["masks"]]
    return Scan(
        outcomes=unpack(row),
        covered=[each == "1" for each in row["covered"]],
        apart=[each == "1" for each in row["apart"]],
        reached=[{test: masks[place] for test, place in each} for each in row["reached"]],
        base=[int(each, 16) for each in row["base"]],
        imported=dict(row["imported"]),
        alone=row["alone"],
    )


def read_journal(journal: Path) -> list[Row]:
    """Return the whole lines of a journal or of a file of finished tasks, compressed or not; nothing is written."""
    if not journal.exists():
        return []
    content = journal.read_bytes()
    if journal.suffix == ".gz":
        content = gzip.decompress(content)
    try:
        return [json.loads(line) for line in content[: content.rfind(b"\n") + 1].splitlines()]
    except ValueError:
        raise UsageError(f"{journal} is no journal of tasks: choose another file") from None


def _cut(journal: Path) -> None:
    """Cut off what a killed making left behind the last whole line."""
    if journal.exists():
        content = journal.read_bytes()
        with journal.open("r+b") as file:
            file.truncate(content.rfind(b"\n") + 1)


def _write(journal: Path, row: Row) -> Row:
    with journal.open("ab") as file:
        file.write(json_line(row))
    return row
