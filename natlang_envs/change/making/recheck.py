"""Runs cells of listed tasks' tables again, in forks or in the sandbox, and compares the outcomes."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

from natlang_envs.change.making.fork_runner import Runner, failing, files_of, open_subject
from natlang_envs.change.making.make_tasks import edit_of, edits_digest, mask_of, read_journal, unpack
from natlang_envs.change.repositories import change_repositories
from natlang_envs.errors import UsageError
from natlang_envs.repository.mutations import apply, edits

NOTHING = -1  # the number of a cell in which nothing is mended
DRAWN = 4  # cells beside that one and the restoring edit's


class Cell(NamedTuple):
    """One edit of one task, and what its table says: the ids of the tests that fail then."""

    task: str
    number: int
    file: str
    text: str
    failing: frozenset[str]


class Difference(NamedTuple):
    """A cell whose run ended otherwise: the tests that failed there alone, and in the table alone."""

    cell: Cell
    here: tuple[str, ...]
    table: tuple[str, ...]

    def __str__(self) -> str:
        """Say in a line what differs."""
        edit = "nothing mended" if self.cell.number == NOTHING else f"edit {self.cell.number}"
        alone = (
            f"{', '.join(tests) or 'nothing'} fails {where} alone"
            for tests, where in ((self.here, "here"), (self.table, "there"))
        )
        return f"task {self.cell.task}, {edit} of {self.cell.file}: {', '.join(alone)}"


class Source(NamedTuple):
    """Tasks, the repository that they are of, and what pytest is told there besides."""

    root: Path
    tasks: Path
    arguments: tuple[str, ...] = ()


Run = Callable[[list[str], str, str], frozenset[str]]  # of tests, a file and its text: the tests that fail then


def listed() -> tuple[list[Source], list[str]]:
    """Return the suite's own files of listed tasks, and the names of repositories that are not here."""
    known = [each for each in change_repositories().values() if each.listed.exists()]
    here = [each for each in known if each.pin is None or each.pin.is_cached]
    found = [Source(each.folder, each.listed, each.arguments) for each in here]
    return found, [each.name for each in known if each not in here]


def recheck(source: Source, count: int, generator: random.Random, run: Run) -> Iterator[Difference | None]:
    """Run cells again; yield for each how it differs, or None.

    Args:
        source: The finished tasks, as `listing.write_book` writes them, and their repository.
        count: How many cells.
        generator: Draws them.
        run: Runs tests.

    Raises:
        UsageError: The tasks are of other files or other edits, or the run cannot be done on this machine.
    """
    head, *rows = read_journal(source.tasks) or [{}]
    if "digest" not in head:
        raise UsageError(f"{source.tasks} is no file of finished tasks, as natlang data mutate writes it")
    tests: list[str] = head["tests"]
    if open_subject(source.root, files_of(tests)).digest != head["digest"]:
        raise UsageError(f"{source.root} is not the repository that the tasks of {source.tasks} are of")
    tasks = [row for row in rows if "table" in row]
    if not tasks:
        raise UsageError(f"{source.tasks} holds no task with a table")
    for _ in range(count):
        row = generator.choice(tasks)
        original = (source.root / row["file"]).read_bytes().decode()
        broken = apply(original, edit_of(row))
        made = edits(broken)
        if edits_digest(made) != row["edits_digest"]:
            raise UsageError(f"{source.tasks} lists other edits than this version does: make its tasks again")
        if apply(broken, made[int(row["restoring"])]) != original:
            raise UsageError(f"{source.tasks}: the restoring edit of {row['id']} does not restore")
        others = generator.sample(range(len(made)), min(DRAWN, len(made)))
        number = generator.choice((NOTHING, row["restoring"], *others))
        text = broken if number == NOTHING else apply(broken, made[number])
        outcome = mask_of(row) if number == NOTHING else unpack(row["table"])[number]
        table = frozenset(name for place, name in enumerate(tests) if outcome >> place & 1)
        here = run(tests, row["file"], text)
        differs = Difference(
            Cell(row["id"], number, row["file"], text, table), tuple(sorted(here - table)), tuple(sorted(table - here))
        )
        yield differs if here != table else None


def in_forks(runner: Runner) -> Run:
    """Return what runs tests in forks of a process, with everything imported anew."""

    def run(tests: list[str], file: str, text: str) -> frozenset[str]:
        (outcome,) = failing(runner, tests, {file: text}, [{"protocol": True}])
        return frozenset(name for place, name in enumerate(tests) if outcome >> place & 1)

    return run
