"""Makes change tasks of a repository of the user's own, in one file that can be played."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory

from natlang_envs.autoexplore.changing.making import FORMAT, Row, make
from natlang_envs.autoexplore.changing.mutations import edits
from natlang_envs.autoexplore.changing.picking.books import YOURS, Book, to_line
from natlang_envs.autoexplore.changing.running import Runner, Subject, open_subject
from natlang_envs.errors import UsageError
from natlang_envs.files import write_whole

_NOT_COPIED = (".git", "__pycache__", ".venv", "venv", ".tox", ".nox", "node_modules", ".*_cache")


def open_own(root: Path, tests: list[str]) -> tuple[Subject, list[str]]:
    """Return a repository, and one line for each source that is left out of it, which says why.

    Raises:
        UsageError: There are no tests, or no source can be edited, or pytest is not installed.
    """
    if find_spec("pytest") is None:
        raise UsageError("pytest is not installed, which runs the tests: pip install pytest")
    subject = open_subject(root, [each.rstrip("/") for each in tests])
    sources: dict[str, str] = {}
    left_out: list[str] = []
    for path, text in subject.sources.items():
        try:
            if edits(text):
                sources[path] = text
            else:
                left_out.append(f"{path}: nothing in it can be edited")
        except UsageError as error:
            left_out.append(f"{path}: {error}")
    if not sources:
        raise UsageError(f"{root} has no source that can be edited; the first: {left_out[0]}")
    return replace(subject, sources=sources), left_out


def mutate(subject: Subject, out: Path, count: int, seconds: float) -> Iterator[Row]:
    """Make tasks, yield each, and write them into a file at the end.

    The tests run in a copy, since they may write files. What was made stands in a journal beside the file meanwhile: a
    making that was killed goes on.

    Args:
        subject: From `open_own`.
        out: The file; one that exists is replaced.
        count: How many tasks are wanted at most.
        seconds: Of processor time, for a run of all tests.

    Raises:
        UsageError: The tests fail, take too long or depend on chance or order; or nothing they notice can be edited.
    """
    journal = out.with_name(f"{out.name}.journal")
    journal.parent.mkdir(parents=True, exist_ok=True)
    tasks: list[Row] = []
    with TemporaryDirectory(prefix="natlang-mutate-") as place:
        root = Path(place).resolve() / subject.root.name
        shutil.copytree(subject.root, root, symlinks=True, ignore=shutil.ignore_patterns(*_NOT_COPIED))
        try:
            with Runner(replace(subject, root=root), seconds) as runner:
                for row in make(subject, runner, journal, count):
                    tasks.append(told(row, [str(each) for each in _rows(journal)[0]["tests"]]))
                    yield tasks[-1]
        except UsageError as error:
            raise UsageError(str(error).replace(str(root), str(subject.root))) from None
    if not tasks:
        raise UsageError(f"no bug in {subject.root} is noticed by two tests and missed by one: add tests")
    rows = _rows(journal)
    head = {"format": FORMAT, "repository": subject.root.name, "kind": YOURS, "digest": subject.digest}
    scans = [row for row in rows if row.get("scanned") in subject.sources]
    write_whole(out, b"".join(map(to_line, [{**head, "tests": rows[0]["tests"]}, *scans, *tasks])))
    Book(out)
    journal.unlink()


def told(row: Row, tests: list[str]) -> Row:
    """Return a task with the test that is shown and the issue that tells of it."""
    failing = int(row["failing"], 16)
    shown = (failing & -failing).bit_length() - 1
    words = tests[shown].rpartition("::")[2].removeprefix("test_").replace("_", " ")
    return {**row, "shown": shown, "issue": f"This does not hold any more: {words}."}


def _rows(journal: Path) -> list[Row]:
    return [json.loads(line) for line in journal.read_bytes().splitlines()]
