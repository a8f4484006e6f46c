"""Tasks as folders that Harbor runs: an instruction, an environment, tests and a solution.

`natlang data export DIR --format harbor` writes them. A question asks for the path of a file in `/app/answer.txt`; a
change is made in `/app/repository`. Tests run in a container of their own, which the player never sees.
"""

from __future__ import annotations

import json
import os
import re
import shlex
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

from natlang_envs.change.free_edits.pinned_pytest import WHEELS
from natlang_envs.change.free_edits.sandbox_tests import SCRIPTS
from natlang_envs.change.free_edits.test_files import function_of, without
from natlang_envs.change.listed_edits.tasks import Bench
from natlang_envs.change.repositories import change_repositories
from natlang_envs.errors import UsageError
from natlang_envs.files import write_whole
from natlang_envs.repository.tree import Repository, open_repository

IMAGE = "python:3.12-slim"
_REPOSITORY, _ANSWER = "/app/repository", "/app/answer.txt"
_PYTEST = f"RUN python -m pip install --no-cache-dir {' '.join(f'{each.name}=={each.version}' for each in WHEELS)}"
_SCRIPTS = ("calls", "referee", "verdict")
_QUESTION = f"""A repository lies in `{_REPOSITORY}`. Find a file in it that answers this question:

{{question}}

Write the path of the file, relative to `{_REPOSITORY}`, as the only line of `{_ANSWER}`.
"""
_CHANGE = f"""A Python repository lies in `{_REPOSITORY}`. Something in one of its sources is wrong. Mend what this
issue reports:

{{issue}}

Change sources in place. `{{run}}` runs the tests there. Tests that you do not see judge the sources, too; changed tests
and settings do not count.
"""
_TASK = """schema_version = "1.4"
artifacts = ["{artifact}"]

[task]
name = "natlang-envs/{name}"
description = {about}
keywords = ["natlang_envs", "{board}"]

[metadata]
task_id = {task_id}
split = "{split}"

[agent]
timeout_sec = 900.0

[environment]
build_timeout_sec = 600.0
cpus = 1
memory_mb = 2048

[verifier]
timeout_sec = 900.0
environment_mode = "separate"
"""
_GREP = f"""#!/bin/sh
# The reward: 1 where the first line of the answer is the path of a file that answers the question, else 0.
mkdir -p /logs/verifier
answer=$(head -n 1 {_ANSWER} 2>/dev/null | sed 's/[[:space:]]*$//; s#^{_REPOSITORY}/##; s#^\\./##')
if [ -n "$answer" ] && grep -Fxq -e "$answer" /tests/targets.txt; then reward=1; else reward=0; fi
echo "$reward" > /logs/verifier/reward.txt
"""
_JUDGE = """#!/bin/sh
exec python /tests/judge.py
"""


class Question(NamedTuple):
    """A question about a repository.

    Attributes:
        id: `repository/…`.
        split: The split that it is of.
        text: What is asked.
        targets: The files that answer it.
        folder: Where the repository lies.
    """

    id: str
    split: str
    text: str
    targets: tuple[str, ...]
    folder: Path


class Change(NamedTuple):
    """A change task, and the split that it is of."""

    bench: Bench
    split: str


