"""Running python and pip in isolation: what a program gets, and what the caller does."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
import uuid
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

import natlang_envs
from natlang_envs.errors import UsageError
from natlang_envs.files import CACHE_VARIABLE
from natlang_envs.sandbox.isolation import isolation as module
from natlang_envs.sandbox.isolation.child import PACKAGES, interpreter_mounts
from natlang_envs.sandbox.isolation.files import HostFolder
from natlang_envs.sandbox.isolation.isolation import (
    Bubblewrap,
    Completed,
    Isolation,
    Limits,
    Unsafe,
    find_isolation,
)
from natlang_envs.sandbox.isolation.namespaces import Namespaces, arguments, waiting
from natlang_envs.sandbox.isolation.temporary_folders import remove_folder
from tests.support.isolation_here import isolation_or_skip

LIMITS = Limits(seconds=20)


@pytest.fixture(scope="session")
def isolation() -> Isolation:
    return isolation_or_skip()


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    made = tmp_path / "sandbox"
    (made / "sub").mkdir(parents=True)
    (made / "module.py").write_text("VALUE = 7\n")
    yield made
    remove_folder(made)


def python(isolation: Isolation, folder: Path, code: str, *arguments: str, limits: Limits = LIMITS) -> Completed:
    return isolation.run(("python", "-c", code, *arguments), HostFolder(folder), "", limits)


def test_a_program_sees_neither_this_suite_nor_its_cache_where_they_are_below_usr(
    isolation: Isolation, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(CACHE_VARIABLE, "/usr/share")
    interpreter_mounts.cache_clear()
    try:
        done = python(isolation, folder, "import os; print(os.listdir('/usr/share'))")
    finally:
        interpreter_mounts.cache_clear()
    assert done == Completed(0, b"[]\n", b"", None)


def test_the_data_beside_a_checkout_below_usr_are_hidden(monkeypatch: pytest.MonkeyPatch) -> None:
    is_dir = Path.is_dir
    monkeypatch.setattr(natlang_envs, "__file__", "/usr/share/natlang_envs/__init__.py")
    monkeypatch.setattr(Path, "is_dir", lambda path: str(path) == "/usr/share/datasets" or is_dir(path))
    interpreter_mounts.cache_clear()
    try:
        assert "/usr/share/datasets" in interpreter_mounts()
    finally:
        interpreter_mounts.cache_clear()


def test_output_status_and_files_come_back(isolation: Isolation, folder: Path) -> None:
    code = "import sys; print('out'); print('err', file=sys.stderr); open('new', 'w').write('x'); sys.exit(3)"
    assert python(isolation, folder, code) == Completed(3, b"out\n", b"err\n", None)
    assert (folder / "new").read_text() == "x"
    (folder / "new").write_text("ours again")
    (folder / "new").unlink()


def test_the_python_is_ours_and_finds_modules_of_the_working_folder(isolation: Isolation, folder: Path) -> None:
    done = python(isolation, folder, "import module, sys; print(module.VALUE, sys.version)")
    assert done.stdout.decode() == f"7 {sys.version}\n"
    assert not (folder / "__pycache__").exists()
    assert isolation.run(("python", "../module.py"), HostFolder(folder), "sub", LIMITS) == Completed(0, b"", b"", None)


def test_the_folder_to_start_in(isolation: Isolation, folder: Path) -> None:
    code = "import os; print(os.getcwd(), os.environ['PWD'])"
    assert isolation.run(("python3", "-c", code), HostFolder(folder), "sub", LIMITS).stdout == b"/work/sub /work/sub\n"
    assert python(isolation, folder, code).stdout == b"/work /work\n"


def test_arguments_are_never_words_of_a_shell(isolation: Isolation, folder: Path) -> None:
    given = ["a b", "$(id)", "; id", "", "*", "é", "--", "\n", "-c", "\udcff"]
    done = python(isolation, folder, "import sys; print(ascii(sys.argv[1:]))", *given)
    assert done.stdout.decode() == ascii(given) + "\n"


def test_the_same_run_looks_the_same_twice(isolation: Isolation, folder: Path) -> None:
    code = "import os; print(hash('x'), sorted(os.environ.items()), os.getpid(), os.getuid(), os.uname().nodename)"
    assert len({python(isolation, folder, code) for _ in range(10)}) == 1
    assert b"65534 sandbox" in python(isolation, folder, code).stdout


def test_what_a_run_made_unreadable_is_readable_again(isolation: Isolation, folder: Path) -> None:
    code = (
        "import os; os.mkdir('d'); open('d/f', 'w').write('x'); os.chmod('d/f', 0); os.chmod('d', 0); os.chmod('.', 0)"
    )
    assert python(isolation, folder, code).exit_code == 0
    assert (folder / "d" / "f").read_text() == "x"
    assert python(isolation, folder, "print(open('d/f').read())").stdout == b"x\n"


def test_the_death_of_a_process_is_a_shell_status(isolation: Isolation, folder: Path) -> None:
    assert python(isolation, folder, "import os; os.kill(os.getpid(), 11)").exit_code == 128 + signal.SIGSEGV


@pytest.mark.parametrize(
    ("code", "limits", "sentence"),
    [
        ("print(1); import time; time.sleep(60)", replace(LIMITS, seconds=0.7), "it ran longer than 0.7 seconds"),
        ("while True: print('x' * 99)", replace(LIMITS, output=5_000), "it wrote more than 5,000 bytes of output"),
        (
            "for n in range(99): open(str(n), 'wb').write(bytes(99_999))",
            replace(LIMITS, disk=999_999),
            "it wrote more than 999,999 bytes to the disk",
        ),
        (
            "import os, time\nfor _ in range(5): os.fork() or (x := bytearray(b'1') * (30 << 20), time.sleep(60))\n"
            "time.sleep(60)",
            replace(LIMITS, memory=64 << 20),
            "it held more than 67,108,864 bytes of memory",
        ),
    ],
    ids=["time", "output", "disk", "memory"],
)
def test_a_limit_passed_is_named(isolation: Isolation, folder: Path, code: str, limits: Limits, sentence: str) -> None:
    begun = time.monotonic()
    done = python(isolation, folder, code, limits=limits)
    assert (done.exit_code, done.stopped) == (137, sentence)
    assert len(done.stdout) <= limits.output
    assert time.monotonic() - begun < 10


def test_what_was_said_before_the_time_was_up_is_kept(isolation: Isolation, folder: Path) -> None:
    done = python(isolation, folder, "print('before'); input(); import time; time.sleep(60)", limits=LIMITS)
    assert b"before" in done.stdout
    assert b"EOFError" in done.stderr


def test_too_much_memory_in_one_process_is_its_own_error(isolation: Isolation, folder: Path) -> None:
    done = python(isolation, folder, "x = bytes(1 << 30)", limits=replace(LIMITS, memory=256 << 20))
    assert b"MemoryError" in done.stderr
    assert done.stopped is None


def test_processes_are_counted_for_each_run_alone(isolation: Isolation, tmp_path: Path) -> None:
    code = """
