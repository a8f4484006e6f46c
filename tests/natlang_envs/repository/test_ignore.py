"""What git ignores is left out of an index, compared with what git itself says."""

from __future__ import annotations

import os
import pickle
import shutil
import subprocess
import time
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from natlang_envs import UsageError
from natlang_envs.repository.ignore import LARGEST, is_ignored, read_rules
from natlang_envs.repository.names import on_disk
from natlang_envs.repository.tree import Repository, open_repository
from tests.strategies import examples
from tests.support.folders import write

needs_git = pytest.mark.skipif(shutil.which("git") is None, reason="compares with git, which is not installed")
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


def git(folder: Path, *arguments: str, **more: bytes) -> bytes:
    return subprocess.run(["git", "-C", str(folder), *arguments], check=False, capture_output=True, **more).stdout


def shown_by_git(folder: Path, top: Path | None = None) -> set[bytes]:
    """Return the files of a folder that git does not ignore."""
    git(top or folder, "init", "--quiet")
    return set(git(folder, "ls-files", "-z", "--others", "--exclude-standard").split(b"\0")) - {b""}


def left(folder: Path) -> set[bytes]:
    """Return the files and links of a folder that an index without what is ignored has."""
    repository = Repository(Path(os.path.realpath(folder)), ignored=False)
    return {on_disk(path) for path in (*repository.files, *repository.links)}


@needs_git
def test_git_says_the_same(tmp_path: Path) -> None:
    write(tmp_path, FILES)
    assert left(tmp_path) == shown_by_git(tmp_path)
    assert set(open_repository(tmp_path).files) == set(FILES)


@needs_git
@pytest.mark.parametrize(
    ("rules", "paths"),
    [
        (b"\xef\xbb\xbfsecret*\n", [b"secret.env"]),
        (b"*.o\r\nout/\r\n", [b"x.o", b"out/y"]),
        (b"*.o\n*.a", [b"x.o", b"x.a"]),
        (b"[^x]y\n", [b"xy", b"zy"]),
        (b"[!x]y\n", [b"xy", b"zy"]),
        (b"[[:upper:]]1\n[[:digit:]_]2\n[^[:alpha:]]3\n", [b"A1", b"a1", b"72", b"_2", b"-2", b"-3", b"k3"]),
        (b"[[:nothing:]]\n[[:alpha]z\n[b-\n", [b"a", b":z", b"b"]),
        (b"n[0-5]\nr[5-0]\nq[]x]\nd[x-]\ne[\\]]\n", [b"n3", b"n9", b"r3", b"q]", b"qx", b"d-", b"e]", b"e\\"]),
        (b"m[/]n\np?q\n", [b"m/n", b"p/q", b"pxq"]),
        ("w\x0cx\ny\x0bz\nn\x85l\ns\u2028t\n".encode(), [b"w", b"x", b"z", b"y\x0bz", b"t", "s\u2028t".encode()]),
        (b"k\xe9\n", [b"k\xe9", "k\u00e9".encode()]),
        ("\u00e9t\u00e9\n?a\n".encode(), ["\u00e9t\u00e9".encode(), "\u00e9a".encode(), b"xa"]),
        (b"l?m\nu\\\\v\n", [b"l\nm", b"u\\v"]),
        (b"t\t\nu  \nv\\  \nw\\\\ \n", [b"t", b"t\t", b"u", b"u  ", b"v ", b"v  ", b"w\\", b"w\\ "]),
        (b"a//\n//b\n/c\n/\n", [b"a/x", b"b", b"q/b", b"c", b"q/c"]),
        (b"x\\\ny\n", [b"x", b"x\\", b"y"]),
        (b" #a\n\\#b\n\\!c\n!\n", [b" #a", b"#b", b"!c"]),
        (b"f\\oo\nb\0ar\n", [b"foo", b"b", b"bar"]),
        (b"*\n!*/\n!*.py\n", [b"a/b.py", b"a/b.c", b"c.py"]),
        (b"v/\n!v/keep\nw/*\n!w/keep\n", [b"v/keep", b"v/x", b"w/keep", b"w/x"]),
        (b"s/**\n!s/**/\n!s/**/*.md\n", [b"s/a.md", b"s/b/c.md", b"s/b/c.txt"]),
        (b"a**z\nq/a**z\nfoo/x**/bar\n", [b"aXz", b"d/aXz", b"q/aYz", b"q/d/aYz", b"foo/xbar", b"foo/x/y/bar"]),
        (b"./dot\nUP\n", [b"dot", b"up", b"UP"]),
        ("node/\n".encode("utf-16"), [b"node/x"]),
        (b"link/\n", [b"x"]),
    ],
)
def test_odd_rules_and_odd_names(tmp_path: Path, rules: bytes, paths: list[bytes]) -> None:
    (tmp_path / ".gitignore").write_bytes(rules)
    (tmp_path / "link").symlink_to("x")
    for path in (*paths, b"other"):
        place = tmp_path / os.fsdecode(path)
        place.parent.mkdir(exist_ok=True, parents=True)
        place.write_bytes(b"x")
    assert left(tmp_path) == shown_by_git(tmp_path)


