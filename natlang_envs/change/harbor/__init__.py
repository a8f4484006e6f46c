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
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from natlang_envs.change.free_edits.pinned_pytest import WHEELS
from natlang_envs.change.free_edits.sandbox_tests import SCRIPTS
from natlang_envs.change.free_edits.test_files import by_file, function_of, without
from natlang_envs.change.listed_edits.tasks import ChangeTask
from natlang_envs.change.making.fork_runner import names_of
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


class HarborQuestion(NamedTuple):
    """A question about a repository."""

    id: str  # `repository/…`
    split: str
    text: str
    targets: tuple[str, ...]  # the files that answer it
    folder: Path  # of the repository


class HarborChange(NamedTuple):
    """A change task, and the split that it is of."""

    task: ChangeTask
    split: str


class _Folder(NamedTuple):
    """A task as a folder: texts, and copies of a repository with other texts for some of its files."""

    name: str
    head: dict[str, str]  # for `task.toml`
    texts: dict[str, str]
    copies: Mapping[str, Mapping[str, str]]
    repository: Repository


def write_tasks(folder: Path, tasks: Iterable[HarborQuestion | HarborChange]) -> Iterator[Path]:
    """Write tasks into a folder, and yield the folder of each.

    Equal files of the same repository are one on the disk, where it allows several names for a file.
    """
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise UsageError(f"{folder} is not empty: choose another folder")
    first: dict[tuple[Path, str], Path] = {}  # the copy of a file that was written first
    for task in tasks:
        made = _question(task) if isinstance(task, HarborQuestion) else _change(task.task, task.split)
        for path, text in {"task.toml": _TASK.format(name=made.name, **made.head), **made.texts}.items():
            write_whole(folder / made.name / path, text.encode())
        for copy, other in made.copies.items():
            for path in _files(made.repository):
                target = folder / made.name / copy / path
                if path in other:
                    write_whole(target, other[path].encode())
                else:
                    target.parent.mkdir(parents=True, exist_ok=True)
                    _copy(made.repository, path, target, first.setdefault((made.repository.path, path), target))
        yield folder / made.name


def _copy(repository: Repository, path: str, target: Path, first: Path) -> None:
    if first is not target:
        with suppress(OSError):
            os.link(first, target)
            return
    target.write_bytes(repository.read(path))
    target.chmod(0o755 if repository.is_executable(path) else 0o644)


def _files(repository: Repository, path: str = "") -> Iterator[str]:
    """Yield the paths of all files, without those that no player may read."""
    here = repository.folder(path)
    prefix = f"{path}/" if path else ""
    yield from (prefix + name for name in here.files if not repository.is_locked(prefix + name))
    for name in here.folders:
        yield from _files(repository, prefix + name)


def _name(task_id: str, board: str) -> str:
    return re.sub(r"[^A-Za-z0-9._-]+", "-", f"{board}-{task_id}").lower()


def _question(task: HarborQuestion) -> _Folder:
    about = json.dumps("Find the file of a repository that answers a question.")
    head = {"board": "autoexplore", "task_id": json.dumps(task.id), "split": task.split, "artifact": _ANSWER}
    answer = shlex.quote(task.targets[0])
    texts = {
        "instruction.md": _QUESTION.format(question=task.text),
        "environment/Dockerfile": f"FROM {IMAGE}\nCOPY repository {_REPOSITORY}\nWORKDIR {_REPOSITORY}\n",
        "tests/Dockerfile": f"FROM {IMAGE}\nCOPY . /tests/\nWORKDIR /app\n",
        "tests/test.sh": _GREP,
        "tests/targets.txt": "".join(f"{each}\n" for each in task.targets),
        "solution/solve.sh": f"#!/bin/sh\nprintf '%s\\n' {answer} > {_ANSWER}\n",
    }
    copies: Mapping[str, Mapping[str, str]] = {"environment/repository": {}}
    return _Folder(_name(task.id, "explore"), {**head, "about": about}, texts, copies, open_repository(task.folder))


def _change(task: ChangeTask, split: str) -> _Folder:
    repository = task.repository
    known = open_repository(repository.root)
    broken = {task.file: task.source(task.file).text}
    pinned = change_repositories().get(repository.task_file.repository)
    judged = {
        "sources": sorted(repository.texts),
        "tests": list(repository.tests),
        "arguments": list(pinned.arguments) if pinned else [],
        "broken": broken,
    }
    run = shlex.join(["python", "-m", "pytest", *judged["arguments"]]).replace("{root}", _REPOSITORY)
    about = json.dumps("Mend a Python repository in which one place is wrong.")
    head = {"board": "autoexplore-change", "task_id": json.dumps(task.id), "split": split, "artifact": _REPOSITORY}
    target = shlex.quote(f"{_REPOSITORY}/{task.file}")
    scripts = (Path(__file__).with_name("judge.py"), *(SCRIPTS / f"{each}.py" for each in _SCRIPTS))
    image = f"FROM {IMAGE}\n{_PYTEST}\n"
    texts = {
        "instruction.md": _CHANGE.format(issue=task.question, run=run),
        "environment/Dockerfile": f"{image}COPY repository {_REPOSITORY}\nWORKDIR {_REPOSITORY}\n",
        "tests/Dockerfile": f"{image}COPY . /tests/\nRUN python /tests/judge.py record\nWORKDIR /app\n",
        "tests/test.sh": _JUDGE,
        **{f"tests/{each.name}": each.read_text(encoding="utf-8") for each in scripts},
        "tests/judged.json": json.dumps(judged, indent=1),
        "solution/mended": repository.texts[task.file],
        "solution/solve.sh": f"#!/bin/sh\ncp /solution/mended {target}\n",
    }
    copies = {"environment/repository": {**broken, **_seen_tests(task, known)}, "tests/repository": {}}
    return _Folder(_name(task.id, "change"), {**head, "about": about}, texts, copies, known)


def _seen_tests(task: ChangeTask, known: Repository) -> dict[str, str]:
    """Return the files of tests without those that a player may not know."""
    tests = task.repository.tests
    shown = set(map(function_of, names_of(task.visible, tests)))
    hidden = by_file(set(map(function_of, tests)) - shown)
    return {file: without(known.read(file).decode(), names) for file, names in hidden.items()}
