"""Paths that are not there, and functions that nobody wrote, are one line in every command of the leaderboard."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

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