_segment = st.sampled_from(
    [*"ab*?", "**", "***", "a*", "*b", "**a", "a**", "[ab]", "[!a]", "[^b]", "[[:alpha:]]", "[]a]", "[a", "\\a", ""]
)
_rule = st.tuples(st.sampled_from(["", "!", "/"]), st.lists(_segment, max_size=5), st.sampled_from(["/", ""]))
_path = st.lists(st.sampled_from(["a", "b", "ab", "ba", "aab", "]", " ", "-"]), min_size=1, max_size=5).map("/".join)


@needs_git
@settings(max_examples=examples(60), deadline=None)
@given(st.lists(_rule, min_size=1, max_size=4), st.lists(_path, min_size=5, max_size=30), st.sampled_from(["/", ""]))
def test_any_rules_say_what_git_check_ignore_says(
    tmp_path_factory: pytest.TempPathFactory, rules: list[tuple[str, list[str], str]], paths: list[str], between: str
) -> None:
    folder = tmp_path_factory.getbasetemp() / "check-ignore"
    if not folder.exists():
        folder.mkdir()
        git(folder, "init", "--quiet")
    content = "".join(f"{mark}{between.join(names)}{end}\n" for mark, names, end in rules).encode()
    (folder / ".git" / "info" / "exclude").write_bytes(content)
    said = git(folder, "check-ignore", "--no-index", "--stdin", "-z", input="\0".join(paths).encode())
    read = read_rules(content)
    for path in paths:
        ways = [path[:at] for at in range(len(path)) if path[at] == "/"]
        ours = any(is_ignored(read, way.encode(), True) for way in ways) or is_ignored(read, path.encode(), False)
        assert ours == (path.encode() in said.split(b"\0")), (content, path)


@needs_git
def test_rules_above_the_folder_and_outside_the_tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("GIT_CONFIG_NOSYSTEM", "1")
    top, inner = tmp_path / "top", tmp_path / "top" / "src"
    names = ("a.log", "b.key", "c.mine", "d.py", "out/x", "e.tmp", "keep.log")
    write(inner, dict.fromkeys(names, "x"))
    write(top, {".gitignore": "*.log\nsrc/out/\n/d.py\n", "src/.gitignore": "!keep.log\n"})
    shown_by_git(top)
    write(top, {".git/info/exclude": "*.key\nsrc/e.tmp\n"})
    write(tmp_path, {"home/git/ignore": "*.mine\n"})
    assert left(inner) == shown_by_git(inner, top) == {b"d.py", b"keep.log", b".gitignore"}
    assert left(top) == shown_by_git(top) == {b".gitignore", b"src/d.py", b"src/keep.log", b"src/.gitignore"}
    write(tmp_path, {"home/.gitconfig": "[core]\nexcludesFile = ~/mine\n", "home/mine": "d.*\n"})
    assert left(inner) == shown_by_git(inner, top) == {b"c.mine", b"keep.log", b".gitignore"}
    git(top, "-c", "user.name=a", "-c", "user.email=a@b", "commit", "--quiet", "--allow-empty", "-m", "x")
    git(top, "worktree", "add", "--quiet", str(tmp_path / "linked"))
    write(tmp_path, {"linked/b.key": "x", "linked/d.py": "x", "linked/c.mine": "x"})
    assert left(tmp_path / "linked") == shown_by_git(tmp_path / "linked", top) == {b"c.mine"}


