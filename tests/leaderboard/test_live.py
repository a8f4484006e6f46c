"""Live rounds: an agent is committed, the beacon draws the tasks, and what was played is ranked over three rounds."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from dataclasses import replace
from datetime import date
from pathlib import Path
from typing import Any

import pytest

from leaderboard.audit import audit
from leaderboard.changes import check_changes
from leaderboard.pack import pack
from leaderboard.rounds import ROUNDS_FILE, commit, commitment_file, note_beacon, read_commitment, read_rounds
from leaderboard.schema import CHECKPOINTS, SUBMISSIONS, read_submission
from leaderboard.site import build
from leaderboard.standings import replay_all, standings
from leaderboard.standings.badges import BADGES_FILE, note_badge
from leaderboard.standings.live import LiveRow, live_tables
from leaderboard.verify import verify
from natlang_envs import UsageError, unwrap
from natlang_envs.evaluation import Protocol, evaluate, load_agent, load_protocol
from natlang_envs.evaluation.live import Round, live_protocol
from tests.leaderboard.conftest import Finished
from tests.leaderboard.forge import Forged
from tests.leaderboard.test_audit import here
from tests.leaderboard.test_changes import checkout, git
from tests.leaderboard.test_changes import commit as git_commit

__all__ = ["checkout", "here"]  # fixtures

BOARD = "dangerous-taxi-pickup-cities/v1"
MONTH = "2027-02"
ROUND = Round(BOARD, MONTH)


class Calendar:
    """The day that the board's code takes for today."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self._monkeypatch = monkeypatch

    def set(self, day: str) -> None:
        for module in ("changes", "standings.live", "pack", "rounds", "schema"):
            self._monkeypatch.setattr(f"leaderboard.{module}.today", lambda: date.fromisoformat(day))


@pytest.fixture(autouse=True)
def few_tasks(monkeypatch: pytest.MonkeyPatch) -> None:
    def shorter(name: str) -> Protocol:
        board = load_protocol(name)
        return board if board.development else replace(board, live=60)

    monkeypatch.setattr("natlang_envs.evaluation.live.load_protocol", shorter)
    monkeypatch.setattr("leaderboard.audit.auditing.EPISODES", 60)


@pytest.fixture
def calendar(monkeypatch: pytest.MonkeyPatch) -> Calendar:
    found = Calendar(monkeypatch)
    found.set("2027-01-20")
    return found


