"""Paths that are not there, and functions that nobody wrote, are one line in every command of the leaderboard."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from typer.testing import CliRunner

from leaderboard.audit import audit
from leaderboard.audit.agent_process import start_agent
from leaderboard.baselines import make_baselines
from leaderboard.pack import read_curve
from leaderboard.result import LEDGER_FILE
from leaderboard.verify import verify
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
        (["commit", "--agent", "reflect-rl:tpyo/run", *BOARD], "reflect-rl:tpyo/run has no files here that a digest"),
        (["commit", "--agent", "random", *BOARD], "random has no files here that a digest covers"),
        (["ledger"], "submissions holds no entry"),
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


def test_a_misspelt_folder_of_entries_leaves_the_ledger(
    command: Callable[..., Finished], submissions: Path, tmp_path: Path
) -> None:
    assert command("ledger", "--submissions", submissions).code == 0
    before = (tmp_path / LEDGER_FILE).read_bytes()
    assert command("ledger", "--submissions", tmp_path / "submisions").code == 2
    assert (tmp_path / LEDGER_FILE).read_bytes() == before


def test_nobody_is_told_to_delete_a_run_or_the_entries_of_others(run_folder: Path, submissions: Path) -> None:
    with pytest.raises(UsageError, match="is a run and no entry: pack it first"):
        verify(run_folder)
    with pytest.raises(UsageError, match=r"holds no submission\.json: name the folder of one entry"):
        verify(submissions)


@pytest.mark.parametrize("beacon", ["", "  ", "--note"])
def test_an_audit_takes_no_empty_beacon(beacon: str, entry: Path) -> None:
    with pytest.raises(UsageError, match="give a public text fixed after the entry"):
        audit(entry, "random", beacon)


@pytest.mark.parametrize("flag", ["network", "gpu", "isolated"])
def test_what_opens_the_agents_process_is_true_or_false(flag: str) -> None:
    with (
        pytest.raises(UsageError, match=f"{flag} must be True or False, not 'no'"),
        start_agent("random", **{flag: "no"}),
    ):
        pass


def test_baselines_of_an_unknown_board_are_refused_and_a_failed_packing_leaves_the_entry(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(UsageError, match="unknown protocol 'dangerous-taxi-pikup/v1'"):
        make_baselines(tmp_path / "submissions", ["dangerous-taxi-pikup/v1"])
    made = make_baselines(tmp_path / "submissions", ["dangerous-taxi-pickup/v1"])
    monkeypatch.setattr("leaderboard.baselines.pack", lambda *_, **__: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        make_baselines(tmp_path / "submissions", ["dangerous-taxi-pickup/v1"])
    assert all((each / "submission.json").exists() for each in made)