class _Written:
    """A folder of tasks: equal files of it are one on the disk, where it can have several names."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._first: dict[tuple[Path, str], Path] = {}

    def text(self, path: str, text: str) -> None:
        (self.folder / path).parent.mkdir(parents=True, exist_ok=True)
        write_whole(self.folder / path, text.encode())

    def repository(self, path: str, known: Repository, other: Mapping[str, str]) -> None:
        """Write a repository, with other texts for some of its files."""
        for each in _files(known):
            target = self.folder / path / each
            target.parent.mkdir(parents=True, exist_ok=True)
            if each in other:
                self.text(f"{path}/{each}", other[each])
                continue
            first = self._first.setdefault((known.path, each), target)
            try:
                if first is not target:
                    os.link(first, target)
                    continue
            except OSError:
                pass
            target.write_bytes(known.read(each))
            target.chmod(0o755 if known.is_executable(each) else 0o644)


def write_tasks(folder: Path, tasks: Iterable[Question | Change]) -> Iterator[Path]:
    """Write tasks into a folder, and yield the folder of each.

    Raises:
        UsageError: The folder is not empty, or a task's repository is not here.
    """
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise UsageError(f"{folder} is not empty: choose another folder")
    written = _Written(folder)
    for task in tasks:
        write = _write_question if isinstance(task, Question) else _write_change
        yield folder / write(written, task)  # pyright: ignore[reportArgumentType]


def _files(repository: Repository, path: str = "") -> Iterator[str]:
    """Yield the paths of all files, without those that no player may read."""
    here = repository.folder(path)
    prefix = f"{path}/" if path else ""
    yield from (prefix + name for name in here.files if not repository.is_locked(prefix + name))
    for name in here.folders:
        yield from _files(repository, prefix + name)


def _name(task_id: str, board: str) -> str:
    return re.sub(r"[^A-Za-z0-9._-]+", "-", f"{board}-{task_id}").lower()


def _about(written: _Written, name: str, board: str, task_id: str, split: str, artifact: str, about: str) -> None:
    told = {"about": json.dumps(about), "task_id": json.dumps(task_id)}
    written.text(f"{name}/task.toml", _TASK.format(name=name, board=board, split=split, artifact=artifact, **told))


def _write_question(written: _Written, task: Question) -> str:
    name = _name(task.id, "explore")
    about = "Find the file of a repository that answers a question."
    _about(written, name, "autoexplore", task.id, task.split, _ANSWER, about)
    written.text(f"{name}/instruction.md", _QUESTION.format(question=task.text))
    written.text(
        f"{name}/environment/Dockerfile", f"FROM {IMAGE}\nCOPY repository {_REPOSITORY}\nWORKDIR {_REPOSITORY}\n"
    )
    written.repository(f"{name}/environment/repository", open_repository(task.folder), {})
    written.text(f"{name}/tests/Dockerfile", f"FROM {IMAGE}\nCOPY . /tests/\nWORKDIR /app\n")
    written.text(f"{name}/tests/test.sh", _GREP)
    written.text(f"{name}/tests/targets.txt", "".join(f"{each}\n" for each in task.targets))
    answer = shlex.quote(task.targets[0])
    written.text(f"{name}/solution/solve.sh", f"#!/bin/sh\nprintf '%s\\n' {answer} > {_ANSWER}\n")
    return name


def _write_change(written: _Written, task: Change) -> str:
    bench = task.bench
    name = _name(bench.id, "change")
    known = open_repository(bench.shelf.root)
    broken = {bench.file: bench.source(bench.file).text, **_seen_tests(bench, known)}
    pinned = change_repositories().get(bench.shelf.book.repository)
    judged = {
        "sources": sorted(bench.shelf.texts),
        "tests": list(bench.shelf.tests),
        "arguments": list(pinned.arguments) if pinned else [],
        "broken": {bench.file: broken[bench.file]},
    }
    run = shlex.join(["python", "-m", "pytest", *judged["arguments"]]).replace("{root}", _REPOSITORY)
    about = "Mend a Python repository in which one place is wrong."
    _about(written, name, "autoexplore-change", bench.id, task.split, _REPOSITORY, about)
    written.text(f"{name}/instruction.md", _CHANGE.format(issue=bench.question, run=run))
    copied = f"COPY repository {_REPOSITORY}\nWORKDIR {_REPOSITORY}\n"
    written.text(f"{name}/environment/Dockerfile", f"FROM {IMAGE}\n{_PYTEST}\n{copied}")
    written.repository(f"{name}/environment/repository", known, broken)
    recorded = "COPY . /tests/\nRUN python /tests/judge.py record\nWORKDIR /app\n"
    written.text(f"{name}/tests/Dockerfile", f"FROM {IMAGE}\n{_PYTEST}\n{recorded}")
    written.text(f"{name}/tests/test.sh", _JUDGE)
    for each in (Path(__file__).with_name("judge.py"), *(SCRIPTS / f"{each}.py" for each in _SCRIPTS)):
        written.text(f"{name}/tests/{each.name}", each.read_text(encoding="utf-8"))
    written.text(f"{name}/tests/judged.json", json.dumps(judged, indent=1))
    written.repository(f"{name}/tests/repository", known, {})
    written.text(f"{name}/solution/mended", bench.shelf.texts[bench.file])
    target = shlex.quote(f"{_REPOSITORY}/{bench.file}")
    written.text(f"{name}/solution/solve.sh", f"#!/bin/sh\ncp /solution/mended {target}\n")
    return name


def _seen_tests(bench: Bench, known: Repository) -> dict[str, str]:
    """Return the files of tests without those that a player may not know."""
    hidden: dict[str, set[str]] = {}
    shown = {function_of(test) for bit, test in enumerate(bench.shelf.tests) if bench.visible >> bit & 1}
    for bit, test in enumerate(bench.shelf.tests):
        file, function = function_of(test)
        if not bench.visible >> bit & 1 and (file, function) not in shown:
            hidden.setdefault(file, set()).add(function)
    return {file: without(known.read(file).decode(), names) for file, names in hidden.items()}
