"""What a program did is seen, whatever it does to hide it, and comes back as it was."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
import time
import uuid
from pathlib import Path

import pytest

from natlang_envs.repository.tree import open_repository
from natlang_envs.sandbox import AutoExploreSandbox, Limits
from tests.natlang_envs.sandbox.test_isolation import running
from tests.support import hostile
from tests.support.isolation_here import isolation_or_skip, needs_isolation

pytestmark = needs_isolation
in_both_ways = pytest.mark.parametrize("laid", [False, True], ids=["copied", "over a layer"], indirect=True)
QUIET = """
import mmap, os
def quiet(path, new):
    before = os.stat(path)
    with open(path, "r+b") as file, mmap.mmap(file.fileno(), 0) as view:
        view[: len(new)] = new
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
"""


@pytest.fixture
def repo(tmp_path):
    (tmp_path / "repo" / "sub").mkdir(parents=True)
    (tmp_path / "repo" / "a.txt").write_text("first\n")
    (tmp_path / "repo" / "sub" / "run.py").write_text("print(1)\n")
    (tmp_path / "repo" / "link").symlink_to("a.txt")
    return tmp_path / "repo"


@pytest.fixture
def laid(request, monkeypatch):
    """Whether the changes are laid over the repository, as if that were large, or copied together with it."""
    if request.param and not isolation_or_skip().lays():
        pytest.skip("NO OVERLAY CAN BE MOUNTED HERE, so this was not tested")
    monkeypatch.setattr("natlang_envs.sandbox.sandbox.MANY", 0 if request.param else 1 << 30)
    return request.param


def run(sandbox: AutoExploreSandbox, code: str) -> str:
    sandbox.execute("echo '" + code.replace("'", "'\"'\"'") + "' > /work/.script.py")
    done = sandbox.execute("python /work/.script.py")
    assert (done.stderr, done.exit_code, done.stopped) == ("", 0, None)
    return done.stdout


@in_both_ways
@pytest.mark.parametrize("again", [False, True])
def test_an_edit_through_a_map_with_size_and_times_kept_is_seen(laid, repo, again):
    with AutoExploreSandbox(repo) as sandbox:
        if again:
            run(sandbox, "pass")
        run(sandbox, QUIET + "quiet('a.txt', b'F')")
        assert sandbox.execute("cat a.txt").stdout == "First\n"
        assert "+First" in sandbox.diff()


@in_both_ways
def test_edits_of_packages_and_git_come_back(laid, repo):
    with AutoExploreSandbox(repo) as sandbox:
        run(
            sandbox,
            "import os\nos.makedirs('.packages'); os.makedirs('sub/.GIT/hooks')\n"
            "open('.packages/m.py', 'w').write('x = 1'); open('sub/.GIT/hooks/pre', 'w').write('#!y')\n"
            "os.chmod('sub/.GIT/hooks/pre', 0o755); os.symlink('hooks', 'sub/.GIT/link')",
        )
        run(sandbox, QUIET + "quiet('.packages/m.py', b'y'); quiet('sub/.GIT/hooks/pre', b'?')")
        state = json.loads(json.dumps(sandbox.snapshot()))
        assert ".GIT" not in sandbox.execute("ls -aR").stdout
        assert sandbox.execute("cat sub/.GIT/hooks/pre").exit_code == 1
        assert [change.path for change in sandbox.changed_files()] == [".script.py"]
        sandbox.reset()
        assert (
            run(sandbox, "import os; print(os.path.exists('sub/.GIT'), os.path.exists('.packages'))") == "False False\n"
        )
        sandbox.restore(state)
        code = "import os; p = 'sub/.GIT/hooks/pre'; print(open('.packages/m.py').read(), open(p).read(), "
        assert (
            run(sandbox, code + "oct(os.stat(p).st_mode), os.readlink('sub/.GIT/link'))")
            == "y = 1 ?!y 0o100755 hooks\n"
        )


@in_both_ways
def test_links_and_modes_come_back(laid, repo):
    look = (
        "import os; print(os.readlink('new'), os.readlink('link'), "
        "*(oct(os.lstat(p).st_mode) for p in ('a.txt', 'sub', 'd')))"
    )
    with AutoExploreSandbox(repo) as sandbox:
        run(sandbox, "import os; os.symlink('../out\\n', 'new'); os.remove('link'); os.symlink('sub', 'link')")
        run(sandbox, "import os; os.chmod('a.txt', 0o444); os.mkdir('d'); os.chmod('d', 0); os.chmod('sub', 0o555)")
        expected = "../out\n sub 0o100444 0o40555 0o40000\n"
        assert run(sandbox, look) == expected
        state = json.loads(json.dumps(sandbox.snapshot()))
        sandbox.reset()
        sandbox.restore(state)
        assert sandbox.snapshot() == tuple(state) or json.loads(json.dumps(sandbox.snapshot())) == state
        assert run(sandbox, look) == expected


@in_both_ways
def test_a_mode_stays_what_the_program_made_it_while_it_runs(laid, repo):
    code = "import os, time; os.chmod('a.txt', 0o444); os.chmod('sub', 0o500); time.sleep(0.5); "
    with AutoExploreSandbox(repo) as sandbox:
        look = "print(oct(os.stat('a.txt').st_mode), oct(os.stat('sub').st_mode))"
        assert run(sandbox, code + look) == "0o100444 0o40500\n"


@in_both_ways
def test_a_file_made_executable_is_exported(laid, repo, tmp_path):
    with AutoExploreSandbox(repo) as sandbox:
        run(sandbox, "import os; os.remove('.script.py'); os.chmod('sub/run.py', 0o755)")
        assert sandbox.diff() == "diff --git a/sub/run.py b/sub/run.py\nold mode 100644\nnew mode 100755\n"
        (change,) = sandbox.changed_files()
        assert (change.kind, change.executable, change.was_executable) == ("modified", True, False)


HIDING = {
    "deleted but open": (
        "fs = []\nfor n in range(64):\n f = open('x', 'wb'); os.remove('x'); fs.append(f)\n"
        " f.write(bytes(1 << 20)); f.flush()"
    ),
    "many names": "for n in range(64): open(str(n), 'wb').write(bytes(1 << 20))",
    "a hole filled through a map": (
        "import mmap\nf = open('x', 'w+b'); f.truncate(4 << 20); m = mmap.mmap(f.fileno(), 0)\n"
        "for n in range(0, 4 << 20, 4096): m[n] = 1"
    ),
    "fallocate": "f = open('x', 'wb'); os.posix_fallocate(f.fileno(), 0, 64 << 20)",
    "long links": "for n in range(60_000): os.symlink('y' * 4000, 'l%d' % n)",
    "extended attributes": "open('x', 'w')\nfor n in range(60_000): os.setxattr('x', 'user.%d' % n, bytes(4000))",
}


@in_both_ways
@pytest.mark.parametrize("name", HIDING)
def test_the_kernel_keeps_the_size_of_the_folder(laid, repo, name):
    """However it is hidden, no more than the limit is ever written; afterwards all of it is gone."""
    limits = Limits(disk=2 << 20, seconds=15)
    code = "import os, sys\n" + HIDING[name]
    measure = "\nimport os; s = os.statvfs('/work'); print((s.f_blocks - s.f_bfree) * s.f_frsize)"
    with AutoExploreSandbox(repo, limits=limits) as sandbox:
        sandbox.execute("echo '" + code.replace("'", "'\"'\"'") + "' > hide.py")
        wrapped = (
            "import subprocess, sys; subprocess.run([sys.executable, 'hide.py'], stderr=subprocess.DEVNULL)" + measure
        )
        done = sandbox.execute('python -c "' + wrapped + '"')
        if done.stdout.strip():
            assert int(done.stdout) <= (2 << 20) * 1.1 + 16_384
        else:
            assert done.stopped
        assert sandbox.execute("cat a.txt").stdout == "first\n"


@in_both_ways
def test_a_large_file_full_of_holes_is_copied_as_such(laid, repo):
    with (repo / "big").open("wb") as file:
        file.seek(3 << 30)
        file.write(b"end")
    with AutoExploreSandbox(open_repository(repo, again=True), limits=Limits(seconds=5)) as sandbox:
        begun = time.monotonic()
        code = (
            "import os; s = os.stat('big'); print(s.st_size, s.st_blocks < 64); "
            "f = open('big', 'rb'); f.seek(3 << 30); print(f.read())"
        )
        assert sandbox.execute(f'python -c "{code}"').stdout == "3221225475 True\nb'end'\n"
        assert time.monotonic() - begun < 5
        assert [change.path for change in sandbox.changed_files()] == []
        done = sandbox.execute("python -c \"f = open('big', 'r+b'); f.write(b'X')\"")
        # Over a layer it is copied when it is opened for writing, and so the program itself is told.
        assert "File too large" in done.stderr if laid else "changed more than" in (done.stopped or "")


@pytest.mark.parametrize(
    "line", ["tail -c +1 big", "tail -n +1 big", "head -c 6442450944 big", "cat big", "tail -c 6442450944 big"]
)
def test_a_native_command_over_a_huge_file_takes_bounded_time_and_memory(repo, line):
    with (repo / "big").open("wb") as file:
        file.truncate(6 << 30)
    with AutoExploreSandbox(open_repository(repo, again=True)) as sandbox:
        begun = time.monotonic()
        done = sandbox.execute(line)
        assert time.monotonic() - begun < 2
        assert done.stopped == "it wrote more than 1048576 bytes"


def test_many_operands_end_at_the_time_limit(repo):
    (repo / "long").write_bytes(b"x" * (4 << 20))
    with AutoExploreSandbox(open_repository(repo, again=True), limits=Limits(seconds=0.5)) as sandbox:
        begun = time.monotonic()
        sandbox.execute("head -q -n 1 " + "long " * 12_000)
        sandbox.execute("tail -q -n +2 " + "long " * 12_000)
        assert time.monotonic() - begun < 3


def test_many_new_files_beside_many_others(repo):
    """The listing of a folder is made once for all that a program did in it."""
    for number in range(5_000):
        (repo / f"f{number}").touch()
    with AutoExploreSandbox(open_repository(repo, again=True), limits=Limits(seconds=60)) as sandbox:
        run(sandbox, "pass")
        begun = time.monotonic()
        run(sandbox, "pass")
        alone = time.monotonic() - begun
        begun = time.monotonic()
        run(sandbox, "for n in range(2_000): open('n%d' % n, 'w')")
        assert time.monotonic() - begun < alone + 3
        assert len(sandbox.changed_files()) == 2_001


KILLED = """
import sys
from natlang_envs.sandbox import AutoExploreSandbox, sandbox as module
module.MANY = int(sys.argv[2])
with AutoExploreSandbox(sys.argv[1]) as sandbox:
    sandbox.execute("python -c pass")
    print("ready", flush=True)
    while True:
        sandbox.execute("python -c \\"import time; open('x', 'w').write('y'); time.sleep(0.05)  # MARK\\"")
"""


def _wait_until_gone(mark: str) -> None:
    # A start that lost its caller goes on until it waits for its files, so a look that finds nothing proves nothing.
    deadline = time.monotonic() + 10
    found: list[list[int]] = []
    while time.monotonic() < deadline and (len(found) < 10 or any(found[-10:])):
        found.append(running(mark))
        time.sleep(0.05)
    assert not any(found[-10:])


KILLED_IN_A_STEP = """
import os, signal, sys
from natlang_envs.sandbox import AutoExploreSandbox
from natlang_envs.sandbox.isolation.namespaces import Namespaces
step = getattr(Namespaces, sys.argv[2])
def killed(*arguments):
    if sys.argv[3] == "after": step(*arguments)
    print("step", flush=True)
    os.kill(os.getpid(), signal.SIGKILL)
with AutoExploreSandbox(sys.argv[1]) as sandbox:
    sandbox.execute("python -c pass")
    setattr(Namespaces, sys.argv[2], killed)
    sandbox.execute("python -c \\"import time; time.sleep(60)  # MARK\\"")
"""


@pytest.mark.parametrize("when", ["before", "after"])
@pytest.mark.parametrize("step", ["_first_process", "_mounted", "go"])
def test_a_caller_killed_in_a_step_of_the_start_leaves_no_process(repo, step, when):
    """Between its clone and its prctl bubblewrap's inner process waits for an outer one that died with the caller."""
    mark = f"killed-{uuid.uuid4().hex}"
    done = subprocess.run(
        [sys.executable, "-c", KILLED_IN_A_STEP.replace("MARK", mark), repo, step, when],
        stdout=subprocess.PIPE, check=False,
    )  # fmt: skip
    assert (done.stdout, done.returncode) == (b"step\n", -signal.SIGKILL)
    _wait_until_gone(mark)


@in_both_ways
@pytest.mark.parametrize(
    "delay", [0.013, 0.09, *(pytest.param(each, marks=pytest.mark.slow) for each in (0.0, 0.04, 0.2))]
)
def test_a_killed_caller_leaves_nothing_on_the_disk_and_no_process(laid, repo, tmp_path, delay):
    temporary = tmp_path / "temporary"  # its own: what others that run beside it make in /tmp is not its
    temporary.mkdir()
    surroundings = {**os.environ, "TMPDIR": str(temporary)}

    def left(*processes: int) -> list[Path]:
        places = (Path(tempfile.gettempdir()), Path("/dev/shm"), Path("/var/tmp"))
        names = [name for process in processes for name in (f"natlang-*-{process}-*", f"natlang-{process}-*")]
        return [each for place in places for name in names for each in place.glob(name)]

    mark = f"killed-{uuid.uuid4().hex}"
    before = hostile.tree_hash(repo)
    many = "0" if laid else "9999"
    with subprocess.Popen(
        [sys.executable, "-c", KILLED.replace("MARK", mark), repo, many],
        stdout=subprocess.PIPE,
        text=True,
        env=surroundings,
    ) as caller:
        assert caller.stdout is not None
        assert caller.stdout.readline() == "ready\n"
        time.sleep(delay)
        caller.kill()
    _wait_until_gone(mark)
    with subprocess.Popen(
        [sys.executable, "-c", KILLED.partition("    print")[0], repo, many], env=surroundings
    ) as second:
        assert second.wait() == 0
    assert not left(caller.pid, second.pid)
    assert not list(temporary.iterdir())
    assert hostile.tree_hash(repo) == before
