"""The board's published players: a table says which commit holds their files, and some play as recorded."""

from __future__ import annotations

import hashlib
import json
import shutil
import subprocess
from collections.abc import Callable
from contextlib import closing
from itertools import islice
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from leaderboard.audit.agent_process import AgentFacts
from leaderboard.audit.player import AuditedAgent
from leaderboard.audit.sessions import AuditSession
from leaderboard.players import PLAYERS_FILE, fetch_players, player_names, read_commits
from leaderboard.schema import CHECKPOINTS, SUBMISSIONS, read_submission
from leaderboard.standings import standings
from natlang_envs import UsageError
from natlang_envs.evaluation.protocols import load_protocol
from natlang_envs.evaluation.published import FILES, fetched_file, named_files, publish, published_files
from natlang_envs.evaluation.runs import TRAJECTORIES_FILE
from natlang_envs.trajectory import stream_trajectories
from tests.leaderboard.test_changes import commit, git

ROOT = Path(__file__).parents[2]
KINDS = (
    "slips-100-no-reflection-seed0",
    "searcher-imitation-seed0",
    "walker-depth1-imitation-seed0",
    "mender-reward-seed0",
)


@pytest.fixture
def clone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A repository whose first commit holds the files of two players, and whose second has them in the table."""
    monkeypatch.setenv("NATLANG_CACHE", str(tmp_path / "cache"))
    root = tmp_path / "repository"
    for name in ("one", "two"):
        publish(root / CHECKPOINTS / f"{name}.json", "policy", {"settings.json": b"{}", "own.json": name.encode()})
    git(tmp_path, "init", "-q", str(root))
    commit(root)
    first = subprocess.run(["git", "rev-parse", "HEAD"], cwd=root, capture_output=True, text=True, check=True).stdout
    digests = sorted(each.stem for each in (root / CHECKPOINTS / FILES).iterdir())
    (root / CHECKPOINTS.with_name(PLAYERS_FILE)).write_text(json.dumps({first.strip(): digests}))
    shutil.rmtree(root / CHECKPOINTS / FILES)
    commit(root)
    return root


def test_one_player_or_all_are_fetched_from_the_history(clone: Path) -> None:
    player = clone / CHECKPOINTS / "one.json"
    with pytest.raises(
        UsageError, match="is missing: for a player of the board, natlang-leaderboard players fetch one"
    ):
        published_files(player)
    assert len(fetch_players(["one"], clone)) == 2
    assert {name: file.parent for name, file in published_files(player)[1].items()} == dict.fromkeys(
        ("settings.json", "own.json"), fetched_file("").parent
    )
    said: list[str] = []
    assert len(fetch_players((), clone, report=said.append)) == 1
    assert said == player_names(clone) == ["one", "two"]
    assert fetch_players((), clone) == []


def test_a_shallow_clone_fetches_the_commit_from_its_origin(clone: Path, tmp_path: Path) -> None:
    shallow = tmp_path / "shallow"
    git(tmp_path, "clone", "-q", "--depth=1", f"file://{clone}", str(shallow))
    assert len(fetch_players(["two"], shallow)) == 2
    published_files(shallow / CHECKPOINTS / "two.json")


def no_such_player(root: Path) -> list[str]:
    return ["ones"]


def no_such_commit(root: Path) -> list[str]:
    table = root / CHECKPOINTS.with_name(PLAYERS_FILE)
    table.write_text(json.dumps({"0" * 40: next(iter(json.loads(table.read_text()).values()))}))
    return []


def no_line_for_a_file(root: Path) -> list[str]:
    (root / CHECKPOINTS.with_name(PLAYERS_FILE)).write_text("{}")
    return []


def no_commits_name(root: Path) -> list[str]:
    (root / CHECKPOINTS.with_name(PLAYERS_FILE)).write_text('{"--upload-pack=x": []}')
    return []


def no_checkout(root: Path) -> list[str]:
    shutil.rmtree(root / CHECKPOINTS)
    return []


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (no_such_player, "unknown player 'ones': choose one of one, two"),
        (no_such_commit, "neither this clone nor its origin has the commit 000000000000: fetch it, then try again"),
        (no_line_for_a_file, "players.json names no commit for "),
        (no_commits_name, "players.json: "),
        (no_checkout, "has no players: run this in a checkout of the repository"),
    ],
)
def test_what_cannot_be_fetched_is_said(clone: Path, change: Callable[[Path], list[str]], says: str) -> None:
    names = change(clone)
    with pytest.raises(UsageError, match=says):
        fetch_players(names, clone)


def test_every_file_of_a_player_is_in_the_tree_or_in_the_table() -> None:
    committed = ROOT / CHECKPOINTS
    players = {name: named_files(committed / f"{name}.json")[1] for name in player_names(ROOT)}
    here = {each.stem for each in (committed / FILES).iterdir()}
    table = read_commits(committed.with_name(PLAYERS_FILE))
    assert {digest for files in players.values() for digest in files.values()} == here | set(table)
    assert not here & set(table)
    for name in KINDS:
        assert set(players[name].values()) <= here
    assert sum(each.stat().st_size for each in (committed / FILES).iterdir()) <= 3e6


def test_an_audited_row_has_a_published_player() -> None:
    rows = [row for table in standings(ROOT / SUBMISSIONS) for row in table.entries]
    published = {sha256(name) for name in player_names(ROOT)}
    played = {made.checkpoint: row.audited for row in rows if (made := row.entry.submission.run.provenance)}
    assert {checkpoint for checkpoint, audited in played.items() if audited} <= published <= set(played)


@pytest.mark.parametrize("name", KINDS)
def test_a_player_in_the_tree_plays_as_it_was_recorded(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    entries = [each for each in (ROOT / SUBMISSIONS).rglob("submission.json") if sha256(name) in each.read_text()]
    submission = read_submission(min(entries))
    player, files = AuditedAgent(submission.run.agent), SimpleNamespace(own_loader=True)
    agent: Any = SimpleNamespace(
        facts=AgentFacts(**player.facts()), files=files, act=player.act, chances=player.chances
    )
    recorded = list(islice(stream_trajectories(min(entries).with_name(TRAJECTORIES_FILE)), 3))
    with closing(AuditSession(load_protocol(submission.protocol), agent, lambda count: None)) as session:
        guided = session.guide(recorded)
    # The processor decides between commands that are equally likely but for rounding.
    assert [each.same + each.drifted for each in guided] == [len(each.actions) for each in recorded]
    assert sum(each.drifted for each in guided) <= 0.05 * sum(len(each.actions) for each in recorded)


def sha256(name: str) -> str:
    return hashlib.sha256((ROOT / CHECKPOINTS / f"{name}.json").read_bytes()).hexdigest()
