"""`natlang data mutate`: tasks of a user's own repository, and what is left out or refused, in one line each."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from natlang_envs.autoexplore.changing.picking.own import mutate, open_own
from natlang_envs.autoexplore.changing.running import SECONDS
from tests.support.folders import write
from tests.support.kiosk import TASKS, kiosk


def command(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    words = [sys.executable, "-m", "natlang_envs.cli", "data", "mutate", "-o", "bugs.jsonl", *arguments]
    environment = {**os.environ, "COLUMNS": "200"}
    return subprocess.run(words, cwd=folder, env=environment, capture_output=True, text=True, check=False)


def test_the_same_repository_has_the_same_tasks_and_a_killed_making_goes_on(tmp_path: Path) -> None:
    """And the tasks of the other tests are still those that are made."""
    subject, left_out = open_own(kiosk(tmp_path), ["tests/"])
    assert left_out == ["kiosk/__init__.py: nothing in it can be edited"]
    out = tmp_path / "bugs.jsonl"
    making = mutate(subject, out, 8, SECONDS)
    first = next(making)
    making.close()
    assert not out.exists()
    assert next(iter(made := list(mutate(subject, out, 8, SECONDS)))) == first
    assert len(made) == 3
    assert out.read_bytes() == TASKS.read_bytes()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["bugs.jsonl", "kiosk"]
    assert not (tmp_path / "kiosk" / "left.txt").exists()  # a test writes it


@pytest.mark.parametrize(
    ("files", "says"),
    [
        ({"tests/test_kiosk.py": None}, "tests does not exist: name the folder with the tests"),
        ({"tests/test_kiosk.py": "def helper():\n    pass\n"}, "cannot be collected: run pytest there"),
        ({"tests/test_bad.py": "def test_b():\n    assert 0\n"}, "test_b fails before anything is broken: mend it"),
        ({"tests/test_slow.py": "def test_s():\n    while True:\n        pass\n"}, "take too long"),
        (
            {"tests/test_flaky.py": "import time\n\n\n" + "".join(
                f"def test_{each}():\n    assert time.time_ns() // 1000 % 2\n\n\n" for each in range(40))},
            "fails before anything is broken",
        ),
        (
            {"tests/test_order.py": "seen = []\n\n\n" + "".join(
                f"def test_{each}():\n    seen.append({each})\n    assert seen == list(range({each + 1}))\n\n\n"
                for each in range(5))},
            "its outcome depends on chance or order",
        ),
        ({"kiosk/prices.py": "def total(:\n"}, "run pytest there"),
        ({"kiosk/prices.py": "", "kiosk/days.py": "", "tests/test_kiosk.py": ""}, "has no source that can be edited"),
    ],
)  # fmt: skip
def test_a_repository_that_cannot_be_used_is_refused_in_one_line(
    tmp_path: Path, files: dict[str, str | None], says: str
) -> None:
    root = kiosk(tmp_path)
    for name, content in files.items():
        if content is None:
            shutil.rmtree((root / name).parent)
        else:
            write(root, {name: content})
    done = command(tmp_path, "--repo", "kiosk", "--seconds", "1")
    assert done.returncode == 2, done.stdout
    assert says in done.stderr
    assert len(done.stderr.strip().splitlines()[-1:]) == 1
    assert "natlang-mutate-" not in done.stderr
    assert not (tmp_path / "bugs.jsonl").exists()


def test_a_source_that_is_no_python_is_left_out_by_name(tmp_path: Path) -> None:
    write(kiosk(tmp_path), {"kiosk/draft.py": "def total(:\n", "kiosk/old.py": "a = 1\rb = 2\n"})
    _, left_out = open_own(tmp_path / "kiosk", ["tests"])
    assert [each.partition(":")[0] for each in left_out] == ["kiosk/__init__.py", "kiosk/draft.py", "kiosk/old.py"]
    assert "not Python of this version: line 1" in left_out[1]