import os, time
made = 0
try:
    while True:
        if os.fork() == 0: time.sleep(2); os._exit(0)
        made += 1
except OSError: pass
print(made)
"""
    answers: list[bytes] = []

    def run(name: str) -> None:
        (tmp_path / name).mkdir()
        answers.append(python(isolation, tmp_path / name, code, limits=replace(LIMITS, processes=8)).stdout)

    threads = [threading.Thread(target=run, args=(name,)) for name in "abc"]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert answers == [b"7\n"] * 3
    for name in "abc":
        remove_folder(tmp_path / name)


def running(mark: str) -> list[int]:
    """Return the processes whose command line holds a mark."""
    found: list[int] = []
    for each in Path("/proc").iterdir():
        if each.name.isdigit() and each.name != str(os.getpid()):
            try:
                said = (each / "cmdline").read_bytes()
            except OSError:
                continue
            if mark.encode() in said:
                found.append(int(each.name))
    return found


def test_a_program_whose_caller_is_gone_before_the_start_never_runs(isolation: Isolation) -> None:
    assert isinstance(isolation, Bubblewrap)
    root = os.geteuid() == 0
    command = [*waiting(root), "/bin/echo", "ran"]
    for wanted in (b"", b"ran\n"):
        started = Namespaces(isolation.program, arguments(root, 4096, "", Limits()), command)
        with started:
            if wanted:
                started.go(Limits())
            else:  # the kernel closes what a dead caller had open
                os.dup2(os.open(os.devnull, os.O_RDONLY), started._go)
            assert started.process.stdout is not None
            assert started.process.stdout.read() == wanted


def test_nothing_outlives_the_caller(isolation: Isolation, folder: Path) -> None:
    mark = uuid.uuid4().hex  # this test's own: others run beside it
    code = f"""
