from __future__ import annotations

import gc
import json
import os
import pickle
import signal
import subprocess
import sys
import time

import pytest

from natlang_envs.errors import UsageError
from natlang_envs.repository.tree import RepositoryChanged, open_repository
from natlang_envs.sandbox.isolation.isolation import Limits
from natlang_envs.sandbox.isolation.temporary_folders import MARKER, PREFIX, OwnFolder
from natlang_envs.sandbox.sandbox import AutoExploreSandbox
from tests.support import hostile


def both(sandbox: AutoExploreSandbox, *lines: str) -> list[tuple]:
    return [tuple(sandbox.execute(line)) for line in lines]


THERE_ARE = "cat, cd, echo, find, grep, head, ls, pip, pwd, python, sed, tail, wc"
ANSWERS = [
    ("cat README.md", ("# Title\n\nHello.\n", "", 0)),
    (
        "cat -n README.md no-end.txt",
        ("     1\t# Title\n     2\t\n     3\tHello.\n     4\tno line break at the end", "", 0),
    ),
    ("cat src/../README.md ./src//main.py", ("# Title\n\nHello.\ndef main():\n    return 1\n", "", 0)),
    ("cat /work/nothing -- -n", ("dash\n", "", 0)),
    ("cat missing nothing", ("", "cat: missing: No such file or directory\n", 1)),
    ("cat src", ("", "cat: src: Is a directory\n", 1)),
    ("cat README.md/", ("", "cat: README.md/: Not a directory\n", 1)),
    ("cat README.md/x", ("", "cat: README.md/x: Not a directory\n", 1)),
    ("cat missing/../README.md", ("", "cat: missing/../README.md: No such file or directory\n", 1)),
    ("cat", ("", "", 0)),
    ("cat ''", ("", "cat: : No such file or directory\n", 1)),
    ("cat -A README.md", ("", "cat: invalid option -- 'A'\n", 1)),
    ("cat --help", ("", "cat: unrecognized option '--help'\n", 1)),
    ("cat latin.txt", ("caf\\xe9\n", "", 0)),
    (
        "cat 'bad\\xff' 'line\\x0abreak' 'line\nbreak' 'back\\slash'",
        ("no utf-8\nline break\nline break\nbackslash\n", "", 0),
    ),
    ("head -n 2 src/deep/far.txt", ("line 1\nline 2\n", "", 0)),
    ("head -2 src/deep/far.txt", ("line 1\nline 2\n", "", 0)),
    ("head src/deep/far.txt -n1", ("line 1\n", "", 0)),
    ("head -n 0 README.md", ("", "", 0)),
    ("head -c 3 README.md", ("# T", "", 0)),
    ("head -n 1 README.md src/main.py", ("==> README.md <==\n# Title\n\n==> src/main.py <==\ndef main():\n", "", 0)),
    ("head -q -n 1 README.md src/main.py", ("# Title\ndef main():\n", "", 0)),
    ("head -n x README.md", ("", "head: invalid number of lines: 'x'\n", 1)),
    ("head -n", ("", "head: option requires an argument -- 'n'\n", 1)),
    ("head missing", ("", "head: cannot open 'missing': No such file or directory\n", 1)),
    ("tail -n 2 src/deep/far.txt", ("line 29\nline 30\n", "", 0)),
    ("tail -n +29 src/deep/far.txt", ("line 29\nline 30\n", "", 0)),
    ("tail -n +0 README.md", ("# Title\n\nHello.\n", "", 0)),
    ("tail -n +99 README.md", ("", "", 0)),
    ("tail -n 1 no-end.txt", ("no line break at the end", "", 0)),
    ("tail -n 99 README.md", ("# Title\n\nHello.\n", "", 0)),
    ("tail -c 4 README.md", ("lo.\n", "", 0)),
    ("tail -c +14 README.md", ("o.\n", "", 0)),
    ("tail -n 0 README.md", ("", "", 0)),
    ("tail -f README.md", ("", "tail: invalid option -- 'f'\n", 1)),
    ("ls src", ("deep\nmain.py\nup\n", "", 0)),
    ("ls -F src", ("deep/\nmain.py\nup\n", "", 0)),
    ("ls -a sub", (".\n..\nmodule.py\n", "", 0)),
    ("ls -l src", ("d          0 deep\n-         25 main.py\n?          0 up\n", "", 0)),
    ("ls -R src", ("src:\ndeep\nmain.py\nup\n\nsrc/deep:\nfar.txt\n", "", 0)),
    ("ls README.md empty src", ("README.md\n\nempty:\n\nsrc:\ndeep\nmain.py\nup\n", "", 0)),
    ("ls missing", ("", "ls: cannot access 'missing': No such file or directory\n", 2)),
    ("ls -Z", ("", "ls: invalid option -- 'Z'\n", 2)),
    ("cd missing", ("", "cd: missing: No such file or directory\n", 1)),
    ("cd README.md", ("", "cd: README.md: Not a directory\n", 1)),
    ("cd a b", ("", "cd: too many arguments\n", 1)),
    ("echo a  'b  c'", ("a b  c\n", "", 0)),
    ("echo -n a", ("a", "", 0)),
    ("echo -e 'a\\tb\\x41\\0101\\\\'", ("a\tbAA\\\n", "", 0)),
    ("echo -ne 'a\\cb'", ("a", "", 0)),
    ("echo 'a\\tb' -n", ("a\\tb -n\n", "", 0)),
    ("echo -x", ("-x\n", "", 0)),
    ("vim README.md", ("", f"vim: command not found (there are {THERE_ARE})\n", 127)),
    ("cat -dash.py", ("", "cat: invalid option -- 'd'; a name is written ./-dash.py\n", 1)),
    ("cat 'README.md", ("", "a single quote is not closed\n", 2)),
]


