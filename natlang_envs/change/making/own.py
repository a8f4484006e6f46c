"""Makes change tasks of a repository of the user's own, in one file that can be played."""

from __future__ import annotations

import platform
from collections.abc import Iterator
from pathlib import Path

from natlang_envs.change.making.fork_runner import Subject
from natlang_envs.change.making.listing import write_book
from natlang_envs.change.making.make_tasks import Row, make, read_journal
from natlang_envs.change.task_files import YOURS, Book
from natlang_envs.errors import UsageError


def mutate(subject: Subject, out: Path, count: int, seconds: float) -> Iterator[Row]:
    """Make tasks, yield each row of the making, as `make` does, and write the tasks into a file at the end.

    What was made stands in a journal beside the file meanwhile: a making that was killed goes on.

    Args:
        subject: The repository.
        out: The file.
        count: How many tasks are wanted at most.
        seconds: Of processor time, for a run of all tests.

    Raises:
        UsageError: The file exists, no test can be used, or no bug is noticed by two tests and
            missed by one.
    """
    if out.suffix != ".jsonl":
        raise UsageError(f"{out} does not end in .jsonl, by which a file of tasks is known: choose another name")
    if out.exists():
        raise UsageError(f"{out} is there, and runs may have been played on it: choose another name, or delete it")
    journal = out.with_name(f"{out.stem}.journal")
    journal.parent.mkdir(parents=True, exist_ok=True)
    yield from make(subject, journal, count, seconds=seconds)
    if not any("issue" in row for row in read_journal(journal)):
        raise UsageError(f"no bug in {subject.root} is noticed by two tests and missed by one: add tests")
    write_book(journal, out, subject.root.name, YOURS, (".".join(platform.python_version_tuple()[:2]),))
    Book(out)
    journal.unlink()
