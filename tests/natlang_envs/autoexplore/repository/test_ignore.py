"""What `.gitignore` leaves out of an index, compared with what git itself says."""

from __future__ import annotations

import shutil
import subprocess
import time
from pathlib import Path

import pytest

from natlang_envs.repository.ignore import is_ignored, read_rules
from natlang_envs.repository.tree import open_repository
from tests.support.folders import write

FILES = {
    ".gitignore": "# comment\n\n*.log\n!keep.log\n/build\ncache/\ndocs/**/draft.md\nlogs/**\n\\#odd\nspace\\ \n"
    "a?c.[ch]\n/deep/er/\n**/anywhere/x\nmid/dle.txt\n[broken\nsl*sh/x\n",
    "a.log": "",
    "keep.log": "",
    "build/x": "",
    "sub/build/x": "",
    "sub/cache/x": "",
    "cache": "a file of that name",
    "docs/draft.md": "",
    "docs/a/b/draft.md": "",
    "docs/a/final.md": "",
    "logs/one": "",
    "logs/a/two": "",
    "#odd": "",
    "space ": "",
    "abc.c": "",
    "abc.o": "",
    "deep/er/x": "",
    "sub/deep/er/x": "",
    "q/anywhere/x": "",
    "mid/dle.txt": "",
    "q/mid/dle.txt": "",
    "slash/x": "",
    "sub/.gitignore": "!a.log\n*.tmp\n/only\n",
    "sub/a.log": "",
    "sub/b.log": "",
    "sub/x.tmp": "",
    "x.tmp": "",
    "sub/only": "",
    "sub/q/only": "",
}


@pytest.mark.skipif(shutil.which("git") is None, reason="compares with git, which is not installed")
def test_git_says_the_same(tmp_path: Path) -> None:
    write(tmp_path, FILES)
    subprocess.run(["git", "init", "--quiet", str(tmp_path)], check=True)
    listing = ["git", "-C", str(tmp_path), "ls-files", "-z", "--others", "--exclude-per-directory=.gitignore"]
    done = subprocess.run(listing, check=True, capture_output=True, text=True)
    assert open_repository(tmp_path, ignored=False).files == tuple(sorted(done.stdout.split("\0")[:-1]))
    assert set(open_repository(tmp_path).files) == set(FILES)


def test_a_hostile_pattern_takes_no_time() -> None:
    rules = read_rules(("*a" * 100 + "b\n" + "**/a/" * 60 + "b\n").encode(), 0)
    assert not is_ignored(rules, "/".join(["a" * 200] * 30), folder=False)
    assert not is_ignored(rules, "/".join(["a"] * 100), folder=False)


def test_hundreds_of_double_stars_take_no_time() -> None:
    for pattern in ("**/" * 300 + "b", "**/a/" * 300 + "b", "a" + "/**" * 300):
        rules = read_rules(pattern.encode(), 0)
        begun = time.process_time()
        for number in range(20):
            is_ignored(rules, "/".join(["x"] * 100 + [str(number)]), folder=False)
        assert time.process_time() - begun < 0.5


def test_an_ignore_file_that_is_none(tmp_path: Path) -> None:
    write(tmp_path, {"x": "", ".gitignore/y": "", "sub/x": ""})
    (tmp_path / "sub" / ".gitignore").symlink_to("/etc/passwd")
    assert open_repository(tmp_path, ignored=False).files == (".gitignore/y", "sub/x", "x")