@pytest.mark.parametrize(("line", "expected"), ANSWERS)
def test_answers(sandbox, line, expected):
    assert tuple(sandbox.execute(line)) == (*expected, None)


REAL = [line for line, (_, errors, _) in ANSWERS if not errors and line.split()[0] in ("cat", "head", "tail")]


@pytest.mark.parametrize("line", [line for line in REAL if not any(sign in line for sign in ("/work", "\\x"))])
@pytest.mark.skipif(sys.platform != "linux", reason="the programs of other systems have other options")
def test_what_the_real_programs_say(repo, line):
    if "\\s" in line:
        pytest.skip("a name that is shown in another way")
    real = subprocess.run(["/bin/sh", "-c", line], cwd=repo, stdin=subprocess.DEVNULL, capture_output=True, check=False)
    ours = AutoExploreSandbox(repo).execute(line)
    assert (ours.stdout, ours.exit_code) == (real.stdout.decode("utf-8", "backslashreplace"), real.returncode)


def test_moving_about(sandbox):
    assert both(sandbox, "cd src", "cd deep", "tail -n 1 far.txt", "cd ..", "ls deep")[2][0] == "line 30\n"
    assert sandbox.cwd == "src"
    sandbox.execute("cd /work/src/deep/..//deep/")
    assert sandbox.cwd == "src/deep"
    sandbox.execute("cd")
    assert sandbox.cwd == ""
    assert sandbox.execute("cd ..").exit_code == 1
    assert sandbox.cwd == ""


def test_writing(sandbox, repo):
    before = hostile.tree_hash(repo)
    lines = [
        "echo one > new.txt",
        "echo two >> new.txt",
        "cat new.txt",
        "echo -n x > README.md",
        "cat data.bin > 'c d.bin'",
    ]
    assert both(sandbox, *lines)[2] == ("one\ntwo\n", "", 0, None)
    sandbox.execute("echo three >> src/deep/far.txt")
    assert sandbox.execute("tail -n 2 src/deep/far.txt").stdout == "line 30\nthree\n"
    assert "new.txt" in sandbox.execute("ls").stdout.split("\n")
    changes = {change.path: change for change in sandbox.changed_files()}
    assert {path: change.kind for path, change in changes.items()} == {
        "README.md": "modified",
        "c d.bin": "added",
        "new.txt": "added",
        "src/deep/far.txt": "modified",
    }
    assert changes["README.md"].before == b"# Title\n\nHello.\n"
    assert changes["README.md"].after == b"x"
    assert changes["c d.bin"].after == bytes(range(256)) * 4
    assert hostile.tree_hash(repo) == before
    sandbox.execute("head -n 99 new.txt > README.md")
    (repo / "x").write_bytes(b"# Title\n\nHello.\n")
    sandbox.execute("echo -e '# Title\\n\\nHello.' > README.md")
    assert "README.md" not in {change.path for change in sandbox.changed_files()}


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ("echo a > src", "src: Is a directory\n"),
        ("echo a > missing/new", "missing/new: No such file or directory\n"),
        ("echo a > README.md/new", "README.md/new: Not a directory\n"),
        ("echo a > new/", "new/: No such file or directory\n"),
        ("echo a > ''", ": No such file or directory\n"),
        ("echo a > .git", ".git: Operation not permitted\n"),
        ("echo a > src/.GIT", "src/.GIT: Operation not permitted\n"),
        ("echo a > .git/config", ".git/config: No such file or directory\n"),
        ("echo a > " + "m" * 256, "m" * 256 + ": File name too long\n"),
        ("echo a > fifo", "fifo: Not a regular file\n"),
        ("echo a > to-inside", "to-inside: Symbolic links are not followed here\n"),
    ],
)
def test_writing_where_nothing_can_be_written(sandbox, line, problem):
    assert sandbox.execute(line) == ("", problem, 1, None)
    assert sandbox.changed_files() == ()


