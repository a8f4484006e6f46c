"""Command lines that try to get out: every class of the design's list that a command without a process can be.

What Python code tries inside is in the tests of the isolation.
"""

from __future__ import annotations

import json
import os
import random
import signal
import tempfile
import time
import traceback
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from natlang_envs.errors import UsageError
from natlang_envs.repository.tree import open_repository
from natlang_envs.sandbox.sandbox import AutoExploreSandbox
from tests.strategies import native_line, shell_like
from tests.support import hostile

OUT = "{base}/secret.txt"
PARENT = [
    *("cat ../secret.txt", "cat ./../secret.txt", "cat src/../../secret.txt", "cat src/deep/../../../secret.txt"),
    *(
        "cat ../repo/../secret.txt",
        "cat /work/../secret.txt",
        "cat //work//..//secret.txt",
        "cat /work/src/../../secret.txt",
    ),
    *("cat empty/../../secret.txt", "head ../secret.txt", "tail ../secret.txt", "cat -n ../secret.txt", "ls .."),
    *(
        "ls -R ..",
        "ls -laR ../outer",
        "cd ..",
        "cd ../outer",
        "cd src/../..",
        "cat '..'/secret.txt",
        "cat \\.\\./secret.txt",
    ),
    *("cat '\\x2e\\x2e/secret.txt'", "cat '..\\x2fsecret.txt'", "cat '%2e%2e/secret.txt'", "cat ..\\/secret.txt"),
]
ABSOLUTE = [
    *(f"cat {OUT}", f"head {OUT}", f"tail {OUT}", f"cat /{OUT}", f"ls {OUT}", "ls {base}", "cd {base}", "ls /", "cd /"),
    *("cat /etc/passwd", "cat README.md /etc/passwd", "ls -la /etc", "cat /proc/self/environ", "cat /proc/self/fd/0"),
    *(
        "cat /proc/self/root{base}/secret.txt",
        "cat /dev/fd/3",
        "cat /dev/stdin",
        "cat /workshop",
        "cat file://{base}/secret.txt",
    ),
]
LINKS = [
    *("cat to-file", "head to-file", "tail to-file", "cat to-folder/inside.txt", "ls to-folder", "ls to-folder/"),
    *("cd to-folder", "ls -R to-root", "cat to-root{base}/secret.txt", "cat to-proc{base}/secret.txt", "cd to-root"),
    *(
        "cat to-up/secret.txt",
        "cat src/up/secret.txt",
        "cd src/up",
        "cat loop",
        "cat loop/loop",
        "cat dangling",
        "ls loop/",
    ),
    *("cat src/../to-file", "cat to-folder/../secret.txt", "cd to-folder/../src", "ls -R", "ls -laRF"),
]
WRITES = [
    *("echo x > ../secret.txt", "echo x >> ../secret.txt", f"echo x > {OUT}", f"echo x >> {OUT}", "echo x > to-file"),
    *(
        "echo x >> to-file",
        "echo x > to-folder/new",
        "echo x > to-folder/inside.txt",
        "echo x > dangling",
        "echo x > loop",
    ),
    *("echo x > hard-link", "echo x >> hard-link", "echo x > src/up/secret.txt", "echo x > to-proc{base}/secret.txt"),
    *("echo x > /dev/null", "echo x > /dev/tty", "echo x > /proc/self/mem", "echo x > fifo", "echo x > .git/config"),
    *("echo x > .git/hooks/pre-commit", "echo x > .git", "echo x > sub/.git", "cat README.md > ../made-by-attack"),
    *("echo x > '..\\x2fmade-by-attack'", "echo x > '\\x2e\\x2e/made-by-attack'", "> ../made-by-attack echo x"),
    *("echo x > README.md/../../made-by-attack", "ls > /work/../made-by-attack"),
]
SHELL = [
    *("ls; touch ../made-by-attack", "ls && touch ../made-by-attack", "ls || touch x", "ls | tee ../made-by-attack"),
    *(
        "echo $(cat ../secret.txt)",
        "echo `cat ../secret.txt`",
        'echo "$(cat ../secret.txt)"',
        "echo $HOME",
        "cat < ../secret.txt",
    ),
    *(
        "cat <(cat ../secret.txt)",
        "cat <<< x",
        "echo x 2> ../made-by-attack",
        "echo x &> ../made-by-attack",
        "cat ~/secret.txt",
    ),
    *(
        "echo x >| ../made-by-attack",
        "cat ../*",
        "cat ../secret.???",
        "ls\ncat ../secret.txt",
        "cat '$(touch pwned)'",
        "ls &",
    ),
    *("sh -c 'cat ../secret.txt'", "bash", "/bin/cat ../secret.txt", "./run.sh", "rm -rf /", "exec cat ../secret.txt"),
    *("eval ls", "env", "sudo ls", "source run.sh", "A=1 cat ../secret.txt", "!!", "cat {{../secret.txt,README.md}}"),
    *("ls -la --color=$(id)", "git status", "tail --retry -F ../secret.txt", "curl file://{base}/secret.txt"),
]
NAMES = [
    *(
        "cat a\0b",
        "cat '../secret.txt\0.md'",
        "echo x > 'a\0b'",
        "cat " + "n" * 256,
        "cat " + "d/" * 5_000,
        "cd " + "../" * 2_000,
    ),
    *(
        "echo " + "a" * 70_000,
        "cat '" + "n" * 255 + "'",
        "cat 'line\nbreak'",
        "cat 'bad\\xff'",
        "cat \udcff",
        "cat \ud800/../../secret.txt",
    ),
    *(
        "cat fifo",
        "head fifo",
        "tail -n 1 fifo",
        "cat fifo/x",
        "cat .git/config",
        "ls -a .git",
        "cd .git",
        "cat src/../.git/config",
    ),
    *("cat sub/.git", "cat .GIT/config", "cat -- -n", "cat -n -n", "\0", "\x1b[2J", "cat \u202esecret.txt"),
]
ATTACKS = [*PARENT, *ABSOLUTE, *LINKS, *WRITES, *SHELL, *NAMES]


