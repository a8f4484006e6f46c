from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from natlang_envs.errors import UsageError
from natlang_envs.repository.names import on_disk, same, shown
from natlang_envs.repository.tree import MAX_DEPTH, RepositoryChanged, open_repository
from tests.strategies import any_text


def test_index_names_every_regular_file_and_nothing_else(repo):
    index = open_repository(repo)
    assert index.name == "repo"
    assert "README.md" in index.files
    assert "src/deep/far.txt" in index.files
    assert {"bad\\xff", "line\\x0abreak", "back\\x5cslash", "ümlaut", "it's"} <= set(index.files)
    assert list(index.files) == sorted(index.files)
    assert not [path for path in index.files if ".git" in path.split("/")]
    assert set(index.links) == {
        *("to-file", "to-folder", "to-root", "to-proc", "to-up", "to-inside", "dangling", "loop", "src/up")
    }
    assert index.barred == {"fifo": "Not a regular file"}
    assert not set(index.files) & {*index.links, *index.barred}
    assert index.folder("").folders == ("empty", "src", "sub")
    assert index.folder("sub") == ("sub", (), ("module.py",))
    assert index.folder("empty") == ("empty", (), ())
    with pytest.raises(KeyError):
        index.folder("to-folder")
    assert index.read("bad\\xff") == b"no utf-8\n"
    assert index.read("line\\x0abreak") == b"line break\n"


def test_one_index_a_process(repo):
    first = open_repository(repo)
    assert open_repository(f"{repo}/src/..") is first
    (repo / "new.txt").write_text("new")
    assert open_repository(repo) is first
    second = open_repository(repo, again=True)
    assert "new.txt" in second.files
    assert open_repository(repo) is second


def test_digest_is_of_names_and_contents(repo):
    before = open_repository(repo).digest
    os.utime(repo / "README.md", (1, 1))
    assert open_repository(repo, again=True).digest == before
    (repo / "README.md").write_text("# Other\n")
    assert open_repository(repo, again=True).digest != before


@pytest.mark.parametrize("how", ["content", "gone", "link", "folder", "fifo", "parent"])
def test_changed_original_is_noticed_and_named(repo, how):
    index = open_repository(repo)
    path = repo / "src" / "main.py"
    if how == "content":
        path.write_text("other")
    elif how == "parent":
        (repo / "src").rename(repo / "moved")
        (repo / "src").symlink_to(repo / "moved")
    else:
        path.unlink()
        if how == "link":
            path.symlink_to("/etc/passwd")
        elif how == "folder":
            path.mkdir()
        elif how == "fifo":
            os.mkfifo(path)  # opening it must not wait
    for look in (index.read, index.check):
        with pytest.raises(RepositoryChanged, match=r"^src/main.py of .*repo changed since"):
            look("src/main.py")
    assert open_repository(repo) is not index


@pytest.mark.parametrize(
    ("kind", "words"), [("missing", "does not exist"), ("file", "is a file"), ("empty", "no read")]
)
def test_what_is_no_repository(tmp_path, kind, words):
    path = tmp_path / "x"
    if kind == "file":
        path.write_text("")
    elif kind == "empty":
        (path / "only" / "folders").mkdir(parents=True)
    with pytest.raises(UsageError, match=words) as caught:
        open_repository(path)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("path", ["", "a\0b", "/proc/1/task/1/fd/none"])
def test_odd_paths_of_repositories(path):
    with pytest.raises(UsageError):
        open_repository(path)


def test_what_is_too_deep_is_left_out_and_named(tmp_path):
    deep = Path(tmp_path, *["d"] * (MAX_DEPTH + 2))
    deep.mkdir(parents=True)
    for each in (deep, deep.parent.parent, tmp_path):
        (each / "x").write_text("x")
    index = open_repository(tmp_path)
    last = "/".join(["d"] * MAX_DEPTH)
    assert index.files == (f"{last}/x", "x")
    assert index.barred == {f"{last}/d": "Too many folders in one another"}
    assert index.others(last) == ("d",)


@given(st.binary(min_size=1, max_size=20).filter(lambda name: b"\0" not in name))
def test_names_are_shown_and_found_again(name):
    text = shown(os.fsdecode(name))
    assert on_disk(text) == name
    assert same(text) == text
    assert text.encode().decode() == text
    assert not any(ord(character) < 32 for character in text)


@given(any_text)
def test_no_typed_name_becomes_a_path(name):
    found = same(name)
    assert found.count("/") == name.count("/")
    if "\0" not in name:
        assert b"\0" not in on_disk(found)
        assert same(found) == found


@pytest.mark.parametrize("name", ["\\x2f", "\\x2e\\x2e", "\\x00", "\\x41"])
def test_escapes_that_name_plain_characters_stay_as_they_are(name):
    assert on_disk(same(name)) == name.encode()