def test_limits_of_output_and_disk(repo):
    (repo / "big.txt").write_text("0123456789\n" * 1_000)
    with AutoExploreSandbox(open_repository(repo), limits=Limits(output=100, disk=30_000)) as sandbox:
        shown = sandbox.execute("cat big.txt")
        assert (len(shown.stdout), shown.exit_code, shown.stopped) == (100, 1, "it wrote more than 100 bytes")
        assert sandbox.execute("ls -R . . . .").stopped
        assert sandbox.execute("tail -n 2 big.txt").stdout == "0123456789\n" * 2
        copies = [sandbox.execute(f"cat big.txt > copy{n}.txt") for n in range(4)]
        assert [copy.exit_code for copy in copies] == [0, 0, 1, 1]
        assert copies[2].stderr == "copy2.txt: No space left on device\n"
        assert sandbox.execute("cat big.txt > copy0.txt").exit_code == 0  # it takes its own place
        assert sandbox.execute("cat big.txt big.txt big.txt >> copy0.txt").exit_code == 1
        assert len(sandbox.changed_files()) == 2


def test_snapshot_through_json_and_pickle(repo):
    with AutoExploreSandbox(repo) as one, AutoExploreSandbox(repo) as other:
        both(one, "cd src", "echo a > new", "cat ../data.bin > bin", "echo b > main.py")
        state = one.snapshot()
        hash(state)
        changes = one.changed_files()
        both(one, "echo more >> new", "echo c > ../README.md", "cd ..")
        for form in (state, json.loads(json.dumps(state)), pickle.loads(pickle.dumps(state))):
            for sandbox in (one, other):
                sandbox.restore(form)
                assert sandbox.cwd == "src"
                assert sandbox.changed_files() == changes
                assert sandbox.execute("cat new main.py").stdout == "a\nb\n"
                assert sandbox.snapshot() == state
        one.reset()
        assert one.snapshot() == ("", ())
        assert one.execute("cat src/main.py").stdout.startswith("def")


@pytest.mark.parametrize(
    "state", [[], ["", [["../x", "file", ""]]], ["", [["a/b", "file", "!"]]], ["", 5], ["", [[1]]]]
)
def test_what_is_no_state(sandbox, state):
    sandbox.execute("echo a > new")
    before = sandbox.snapshot()
    with pytest.raises(UsageError, match="no state"):
        sandbox.restore(state)
    assert sandbox.snapshot() == before
    assert sandbox.execute("cat new").stdout == "a\n"
    assert sandbox.execute("cat src/main.py").exit_code == 0


def test_what_changed_in_the_original_is_taken_anew_and_named(repo):
    with AutoExploreSandbox(repo) as sandbox:
        sandbox.execute("echo a > README.md")
        (repo / "src" / "main.py").write_text("changed\n")
        note = "[src/main.py changed in the original: it is taken as it is now]\n"
        assert sandbox.execute("cat src/main.py") == ("changed\n", note, 0, None)
        assert sandbox.execute("cat src/main.py") == ("changed\n", "", 0, None)
        (repo / "src" / "main.py").unlink()
        (repo / "src" / "deep" / "far.txt").unlink()
        gone = sandbox.execute("cat src/deep/far.txt")
        assert gone.stdout == ""
        assert "[src/deep/far.txt changed in the original: it is gone, and left out]\n" in gone.stderr
        assert sandbox.execute("ls src").stdout == "deep\nup\n"
        assert sandbox.execute("ls src/deep").stdout == ""
        assert sandbox.execute("cat README.md").stdout == "a\n"
        (repo / "README.md").unlink()
        with pytest.raises(RepositoryChanged, match=r"README\.md"):
            sandbox.diff()


