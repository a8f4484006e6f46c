"""An exported patch turns a fresh copy of the original into what programs left: files, links, modes and names."""

from __future__ import annotations

import errno
import os
import shutil
import stat
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from natlang_envs.repository.entries import open_folder
from natlang_envs.repository.names import shown
from natlang_envs.repository.tree import open_repository
from natlang_envs.sandbox.changes.overlay import Overlay
from natlang_envs.sandbox.changes.patch import changed_files, patch
from natlang_envs.sandbox.changes.work_folder import WorkFolder
from natlang_envs.sandbox.isolation.files import NO_OWNER
from natlang_envs.sandbox.sandbox import AutoExploreSandbox
from tests.strategies import examples
from tests.support.isolation_here import isolation_or_skip, needs_isolation
from tests.support.slow import slow_unless

needs_git = pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")
pytestmark = needs_git

# A file as (content, executable), a symbolic link as where it leads, a folder as what is in it.
Tree = dict[bytes, "tuple[bytes, bool] | bytes | Tree"]
PLAIN = (b"x\n", False)


def make(folder: bytes, tree: Tree) -> None:
    for name, what in tree.items():
        path = Path(os.fsdecode(folder + b"/" + name))
        if isinstance(what, dict):
            path.mkdir()
            make(os.fsencode(path), what)
        elif isinstance(what, bytes):
            path.symlink_to(os.fsdecode(what))
        else:
            path.write_bytes(what[0])
            path.chmod(0o755 if what[1] else 0o644)


def tree_of(folder: bytes) -> Tree:
    found: Tree = {}
    for entry in os.scandir(folder):
        if entry.is_symlink():
            found[entry.name] = os.fsencode(Path(os.fsdecode(entry.path)).readlink())
        elif entry.is_dir():
            if inside := tree_of(entry.path):  # git knows no empty folders
                found[entry.name] = inside
        else:
            content = Path(os.fsdecode(entry.path)).read_bytes()
            found[entry.name] = (content, bool(entry.stat().st_mode & stat.S_IXUSR))
    return found


def apply(patch: Path, target: Path, *options: str) -> None:
    done = subprocess.run(
        ["git", "apply", "--whitespace=nowarn", *options, str(patch)], cwd=target, capture_output=True, check=False
    )
    assert done.returncode == 0, (done.stderr, patch.read_bytes())


