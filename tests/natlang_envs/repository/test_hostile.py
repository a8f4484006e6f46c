"""Repositories that are made to hang or exhaust whoever reads them: each is answered soon, by name."""

from __future__ import annotations

import os
import re
import signal
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from natlang_envs import UsageError
from natlang_envs.change.making.fork_runner import Runner, open_tested
from natlang_envs.finder.find import find
from natlang_envs.finder.index import FileIndex
from natlang_envs.repository.navigation import navigation_of
from natlang_envs.repository.tree import open_repository
from tests.support.folders import write

SECONDS = 2.0
GIT = {".git/HEAD": "ref: refs/heads/main\n", ".git/config": "[core]\n", ".git/info/x": "", ".git/objects/x": ""}


def endless(path: Path) -> None:
    with path.open("wb") as file:
        file.truncate(1 << 40)


def linked(folder: Path, common: Callable[[Path], None]) -> None:
    write(folder, {".git": "gitdir: .own\n", ".own/HEAD": "x"})
    common(folder / ".own/commondir")


def in_git(folder: Path, name: str, make: Callable[[Path], None]) -> None:
    write(folder, GIT)
    (folder / ".git" / name).unlink(missing_ok=True)
    make(folder / ".git" / name)


def zero(path: Path) -> None:
    path.symlink_to("/dev/zero")


def included(folder: Path, path: str) -> None:
    os.mkfifo(folder / "pipe")
    write(folder, {**GIT, ".git/config": f"[include]\n\tpath = {path}\n[core]\n\texcludesFile = {folder}/pipe\n"})


def slow_rules(folder: Path) -> None:
    write(folder, {**GIT, ".gitignore": "\n".join(f"name{n}*[0-9]?" for n in range(50_000))})
    write(folder, {f"f{n}.txt": "x" for n in range(500)})


def nested(folder: Path) -> None:
    here = os.open(folder, os.O_RDONLY)
    for _ in range(600):
        os.mkdir("d", dir_fd=here)
        below = os.open("d", os.O_RDONLY, dir_fd=here)
        os.close(here)
        here = below
    os.close(here)


def odd_names(folder: Path) -> None:
    for name in (
        b"a\nb.py",
        b"\xff\xfe.py",
        b"-rf.py",
        b"n" * 252 + b".py",
        b"\x1b[2J.py",
        b"$(touch x).py",
        b"--help",
    ):
        Path(os.fsdecode(os.fsencode(folder) + b"/" + name)).write_text("x = 1\n")


# What is made of a folder, and what is refused where the rules of git count; nothing: all is answered.
HOSTILE: dict[str, tuple[Callable[[Path], object], str]] = {
    "a FIFO as .git": (lambda folder: os.mkfifo(folder / ".git"), ""),
    "a device as .git": (lambda folder: zero(folder / ".git"), ""),
    "an endless .git": (lambda folder: endless(folder / ".git"), ""),
    "a .git that names no path": (lambda folder: write(folder, {".git": "gitdir: " + "x/" * 3000}), ""),
    "a FIFO as commondir": (lambda folder: linked(folder, os.mkfifo), ""),
    "a device as commondir": (lambda folder: linked(folder, zero), ""),
    "a FIFO as HEAD": (lambda folder: in_git(folder, "HEAD", os.mkfifo), ""),
    "a FIFO as config": (lambda folder: in_git(folder, "config", os.mkfifo), ""),
    "a device as config": (lambda folder: in_git(folder, "config", zero), ""),
    "settings that include a FIFO": (lambda folder: included(folder, f"{folder}/pipe"), ""),
    "settings that include a device": (lambda folder: included(folder, "/dev/zero"), ""),
    "settings that include themselves": (lambda folder: included(folder, "config"), ""),
    "a FIFO as exclude": (lambda folder: in_git(folder, "info/exclude", os.mkfifo), "exclude is not a regular file"),
    "a device as exclude": (lambda folder: in_git(folder, "info/exclude", zero), "exclude is not a regular file"),
    "an endless exclude": (lambda folder: in_git(folder, "info/exclude", endless), "exclude holds more than"),
    "a FIFO as .gitignore": (
        lambda folder: (write(folder, GIT), os.mkfifo(folder / ".gitignore")), ".gitignore is not a regular file",
    ),
    "an endless .gitignore": (
        lambda folder: (write(folder, GIT), endless(folder / ".gitignore")), ".gitignore holds more than",
    ),
    "rules that take long": (slow_rules, "rules that take too long"),
    "a rule without end": (lambda folder: write(folder, {**GIT, ".gitignore": "*a" * 9000}), "longer than 4,096 bytes"),
    "FIFOs as files": (lambda folder: [os.mkfifo(folder / n) for n in ("a.py", "README", "pyproject.toml")], ""),
    "devices as files": (lambda folder: [zero(folder / n) for n in ("a.py", "README", "pyproject.toml")], ""),
    "endless files": (lambda folder: [endless(folder / n) for n in ("a.py", "README", "tests/data.bin")], ""),
    "folders without end": (nested, ""),
    "odd names": (odd_names, ""),
}  # fmt: skip


