"""A pull request: what it may change, and the report on it; and the files that the site offers."""

from __future__ import annotations

import csv
import gzip
import io
import json
import shutil
import subprocess
from pathlib import Path

import pytest

from leaderboard.changes import PROTECTED, check_changes
from leaderboard.schema import SUBMISSION_FILE, SUBMISSIONS
from leaderboard.site.exports import as_csv, as_json, repacked
from leaderboard.standings import standings
from natlang_envs.errors import UsageError
from natlang_envs.evaluation.runs import TRAJECTORIES_FILE
from tests.leaderboard.conftest import NAME
from tests.leaderboard.forge import PROTOCOL, Forged

WORKFLOW = Path(__file__).parents[2] / ".github" / "workflows" / "leaderboard.yml"


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A Git checkout with the maintainers' files and no entry."""
    root = tmp_path / "checkout"
    (root / SUBMISSIONS).mkdir(parents=True)
    for name in PROTECTED:
        (root / SUBMISSIONS.parent / name).write_text("{}")
    git(root, "init", "-q")
    commit(root)
    return root


def git(root: Path, *arguments: str) -> None:
    identity = ["-c", "user.name=a", "-c", "user.email=a@b", "-c", "commit.gpgsign=false"]
    subprocess.run(["git", *identity, *arguments], cwd=root, check=True, capture_output=True)


def commit(root: Path) -> None:
    git(root, "add", "-A")
    git(root, "commit", "-q", "--allow-empty", "-m", "x")


@pytest.fixture
def proposed(checkout: Path, packed: Path) -> Path:
    """The checkout with one new entry."""
    shutil.copytree(packed, checkout / SUBMISSIONS / PROTOCOL / NAME)
    commit(checkout)
    return checkout


def test_a_new_entry_is_verified_and_reported(proposed: Path) -> None:
    checked = check_changes("HEAD~1", proposed)
    assert checked.holds
    assert f"✅ `{(SUBMISSIONS / PROTOCOL / NAME).as_posix()}`: success " in checked.markdown
    assert "100 episodes replayed; unranked until it is audited" in checked.markdown
    assert check_changes("HEAD", proposed).markdown == "No entry is changed."


def test_an_entry_that_git_does_not_know_yet_is_verified(checkout: Path, packed: Path) -> None:
    entry = shutil.copytree(packed, checkout / SUBMISSIONS / PROTOCOL / NAME)
    assert f"✅ `{entry.relative_to(checkout).as_posix()}`: success " in check_changes("HEAD", checkout).markdown
    (entry / TRAJECTORIES_FILE).write_bytes(b"")
    assert not check_changes("HEAD", checkout).holds


@pytest.mark.parametrize("name", PROTECTED)
def test_files_of_maintainers_cannot_be_changed(name: str, proposed: Path) -> None:
    (proposed / SUBMISSIONS.parent / name).write_text('{"mine": 1}')
    commit(proposed)
    checked = check_changes("HEAD~2", proposed)
    assert not checked.holds
    assert f"`leaderboard/{name}` is changed by maintainers only" in checked.markdown


def test_an_entry_that_is_there_cannot_be_changed_or_removed(proposed: Path) -> None:
    entry = proposed / SUBMISSIONS / PROTOCOL / NAME
    forged = Forged(entry)
    forged.facts["description"] = "better words"
    forged.save(redigest=True)
    commit(proposed)
    assert "an entry is never changed or removed" in check_changes("HEAD~1", proposed).markdown
    shutil.rmtree(entry)
    commit(proposed)
    checked = check_changes("HEAD~2", proposed)
    assert not checked.holds
    assert checked.markdown.count("an entry is never changed or removed") == 2


def test_a_forged_entry_is_refused_and_its_text_stays_inert(checkout: Path, packed: Path) -> None:
    entry = checkout / SUBMISSIONS / PROTOCOL / NAME
    shutil.copytree(packed, entry)
    forged = Forged(entry)
    forged.facts["`@everyone` <img src=x>"] = 1
    forged.save(redigest=True)
    commit(checkout)
    checked = check_changes("HEAD~1", checkout)
    assert not checked.holds
    assert checked.markdown.count("`") == 2
    with pytest.raises(UsageError, match="git cannot compare"):
        check_changes("nowhere", checkout)
    with pytest.raises(UsageError, match="is no commit"):
        check_changes("--output=x", checkout)


def test_workflow_has_no_secret_and_reads_only() -> None:
    text = WORKFLOW.read_text()
    verifying = text.partition("  report:")[0]
    assert "secrets." not in text
    assert "contents: read" in verifying
    assert "write" not in verifying
    assert "pull_request_target" not in text
    assert "natlang-leaderboard check-changes" in verifying


def test_downloads_hold_every_row_and_no_formula(submissions: Path, entry: Path) -> None:
    forged = Forged(entry)
    forged.facts["model"] = "=HYPERLINK(1)"
    forged.save(redigest=True)
    tables = standings(submissions)
    (row,) = json.loads(as_json(tables, "abc"))
    assert (row["protocol"], row["name"], row["group"], row["model"]) == (PROTOCOL, NAME, "unranked", "=HYPERLINK(1)")
    (cells,) = csv.DictReader(io.StringIO(as_csv(tables, "abc").decode()))
    assert cells["model"] == "'=HYPERLINK(1)"
    assert float(cells["success_rate"]) == row["success_rate"]


def test_published_recording_is_compressed_anew(entry: Path) -> None:
    packed = (entry / TRAJECTORIES_FILE).read_bytes()
    other = gzip.compress(gzip.decompress(packed), compresslevel=1, mtime=0)
    (entry / TRAJECTORIES_FILE).write_bytes(other)
    assert repacked(entry / TRAJECTORIES_FILE) == gzip.compress(gzip.decompress(packed), mtime=0) != other
    assert (entry / SUBMISSION_FILE).exists()