def test_there_are_enough():
    assert len(ATTACKS) == len(set(ATTACKS)) >= 60


def attack(base: Path, repo: Path) -> None:
    """Try every line, from two folders."""
    before = hostile.tree_hash(base)
    with AutoExploreSandbox(repo) as sandbox:
        for start in ("cd /work", "cd /work/src/deep"):
            for line in ATTACKS:
                if sandbox.changed_files():
                    sandbox.reset()
                sandbox.execute(start)
                done = sandbox.execute(line.replace("{base}", str(base)))
                assert hostile.SECRET not in done.stdout + done.stderr, line
                assert "root:" not in done.stdout, line
                assert hostile.tree_hash(base) == before, line
                assert not (base.parent / "made-by-attack").exists(), line
                assert sandbox.overlay.kind(sandbox.cwd) == "folder"


def test_no_line_gets_out(repo):
    attack(repo.parent, repo)


@pytest.mark.skipif(os.geteuid() != 0, reason="the present user is an ordinary one already")
def test_no_line_gets_out_as_an_ordinary_user():
    child = os.fork()
    if not child:
        failed = 1
        try:
            os.setgroups([])
            os.setgid(65534)
            os.setuid(65534)
            with tempfile.TemporaryDirectory() as base:
                attack(Path(base), hostile.make(Path(base)))
            failed = 0
        except BaseException:
            traceback.print_exc()
        finally:
            os._exit(failed)
    assert os.waitpid(child, 0)[1] == 0


def swap(path: Path, kept: Path, target: Path) -> None:
    """Put a link to `target` in the place of `path`, and `path` back, until killed."""
    moves = [
        *(lambda: kept.rename(path), lambda: path.rename(kept)),
        *(lambda: path.symlink_to(target), lambda: path.unlink()),
    ]
    while True:
        for move in moves:
            with suppress(OSError):
                move()
            time.sleep(random.random() / 2_000)  # some states last long enough to be read whole


@pytest.mark.parametrize("what", ["src/main.py", "src"])
def test_a_link_swapped_in_while_reading_and_writing_is_not_followed(repo, what):
    """Another process changes the repository all the time; nothing outside may be shown."""
    base = repo.parent
    (base / "outer" / "main.py").write_text(hostile.SECRET)
    child = os.fork()
    if not child:
        try:
            swap(repo / what, repo / "kept", base / ("outer" if what == "src" else "secret.txt"))
        finally:
            os._exit(1)
    shown: list[str] = []
    refused = 0
    try:
        for _ in range(300):
            try:
                with AutoExploreSandbox(open_repository(repo, again=True)) as sandbox:
                    shown += [sandbox.execute(line).stdout for line in ("cat src/main.py", "ls src")]
            except UsageError:  # gone at this moment, or another file than a moment before
                refused += 1
    finally:
        os.kill(child, signal.SIGKILL)
        assert os.waitpid(child, 0)[1] == signal.SIGKILL
    assert not any(hostile.SECRET in each or "inside.txt" in each for each in shown)
    assert any("def main" in each for each in shown)


@pytest.fixture(scope="module")
def shared(tmp_path_factory):
    """One hostile repository and two sandboxes over it, for many lines."""
    base = tmp_path_factory.mktemp("fuzzed")
    repo = hostile.make(base)
    sandboxes = [AutoExploreSandbox(repo), AutoExploreSandbox(repo)]
    yield repo, sandboxes, hostile.tree_hash(repo)
    for sandbox in sandboxes:
        sandbox.close()


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(native_line | shell_like, min_size=1, max_size=8))
def test_any_line_is_answered_alike_from_a_restored_state(shared, lines):
    repo, sandboxes, before = shared
    for sandbox in sandboxes:
        sandbox.reset()
    for line in lines:
        sandboxes[1].restore(json.loads(json.dumps(sandboxes[0].snapshot())))
        one, other = (sandbox.execute(line) for sandbox in sandboxes)
        assert one == other
        assert hostile.SECRET not in one.stdout + one.stderr or "hard-link" in line
        one.stdout.encode()
        one.stderr.encode()
        assert one.exit_code == 0 or one.stderr or one.stopped
        assert sandboxes[0].cwd == sandboxes[1].cwd
    assert sandboxes[0].changed_files() == sandboxes[1].changed_files()
    assert hostile.tree_hash(repo) == before
