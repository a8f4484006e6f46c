"""The ledger: what replay notes, and what is built from it where nothing can be replayed."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from leaderboard.result import LEDGER_FILE, read_ledger
from leaderboard.schema import SUBMISSION_FILE
from leaderboard.site import build
from leaderboard.standings import replay_all, standings
from natlang_envs.errors import UsageError
from natlang_envs.evaluation import load_protocol, protocol_names
from tests.leaderboard.conftest import NAME, Finished
from tests.leaderboard.forge import PROTOCOL, Forged

Command = Callable[..., Finished]
COMMITTED = Path(__file__).parents[2] / "leaderboard" / "submissions"


def test_committed_ledger_knows_every_committed_entry() -> None:
    ledger = read_ledger(COMMITTED.parent / LEDGER_FILE)
    digests = {
        path.parent.relative_to(COMMITTED).as_posix(): json.loads(path.read_text())["trajectories_sha256"]
        for path in COMMITTED.rglob(SUBMISSION_FILE)
    }
    assert {name: each.trajectories_sha256 for name, each in ledger.items()} == digests


def test_ledger_is_written_by_replay_and_read_by_the_build(
    submissions: Path, entry: Path, tmp_path: Path, command: Command
) -> None:
    assert command("ledger", "--submissions", submissions).code == 0
    ledger = tmp_path / LEDGER_FILE
    first = ledger.read_bytes()
    assert list(read_ledger(ledger)) == [f"{PROTOCOL}/{NAME}"]
    command("ledger", entry, "--submissions", submissions)
    assert ledger.read_bytes() == first
    refused = command("ledger", entry.relative_to(submissions), "--submissions", submissions)
    assert refused.code == 2
    assert "name an entry's folder in --submissions" in refused.err[0]
    assert ledger.read_bytes() == first
    # The build believes the ledger for this recording, and no other.
    content = json.loads(first)
    content[f"{PROTOCOL}/{NAME}"]["mean_return"] = 19.25
    ledger.write_text(json.dumps(content))
    assert standings(submissions)[0].rows[0].entry.score.mean_return == 19.25
    assert standings(submissions, replay=True)[0].rows[0].entry.score.mean_return != 19.25
    content[f"{PROTOCOL}/{NAME}"]["trajectories_sha256"] = "0" * 64
    ledger.write_text(json.dumps(content))
    assert standings(submissions)[0].rows[0].entry.score.mean_return != 19.25
    ledger.write_text('{"a": {}}')
    with pytest.raises(UsageError, match=r"ledger\.json: a"):
        standings(submissions)


def test_an_entry_that_cannot_be_replayed_here_stops_no_other(
    submissions: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    official = next(name for name in protocol_names() if load_protocol(name).kwargs.get("source") == "official")
    protocol = load_protocol(official)
    folder = submissions / official / "stranger"
    shutil.copytree(submissions / PROTOCOL / NAME, folder)
    forged = Forged(folder)
    forged.facts.update(protocol=official, protocol_digest=protocol.digest, name="stranger")
    forged.facts["run"]["runs"] = protocol.runs
    episode = forged.episodes[0]
    forged.episodes = [
        {**episode, "task_id": task_id, "seed": seed, "run": run}
        for (task_id, seed), run in protocol.plays(protocol.runs)
    ]
    forged.save(redigest=True)
    monkeypatch.setenv("ALFWORLD_DATA", str(tmp_path / "nothing"))
    tables = {table.protocol.name: table for table in standings(submissions)}
    assert [row.entry.submission.name for row in tables[PROTOCOL].rows] == [NAME]
    ((path, problem),) = tables[official].missing
    assert path == f"{official}/stranger"
    assert "cannot be replayed on this machine" in problem
    build(submissions, tmp_path / "site")
    assert "not replayed here, so no number is shown" in (tmp_path / "site" / "index.html").read_text()
    assert [name for name, found in replay_all(submissions) if isinstance(found, UsageError)] == [path]


def test_entry_in_the_wrong_folder_is_left_out(submissions: Path, entry: Path) -> None:
    entry.rename(entry.with_name("oracle"))
    (table,) = standings(submissions)
    assert not table.rows
    assert f"says {PROTOCOL}/{NAME}: move it to" in table.left_out[0][1]