LINKS: Tree = {b"a": PLAIN, b"b": (b"b\n", False), b"link": b"a", b"dir": {b"in": PLAIN}, b"to-dir": b"dir"}
CASES: dict[str, tuple[Tree, str]] = {
    "a link becomes a file": (LINKS, "os.remove('link'); open('link', 'w').write('now')"),
    "a link is removed": (LINKS, "os.remove('link')"),
    "a link is made": (LINKS, "os.symlink('a', 'new')"),
    "a link is made that leads nowhere": (LINKS, "os.symlink('../../no where\\n', 'new')"),
    "a link leads elsewhere": (LINKS, "os.remove('link'); os.symlink('b', 'link')"),
    "a file becomes a link": (LINKS, "os.remove('b'); os.symlink('a', 'b')"),
    "a link becomes a folder": (LINKS, "os.remove('link'); os.mkdir('link'); open('link/in', 'w').write('1')"),
    "a folder becomes a link": (LINKS, "shutil.rmtree('dir'); os.symlink('a', 'dir')"),
    "a link to a folder is removed with the folder": (LINKS, "shutil.rmtree('dir'); os.remove('to-dir')"),
    "a link is renamed": (LINKS, "os.rename('link', 'dir/link')"),
    "a link and a file change places": (LINKS, "os.rename('link', 't'); os.rename('a', 'link'); os.rename('t', 'a')"),
    "a file is written through a link": (LINKS, "open('link', 'w').write('through')"),
    "a link of an odd name": (
        {b"a": PLAIN, b"\xff\n\t\"\\ '": b"\xfe\n"},
        "n = os.listdir(b'.'); [os.remove(x) for x in n if x != b'a']; os.symlink(b'\\xff', b'\\xfe \\n')",
    ),
    "a file becomes a folder, and a folder a file": (
        {b"f": PLAIN, b"g": {b"x": PLAIN}},
        "os.remove('f'); os.mkdir('f'); open('f/in', 'w').write('1'); shutil.rmtree('g'); open('g', 'w').write('2')",
    ),
    "line ends of every kind": (
        {b"c": (b"a\r\nb\rc\x0bd\x0ce\xc2\x85f\xe2\x80\xa8g", False), b"e": (b"", False)},
        "open('c', 'ab').write(b'\\r\\nd\\r\\n'); open('e', 'wb').write(b'q')",
    ),
    "odd encodings": (
        {b"u": ("grün\n".encode("utf-16"), False), b"l": (b"gr\xfcn\n", False), b"b": (b"\xef\xbb\xbfx\n", False)},
        "[open(n, 'ab').write(b'\\xe9\\0') for n in 'ulb']",
    ),
    "odd names": (
        dict.fromkeys(
            [b"-rf", b"a b", b"t\tx", b"n\nx", b'q"q', b"b\\s", b"\xff", "é".encode(), b" l", b"a => b"], PLAIN
        ),
        "[open(n, 'a').write('more') for n in os.listdir(b'.')]",
    ),
    "modes": (
        {b"run": (b"#!/bin/sh\n", True), b"plain": PLAIN},
        "os.chmod('run', 0o644); os.chmod('plain', 0o755); open('new', 'w'); os.chmod('new', 0o700)",
    ),
    "the case of a name": ({b"Readme": PLAIN}, "os.rename('Readme', 'README')"),
    "a tracked folder .packages": (
        {b".packages": {b"conf": PLAIN, b"l": b"conf"}, b"a": PLAIN},
        "open('.packages/conf', 'a').write('edited'); open('.packages/more', 'w').write('m'); os.remove('.packages/l')",
    ),
    "a tracked file .packages": ({b".packages": PLAIN, b"a": PLAIN}, "open('.packages', 'a').write('edited')"),
    "a file of which the program takes its own right to read": (
        {b"a": PLAIN, b"b": PLAIN},
        "open('a', 'a').write('y'); os.chmod('a', 0); os.chmod('b', 0)",
    ),
}


# Each case in one of the two ways; `make test-full` tries both.
@needs_isolation
@pytest.mark.parametrize(
    ("name", "laid"),
    slow_unless(
        lambda number: number % 2 == number // 2 % 2, [(name, laid) for name in CASES for laid in (False, True)]
    ),
)
def test_a_patch_makes_of_a_fresh_copy_what_the_program_left(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, laid: bool
) -> None:
    if laid and not isolation_or_skip().lays():
        pytest.skip("NO OVERLAY CAN BE MOUNTED HERE, so this was not tested")
    monkeypatch.setattr("natlang_envs.sandbox.sandbox.MANY", 0 if laid else 1 << 30)
    before, code = CASES[name]
    for folder in (source := tmp_path / "source", fresh := tmp_path / "fresh", wanted := tmp_path / "wanted"):
        folder.mkdir()
        make(os.fsencode(folder), before)
    subprocess.run(["python3", "-c", f"import os, shutil\n{code}"], cwd=wanted, check=True)
    with AutoExploreSandbox(source) as sandbox:
        done = sandbox.execute(f'python -c "import os, shutil\n{code}"'.replace("\\", "\\\\").replace('q\\"q', "q"))
        assert (done.stderr, done.exit_code) == ("", 0)
        sandbox.export(tmp_path / "p")
        assert sandbox.diff()
    apply(tmp_path / "p", fresh)
    for path in wanted.rglob("*"):
        if path.is_file() and not path.is_symlink():
            path.chmod(path.stat().st_mode | 0o600)
    assert tree_of(os.fsencode(fresh)) == tree_of(os.fsencode(wanted))
    apply(tmp_path / "p", fresh, "-R")
    assert tree_of(os.fsencode(fresh)) == before