from pathlib import Path
from natlang_envs.sandbox.isolation.isolation import *
from natlang_envs.sandbox.isolation.files import HostFolder
inside = "import time; time.sleep(60)  # {mark[:16]}" + "{mark[16:]}"
find_isolation().run(("python", "-c", inside), HostFolder(Path({str(folder)!r})), "", Limits(seconds=60))
"""
    environ = {**os.environ, "PYTHONPATH": str(Path(module.__file__).parents[3])}
    caller = subprocess.Popen([sys.executable, "-c", code], env=environ)
    try:
        begun = time.monotonic()
        while not running(mark) and time.monotonic() - begun < 30:
            time.sleep(0.05)
        assert running(mark)
    finally:
        caller.kill()
        caller.wait()
    time.sleep(0.5)
    assert not running(mark)


def test_an_interrupted_run_leaves_no_process_behind(isolation: Isolation, folder: Path) -> None:
    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    mark = uuid.uuid4().hex
    before = signal.signal(signal.SIGALRM, interrupt)
    signal.setitimer(signal.ITIMER_REAL, 1.5)
    try:
        with pytest.raises(KeyboardInterrupt):
            python(isolation, folder, f"import time\ntime.sleep(60)  # {mark}")
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    assert not running(mark)


def test_pip_installs_what_is_in_the_sandbox(isolation: Isolation, folder: Path) -> None:
    if python(isolation, folder, "import setuptools").exit_code or python(isolation, folder, "import pip").exit_code:
        pytest.skip("the running Python has no pip or no setuptools")
    setup = "import setuptools; setuptools.setup(name='own-thing', version='1', py_modules=['own_thing'])"
    (folder / "sub" / "setup.py").write_text(setup)
    (folder / "sub" / "own_thing.py").write_text("print('installed')")
    limits = replace(LIMITS, seconds=60)
    done = isolation.run(("pip", "install", "./sub"), HostFolder(folder), "", limits)
    assert done.exit_code == 0, done
    assert (folder / PACKAGES).is_dir()
    assert python(isolation, folder, "import own_thing").stdout == b"installed\n"
    assert b"own" in isolation.run(("pip", "list"), HostFolder(folder), "", limits).stdout


@pytest.mark.parametrize(
    "arguments",
    [
        ("install", "git+https://example.com/x"),
        ("install", "https://example.com/x.whl"),
        ("install", "-i", "http://localhost/", "x"),
        ("download", "--index-url=http://localhost", "x"),
        ("install", "no-such-package-anywhere"),
    ],
)
def test_pip_says_that_there_is_no_network(isolation: Isolation, folder: Path, arguments: tuple[str, ...]) -> None:
    done = isolation.run(("pip", *arguments), HostFolder(folder), "", replace(LIMITS, seconds=60))
    assert done.exit_code != 0
    if b"No module named pip" not in done.stderr:
        assert done.stderr.endswith(
            b"pip: there is no network in the sandbox: name a folder or a wheel that is in it\n"
        )


@pytest.mark.parametrize("kind", ["isolated", "unsafe"])
@pytest.mark.parametrize(
    ("argv", "cwd", "words"),
    [
        ((), "", "nothing to run"),
        (("bash", "-c", "id"), "", "unknown program 'bash'"),
        (("python",), "..", "the folder to start in is '..'"),
        (("python",), "/work", "the folder to start in is '/work'"),
        (("python",), "missing", "there is no folder 'missing'"),
        (("python",), "module.py", "there is no folder 'module.py'"),
        (("python",), "link", "there is no folder 'link'"),
    ],
)
def test_a_callers_mistake_is_one_line(
    request: pytest.FixtureRequest, folder: Path, kind: str, argv: tuple[str, ...], cwd: str, words: str
) -> None:
    chosen: Isolation = request.getfixturevalue("isolation") if kind == "isolated" else Unsafe()
    (folder / "link").symlink_to("/etc")
    with pytest.raises(UsageError, match=words) as caught:
        chosen.run(argv, HostFolder(folder), cwd, LIMITS)
    assert "\n" not in str(caught.value)


def test_what_cannot_be_started_is_an_answer(isolation: Isolation, folder: Path) -> None:
    for each in (isolation, Unsafe()):
        done = python(each, folder, "a\0b")
        assert (done.exit_code, done.stderr) == (126, b"python: an argument holds a NUL\n")
        done = python(each, folder, "x" * 4_000_000)
        assert done.exit_code == 126
        assert b"too long" in done.stderr


def test_without_bubblewrap_one_line_says_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    failing = tmp_path / "failing"
    failing.write_text("#!/bin/sh\necho no namespaces for you >&2\nexit 1\n")
    failing.chmod(0o755)
    monkeypatch.setattr(module, "_candidates", lambda: (tmp_path / "missing", failing))
    with pytest.raises(UsageError) as caught:
        find_isolation()
    message = str(caught.value)
    assert "apt-get install bubblewrap" in message
    assert "no namespaces for you" in message
    assert f"there is no {tmp_path / 'missing'}" in message
    assert "\n" not in message
    assert isinstance(find_isolation(unsafe=True), Unsafe)


def test_the_second_way_is_taken_where_the_first_fails(isolation: Isolation, monkeypatch: pytest.MonkeyPatch) -> None:
    assert isinstance(isolation, Bubblewrap)
    working = isolation.program
    monkeypatch.setattr(module, "_candidates", lambda: (Path("/bin/false"), working))
    assert find_isolation(unsafe=True).name == f"bubblewrap ({working})"


def test_unsafe_says_so_and_still_limits(folder: Path) -> None:
    unsafe = Unsafe()
    assert "unsafe" in unsafe.name
    assert python(unsafe, folder, "print(1)") == Completed(0, b"1\n", b"", None)
    done = python(unsafe, folder, "import time; time.sleep(60)", limits=replace(LIMITS, seconds=0.5))
    assert done.stopped == "it ran longer than 0.5 seconds"
    done = python(unsafe, folder, "bytes(1 << 30)", limits=replace(LIMITS, memory=256 << 20))
    assert b"MemoryError" in done.stderr
    done = python(unsafe, folder, "import os; print(sorted(os.environ))")
    assert b"PYTEST" not in done.stdout


def test_removing_follows_no_link(tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "file").write_text("x")
    folder = tmp_path / "folder"
    (folder / "a" / "b").mkdir(parents=True)
    (folder / "a" / "b" / "link").symlink_to(outside)
    (folder / "link").symlink_to(outside / "file")
    (folder / "a" / "b").chmod(0)
    remove_folder(folder)
    assert not folder.exists()
    assert (outside / "file").read_text() == "x"
    remove_folder(folder)  # again: nothing there is no error
    (tmp_path / "link").symlink_to(outside)
    with pytest.raises(OSError, match="link"):
        remove_folder(tmp_path / "link")
    assert outside.is_dir()


def test_what_bubblewrap_says_is_never_lost(isolation: Isolation) -> None:
    assert isinstance(isolation, Bubblewrap)
    told = ["--unshare-user", "--unshare-pid", "--ro-bind", "/no such folder", "/usr"]
    for _ in range(10):  # its process inside may be gone before it is looked at
        with pytest.raises(OSError, match="/no such folder"):
            Namespaces(isolation.program, told, ["true"])
