"""Runs cells of listed tasks' tables again, in the sandbox with the lab's pytest, and compares the outcomes."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from natlang_envs.autoexplore.changing.making import edit_of, edits_digest, read_journal, unpack
from natlang_envs.autoexplore.changing.repositories import change_repositories
from natlang_envs.autoexplore.changing.running import files_of, open_subject
from natlang_envs.autoexplore.freely.testing import LIMITS, run_tests
from natlang_envs.errors import UsageError
from natlang_envs.repository.mutations import apply, edits
from natlang_envs.sandbox import AutoExploreSandbox


class Cell(NamedTuple):
    """One edit of one task, and what its table says: the ids of the tests that fail then."""

    task: str
    number: int
    file: str
    text: str
    failing: frozenset[str]


class Difference(NamedTuple):
    """A cell whose run in the sandbox ended otherwise: the tests that failed there alone, and in the table alone."""

    cell: Cell
    here: tuple[str, ...]
    table: tuple[str, ...]


class Source(NamedTuple):
    """Tasks, the repository that they are of, and what pytest is told there besides."""

    root: Path
    tasks: Path
    arguments: tuple[str, ...] = ()


def listed() -> tuple[list[Source], list[str]]:
    """Return the suite's own files of listed tasks, and the names of repositories that are not here."""
    known = [each for each in change_repositories().values() if each.listed.exists()]
    here = [each for each in known if each.pin is None or each.pin.is_cached]
    found = [Source(each.folder, each.listed, each.arguments) for each in here]
    return found, [each.name for each in known if each not in here]


def recheck(source: Source, count: int, generator: random.Random) -> Iterator[Difference | None]:
    """Run cells again; yield for each how it differs, or None.

    Args:
        source: The finished tasks, as `listing.write_book` writes them, and their repository.
        count: How many cells.
        generator: Draws them.

    Raises:
        UsageError: The lab is not here, nothing isolates on this machine, or the tasks are of other files.
    """
    with AutoExploreSandbox(source.root, limits=LIMITS) as sandbox:
        for tests, cell in _cells(source.root, source.tasks, count, generator):
            sandbox.reset()
            sandbox.overlay.write(cell.file, cell.text.encode())
            ends = run_tests(sandbox, (*source.arguments, *files_of(tests)))
            here = frozenset(each for each in tests if not ends.passed(each))
            if here == cell.failing:
                yield None
            else:
                yield Difference(cell, tuple(sorted(here - cell.failing)), tuple(sorted(cell.failing - here)))


def _cells(root: Path, journal: Path, count: int, generator: random.Random) -> Iterator[tuple[list[str], Cell]]:
    head, *rows = read_journal(journal) or [{}]
    if "digest" not in head:
        raise UsageError(f"{journal} is no file of finished tasks, as natlang data mutate writes it")
    tests: list[str] = head["tests"]
    if open_subject(root, files_of(tests)).digest != head["digest"]:
        raise UsageError(f"{root} is not the repository that the tasks of {journal} are of")
    tasks = [row for row in rows if "table" in row]
    if not tasks:
        raise UsageError(f"{journal} holds no task with a table")
    for _ in range(count):
        row = generator.choice(tasks)
        original = (root / row["file"]).read_bytes().decode()
        text = apply(original, edit_of(row))
        listed = edits(text)
        if edits_digest(listed) != row["edits_digest"]:
            raise UsageError(f"{journal} lists other edits than this version does: make its tasks again")
        outcomes = unpack(row["table"])
        number = generator.randrange(len(listed))
        failing = frozenset(name for place, name in enumerate(tests) if outcomes[number] >> place & 1)
        yield tests, Cell(row["id"], number, row["file"], apply(text, listed[number]), failing)
