"""Checks finished tasks: everything is imported again for each run, and pytest runs every test."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path

from natlang_envs.autoexplore.changing.making import Row, edit_of, edits_digest, mask_of, read_journal, unpack
from natlang_envs.autoexplore.changing.running import SECONDS, Runner, Subject, failing
from natlang_envs.errors import UsageError
from natlang_envs.repository.mutations import apply, edits


def check_listed(listed: Path, subject: Subject, count: int, cells: int, seconds: float = SECONDS) -> Iterator[str]:
    """Run a sample of tasks again and yield a line for each fault.

    Args:
        listed: The file of tasks.
        subject: The repository.
        count: How many tasks.
        cells: How many edits of each, besides the one that restores.
        seconds: Of processor time, for a run: as when they were made.

    Raises:
        UsageError: The tasks are of other sources.
    """
    head, *rows = read_journal(listed)
    if head["digest"] != subject.digest:
        raise UsageError(f"{listed} is of other sources than {subject.root}: make the tasks again")
    tests: list[str] = head["tests"]
    chance = random.Random(0)
    with Runner(subject, seconds) as runner:
        for row in chance.sample(rows, min(count, len(rows))):
            text = subject.sources[row["file"]]
            broken = apply(text, edit_of(row))
            made = edits(broken)
            if edits_digest(made) != row["edits_digest"]:
                yield f"{row['id']}: other edits are listed than when it was made"
                continue
            if apply(broken, made[int(row["restoring"])]) != text:
                yield f"{row['id']}: its restoring edit does not restore"
            yield from _cells(runner, tests, row, broken, chance.sample(range(len(made)), min(cells, len(made))))


def _cells(runner: Runner, tests: list[str], row: Row, broken: str, numbers: list[int]) -> Iterator[str]:
    file, table = row["file"], unpack(row["table"])
    whole = [{"protocol": True}]
    if failing(runner, tests, {file: broken}, whole) != [mask_of(row)]:
        yield f"{row['id']}: other tests fail than when it was made"
    for number in {*numbers, row["restoring"]}:
        found = failing(runner, tests, {file: apply(broken, edits(broken)[number])}, whole)
        if found != [table[number]]:
            yield f"{row['id']}: edit {number} makes {found[0]:x} fail, not {table[number]:x}"
