"""A benchmark that is measured by hand, now and then, still runs."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

FOLDER = Path(__file__).parents[1] / "benchmarks"


@pytest.mark.slow
def test_the_agents_speed_is_measured_and_written(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    small = ["--episodes", "4", "--group", "2", "--horizon", "2", "--plain-episodes", "1", "--choices", "1"]
    command = [sys.executable, str(FOLDER / "agent.py"), "speed", "--model", "tiny", *small, "--reflection-tokens", "4"]
    done = subprocess.run([*command, "--out", str(page)], capture_output=True, text=True, check=False)
    assert done.returncode in (0, 1), done.stderr  # 1: an aim does not hold, at this size
    rows = [line for line in page.read_text().splitlines() if line.startswith(("| rollout", "| labels"))]
    assert len(rows) == 3
    assert all(row.rstrip("| ").endswith(("yes", "NO")) for row in rows)


@pytest.mark.slow
def test_the_reflectors_speed_is_measured_and_its_texts_are_those_of_generate(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    small = ["--tasks", "1", "--group", "3", "--steps", "2", "--reflection-tokens", "4", "--out", str(page)]
    command = [sys.executable, str(FOLDER / "agent.py"), "reflections", "--model", "tiny", *small]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    (first,) = [line for line in page.read_text().splitlines() if line.startswith("| 1 |")]
    assert first.startswith("| 1 | 3 | 1 |")  # three episodes of one task begin alike: one prompt is answered
    assert first.endswith("| 3 of 3 |")
