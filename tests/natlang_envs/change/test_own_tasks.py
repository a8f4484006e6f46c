"""`natlang data mutate`: tasks of a user's own repository, and what is left out or refused, in one line each."""

from __future__ import annotations

import re
import shutil
import subprocess
from contextlib import chdir
from pathlib import Path

import pytest

from natlang_envs import UsageError
from natlang_envs.change.making.fork_runner import SECONDS, open_tested
from natlang_envs.change.making.make_tasks import mutate
from natlang_envs.change.task_files import open_task_file
from tests.support.folders import write
from tests.support.here import run_here
from tests.support.kiosk import TASKS, kiosk


def command(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    with chdir(folder):
        return run_here("natlang", "data", "mutate", "-o", "bugs.jsonl", *arguments, environment={"COLUMNS": "200"})


@pytest.mark.slow
def test_the_same_repository_has_the_same_tasks_and_a_killed_making_goes_on(tmp_path: Path) -> None:
    """And the tasks of the other tests are still those that are made."""
    subject = open_tested(kiosk(tmp_path), ["tests"])
    out = tmp_path / "bugs.jsonl"
    told: list[tuple[str, int, int]] = []
    making = mutate(subject, out, 8, SECONDS, lambda *counts: told.append(counts))
    while "scanned" not in next(making):
        pass
    making.close()
    assert not out.exists()
    done = [(number, total) for what, number, total in told if what == "edits"]
    assert done == sorted(done)
    assert len({total for _, total in done}) == 1
    for tests, seconds in ((["tests/test_kiosk.py"], SECONDS), (["tests"], 0.5)):
        with pytest.raises(UsageError, match="is of other tests, arguments, seconds or interpreters"):
            next(mutate(open_tested(tmp_path / "kiosk", tests), out, 8, seconds))
    assert len([row for row in mutate(subject, out, 8, SECONDS) if "issue" in row]) == 3
    made, expected = (path.read_text(encoding="utf-8").splitlines() for path in (out, TASKS))
    python = '"python":["'
    assert made[0].partition(python)[0] == expected[0].partition(python)[0]
    assert made[1:] == expected[1:]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["bugs.jsonl", "kiosk"]
    assert not (tmp_path / "kiosk" / "left.txt").exists()  # a test writes it


BAD: dict[str, bytes | str] = {
    "kiosk/draft.py": "def total(:\n",
    "kiosk/old.py": "a = 1\rb = 2\n",
    "tests/test_bad.py": "def test_bad():\n    assert 0\n",
    "tests/test_slow.py": "def test_slow():\n    while True:\n        pass\n",
    "tests/test_broken.py": "import nothing_of_that_name\n",
    "tests/test_child.py": "import os\n\n\ndef test_child():\n    if os.fork() == 0:\n        os._exit(0)\n",
    "tests/test_order.py": "seen = []\n\n\ndef test_a():\n    seen.append(1)\n\n\ndef test_b():\n    assert not seen\n",
}


@pytest.mark.slow  # test_usable_tests.py has the same without the command
def test_what_cannot_be_used_is_left_out_in_one_line_each(tmp_path: Path) -> None:
    write(kiosk(tmp_path), BAD)
    done = command(tmp_path, "--repo", "kiosk", "--tests", "tests/", "--count", "2")
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert lines[-1] == "2 tasks of kiosk are in bugs.jsonl."
    for name in BAD:
        (said,) = [line for line in lines if line.startswith(name)]
        assert " is left out: it " in said
    assert len(lines) == len(BAD) + 2  # the kiosk has a test that writes
    task_file = open_task_file(tmp_path / "bugs.jsonl")
    assert (task_file.kind, len(task_file.tests)) == ("yours", 7)  # of the two that depend on their order, one stays


@pytest.mark.parametrize(
    ("files", "says"),
    [
        ({"tests": None}, "tests does not exist: name the folder with the tests"),
        ({"tests/test_kiosk.py": "def helper():\n    pass\n"}, "run pytest there"),
        (
            {"tests/test_kiosk.py": "def test_bad():\n    assert 0\n"},
            "has no tests that can be used, such as tests/test_",
        ),
        (
            {"tests/test_kiosk.py": "def test_good():\n    pass\n"},
            "reaches its sources: do they import a copy that is installed?",
        ),
        (
            {"tests/test_kiosk.py": "import kiosk.prices as p\n\ndef test_one():\n    assert p.total([1], 0) == 1\n"},
            "is noticed by two tests and missed by one: add tests",
        ),
        ({"kiosk": None}, "has no Python sources outside tests"),
    ],
)
def test_a_repository_that_cannot_be_used_is_refused_in_one_line(
    tmp_path: Path, files: dict[str, str | None], says: str
) -> None:
    root = kiosk(tmp_path)
    for name, content in files.items():
        if content is None:
            shutil.rmtree(root / name)
        else:
            write(root, {name: content})
    done = command(tmp_path, "--repo", "kiosk")
    assert done.returncode == 2, done.stdout
    assert says in done.stderr.strip().splitlines()[-1]
    assert "Traceback" not in done.stderr
    assert not (tmp_path / "bugs.jsonl").exists()


def test_a_file_of_another_name_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"does not end in \.jsonl"):
        next(mutate(open_tested(kiosk(tmp_path)), tmp_path / "bugs.json", 1, SECONDS))


def test_a_file_that_is_there_is_not_written_over(tmp_path: Path) -> None:
    kiosk(tmp_path)
    notes = tmp_path / "bugs.jsonl"
    notes.write_text('{"mine": 1}\n')
    done = command(tmp_path, "--repo", "kiosk")
    assert (done.returncode, done.stderr.splitlines()[-1]) == (
        2,
        "natlang: bugs.jsonl is there, and runs may have been played on it: choose another name, or delete it",
    )
    assert notes.read_text() == '{"mine": 1}\n'


def test_a_run_of_tasks_of_ones_own_is_replayed_with_what_is_named(tmp_path: Path) -> None:
    shutil.copy(TASKS, tmp_path / "bugs.jsonl")
    kiosk(tmp_path)
    play = ["evaluate", "--agent", "nothing", "--tasks", "bugs.jsonl", "--repo", "kiosk", "--out", "run"]
    for words in (play, ["replay", "run"]):
        with chdir(tmp_path):
            done = run_here("natlang", *words)
    assert done.returncode == 2
    assert re.fullmatch(r"natlang: run was played on your own own/\w+: add --labels or --tasks FILE.*\n", done.stderr)
