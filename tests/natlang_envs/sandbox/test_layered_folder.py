"""Programs over a layer that all runs share find and leave the same as in a copy, and never change the layer."""

from __future__ import annotations

import fcntl
import gc
import json
import os
import threading
import time
from pathlib import Path

import pytest

from natlang_envs.repository.tree import open_repository
from natlang_envs.sandbox import AutoExploreSandbox, Limits
from natlang_envs.sandbox.changes import layered_folder as module
from natlang_envs.sandbox.isolation import layers
from natlang_envs.sandbox.isolation.isolation import Bubblewrap, probe_layers
from natlang_envs.sandbox.isolation.temporary_folders import MEMORY, PREFIX, OwnFolder
from tests.natlang_envs.sandbox.test_work_folder import run
from tests.support import hostile
from tests.support.isolation_here import isolation_or_skip

MANY = "natlang_envs.sandbox.sandbox.MANY"


@pytest.fixture(autouse=True)
def _laid(monkeypatch: pytest.MonkeyPatch) -> None:
    if not isolation_or_skip().lays():
        pytest.skip("NO OVERLAY CAN BE MOUNTED HERE, so this was not tested")
    monkeypatch.setattr(MANY, 0)


@pytest.fixture
def repo(tmp_path: Path) -> Path:
    return hostile.make(tmp_path)


def shared(repo: Path) -> Path:
    """Return the files that all runs over a repository share."""
    return module._shared[open_repository(repo)].layer.folder