names = st.sampled_from([b"a", b"b", b"c d", b"\xff", b"\n", b'"\\', "é".encode(), b" e"])
contents = st.lists(st.sampled_from([b"x\n", b"y\n", b"\r\n", b"\0", b"z", b"\\\n", b" "]), max_size=4).map(b"".join)
files = st.tuples(contents, st.booleans())
links = st.sampled_from([b"a", b"kept", b"../x", b"/etc", b"\xff\n", b'"\\', b"a/b", b"."])
trees: st.SearchStrategy[Tree] = st.recursive(
    st.dictionaries(names, files | links, max_size=4),
    lambda inside: st.dictionaries(names, files | links | inside.filter(bool), max_size=4),
    max_leaves=6,
)


def emptied(folder: int) -> None:
    for entry in os.scandir(folder):
        if entry.is_dir(follow_symlinks=False):
            shutil.rmtree(entry.name, dir_fd=folder)
        else:
            os.unlink(entry.name, dir_fd=folder)


def goes_in_circles(folder: str) -> bool:
    """Return whether a link leads to itself: git itself cannot apply a patch that makes a folder of such a one."""
    for top, inside, names in os.walk(folder):
        for name in (*inside, *names):
            try:
                Path(top, name).stat()
            except OSError as error:
                if error.errno == errno.ELOOP:
                    return True
    return False


def nothing_empty(tree: Tree) -> Tree:
    inside = {name: nothing_empty(what) if isinstance(what, dict) else what for name, what in tree.items()}
    return {name: what for name, what in inside.items() if what != {}}


@settings(max_examples=examples(60), deadline=None, suppress_health_check=[HealthCheck.filter_too_much])
@given(trees.map(nothing_empty), trees.map(nothing_empty))
def test_any_tree_becomes_any_other_by_its_patch(before: Tree, after: Tree) -> None:
    before = {**before, b"kept": PLAIN}
    with tempfile.TemporaryDirectory() as top:
        for name in ("source", "fresh", "work"):
            Path(top, name).mkdir()
            if name != "work":
                make(os.fsencode(Path(top, name)), before)
        overlay = Overlay(open_repository(Path(top, "source")), 1 << 20)
        files = WorkFolder(overlay, 1 << 20, 60)
        with open_folder(Path(top, "work")) as work:
            files.fill(work, NO_OWNER)
            assert tree_of(os.fsencode(Path(top, "work"))) == before
            assume(not goes_in_circles(f"{top}/work"))
            emptied(work)
            make(os.fsencode(Path(top, "work")), after)
            assume(not goes_in_circles(f"{top}/work"))
            files.collect(work)
        changes = tuple(changed_files(overlay))
        assert {each.path for each in changes} == set(differing(before, after))
        Path(top, "patch").write_bytes(b"".join(patch(changes)))
        apply(Path(top, "patch"), Path(top, "fresh"))
        assert tree_of(os.fsencode(Path(top, "fresh"))) == after
        apply(Path(top, "patch"), Path(top, "fresh"), "-R")
        assert tree_of(os.fsencode(Path(top, "fresh"))) == before


def differing(before: Tree, after: Tree) -> Iterator[str]:
    one, other = dict(leaves(before)), dict(leaves(after))
    for path in one.keys() | other.keys():
        if one.get(path) != other.get(path):
            yield shown(path.decode("utf-8", "surrogateescape"))


def leaves(tree: Tree, prefix: bytes = b"") -> Iterator[tuple[bytes, tuple[bytes, bool] | bytes]]:
    for name, what in tree.items():
        if isinstance(what, dict):
            yield from leaves(what, prefix + name + b"/")
        else:
            yield prefix + name, what
