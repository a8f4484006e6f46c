"""`natlang explore` by hand, with real isolation where there is one; with models: see `test_explore_models.py`."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.support.explore_command import (
    COMMAND,
    ROOT,
    environment,
    explore_here,
    left_behind,
    refused,
)
from tests.support.folders import write
from tests.support.hostile import tree_hash
from tests.support.isolation_here import isolated


def test_this_repository_is_explored() -> None:
    # In two parts, or this file would be about it, too.
    question = "which module computes a trajectory's " + "observation hash?"
    done = explore_here("--repo", str(ROOT), question, "--agent", "bm25")
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[-1] == "Identified: natlang_envs/trajectory.py"


def test_a_person_explores_by_hand(sums: Path) -> None:
    lines = ["", "ls", "cd src", "rg x", "what is this?", "id nothing", "id total.py", "never read"]
    done = explore_here("--repo", str(sums), "What adds numbers?", "--agent", "human", stdin="\n".join(lines) + "\n")
    assert done.returncode == 0, done.stderr
    for says in ("/work (30 steps left)\nsrc/  README.md", "/work/src (28 steps left)", "rg: command not found"):
        assert says in done.stdout
    assert "there is no such file here" in done.stdout
    assert done.stdout.endswith("Identified: src/total.py\n")
    assert "- id FILE names the file" in done.stdout


def test_a_person_changes_files_and_sees_the_diff(sums: Path, tmp_path: Path) -> None:
    before, patch = tree_hash(sums), tmp_path / "p"
    human = ("--repo", str(sums), "--agent", "human", "--mode", "change", "--export")
    change = (*human, str(patch), "Add a line.")
    done = explore_here(*change, stdin="echo more >> README.md\nexit\n")
    assert done.returncode == 0, done.stderr
    assert "@@ -1 +1,2 @@\n # Sums\n+more\n" in done.stdout
    assert tree_hash(sums) == before
    assert "+more" in patch.read_text()
    assert "exists: choose another name" in refused(explore_here(*change))
    untouched = explore_here(*human, str(tmp_path / "q"), "X", stdin="exit\n")
    assert untouched.returncode == 1
    assert "Nothing was changed." in untouched.stdout
    assert "Done." not in untouched.stdout
    assert "q was not written: there is nothing to export" in " ".join(untouched.stdout.split())
    assert not (tmp_path / "q").exists()


def test_the_end_of_input_shows_what_was_done(sums: Path) -> None:
    done = explore_here(
        "--repo", str(sums), "Add.", "--agent", "human", "--mode", "change", stdin="echo more >> README.md\n"
    )
    assert done.returncode == 1
    assert "Left without an end of the task." in done.stdout
    assert "+more" in done.stdout


def test_nothing_that_is_shown_steers_the_terminal(tmp_path: Path) -> None:
    write(tmp_path, {"evil.txt": "\x1b]0;title\x07\x1b[2J[red]plain[/red]\r\u202e\n"})
    done = explore_here(
        *("--repo", str(tmp_path), "\x1b[31mRed?", "--agent", "human", "--mode", "change"),
        stdin="cat evil.txt\necho '\x1b[2J' > b\nexit\n",
    )
    assert done.returncode == 0, done.stderr
    assert "\\x1b]0;title\\x07\\x1b[2J[red]plain[/red]\\r\\u202e" in done.stdout
    assert "+\\x1b[2J" in done.stdout
    assert "\x1b" not in done.stdout
    assert "\u202e" not in done.stdout


@pytest.mark.skipif(os.name != "posix", reason="sends SIGINT")
@pytest.mark.parametrize("busy", [False, True])
def test_ctrl_c_shows_the_diff_so_far_and_leaves_nothing(sums: Path, tmp_path: Path, busy: bool) -> None:
    if busy and not isolated():
        pytest.skip("needs bubblewrap, or another isolation")
    patch = tmp_path / "p"
    arguments = ("--repo", str(sums), "Add.", "--agent", "human", "--mode", "change", "--export", str(patch))
    with subprocess.Popen(
        [*COMMAND, *arguments],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=environment(PYTHONUNBUFFERED="1"),
    ) as running:
        assert running.stdin is not None
        assert running.stdout is not None
        running.stdin.write("echo more >> README.md\n" + ("python -c 'while True: pass'\n" if busy else ""))
        running.stdin.flush()
        for line in running.stdout:
            if "(29 steps left)" in line:
                break
        time.sleep(1.0 if busy else 0.1)
        running.send_signal(signal.SIGINT)
        rest, errors = running.communicate(timeout=30)
    assert running.returncode == 130, errors
    assert errors == ""
    assert "Interrupted." in rest
    assert "+more" in rest
    assert "+more" in patch.read_text()
    assert not left_behind(running.pid)


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("--repo", "/nowhere/at/all", "Q"), "'/nowhere/at/all' does not exist"),
        (("--repo", __file__, "Q"), "is a file: give a folder"),
        (("--repo", ".", "  "), "no word to look for"),
        (("--repo", ".", "  ", "--agent", "bm25"), "question is empty"),
        (("--repo", ".", "Q", "--kind", "doc"), "unknown kind 'doc'"),
        (("--repo", ".", "Q", "--export", "p"), "--export is for a walk through the repository: add --agent"),
        (("--repo", ".", "Q", "--agent", "bm25", "--json"), "--json is for an answer without --agent"),
        (("--repo", ".", "Q", "--agent", "bm25", "--model", "m"), "--model changes nothing with --agent bm25"),
        (("--repo", ".", "Q", "--agent", "bm25", "--no-list"), "--list changes nothing with --agent bm25"),
        (("--repo", ".", "Q", "--agent", "human", "--seed", "5"), "--seed changes nothing with --agent human"),
        (("--repo", ".", "Q", "--json", "--open"), "--json is for programs, and --open for a person"),
        (("--repo", ".", "Q", "--top", "0"), "Invalid value for '--top'"),
        (("--repo", ".", "Q", "--mode", "guess"), "unknown mode 'guess'"),
        (("--repo", ".", "Q", "--agent", "gpt"), "unknown agent 'gpt'"),
        (("--repo", ".", "Q", "--agent", "bm25:x"), "takes no argument"),
        (("--repo", ".", "Q", "--agent", "bm25", "--mode", "answer"), "names files and no more"),
        (("--repo", str(ROOT / "docs"), "Q", "--agent", "oracle"), "has to be told the answer"),
        (("--repo", ".", "Q", "--agent", "openai"), "pass --model"),
        (("--repo", ".", "Q", "--agent", "openai", "--model", "m"), "set OPENAI_API_KEY"),
        (("--repo", ".", "Q", "--agent", "human", "--mode", "change", "--choices"), "to identify a file only"),
        (("--repo", ".", "Q", "--agent", "human", "--export", "/nowhere/p"), "no folder '/nowhere'"),
        (("--repo", ".", "Q", "--steps", "0"), "Invalid value for '--steps'"),
        (("--repo", "."), "Missing argument"),
    ],
)
def test_bad_input_is_one_line_and_exit_code_2(arguments: tuple[str, ...], says: str) -> None:
    assert says in refused(explore_here(*arguments))


def test_an_empty_and_an_unreadable_repository(tmp_path: Path) -> None:
    assert "holds no readable file" in refused(explore_here("--repo", str(tmp_path), "Q"))
    if os.geteuid():
        tmp_path.chmod(0)
        assert "cannot be read" in refused(explore_here("--repo", str(tmp_path), "Q"))
        tmp_path.chmod(0o700)


def test_without_bubblewrap_a_program_is_answered_in_words(sums: Path) -> None:
    code = (
        "import natlang_envs.sandbox.isolation.isolation as i; i._candidates = lambda: ();"
        "from natlang_envs.cli.main import main; main()"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, "explore", "Q", "--repo", str(sums), "--agent", "human", "--mode", "change"],
        input="python src/test_total.py\nexit\n",
        capture_output=True,
        text=True,
        env=environment(),
        timeout=60,
    )
    assert done.returncode == 1, done.stderr  # nothing was changed
    assert "python: python and pip need bubblewrap to be isolated" in done.stdout
    assert "[exit code 126]" in done.stdout