def test_bad_arguments(repo):
    with AutoExploreSandbox(repo) as sandbox, pytest.raises(UsageError, match="cannot be written"):
        sandbox.export("/proc/nowhere/patch")
    with pytest.raises(UsageError, match="closed"):
        sandbox.execute("ls")


CRASH = """
import sys, time
from pathlib import Path
from natlang_envs.sandbox.isolation.temporary_folders import OwnFolder
own = OwnFolder(Path(sys.argv[1]))
print("ready", flush=True)
time.sleep(60)
"""


def test_nothing_is_left_behind(tmp_path):
    with subprocess.Popen([sys.executable, "-c", CRASH, tmp_path], stdout=subprocess.PIPE, text=True) as crashing:
        assert crashing.stdout is not None
        assert crashing.stdout.readline() == "ready\n"
        (abandoned,) = tmp_path.iterdir()
        assert abandoned.name.startswith(f"{PREFIX}{crashing.pid}-")
        OwnFolder(tmp_path).close()
        assert abandoned.exists()  # its process lives
        crashing.send_signal(signal.SIGKILL)
    own = OwnFolder(tmp_path)
    assert not abandoned.exists()
    assert len(list(tmp_path.iterdir())) == 1
    del own
    gc.collect()
    assert list(tmp_path.iterdir()) == []


def test_a_forked_child_leaves_the_folder_alone(tmp_path):
    own = OwnFolder(tmp_path)
    child = os.fork()
    if not child:
        own.close()
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0
    assert own.path.is_dir()
    own.close()
    assert list(tmp_path.iterdir()) == []


def test_very_deep_and_locked_folders_are_removed(tmp_path):
    own = OwnFolder(tmp_path)
    (own.path / "locked" / "below").mkdir(parents=True)
    (own.path / "locked" / "below" / "file").touch()
    (own.path / "locked" / "below").chmod(0)
    (own.path / "locked").chmod(0o500)
    (own.path / "out").symlink_to("/etc")
    top = os.open(own.path, os.O_RDONLY)
    for _ in range(1_200):  # more than the stack of Python
        os.mkdir("d", dir_fd=top)
        below = os.open("d", os.O_RDONLY, dir_fd=top)
        os.close(top)
        top = below
    os.close(top)
    own.close()
    assert not own.path.exists()


def test_opening_and_resetting_do_not_read_the_repository(repo):
    index = open_repository(repo)
    started = time.perf_counter()
    for _ in range(100):
        AutoExploreSandbox(index).reset()
    assert not index._contents
    assert time.perf_counter() - started < 5


def test_a_folder_of_the_users_own_is_never_removed(repo, tmp_path):
    place = tmp_path / "place"
    place.mkdir()
    mine = [f"{PREFIX}notes", f"{PREFIX}1-abcdefgh", f"{PREFIX}999999-abcdefgh", f"{PREFIX}01-abcdefgh", f"{PREFIX}1-a"]
    for name in mine:
        (place / name).mkdir()
        (place / name / "thesis").touch()
    (place / f"{PREFIX}999999-abcdefgh" / MARKER).symlink_to(repo / "README.md")  # of the form, but not our marker
    OwnFolder(place).close()
    assert sorted(each.name for each in place.iterdir()) == sorted(mine)
    assert all((place / name / "thesis").exists() for name in mine)


def test_a_patch_is_not_written_into_the_repository(repo, tmp_path):
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (repo / "out").symlink_to(elsewhere)
    (tmp_path / "in").symlink_to(repo)
    with AutoExploreSandbox(repo) as sandbox:
        sandbox.execute("echo hi > new")
        for path in (repo / "fix.patch", repo / "out" / "fix.patch", tmp_path / "in" / "fix.patch"):
            with pytest.raises(UsageError, match="lies in the repository"):
                sandbox.export(path)
    assert not (repo / "fix.patch").exists()
    assert list(elsewhere.iterdir()) == []
