"""The dry run of docs/agent_gpu.md works on a CPU, word for word."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from pathlib import Path

from natlang_envs.evaluation import read_run

ROOT = Path(__file__).parents[2]
MODULES = {"reflect-rl": "reference_agent.__main__", "natlang": "natlang_envs.cli"}


def test_the_dry_run_trains_and_is_evaluated(tmp_path: Path) -> None:
    text = (ROOT / "docs/agent_gpu.md").read_text(encoding="utf-8").partition("<!-- dry run -->")[2]
    commands = [shlex.split(line.removeprefix("$ ")) for line in text.splitlines() if line.startswith("$ ")]
    assert [each[0] for each in commands] == ["reflect-rl", "natlang"]
    (tmp_path / "reference_agent").symlink_to(ROOT / "reference_agent")  # the model is named from the checkout
    variables = {**os.environ, "PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"}
    for name, *arguments in commands:
        start = f"from {MODULES[name]} import main; main()"
        done = subprocess.run(
            [sys.executable, "-c", start, *arguments],
            cwd=tmp_path,
            env=variables,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr
    assert len(read_run(tmp_path / "runs/dry/evaluation")[1]) == 100
