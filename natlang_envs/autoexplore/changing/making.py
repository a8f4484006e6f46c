"""Makes change tasks from a repository with tests: breaks one place, keeps what its tests notice, tabulates every edit.

A *mutation* is an edit of a source as it is. A *task* is a mutation that two tests notice at least and one does not,
with its *table*: which tests fail after each edit that is listed for the broken file. One of those edits restores it.

The journal is a file of JSON lines: what it is about, the outcomes of each source's mutations, then a line for each
mutation that was tried. Making goes on behind its last whole line.
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from natlang_envs.autoexplore.changing.mutations import Edit, apply, edits, restoring
from natlang_envs.autoexplore.changing.places import Places
from natlang_envs.autoexplore.changing.running import Runner, Subject, Table, all_pass, failing, tabulate
from natlang_envs.errors import UsageError

FORMAT = 1
FEWEST_FAILING = 2
MOST_IN_A_FUNCTION = 3
MOST_OF_AN_OPERATOR = 15  # percent of the tasks

Row = dict[str, Any]


class Mutation(NamedTuple):
    """An edit that breaks a file, the function that it is in, and what then fails."""

    file: str
    edit: Edit
    function: str
    failing: int


def task_id(subject: Subject, mutation: Mutation) -> str:
    """Return a task's id: a digest of the repository and of the place and text of the mutation."""
    edit = mutation.edit
    text = f"{subject.digest}\0{mutation.file}\0{edit.start}\0{edit.end}\0{edit.new}"
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def edits_digest(listed: Sequence[Edit]) -> str:
    """Return a digest of a list of edits, by which a table knows that its columns are still those."""
    return hashlib.sha256(repr([tuple(each) for each in listed]).encode()).hexdigest()[:16]


def pack(outcomes: Sequence[int]) -> dict[str, Any]:
    """Return outcomes as JSON: the different ones in hexadecimal, and the number of each edit's."""
    different = list(dict.fromkeys(outcomes))
    places = {outcome: place for place, outcome in enumerate(different)}
    return {"outcomes": [f"{each:x}" for each in different], "edits": [places[each] for each in outcomes]}


def unpack(packed: dict[str, Any]) -> list[int]:
    """Return the outcomes that were packed."""
    different = [int(each, 16) for each in packed["outcomes"]]
    return [different[place] for place in packed["edits"]]


def make(subject: Subject, runner: Runner, journal: Path, count: int) -> Iterator[Row]:
    """Make tasks and write them into a journal; yield each, those of an earlier making too.

    Args:
        subject: The repository.
        runner: What runs its tests.
        journal: The file; it is made, or gone on with.
        count: How many tasks are wanted. There may be fewer.

    Raises:
        UsageError: The journal is of another repository or another count, or the tests do not pass as they are.
    """
    if count < 1:
        raise UsageError(f"{count} tasks: ask for one at least")
    rows = _read(journal)
    if not rows:
        first = {"format": FORMAT, "repository": subject.digest, "count": count, "tests": all_pass(runner)}
        rows = [_write(journal, first)]
    about = {name: rows[0].get(name) for name in ("format", "repository", "count")}
    if about != {"format": FORMAT, "repository": subject.digest, "count": count}:
        raise UsageError(f"{journal} is of another repository, count or version: choose another file")
    tests = [str(each) for each in rows[0]["tests"]]
    scanned = {row["scanned"]: row for row in rows if "scanned" in row}
    for file, text in subject.sources.items():
        if file not in scanned:
            table = tabulate(runner, tests, file, text)
            covered = "".join("01"[each] for each in table.covered)
            scanned[file] = _write(journal, {"scanned": file, **pack(table.outcomes), "covered": covered})
    tried = {row["id"]: row for row in rows if "id" in row}
    rules = _Rules(count)
    for mutation in sorted(_mutations(subject, scanned), key=lambda each: task_id(subject, each)):
        if rules.kept == count:
            return
        if mutation.failing.bit_count() in range(FEWEST_FAILING, len(tests)) and rules.allow(mutation):
            name = task_id(subject, mutation)
            row = tried[name] if name in tried else _write(journal, _task(subject, runner, tests, mutation))
            if "rejected" not in row:
                rules.keep(mutation)
                yield row


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


class _Rules:
    """One task a line, three a function, and few of an operator."""

    def __init__(self, count: int) -> None:
        self.kept = 0
        self._most = max(1, count * MOST_OF_AN_OPERATOR // 100)
        self._lines: set[tuple[str, int]] = set()
        self._functions: Counter[tuple[str, str]] = Counter()
        self._operators: Counter[str] = Counter()

    def allow(self, mutation: Mutation) -> bool:
        return (
            (mutation.file, mutation.edit.line) not in self._lines
            and self._functions[mutation.file, mutation.function] < MOST_IN_A_FUNCTION
            and self._operators[mutation.edit.operator] < self._most
        )

    def keep(self, mutation: Mutation) -> None:
        self.kept += 1
        self._lines.add((mutation.file, mutation.edit.line))
        self._functions[mutation.file, mutation.function] += 1
        self._operators[mutation.edit.operator] += 1


def _mutations(subject: Subject, scanned: dict[str, Row]) -> Iterator[Mutation]:
    for file, text in subject.sources.items():
        places = Places(text)
        for edit, outcome in zip(edits(text), unpack(scanned[file]), strict=True):
            yield Mutation(file, edit, places.function_name(edit.line), outcome)


def _task(subject: Subject, runner: Runner, tests: Sequence[str], mutation: Mutation) -> Row:
    """Return a task's row, or one that says why the mutation makes none."""
    file, edit = mutation.file, mutation.edit
    text = subject.sources[file]
    broken = apply(text, edit)
    name = task_id(subject, mutation)
    back = restoring(broken, text)
    if back is None:
        return {"id": name, "rejected": "no listed edit restores it"}
    runs = failing(runner, tests, {file: broken}, [{}, {}, {"shuffle": 1}])
    if set(runs) != {mutation.failing}:
        return {"id": name, "rejected": "its runs differ"}
    listed = edits(broken)
    table: Table = tabulate(runner, tests, file, broken)
    right = listed.index(back)
    if table.base != mutation.failing or table.outcomes[right]:
        return {"id": name, "rejected": "its table differs from its runs"}
    return {
        "id": name, "file": file, "line": edit.line, "start": edit.start, "end": edit.end, "new": edit.new,
        "operator": edit.operator, "function": mutation.function, "failing": f"{mutation.failing:x}",
        "restoring": right, "edits_digest": edits_digest(listed), "table": pack(table.outcomes),
    }  # fmt: skip


def _read(journal: Path) -> list[Row]:
    """Return the whole lines of a journal, and cut off what a killed making left behind them."""
    if not journal.exists():
        return []
    content = journal.read_bytes()
    whole = content[: content.rfind(b"\n") + 1]
    if whole != content:
        with journal.open("r+b") as file:
            file.truncate(len(whole))
    try:
        return [json.loads(line) for line in whole.splitlines()]
    except ValueError:
        raise UsageError(f"{journal} is no journal of tasks: choose another file") from None


def _write(journal: Path, row: Row) -> Row:
    with journal.open("ab") as file:
        file.write(json.dumps(row, separators=(",", ":")).encode() + b"\n")
    return row