def test_without_git_the_files_in_the_folder_count(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    write(tmp_path, {"top/.gitignore": "*.log\n", "top/a.log": "", "top/b": "", "top/.git/HEAD": "ref: refs/heads/x\n"})
    assert left(tmp_path / "top") == {b".gitignore", b"b"}


def test_a_virtual_environment_without_rules_is_left_out(tmp_path: Path) -> None:
    write(tmp_path, {"a.py": "", "env/pyvenv.cfg": "", "env/lib/b.py": "", "lib/c.py": ""})
    assert open_repository(tmp_path, ignored=False).files == ("a.py", "lib/c.py")
    assert len(open_repository(tmp_path).files) == 4
    assert len(open_repository(tmp_path / "env", ignored=False).files) == 2  # who asks about it sees it


def test_modules_that_a_build_wrote_can_be_shown(tmp_path: Path) -> None:
    rules = "*.so\n*.env\n_version.py\nbuild/\n"
    files = {".gitignore": rules, "a/b.so": "", "a/_version.py": "", "a/.env": "", "build/c.py": "", "a/d.py": ""}
    write(tmp_path, {**files, "env/pyvenv.cfg": "", "env/e.py": "", "cache/.gitignore": "*\n", "cache/f.py": ""})
    seen = ("a/_version.py", "a/b.so", "a/d.py")
    assert open_repository(tmp_path, ignored="built").files == (".gitignore", *seen)
    assert open_repository(tmp_path, ignored=False).files == (".gitignore", "a/d.py")
    copied = pickle.loads(pickle.dumps(open_repository(tmp_path, ignored="built")))
    assert copied.files == (".gitignore", *seen)


def test_a_hostile_pattern_takes_no_time() -> None:
    rules = read_rules(("*a" * 100 + "b\n" + "**/a/" * 60 + "b\n" + ("**/" + "*a*a/" * 10) * 30 + "b\n").encode())
    assert not is_ignored(rules, b"/".join([b"a" * 200] * 20), folder=False)
    assert not is_ignored(rules, b"/".join([b"a"] * 100), folder=False)
    assert not read_rules(b" " * LARGEST)


def test_hundreds_of_double_stars_take_no_time() -> None:
    for pattern in ("**/" * 300 + "b", "**/a/" * 300 + "b", "a" + "/**" * 300):
        rules = read_rules(pattern.encode())
        begun = time.process_time()
        for number in range(20):
            is_ignored(rules, "/".join(["x"] * 100 + [str(number)]).encode(), folder=False)
        assert time.process_time() - begun < 0.5


def test_an_ignore_file_that_is_none(tmp_path: Path) -> None:
    write(tmp_path, {"x": "", ".gitignore/y": "", "sub/x": ""})
    (tmp_path / "sub" / ".gitignore").symlink_to("/etc/passwd")
    assert open_repository(tmp_path, ignored=False).files == (".gitignore/y", "sub/x", "x")


def test_rules_that_are_not_read_whole_are_refused(tmp_path: Path) -> None:
    write(tmp_path, {"sub/.gitignore": "#" * LARGEST + "\nx\n", "sub/x": ""})
    with pytest.raises(UsageError, match=r"^sub/\.gitignore holds more than .* --ignored$"):
        open_repository(tmp_path, ignored=False)


def test_a_folder_of_ignored_files_alone_says_so(tmp_path: Path) -> None:
    write(tmp_path, {".gitignore": "*\n", "x": ""})
    with pytest.raises(UsageError, match="--ignored"):
        open_repository(tmp_path, ignored=False)
