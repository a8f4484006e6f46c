"""Runs cells of the tables of listed tasks again, in forks or in the sandbox, and compares the outcomes."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

from natlang_envs.change.making.fork_runner import Runner, failing, names_of
from natlang_envs.change.repositories import change_repositories
from natlang_envs.change.task_files import TaskFile, edit_of, edits_digest, failing_before, unpack
from natlang_envs.errors import UsageError
from natlang_envs.repository.mutations import apply, edits

NOTHING = -1  # the number of a cell in which nothing is mended
SAMPLED = 4  # cells beside that one and the restoring edit's


class OutcomeDifference(NamedTuple):
    """A cell with another outcome than its table says."""

    task: str  # the id
    number: int  # the edit, or `NOTHING`
    file: str  # the broken one
    here: tuple[str, ...]  # the tests that failed in this run only
    table: tuple[str, ...]  # the tests that fail in the table only

    def __str__(self) -> str:
        edit = "nothing mended" if self.number == NOTHING else f"edit {self.number}"
        alone = (
            f"{', '.join(tests) or 'nothing'} fails {where} alone"
            for tests, where in ((self.here, "here"), (self.table, "there"))
        )
        return f"task {self.task}, {edit} of {self.file}: {', '.join(alone)}"


class TaskSource(NamedTuple):
    """A file of tasks, the repository that they are of, and further arguments of pytest."""

    root: Path
    tasks: Path
    arguments: tuple[str, ...] = ()


Run = Callable[[list[str], str, str], frozenset[str]]  # of tests, a file and its text: the tests that fail then


def listed() -> tuple[list[TaskSource], list[str]]:
    """Return the suite's own files of listed tasks, and the names of repositories that are not here."""
    known = [each for each in change_repositories().values() if each.listed.exists()]
    here = [each for each in known if each.pin is None or each.pin.is_cached]
    found = [TaskSource(each.folder, each.listed, each.arguments) for each in here]
    return found, [each.name for each in known if each not in here]


def recheck(source: TaskSource, count: int, generator: random.Random, run: Run) -> Iterator[OutcomeDifference | None]:
    """Run so many random cells of finished tasks again; yield for each how it differs, or None."""
    file = TaskFile(source.tasks)
    sources, tests = file.sources(source.root), file.tests
    tasks = list(file.tasks.values())
    for _ in range(count):
        row = generator.choice(tasks)
        original = sources[row["file"]]
        broken = apply(original, edit_of(row))
        made = edits(broken)
        if edits_digest(made) != row["edits_digest"]:
            raise UsageError(f"{source.tasks} lists other edits than this version does: make its tasks again")
        if apply(broken, made[int(row["restoring"])]) != original:
            raise UsageError(f"{source.tasks}: the restoring edit of {row['id']} does not restore")
        others = generator.sample(range(len(made)), min(SAMPLED, len(made)))
        number = generator.choice((NOTHING, row["restoring"], *others))
        text, outcome = broken, failing_before(row)
        if number != NOTHING:
            text, outcome = apply(broken, made[number]), unpack(row["table"])[number]
        table, here = names_of(outcome, tests), run(list(tests), row["file"], text)
        differs = OutcomeDifference(
            row["id"], number, row["file"], tuple(sorted(here - table)), tuple(sorted(table - here))
        )
        yield differs if here != table else None


def in_forks(runner: Runner) -> Run:
    """Return what runs tests in forks of a process, with everything imported again."""

    def run(tests: list[str], file: str, text: str) -> frozenset[str]:
        (outcome,) = failing(runner, tests, {file: text}, [{"protocol": True}])
        return names_of(outcome, tests)

    return run
