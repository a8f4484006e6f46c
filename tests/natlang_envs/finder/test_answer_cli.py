"""`natlang explore` without an agent."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from natlang_envs.cli.answer import editor
from tests.support.explore_command import ROOT, explore_here, refused
from tests.support.folders import write


@pytest.fixture
def cache(tmp_path: Path) -> str:
    return str(tmp_path / "cache")


def test_the_question_of_the_page_is_answered(cache: str) -> None:
    asked = "where is the success rate's interval computed?"
    done = explore_here("--repo", str(ROOT), asked, NATLANG_CACHE=cache)
    assert done.returncode == 0, done.stderr
    found = list(dict.fromkeys(line.partition(":")[0] for line in done.stdout.splitlines()))
    assert "natlang_envs/evaluation/statistics.py" in found[:3]
    assert "def success_interval" in done.stdout or "95% interval of a success rate" in done.stdout


def test_json_has_what_a_program_needs(sums: Path, cache: str) -> None:
    done = explore_here("--repo", str(sums), "where is the total of numbers?", "--json", NATLANG_CACHE=cache)
    answered = json.loads(done.stdout)
    first = answered["files"][0]
    assert 0.5 <= answered["chance"] <= 1
    assert (first["path"], first["line"], first["kind"]) == ("src/total.py", 1, "code")
    assert first["lines"][0] == {"line": 1, "text": "def total(numbers):"}


def test_an_unsure_answer_says_so_and_so_does_none(sums: Path, cache: str) -> None:
    none = explore_here("--repo", str(sums), "quantum gluon lattice?", NATLANG_CACHE=cache)
    assert (none.returncode, none.stdout.splitlines()[0][:40]) == (1, "No file has a word of this question: ask"[:40])
    bad = explore_here(
        "--repo", str(sums), "quantum gluon lattice chromodynamics of quark numbers?", NATLANG_CACHE=cache
    )
    assert bad.returncode == 1
    assert re.search(r"among the first \d with a chance of [0-4]?\d%\. Other words may find it", bad.stdout)
    assert "src/total.py:1" in bad.stdout


def test_what_git_ignores_is_asked_for(tmp_path: Path, cache: str) -> None:
    folder = write(tmp_path / "r", {".gitignore": "build/\n", "build/out.py": "treasure = 1\n", "a.py": "b = 1\n"})
    assert explore_here("--repo", str(folder), "treasure?", NATLANG_CACHE=cache).returncode == 1
    shown = explore_here("--repo", str(folder), "treasure?", "--ignored", NATLANG_CACHE=cache)
    assert shown.stdout.splitlines()[0] == f"{folder}/build/out.py:1  treasure = 1"


def test_every_line_begins_with_a_path_that_opens_from_where_one_stands(
    tmp_path: Path, cache: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    lines = [*["pass"] * 8, "def dig(): ...", "# treasure", *["pass"] * 90, "gold = treasure"]
    folder = write(tmp_path / "r", {"src/map.py": "\n".join(lines), "docs/map.md": "treasure map"})
    for here, repo, path in (("r", ".", "src/map.py"), ("r/docs", "..", "../src/map.py"), (".", "r", "r/src/map.py")):
        monkeypatch.chdir(tmp_path / here)
        done = explore_here("--repo", repo, "treasure of gold?", NATLANG_CACHE=cache)
        assert done.stdout.splitlines()[:2] == [f"{path}:10   # treasure", f"{path}:101  gold = treasure"]
    monkeypatch.chdir("/")
    first = explore_here("--repo", str(folder), "treasure of gold?", NATLANG_CACHE=cache).stdout.partition(":")[0]
    assert Path(first).samefile(folder / "src/map.py")


def test_source_files_beside_the_best_stand_apart(sums: Path, cache: str) -> None:
    write(sums, {"README.md": "# Sums\nHow do I get the total? Give it the numbers.\n"})
    done = explore_here("--repo", str(sums), "how do I get the total sums?", "--top", "1", NATLANG_CACHE=cache)
    shown = [line.rpartition("/")[2].partition(":")[0] for line in done.stdout.splitlines()[:-1]]
    assert [*dict.fromkeys(shown)] == ["README.md", "", "total.py"]


def test_nothing_that_is_shown_steers_the_terminal(tmp_path: Path, cache: str) -> None:
    folder = write(tmp_path / "r", {"evil\x1b[2J.py": "treasure = '\x1b]0;title\x07\u202e'\n"})
    done = explore_here("--repo", str(folder), "treasure?", NATLANG_CACHE=cache)
    assert "\x1b" not in done.stdout
    assert "\u202e" not in done.stdout
    assert "treasure = '\\x1b]0;title\\x07" in done.stdout


def test_the_editor_is_opened_at_the_line(sums: Path, tmp_path: Path, cache: str) -> None:
    write(sums, {"src/back\\slash.py": "jewels = 1\n"})
    script = tmp_path / "editor"
    script.write_text(f'#!/bin/sh\nprintf "%s " "$@" > {tmp_path}/given\n')
    script.chmod(0o755)
    given = {"EDITOR": f"{script} --wait", "VISUAL": "", "NATLANG_CACHE": cache}
    done = explore_here("--repo", str(sums), "total of numbers?", "--open", **given)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "given").read_text() == f"--wait +1 {sums}/src/total.py "
    explore_here("--repo", str(sums), "jewels?", "--open", **given)
    assert (tmp_path / "given").read_text() == f"--wait +1 {sums}/src/back\\slash.py "
    given["EDITOR"] = "/nowhere/editor"
    assert "cannot be started" in refused(explore_here("--repo", str(sums), "total of numbers?", "--open", **given))


def test_each_editor_is_told_the_line_in_its_way(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("VISUAL", raising=False)
    for program, command in {
        "vim": ["vim", "+7", "/a"],
        "/usr/bin/code": ["/usr/bin/code", "-g", "/a:7"],
        "hx": ["hx", "/a:7"],
    }.items():
        monkeypatch.setenv("EDITOR", program)
        assert editor(Path("/a"), 7) == command