@pytest.mark.slow
def test_a_run_beside_many_files_takes_no_longer_than_beside_few(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(20_000):
        (tmp_path / f"{number % 100}").mkdir(exist_ok=True)
        (tmp_path / f"{number % 100}" / f"{number}.txt").write_text("x")
    took: dict[int, float] = {}
    for many in (0, 1 << 30):
        monkeypatch.setattr(MANY, many)
        with AutoExploreSandbox(tmp_path, limits=Limits(seconds=60)) as sandbox:
            run(sandbox, "pass")
            turns: list[float] = []
            for _ in range(5):
                begun = time.monotonic()
                run(sandbox, "open('7/7.txt', 'a').write('y')")
                turns.append(time.monotonic() - begun)
            took[many] = min(turns)
            assert [change.path for change in sandbox.changed_files()] == [".script.py", "7/7.txt"]
    assert took[0] < took[1 << 30] / 3  # a tenth where nothing else runs


# What a program does at random, and what it sees afterwards. Folders of the original are not
# renamed, nor a file over its own hard link: overlayfs refuses both.
RANDOM = """
import os, random, shutil, sys
chance = random.Random(int(sys.argv[1]))
def everything():
    found = []
    for place, folders, files in os.walk('.'):
        found += [(os.path.join(place, name), name in folders) for name in sorted(folders + files)]
    return sorted(found)
for turn in range(25):
    path, folder = chance.choice(everything())
    new = os.path.join(os.path.dirname(path), 'new%d' % chance.randrange(6))
    what = chance.choice(('write', 'append', 'map', 'chmod', 'remove', 'again', 'rename', 'link', 'symlink', 'mkdir',
                          'other', 'fifo', 'git'))
    try:
        if what == 'write': open(path, 'w').write(str(chance.random()))
        elif what == 'append': open(path, 'a').write('more')
        elif what == 'map':
            import mmap
            with open(path, 'r+b') as file, mmap.mmap(file.fileno(), 0) as view: view[0] = chance.randrange(256)
        elif what == 'chmod': os.chmod(path, chance.choice((0o755, 0o644, 0o700) if folder else (0o755, 0o600, 0o444)))
        elif what == 'remove': shutil.rmtree(path) if folder and not os.path.islink(path) else os.remove(path)
        elif what == 'again':
            shutil.rmtree(path) if folder else os.remove(path)
            os.mkdir(path); open(path + '/inside', 'w').write('x')
        elif what == 'rename' and not folder: os.rename(path, new + 'moved%d' % turn)
        elif what == 'link' and not os.path.islink(path): os.link(path, new)
        elif what == 'symlink': os.symlink(path, new)
        elif what == 'mkdir': os.mkdir(new)
        elif what == 'other':
            shutil.rmtree(path) if folder else os.remove(path)
            os.symlink('x', path)
        elif what == 'fifo': os.mkfifo(new)
        elif what == 'git': os.makedirs(os.path.dirname(path) + '/.GIT'); open(os.path.dirname(path) + '/.GIT/x', 'w')
    except OSError as error: print(what, path, error.strerror)
for path, folder in everything():
    status = os.lstat(path)
    print(ascii(path), oct(status.st_mode),
          os.readlink(path) if os.path.islink(path) else open(path, 'rb').read() if os.path.isfile(path) else '')
"""


@pytest.mark.parametrize("seed", [*range(5), *(pytest.param(each, marks=pytest.mark.slow) for each in range(5, 60))])
def test_what_programs_find_and_leave_is_the_same_as_in_a_copy(
    repo: Path, monkeypatch: pytest.MonkeyPatch, seed: int
) -> None:
    before = hostile.tree_hash(repo)
    with AutoExploreSandbox(repo) as laid, AutoExploreSandbox(repo) as copied:
        for each in (laid, copied):
            each.execute("echo '" + RANDOM.replace("'", "'\"'\"'") + "' > /work/acts.py")
        for turn in range(3):
            answers: list[object] = []
            for many, sandbox in ((0, laid), (1 << 30, copied)):
                monkeypatch.setattr(MANY, many)
                sandbox.execute("echo native > README.md" if turn == 1 else "cd /work")
                answers.append(sandbox.execute(f"python acts.py {seed * 10 + turn}"))
            assert answers[0] == answers[1]
            assert dict(laid.overlay.changes) == dict(copied.overlay.changes)
            assert laid.overlay.hidden == copied.overlay.hidden
            assert laid.snapshot() == copied.snapshot()
            if turn == 1:
                laid.restore(json.loads(json.dumps(copied.snapshot())))
    assert hostile.tree_hash(repo) == before


def test_nothing_that_a_run_does_reaches_another_or_the_layer(repo: Path) -> None:
    with AutoExploreSandbox(repo) as first, AutoExploreSandbox(repo) as second:
        run(first, "pass")
        before = hostile.tree_hash(shared(repo))
        code = (
            "import os, mmap\n"
            "with open('README.md', 'r+b') as f, mmap.mmap(f.fileno(), 0) as m: m[0] = 0; m.flush()\n"
            "os.chmod('src', 0o700); os.utime('data.bin', (1, 1))\n"
            "os.truncate('src/main.py', 1); os.link('no-end.txt', 'hard'); os.remove('with space.txt')"
        )
        run(first, code)
        assert hostile.tree_hash(shared(repo)) == before
        look = "import os; print(open('README.md').read()[:1], os.path.exists('hard'), os.listxattr('nothing'))"
        assert run(second, look) == "# False []\n"
        first.reset()
        assert run(first, look) == "# False []\n"


def test_only_what_is_shown_of_a_repository_is_in_the_layer(repo: Path) -> None:
    (repo / ".gitignore").write_text("*.txt\n")
    chosen = open_repository(repo, ignored=False)
    with AutoExploreSandbox(chosen) as sandbox:
        shown = run(sandbox, "import os; print(*sorted(n for _, d, f in os.walk('/work') for n in d + f))").split()
    assert {"README.md", "deep", "main.py", "to-inside"} <= set(shown)
    assert not {".git", "fifo", "no-end.txt", "far.txt", "config"} & set(shown)


def test_a_change_of_the_original_while_a_program_runs_is_not_seen(repo: Path) -> None:
    with AutoExploreSandbox(repo) as sandbox:
        run(sandbox, "pass")
        change = threading.Timer(0.3, lambda: [(repo / n).write_text("changed") for n in ("README.md", "appeared")])
        change.start()
        code = "import os, time; time.sleep(0.8); print(open('README.md').read()[:7], os.path.exists('appeared'))"
        assert run(sandbox, code) == "# Title False\n"
        change.join()
        assert run(sandbox, "print(open('README.md').read()[:7])") == "# Title\n"


def test_locks_of_the_layers_files_are_each_runs_own(repo: Path) -> None:
    """A lock that another run, or the host, could notice would be a way to tell it something."""
    code = "import fcntl, time; fcntl.flock(f := open('README.md'), fcntl.LOCK_EX | fcntl.LOCK_NB); "
    code += "print('held', flush=True); time.sleep({})"
    with AutoExploreSandbox(repo) as first, AutoExploreSandbox(repo) as second:
        run(first, "pass")
        holder = threading.Thread(target=run, args=(first, code.format(1.5)))
        holder.start()
        time.sleep(0.5)
        assert run(second, code.format(0)) == "held\n"
        for path in (shared(repo) / "README.md", repo / "README.md"):
            with path.open() as file:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        holder.join()


def test_a_folder_of_the_original_is_moved_by_copying(repo: Path) -> None:
    with AutoExploreSandbox(repo) as sandbox:
        told = "import os\ntry: os.rename('src', 'lib')\nexcept OSError as error: print(error.strerror)"
        assert run(sandbox, told) == "Invalid cross-device link\n"
        assert run(sandbox, "import shutil; shutil.move('src', 'lib'); print(open('lib/main.py').read())").startswith(
            "def"
        )
        assert sandbox.execute("ls src").exit_code == 2
        assert sandbox.execute("cat lib/deep/far.txt").exit_code == 0
        run(sandbox, "import os; os.mkdir('own'); os.rename('own', 'other'); assert os.path.isdir('other')")


def test_a_program_may_start_in_a_folder_that_only_the_changes_have(repo: Path) -> None:
    with AutoExploreSandbox(repo) as sandbox:
        run(sandbox, "import os; os.makedirs('made/deep')")
        sandbox.execute("cd made/deep")
        code = "import os; print(os.getcwd(), os.environ['PWD'], 'OLDPWD' in os.environ)"
        assert run(sandbox, code) == "/work/made/deep /work/made/deep False\n"


def test_removing_more_files_than_may_be_made_is_no_limit_passed(tmp_path: Path) -> None:
    for number in range(2_000):
        (tmp_path / f"{number}").touch()
    with AutoExploreSandbox(tmp_path, limits=Limits(disk=4 << 20)) as sandbox:
        done = sandbox.execute("python -c 'import os, time; [os.remove(n) for n in os.listdir()]; time.sleep(0.2)'")
        assert (done.exit_code, done.stopped) == (0, None)
        begun = time.monotonic()
        code = "import time\nfor n in range(9_000): open(str(n), 'w')\ntime.sleep(9)"
        assert sandbox.execute(f'python -c "{code}"').stopped
        assert time.monotonic() - begun < 5  # by the watcher, not by the time


def test_the_layer_goes_with_the_last_index_of_the_repository(repo: Path) -> None:
    with AutoExploreSandbox(repo) as sandbox:
        run(sandbox, "pass")
        folder = shared(repo)
        assert folder.is_dir()
    del sandbox
    open_repository(repo, again=True)
    gc.collect()
    assert not folder.parent.exists()


def test_without_room_in_memory_it_is_on_the_disk(repo: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "available_memory", lambda: 0)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    with AutoExploreSandbox(open_repository(repo, again=True)) as sandbox:
        run(sandbox, "open('README.md', 'a').write('more')")
        assert shared(repo).is_relative_to(tmp_path)
        assert sandbox.execute("tail -n 1 README.md").stdout == "more"


def test_where_no_overlay_can_be_mounted_all_is_copied(repo: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(layers, "_LAY", "echo refused >&2; exit 1")
    isolation = isolation_or_skip()
    assert isinstance(isolation, Bubblewrap)
    assert probe_layers(isolation.run).endswith("refused")
    monkeypatch.setattr(Bubblewrap, "lays", lambda self: not probe_layers(self.run))
    with AutoExploreSandbox(repo) as sandbox:
        run(sandbox, "import os; os.rename('src', 'lib')")
        assert sandbox.execute("cat lib/main.py").exit_code == 0


def test_a_forked_process_makes_a_layer_of_its_own(repo: Path) -> None:
    with AutoExploreSandbox(repo) as sandbox:
        run(sandbox, "pass")
        ours = shared(repo)
        read, write = os.pipe()
        child = os.fork()
        if child == 0:
            sandbox.execute("python -c pass")
            os.write(write, str(shared(repo)).encode())
            os._exit(0)
        os.waitpid(child, 0)
        theirs = Path(os.read(read, 4096).decode())
        assert theirs != ours
        assert ours.is_dir()
        run(sandbox, "print(open('README.md').read())")
        OwnFolder(repo.parent).close()
        assert not theirs.exists()  # the child ended without removing it


def test_a_file_that_changed_since_it_was_indexed_is_taken_anew_and_named(repo: Path) -> None:
    before = set(MEMORY.glob(f"{PREFIX}*"))
    with AutoExploreSandbox(open_repository(repo, again=True)) as sandbox:
        (repo / "src" / "main.py").write_text("another size")
        (repo / "README.md").unlink()
        code = 'import os; print(open("src/main.py").read(), os.path.exists("README.md"))'
        result = sandbox.execute(f"python -c '{code}'")
        assert result.stdout == "another size False\n"
        assert "[src/main.py changed in the original: it is taken as it is now]" in result.stderr
        assert "[README.md changed in the original: it is gone, and left out]" in result.stderr
        assert not sandbox.changed_files()
    del sandbox
    gc.collect()
    assert not {each for each in MEMORY.glob(f"{PREFIX}{os.getpid()}-*") if each not in before}
