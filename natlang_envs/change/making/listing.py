"""Files of finished tasks, one a repository: made from a journal, the same bytes each time."""

from __future__ import annotations

import gzip
from pathlib import Path

from natlang_envs.change.making.make_tasks import FORMAT, Row, read_journal
from natlang_envs.errors import UsageError
from natlang_envs.files import json_line, write_whole

PYTHONS = ("3.11", "3.12", "3.13")  # under which the tasks are the same


def write_book(journal: Path, out: Path, repository: str, kind: str, pythons: tuple[str, ...] = PYTHONS) -> int:
    """Write a journal's finished tasks, and what each edit makes fail where nothing is broken.

    Args:
        journal: The journal; its making is at its end.
        out: The file of tasks, compressed if its name ends in `.gz`.
        repository: What the repository is called.
        kind: Whose it is: `own`, `public` or `yours`.
        pythons: The versions under which the tasks were checked.

    Returns:
        How many tasks there are.

    Raises:
        UsageError: There are none.
    """
    rows = read_journal(journal)
    tasks = [row for row in rows if "issue" in row]
    if not tasks:
        raise UsageError(f"{journal} holds no finished task: go on with making")
    head: Row = {
        "format": FORMAT, "repository": repository, "kind": kind, "digest": rows[0]["repository"],
        "tests": rows[0]["tests"], "python": list(pythons),
    }  # fmt: skip
    scans = [
        {name: row[name] for name in ("scanned", "outcomes", "edits", "covered")} for row in rows if "scanned" in row
    ]
    out.parent.mkdir(parents=True, exist_ok=True)
    text = b"".join(map(json_line, [head, *tasks, *scans]))
    write_whole(out, gzip.compress(text, mtime=0) if out.suffix == ".gz" else text)
    return len(tasks)
