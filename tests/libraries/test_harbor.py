"""Harbor's own checker on the task folders that `natlang data export --format harbor` writes."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("harbor", reason="Harbor is not installed: run `make libraries` with Python 3.12 or later")
from harbor.models.task.task import Task

from natlang_envs.change.harbor import write_tasks
from tests.natlang_envs.change.test_harbor import changes, questions


def lint(*folders: Path) -> tuple[int, str]:
    harbor = Path(sys.executable).with_name("harbor")
    done = subprocess.run([harbor, "lint", *folders], capture_output=True, text=True, check=False)
    return done.returncode, done.stdout


def test_harbor_reads_each_task_and_its_checker_finds_nothing(tmp_path: Path) -> None:
    asked = [*questions(), *changes()]
    folders = list(write_tasks(tmp_path, asked))
    assert lint(*folders) == (0, "")
    for each, folder in zip(asked, folders, strict=True):
        assert Task.is_valid_dir(folder)
        task = Task(folder)
        words = each.bench.question if hasattr(each, "bench") else each.text
        assert words in task.instruction
        assert task.name == f"natlang-envs/{folder.name}"
        assert task.paths.discovered_solve_path is not None
        assert [str(one) for one in task.config.artifacts] == [
            "/app/repository" if hasattr(each, "bench") else "/app/answer.txt"
        ]


def test_the_checker_would_find_an_unknown_field_and_that_there_is_no_instruction(tmp_path: Path) -> None:
    (folder,) = write_tasks(tmp_path, questions(1))
    config = folder / "task.toml"
    config.write_text(config.read_text(encoding="utf-8") + "\nsecnods = 3\n", encoding="utf-8")
    code, said = lint(folder)
    assert code == 1
    assert "unknown-config-field" in said
    (folder / "instruction.md").unlink()
    assert not Task.is_valid_dir(folder)
