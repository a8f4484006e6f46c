"""A board of one's own: the protocol is a file, and the game a module of the current folder."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from leaderboard.pack import pack
from leaderboard.site.episodes import episode_text, script_of, viewed
from natlang_envs.errors import UsageError
from natlang_envs.evaluation import Episode, Protocol, evaluate, load_agent
from natlang_envs.evaluation.runs import TRAJECTORIES_FILE

GAME = Path(__file__).parents[2] / "examples" / "games" / "post_office.py"
DAYS = tuple(Episode(f"day-{day}", day) for day in (0, 1, 2, 3))
OWN = Protocol("post/v1", "post_office:Game/PostOffice-v0", {}, 6, 1, DAYS, "Four days.")


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    shutil.copy(GAME, tmp_path)
    monkeypatch.chdir(tmp_path)
    Path("post.json").write_text(OWN.to_json(), encoding="utf-8")
    evaluate(load_agent("random-legal"), OWN, name="random", out="run")
    return Path("run")


def board(*arguments: str) -> str:
    """Run the command in a process that has not imported the game."""
    command = [sys.executable, "-m", "leaderboard", *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_a_protocol_in_a_file_has_a_board(run: Path) -> None:
    entry = board("pack", str(run), "--name", "me", "--protocol", "post.json", "--out", "board/submissions").strip()
    assert json.loads(Path("board/protocols/post/v1.json").read_text(encoding="utf-8"))["name"] == "post/v1"
    assert "me on post/v1" in board("verify", entry)
    board("build", "--submissions", "board/submissions", "--out", "site")
    rows = json.loads(Path("site/leaderboard.json").read_text(encoding="utf-8"))
    assert {each["name"]: each["success_rate"] for each in rows}["oracle"] == 1.0
    assert {each["name"] for each in rows} == {"me", "oracle", "random", "random-legal"}
    assert "Success" in board("show", entry, "1")


def test_another_protocol_than_the_one_that_was_played_is_refused(run: Path) -> None:
    out = Path("board/submissions")
    with pytest.raises(UsageError, match=r"was played on post/v1, a protocol of your own: add --protocol FILE"):
        pack(run, name="me", out=out)
    for other, words in (
        (replace(OWN, episodes=DAYS[:3]), "post/v1, .*: give the file that was played"),
        (replace(OWN, name="other/v1"), "holds other/v1, .*: give the file that was played"),
    ):
        Path("other.json").write_text(other.to_json(), encoding="utf-8")
        with pytest.raises(UsageError, match=words):
            pack(run, name="me", out=out, protocol_file=Path("other.json"))
    assert not Path("board").exists()
    pack(run, name="me", out=out, protocol_file=Path("post.json"))
    few = replace(OWN, episodes=DAYS[:3])
    Path("few.json").write_text(few.to_json(), encoding="utf-8")
    evaluate(load_agent("random-legal"), few, name="random", out="few")
    with pytest.raises(UsageError, match=r"another protocol post/v1, digest .*: raise the version"):
        pack(Path("few"), name="me", out=out, protocol_file=Path("few.json"))


@pytest.mark.parametrize("name", ["../up/v1", "Post/v1", "post", "dangerous-taxi-pickup/v1"])
def test_names_that_no_own_board_has(run: Path, name: str) -> None:
    named = replace(OWN, name=name)
    Path("named.json").write_text(named.to_json(), encoding="utf-8")
    evaluate(load_agent("random-legal"), named, name="random", out="named")
    with pytest.raises(UsageError, match=r"write it in small letters|is a protocol of the suite"):
        pack(Path("named"), name="me", out=Path("board/submissions"), protocol_file=Path("named.json"))
    assert not Path("board").exists()


def test_a_try_of_an_own_protocol_is_refused(run: Path) -> None:
    evaluate(load_agent("random-legal"), OWN, name="random", out="try", episodes=2)
    with pytest.raises(UsageError, match=r"a try of post/v1, its first 2 episodes: evaluate without --episodes"):
        pack(Path("try"), name="me", out=Path("board/submissions"), protocol_file=Path("post.json"))


def test_a_game_that_has_no_picture_is_shown_as_text(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    days = tuple(Episode(f"up-to-20/{hidden}", hidden) for hidden in (3, 4))
    guess = Protocol("guess/v1", "examples.guess_number:Example/GuessNumber-v0", {}, 6, 1, days, "Two numbers.")
    evaluate(load_agent("oracle"), guess, name="oracle", out="run")
    Path("guess.json").write_text(guess.to_json(), encoding="utf-8")
    entry = pack(Path("run"), name="oracle", out=Path("board/submissions"), protocol_file=Path("guess.json"))
    shown = viewed(guess)
    assert shown is not None
    assert b"pieces(" in script_of(entry / TRAJECTORIES_FILE, [0], shown)
    assert "Success" in episode_text(entry, 1)
