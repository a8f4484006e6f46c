"""The committed rows of the unlearned agents are what these agents do today."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from leaderboard.baselines import baselines, make_baselines
from leaderboard.standings import standings
from leaderboard.verify import verify
from natlang_envs.evaluation import load_protocol, protocol_names
from natlang_envs.evaluation.runs import TRAJECTORIES_FILE
from natlang_envs.trajectory import read_trajectories
from tests.archives import needs_repositories
from tests.leaderboard.forge import PROTOCOL

COMMITTED = Path(__file__).parents[2] / "leaderboard" / "submissions"

all_repositories = needs_repositories(*protocol_names())  # every entry is replayed


def _board(name: str) -> Any:
    """Return a board, as slow where it plans searches, runs tests in the sandbox, or another is of its kind."""
    costly = ("autoexplore", "alfworld-generated")
    slow = (name.startswith(costly) and name != "autoexplore-depth2-hard/v1") or "-cities/" in name
    return pytest.param(name, marks=pytest.mark.slow if slow else ())


@all_repositories
@pytest.mark.parametrize("board", [*map(_board, protocol_names())])
def test_committed_baselines_hold_and_are_what_the_agents_do_today(tmp_path: Path, board: str) -> None:
    again = make_baselines(tmp_path / "submissions", [board])
    here = "official" if os.environ.get("ALFWORLD_DATA") else "nowhere"  # the games of the official protocols
    assert [folder.relative_to(tmp_path / "submissions").as_posix() for folder in again] == [
        "/".join(pair)
        for pair in baselines()
        if pair[0] == board and load_protocol(board).kwargs.get("source") in (None, here)
    ]
    for folder in again:
        path = folder.relative_to(tmp_path / "submissions")
        committed = verify(COMMITTED / path)
        made = verify(folder)
        played = read_trajectories(folder / TRAJECTORIES_FILE)
        assert played == read_trajectories(COMMITTED / path / TRAJECTORIES_FILE), path
        run = made.submission.run
        stated = {"run": run, "trajectories_sha256": made.submission.trajectories_sha256}
        # The committed entries are of schema version 1, which did not state these.
        stated |= {key: getattr(made.submission, key) for key in ("schema_version", "reference", "date", "track")}
        assert made.submission == committed.submission.model_copy(update=stated), path


@all_repositories
def test_committed_badges_are_current() -> None:
    rows = [row for table in standings(COMMITTED) for row in table.rows]
    assert {f"{row.entry.submission.protocol}/{row.entry.submission.name}" for row in rows if row.rerun} >= {
        "/".join(pair) for pair in baselines()
    }


@all_repositories
def test_baselines_made_again_replace_those_that_are_there(tmp_path: Path) -> None:
    submissions = tmp_path / "submissions"
    some = ("alfworld-tomato/v1", PROTOCOL)
    first = make_baselines(submissions, some)
    (first[0] / TRAJECTORIES_FILE).write_bytes(b"")
    make_baselines(submissions, some)
    assert all(row.rerun for table in standings(submissions) for row in table.rows)
