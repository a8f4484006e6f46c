"""The dry runs of docs/dev/agent.md work on a CPU, word for word."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from natlang_envs.evaluation import read_run

ROOT = Path(__file__).parents[2]
MODULES = {
    "reflect-rl": "reference_agent.__main__",
    "natlang": "natlang_envs.cli.main",
    "torchrun": "torch.distributed.run",
}


def dry_runs() -> list[list[str]]:
    text = (ROOT / "docs/dev/agent.md").read_text(encoding="utf-8").partition("<!-- dry run -->")[2]
    commands = [shlex.split(line.removeprefix("$ ")) for line in text.splitlines() if line.startswith("$ ")]
    assert [each[0] for each in commands] == ["reflect-rl", "natlang", "torchrun", "reflect-rl", "reflect-rl"]
    return commands


def run(folder: Path, name: str, *arguments: str) -> None:
    (folder / "reference_agent").symlink_to(ROOT / "reference_agent")  # the model is named from the checkout
    done = subprocess.run(
        [sys.executable, "-c", f"from {MODULES[name]} import main; main()", *arguments],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    (folder / "reference_agent").unlink()
    assert done.returncode == 0, done.stderr


@pytest.mark.slow
def test_the_first_dry_run_trains_and_is_evaluated(tmp_path: Path) -> None:
    for command in dry_runs()[:2]:
        run(tmp_path, *command)
    assert len(read_run(tmp_path / "runs/dry/evaluation")[1]) == 100


@pytest.mark.slow
@pytest.mark.parametrize(
    ("command", "made"),
    list(zip(dry_runs()[2:], ("dry-2/policy", "dry-paper/policy", "dry-table/table2.md"), strict=True)),
)
def test_the_other_dry_runs_end(command: list[str], made: str, tmp_path: Path) -> None:
    run(tmp_path, *command)
    assert (tmp_path / "runs" / made).exists()