@pytest.fixture
def root(here: Path, checkout: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A Git checkout to work in, with the agents beside the board."""
    shutil.copy(here / "audited.py", checkout)
    (checkout / SUBMISSIONS.parent / "adjudications.json").unlink()
    monkeypatch.chdir(checkout)
    git_commit(checkout)
    return checkout


@pytest.fixture
def beside(root: Path) -> Path:
    return root / SUBMISSIONS.parent


def played(agent: str, beside: Path, name: str, month: str = MONTH) -> Path:
    """Play a round whose beacon is there, and return the entry."""
    protocol = live_protocol(Round(BOARD, month), read_rounds(beside / ROUNDS_FILE)[month])
    run = beside.parent / "runs" / month / name
    evaluate(load_agent(agent), protocol, out=run, batch=1)
    return pack(run, name=name, out=beside / SUBMISSIONS.name, deterministic=agent == "audited:towards")


def audited(entry: Path, beside: Path) -> None:
    """Note that an audit was passed: the test of the whole round does one."""
    path = entry.relative_to(beside / SUBMISSIONS.name).as_posix()
    note_badge(beside / BADGES_FILE, "audited", {path: read_submission(entry / "submission.json").trajectories_sha256})


def rows(beside: Path) -> dict[str, LiveRow]:
    submissions = beside / SUBMISSIONS.name
    (table,) = live_tables(standings(submissions), submissions)
    return {row.name: row for row in table.rows}


def test_a_round_is_played_from_commitment_to_rank_by_commands(
    root: Path, calendar: Calendar, command: Callable[..., Finished], tmp_path: Path
) -> None:
    for name, agent, month in (("drawn", "audited:Drawing", ["--month", MONTH]), ("towards", "audited:towards", [])):
        done = command("commit", "--agent", agent, "--board", BOARD, "--name", name, *month)  # the next by default
        assert (done.code, len(done.out), done.err) == (0, 1, [])
    assert "drawn.json`: digest" in check_changes("HEAD").markdown
    git_commit(root)
    calendar.set("2027-02-01")
    assert command("beacon", MONTH, "made-up beacon of February").code == 0
    git_commit(root)
    for name, agent in (("drawn", "audited:Drawing"), ("towards", "audited:towards")):
        protocol = live_protocol(ROUND, "made-up beacon of February")
        evaluate(load_agent(agent), protocol, out=tmp_path / name)
        calendar.set("2027-02-08")
        honest = ["--deterministic"] if name == "towards" else []
        packed = command("pack", tmp_path / name, "--name", name, "--disclosure", "Nothing.", *honest)
        assert (packed.code, packed.err) == (0, [])
        assert command("verify", packed.out[0]).code == 0
        passed = command("audit", packed.out[0], "--agent", agent, "--beacon", "a later digest", "--note")
        assert passed.code == 0
    git_commit(root)
    report = check_changes("HEAD~1")
    assert report.markdown.count("✅") == 2, report.markdown
    calendar.set("2027-02-09")
    assert command("ledger").code == 0
    found = rows(SUBMISSIONS.parent)
    assert [(row.rank, row.reason) for row in found.values()] == [(1, ""), (2, "")]
    best = found["towards"]
    assert best.success_rate > 0.3 > found["drawn"].success_rate
    assert best.interval == standings(SUBMISSIONS)[0].rows[0].entry.score.interval
    assert (best.static, best.gap, [month for month, _ in best.rounds]) == (None, None, [MONTH])
    assert build(SUBMISSIONS, tmp_path / "site").exists()


@pytest.mark.slow
def test_a_rank_is_the_mean_of_the_last_three_rounds_and_one_that_was_not_played_counts_as_lost(
    beside: Path, calendar: Calendar
) -> None:
    months = ("2027-01", "2027-02", "2027-03", "2027-04")
    entries: dict[str, Path] = {}
    for number, month in enumerate(months, 1):
        calendar.set(f"2026-12-{number:02}")
        commit("audited:towards", BOARD, month, "towards", beside=beside)
        calendar.set(f"{month}-03")
        note_beacon(beside / ROUNDS_FILE, month, f"beacon {number}")
        if month != "2027-03":
            entries[month] = played("audited:towards", beside, "towards", month)
            if month != "2027-04":
                audited(entries[month], beside)
    calendar.set("2027-04-08")
    (row,) = rows(beside).values()
    assert [(month, found is None) for month, found in row.rounds] == [
        ("2027-01", False),
        ("2027-02", False),
        ("2027-03", True),
    ]
    rates = {month: verify(entry).result.success_rate for month, entry in entries.items()}
    assert row.success_rate == pytest.approx((rates["2027-01"] + rates["2027-02"]) / 3)
    # A round without any success lies far from the others, and the interval says so.
    assert row.interval.high - row.interval.low > 0.5
    assert row.rank == 1
    calendar.set("2027-04-09")
    (row,) = rows(beside).values()
    assert [month for month, _ in row.rounds] == ["2027-02", "2027-03", "2027-04"]
    assert (row.rank, row.reason.partition(":")[0]) == (None, f"{BOARD}-2027-04")
    audited(entries["2027-04"], beside)
    assert rows(beside)["towards"].rank == 1


def test_what_an_agent_knows_by_heart_shows_as_the_gap_of_live_and_static(beside: Path, calendar: Calendar) -> None:
    own = beside.parent / "own"
    own.mkdir()
    env = unwrap(load_protocol(BOARD).make_env())
    plans = {env.reset(options={"task_id": task})[0]: env.oracle() for task, _ in load_protocol(BOARD).episodes}
    for folder in (own, beside.parent):
        (folder / "plans.json").write_text(json.dumps(plans))
    shutil.copy("audited.py", own)
    commit("audited:ByHeart", BOARD, MONTH, "by-heart", beside=beside, files=own)
    calendar.set("2027-02-02")
    note_beacon(beside / ROUNDS_FILE, MONTH, "beacon")
    audited(played("audited:ByHeart", beside, "by-heart"), beside)
    evaluate(load_agent("audited:ByHeart"), BOARD, out=beside.parent / "static", batch=1)
    pack(beside.parent / "static", name="by-heart", out=beside / SUBMISSIONS.name)
    calendar.set("2027-02-20")
    row = rows(beside)["by-heart"]
    assert row.static is not None
    assert (row.static.entry.result.success_rate, row.success_rate, row.gap) == (1.0, 0.0, -1.0)
    assert row.gap_interval is not None
    assert row.gap_interval.low == -1.0
    assert row.gap_interval.high < -0.9


@pytest.mark.slow
def test_a_recording_of_the_better_of_two_tries_does_not_pass(beside: Path, calendar: Calendar) -> None:
    commit("audited:Drawing", BOARD, MONTH, "chosen", beside=beside)
    calendar.set("2027-02-02")
    note_beacon(beside / ROUNDS_FILE, MONTH, "beacon")
    found = audit(played("audited:BestOfTwo", beside, "chosen"), "audited:Drawing", "later")
    assert "episodes are not what the round's random numbers give" in found.problem


def test_an_agent_whose_weights_changed_after_the_commitment_is_refused(
    beside: Path, calendar: Calendar, command: Callable[..., Finished]
) -> None:
    own = beside.parent / "own"
    own.mkdir()
    shutil.copy("audited.py", own)
    (own / "weights.bin").write_bytes(b"\1")
    commit("audited:Drawing", BOARD, MONTH, "weighty", beside=beside, files=own, decoding="temperature 1")
    calendar.set("2027-02-02")
    note_beacon(beside / ROUNDS_FILE, MONTH, "beacon")
    entry = played("audited:Drawing", beside, "weighty")
    (own / "weights.bin").write_bytes(b"\2")
    said = command("audit", entry, "--agent", "audited:Drawing", "--files", own, "--beacon", "later")
    assert (said.code, len(said.err)) == (2, 1)
    assert "this agent has files with the SHA-256" in said.err[0]
    assert "was committed on 2027-01-20: audit that one" in said.err[0]
    said = command("audit", entry, "--agent", "audited:south", "--files", own, "--beacon", "later")
    assert "this agent has --agent audited:south, and audited:Drawing was committed" in said.err[0]


def test_a_round_has_a_beacon_from_its_first_day_on_and_keeps_it(
    beside: Path, calendar: Calendar, command: Callable[..., Finished], tmp_path: Path
) -> None:
    def refused(*arguments: Any) -> str:
        done = command(*arguments)
        assert (done.code, done.out, len(done.err)) == (2, [], 1)
        return done.err[0]

    assert "begins on 2027-02-01, and its beacon is not there yet" in refused("beacon", MONTH, "too early")
    commit("audited:towards", BOARD, MONTH, "early", beside=beside)
    evaluate(load_agent("audited:towards"), live_protocol(ROUND, "guessed"), out=tmp_path / "run")
    pack_it = ("pack", tmp_path / "run", "--name", "early", "--deterministic")
    assert "the round 2027-02 has no beacon in leaderboard/rounds.json yet: it is noted on" in refused(*pack_it)
    calendar.set("2027-02-01")
    note_beacon(beside / ROUNDS_FILE, MONTH, "drawn")
    assert "but the run was made with" in refused(*pack_it)
    assert "has a beacon, which never changes" in refused("beacon", MONTH, "another")
    assert "'2027-2' is no month" in refused("beacon", "2027-2", "x")
    assert "or one has none: give each month a text of its own" in refused("beacon", "2027-01", " ")
    (beside / ROUNDS_FILE).write_text('{"2027-01": "same", "2027-02": "same "}')
    assert "two months have one beacon" in refused(*pack_it)
    (beside / ROUNDS_FILE).write_text('{"2027-2": "same"}')
    assert "'2027-2' is no month" in refused(*pack_it)
    (beside / ROUNDS_FILE).write_text("[]")
    assert "rounds.json: " in refused(*pack_it)


def test_what_cannot_be_committed_is_refused(beside: Path, calendar: Calendar) -> None:
    def refused(
        words: str, agent: str = "audited:south", board: str = BOARD, month: str = MONTH, name: str = "x"
    ) -> None:
        with pytest.raises(UsageError, match=words) as told:
            commit(agent, board, month, name, beside=beside)
        assert "\n" not in str(told.value)

    commit("audited:towards", BOARD, MONTH, "towards", beside=beside)
    refused("a commitment is never changed", name="towards")
    refused("was committed to .* as another agent", month="2027-03", name="towards")
    refused("this agent is committed to .*-2027-02 as towards", agent="audited:towards", name="again")
    commit("audited:towards", BOARD, "2027-03", "towards", beside=beside)
    refused("began on 2027-01-01: commit to a later one", month="2027-01")
    refused(r"is a development board \(its questions and their answers are public\)", board="autoexplore/v1")
    refused("unknown board", board="autoexplore/v2")
    refused("there is no agent and no module 'nowhere'", agent="nowhere:agent")
    refused("name: ", name="../up")


def test_a_published_player_is_committed_with_all_its_files(beside: Path, calendar: Calendar) -> None:
    player = Path(__file__).parents[2] / CHECKPOINTS / "slips-100-no-reflection-seed0.json"
    made = read_commitment(commit(f"reflect-rl:{player}", BOARD, MONTH, "slips", beside=beside))
    assert made.agent == f"reflect-rl:{player.name}"


def test_code_of_an_installed_package_cannot_be_committed_by_its_name(
    beside: Path, calendar: Calendar, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Distribution:
        name = "their-agents"

    class Entry:
        dist = Distribution()

    monkeypatch.setattr("leaderboard.agent_files.entry_points", lambda **_: [Entry()])
    with pytest.raises(UsageError, match="is code of the package their-agents, which no digest covers"):
        commit("theirs", BOARD, MONTH, "x", beside=beside)


@pytest.mark.parametrize("what", ["none", "other", "late", "stale", "dated", "elsewhere"])
def test_an_entry_without_a_commitment_from_before_is_left_out_and_the_site_is_built(
    root: Path, beside: Path, calendar: Calendar, what: str
) -> None:
    submissions, path = beside / SUBMISSIONS.name, commitment_file(beside, ROUND.name, "towards")
    commit("audited:towards", BOARD, MONTH, "towards", beside=beside)
    git_commit(root)
    calendar.set("2027-02-02")
    note_beacon(beside / ROUNDS_FILE, MONTH, "beacon")
    git_commit(root)
    entry = played("audited:towards", beside, "towards")
    (row,) = standings(submissions)[0].rows
    assert row.reason.startswith("not audited")
    forged = Forged(entry)
    if what == "none":
        path.unlink()
        words = "is missing: an agent is committed before the round"
    elif what == "other":
        forged.facts["commitment"] = "0" * 64
        words = "the entry names the commitment 000000000000, and"
    elif what == "late":
        # Its date is from before; Git knows that it came after the beacon.
        git(root, "checkout", "-q", "--orphan", "other")
        git(root, "rm", "-q", "-r", "--cached", ".")
        git(root, "add", str(beside / ROUNDS_FILE))
        git(root, "commit", "-q", "-m", "the beacon")
        git_commit(root)
        words = "was committed after the round's beacon"
    elif what == "stale":
        calendar.set("2027-02-09")
        forged.facts["date"] = "2027-02-09"
        words = "recordings of this round are of 2027-02-01 to 2027-02-08"
    elif what == "dated":
        path.write_text(path.read_text().replace("2027-01-20", "2027-02-01"))
        words = "was committed after the round's beacon"
    else:
        path.write_text(path.read_text().replace('"name": "towards"', '"name": "another"'))
        words = "a commitment lies under the names of its round and its agent"
    forged.save(redigest=True)
    with pytest.raises(UsageError, match=words) as told:
        verify(entry)
    assert "\n" not in str(told.value)
    (table,) = standings(submissions)
    assert table.rows == ()
    assert words in table.left_out[0][1]
    assert build(submissions, root / "site").exists()


def test_a_pull_request_commits_before_the_round_and_enters_within_seven_days(
    root: Path, beside: Path, calendar: Calendar
) -> None:
    path = commit("audited:towards", BOARD, MONTH, "towards", beside=beside)
    (beside / "owners.json").write_text('{"towards": "ada"}')
    git_commit(root)
    assert check_changes("HEAD~1").markdown.count("owners.json` is changed by maintainers only") == 1
    path.write_text(path.read_text().replace("2027-01-20", "2027-01-19"))
    assert "a commitment is never changed or removed" in check_changes("HEAD").markdown
    git(root, "checkout", "-q", str(path))
    later = commit("audited:towards", BOARD, "2027-03", "towards", beside=beside)
    assert check_changes("HEAD", submitter="ada").holds
    assert "the name towards was begun by ada" in check_changes("HEAD", submitter="eve").markdown
    calendar.set("2027-03-01")  # its date says what it likes
    assert "began on 2027-03-01: commit to a later one" in check_changes("HEAD", submitter="ada").markdown
    later.unlink()
    calendar.set("2027-02-08")
    note_beacon(beside / ROUNDS_FILE, MONTH, "beacon")
    git_commit(root)
    played("audited:towards", beside, "towards")
    assert check_changes("HEAD", submitter="ada").holds
    calendar.set("2027-02-09")
    assert "the round closed on 2027-02-08: play a later one" in check_changes("HEAD", submitter="ada").markdown
    (beside / ROUNDS_FILE).write_text('{"2027-02": "mine"}')
    assert "rounds.json` is changed by maintainers only" in check_changes("HEAD", submitter="ada").markdown


def test_only_an_entry_of_a_live_round_has_a_commitment(submissions: Path, entry: Path) -> None:
    forged = Forged(entry)
    forged.facts["commitment"] = "0" * 64
    forged.save(redigest=True)
    with pytest.raises(UsageError, match="only an entry of a live round that is no reference line has a commitment"):
        verify(entry)


def test_an_entry_cannot_name_a_file_as_its_protocol(submissions: Path, entry: Path, tmp_path: Path) -> None:
    forged = Forged(entry)
    (tmp_path / "own.json").write_text(load_protocol(forged.facts["protocol"]).to_json())
    forged.facts["protocol"] = str(tmp_path / "own.json")
    forged.save(redigest=True)
    with pytest.raises(UsageError, match="unknown protocol"):
        verify(entry)


def test_a_reference_line_of_a_round_needs_no_commitment_and_no_rank(beside: Path, calendar: Calendar) -> None:
    calendar.set("2027-02-02")
    note_beacon(beside / ROUNDS_FILE, MONTH, "beacon")
    run = beside.parent / "oracle"
    evaluate(load_agent("oracle"), live_protocol(ROUND, "beacon"), out=run)
    entry = pack(run, name="oracle", out=beside / SUBMISSIONS.name, deterministic=True)
    recording = read_submission(entry / "submission.json").trajectories_sha256
    note_badge(beside / BADGES_FILE, "rerun", {f"{ROUND.name}/oracle": recording})
    (table,) = standings(beside / SUBMISSIONS.name)
    assert [(row.group, row.entry.result.success_rate) for row in table.rows] == [("reference", 1.0)]
    assert live_tables([table], beside / SUBMISSIONS.name) == []
    assert [type(found) for _, found in replay_all(beside / SUBMISSIONS.name)] != [UsageError]