@pytest.fixture(autouse=True)
def soon(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[None]:
    """End a test that waits for what never comes, and give it a home and a cache of its own."""
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("NATLANG_CACHE", str(tmp_path / "cache"))

    def end(*_: object) -> None:
        raise TimeoutError("it waits")

    before = signal.signal(signal.SIGALRM, end)
    signal.setitimer(signal.ITIMER_REAL, 30)
    yield
    signal.setitimer(signal.ITIMER_REAL, 0)
    signal.signal(signal.SIGALRM, before)


# What .git holds is not copied, or read, to break a repository.
COPIED = ("FIFOs as files", "devices as files", "endless files", "folders without end", "odd names")


@pytest.fixture(params=HOSTILE)
def hostile(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[Path, str]:
    """Return a hostile repository with a good file and a good test, and what is refused."""
    sources = {"shop/tea.py": "def price(cups):\n    return cups * 3 if cups > 3 else cups * 2\n"}
    folder = write(tmp_path / "repo", {**sources, "tests/test_tea.py": "def test_tea():\n    assert True\n"})
    make, refused = HOSTILE[request.param]
    make(folder)
    return folder, refused


def test_it_is_indexed_and_asked_soon(hostile: tuple[Path, str]) -> None:
    folder, refused = hostile
    for ignored in (False, True):
        begun = time.thread_time()
        if refused and not ignored:
            with pytest.raises(UsageError, match=re.escape(refused)):
                open_repository(folder, again=True, ignored=False)
        else:
            repository = open_repository(folder, again=True, ignored=ignored)
            index = FileIndex(repository)
            assert find(index, "price of tea").files[0].path == "shop/tea.py"
            if repository.barred:
                assert index.note.startswith("Left out: ")
                assert min(repository.barred) in index.note
            navigation = navigation_of(repository, 2000)
            for path in repository.files:
                assert navigation.parts(path) >= 1
                assert len(navigation.text(path)) < 5000
        assert time.thread_time() - begun < SECONDS


@pytest.mark.parametrize("hostile", COPIED, indirect=True)
def test_it_is_read_to_be_broken_soon(hostile: tuple[Path, str]) -> None:
    folder, _ = hostile
    begun = time.thread_time()
    subject = open_tested(folder)
    assert "shop/tea.py" in subject.sources
    assert set(subject.left_out) >= {path for path in open_repository(folder).barred if path.endswith(".py")}
    with Runner(subject) as runner:
        assert (runner.root / "shop/tea.py").is_file()
        assert not any(each.is_fifo() for each in runner.root.iterdir())
    assert time.thread_time() - begun < SECONDS
