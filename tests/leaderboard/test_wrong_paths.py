"""Paths that are not there, and functions that nobody wrote, are one line in every command of the leaderboard."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from typer.testing import CliRunner

from leaderboard.pack import read_curve
from natlang_envs.cli.main import app as natlang
from natlang_envs.errors import UsageError
from tests.leaderboard.conftest import Finished
from tests.leaderboard.test_audit import AGENTS

BOARD = ["--board", "dangerous-taxi-pickup-cities/v1", "--name", "mine"]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["commit", "--agent", "audited:south", "--files", "nowhere", *BOARD], "--files nowhere does not exist"),
        (
            ["commit", "--agent", "audited:souht", *BOARD],
            "module 'audited' has no 'souht': write --agent audited:FUNCTION",
        ),
    ],
)
def test_it_is_said_in_a_line(
    arguments: list[str], words: str, command: Callable[..., Finished], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.copy(AGENTS, tmp_path)
    monkeypatch.chdir(tmp_path)
    done = command(*arguments, "--submissions", tmp_path / "submissions")
    assert done.code == 2, done
    assert len(done.err) == 1
    assert words in done.err[0]


def test_a_curve_that_is_not_there_and_a_report_in_a_new_folder(
    command: Callable[..., Finished], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(UsageError, match=r"nowhere/curve\.json is no file: give the curve\.json of reflect-rl train"):
        read_curve(Path("nowhere/curve.json"))
    report = tmp_path / "new" / "report.md"
    assert command("check-changes", "HEAD", "--report", report).code == 0
    assert report.read_text().strip()


@pytest.mark.parametrize("name", ["round", "folder.json"])
def test_a_round_is_written_where_it_can_be_read(name: str, tmp_path: Path) -> None:
    (tmp_path / "folder.json").mkdir()
    out = ["--out", str(tmp_path / name)]
    done = CliRunner().invoke(natlang, ["protocol", "live", "dangerous-taxi-pickup-cities/v1", "--beacon", "x", *out])
    assert isinstance(done.exception, UsageError)
    assert "is no name of a file that ends in .json" in str(done.exception)
    assert not (tmp_path / "round").exists()
