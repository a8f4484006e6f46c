"""Names and rows belong to somebody, and a broken or doubled entry costs no other its place on the site."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from leaderboard.changes import check_changes
from leaderboard.pack import pack, read_curve
from leaderboard.result import read_ledger
from leaderboard.schema import SUBMISSION_FILE, SUBMISSIONS, look, read_submission
from leaderboard.site import build
from leaderboard.standings import standings
from leaderboard.standings.badges import OWNERS_FILE, read_badges
from natlang_envs import UsageError
from natlang_envs.evaluation import evaluate, load_agent
from tests.leaderboard.conftest import NAME
from tests.leaderboard.forge import PROTOCOL, Forged
from tests.leaderboard.test_changes import checkout, commit, git

__all__ = ["checkout"]  # a fixture


def again(entry: Path, name: str) -> Path:
    """Return another entry with the same recording."""
    other = entry.with_name(name)
    shutil.copytree(entry, other)
    forged = Forged(other)
    forged.facts["name"] = name
    forged.save(redigest=True)
    return other


@pytest.mark.parametrize("names", [("early", "late"), ("late", "early")])
def test_of_two_entries_with_one_recording_the_one_committed_first_stays(
    checkout: Path, packed: Path, names: tuple[str, str]
) -> None:
    # Each passed its own pull request; merged, the second is left out, whatever it is called.
    board = checkout / SUBMISSIONS / PROTOCOL
    for name in names:
        shutil.copytree(packed, board / NAME)
        again(board / NAME, name)
        shutil.rmtree(board / NAME)
        commit(checkout)
    (checkout / SUBMISSIONS.parent / "adjudications.json").unlink()
    (table,) = standings(checkout / SUBMISSIONS)
    assert [row.entry.submission.name for row in table.rows] == [names[0]]
    ((path, problem),) = table.left_out
    assert path == f"{PROTOCOL}/{names[1]}"
    assert problem == f"its episodes are those of the entry {PROTOCOL}/{names[0]}, which was there before"
    build(checkout / SUBMISSIONS, checkout / "site")
    assert "is left out: its episodes are those" in (checkout / "site" / "boards" / PROTOCOL / "index.html").read_text()


@pytest.mark.parametrize("what", ["json", "folder", "recording", "board"])
def test_a_broken_entry_is_left_out_and_the_site_is_built(
    submissions: Path, entry: Path, tmp_path: Path, what: str
) -> None:
    broken = again(entry, "broken")
    if what == "json":
        (broken / SUBMISSION_FILE).write_text("{")
    elif what == "folder":
        broken.rename(broken.with_name("elsewhere"))
    elif what == "recording":
        (broken / "trajectories.jsonl.gz").write_bytes(b"")
    else:
        shutil.move(broken, submissions / "no-board" / "v9" / "broken")
    build(submissions, tmp_path / "site")
    (table,) = standings(submissions)
    assert [row.entry.submission.name for row in table.rows] == [NAME]
    assert len(table.left_out) == (what != "board")
    first_page = (tmp_path / "site" / "index.html").read_text()
    assert ("<b>no-board/v9/broken</b> is left out: " in first_page) == (what == "board")


def test_optimal_play_without_a_word_is_no_copy(tmp_path: Path, submissions: Path) -> None:
    out = tmp_path / "submissions"
    evaluate(load_agent("oracle"), PROTOCOL, out=tmp_path / "run")
    run = tmp_path / "run" / "run.json"
    run.write_text(json.dumps({**json.loads(run.read_text()), "privileged": False}))
    for name in ("one", "other"):
        pack(tmp_path / "run", name=name, out=out, deterministic=True)
    (table,) = standings(out)
    assert {row.entry.submission.name for row in table.rows} >= {"one", "other"}
    assert not table.left_out


def test_a_try_of_some_episodes_is_no_entry(tmp_path: Path) -> None:
    evaluate(load_agent("random"), PROTOCOL, out=tmp_path / "run", episodes=3)
    with pytest.raises(UsageError, match=rf"is a try of {PROTOCOL}, its first 3 episodes: evaluate without --episodes"):
        pack(tmp_path / "run", name="tried", out=tmp_path / "submissions")
    assert not (tmp_path / "submissions").exists()


def test_doubled_keys_are_refused(entry: Path) -> None:
    text = (entry / SUBMISSION_FILE).read_text()
    (entry / SUBMISSION_FILE).write_text(text.replace("{", '{"name": "victim", ', 1))
    with pytest.raises(UsageError, match=r"submission.json: it says 'name' twice: delete one"):
        read_submission(entry / SUBMISSION_FILE)
    for file, read in (("ledger.json", read_ledger), ("badges.json", read_badges), ("curve.json", read_curve)):
        path = entry / file
        path.write_text('[{"a": 1, "a": 2}]')
        with pytest.raises(UsageError, match=f"{file}: it says 'a' twice: delete one"):
            read(path)


@pytest.mark.parametrize(
    ("field", "value"),
    [("date", each) for each in ("2026-19-39", "2026-02-31", "2099-12-31", "2001-01-01")]
    + [("parameters", each) for each in (0, 10**14 + 1, 10**18, 1.5, True)]
    + [("run", {"seconds": each}) for each in (0, -1, 1e10)]
    + [("run", {"tokens": each}) for each in (-1, 10**18)]
    + [("model", each) for each in ("gpt\u200b-5", "a\u3164", "x\U000e0041", "z\u0300\u0301\u0302", "\ue000")]
    + [("name", each) for each in ("r\u0435flect", "wanderer\u200b", "Upper")],
)
def test_days_texts_and_sizes_that_are_none_are_refused(entry: Path, field: str, value: object) -> None:
    file = entry / SUBMISSION_FILE
    content = json.loads(file.read_text())
    wrong = {**content[field], **value} if isinstance(value, dict) else value
    file.write_text(json.dumps({**content, field: wrong}))
    with pytest.raises(UsageError, match=rf"submission.json: {field}(\.\w+)?: "):
        read_submission(file)
    file.write_text(json.dumps({**content, "model": "Zoë 北京"}))
    assert read_submission(file).model == "Zoë 北京"


def test_names_that_look_alike_are_refused(checkout: Path, packed: Path, run_folder: Path) -> None:
    assert look("ref1ect-r1") == look("reflect-rl")
    assert look("agent-seedo") == look("agent-seed0")
    assert look("agent-seed1") != look("agent-seed2")
    board = checkout / SUBMISSIONS / PROTOCOL
    shutil.copytree(packed, board / NAME)
    commit(checkout)
    evaluate(load_agent("random"), PROTOCOL, out=checkout / "run")
    with pytest.raises(UsageError, match=f"the name vvanderer is easily taken for {NAME}"):
        pack(checkout / "run", name="vvanderer", out=checkout / SUBMISSIONS)
    made = pack(checkout / "run", name="vvanderer", out=checkout / "elsewhere" / "submissions")
    shutil.copytree(made, board / "vvanderer")
    git(checkout, "add", "leaderboard")
    checked = check_changes("HEAD", checkout)
    assert not checked.holds
    assert "is easily taken for" in checked.markdown


@pytest.mark.parametrize(
    ("owners", "submitter", "holds"),
    [({}, "mallory", False), ({"agent": "alice"}, "mallory", False), ({"agent": "alice"}, "alice", True)],
)
def test_a_seed_is_added_by_who_began_the_series(
    checkout: Path, owners: dict[str, str], submitter: str, holds: bool
) -> None:
    (checkout / SUBMISSIONS.parent / OWNERS_FILE).write_text(json.dumps(owners))
    for seed, agent in enumerate(("random", "south")):
        chosen = load_agent(agent) if agent == "random" else lambda given: "move south"
        evaluate(chosen, PROTOCOL, out=checkout / agent)
        pack(checkout / agent, name=f"agent-seed{seed}", out=checkout / SUBMISSIONS, deterministic=bool(seed))
        git(checkout, "add", "leaderboard")
        if not seed:
            git(checkout, "commit", "-qm", "x")
    checked = check_changes("HEAD", checkout, submitter)
    assert checked.holds == holds
    assert holds or "agent-seed1" in checked.markdown


def test_hand_written_agents_are_ranked_for_themselves(submissions: Path, entry: Path) -> None:
    names = {"written": {}, "unsaid": {"track": {"method": "search"}}, "named": {"model": "Tiny Llama"}}
    names |= {"trained": {"track": {"method": "rl"}}, "weighed": {"parameters": 5}}
    for number, (name, facts) in enumerate(names.items()):
        forged = Forged(again(entry, name))
        forged.facts |= facts
        forged.episodes[0]["reflections"][0] = f"as {number}"
        forged.save(redigest=True)
    digests = {f"{PROTOCOL}/{name}": read_submission(entry.with_name(name) / SUBMISSION_FILE) for name in names}
    audited = {name: each.trajectories_sha256 for name, each in digests.items()}
    (submissions.parent / "badges.json").write_text(json.dumps({"audited": audited}))
    (table,) = standings(submissions)
    shown = [(row.entry.submission.name, row.kind, row.rank) for row in table.rows if row.rank]
    assert shown == [
        *[(name, "learned", 1) for name in ("named", "trained", "weighed")],
        *[(name, "hand-written", 1) for name in ("unsaid", "written")],
    ]
    assert {row.tracks[0] for row in table.rows if row.kind == "hand-written"} == {"hand-written"}


def test_an_agent_with_weights_is_not_hand_written(entry: Path) -> None:
    file = entry / SUBMISSION_FILE
    content = json.loads(file.read_text())
    file.write_text(json.dumps({**content, "model": "gpt-5", "track": {"method": "hand-written"}}))
    with pytest.raises(UsageError, match=r"track\.method hand-written is of agents without weights"):
        read_submission(file)
