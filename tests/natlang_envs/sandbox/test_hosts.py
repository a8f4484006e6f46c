"""The sandbox in a process of any kind: a program finds the same, nothing hangs, and nothing is left behind."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from natlang_envs.sandbox.isolation.temporary_folders import MEMORY
from tests.support.isolation_here import isolation_or_skip

SECONDS = 60
SCRIPT = """
import os, resource, signal, sys, threading, time
kinds, folder, out = sys.argv[1].split(), sys.argv[2], os.fdopen(os.dup(1), "w")
if "ignores" in kinds:
    for each in (signal.SIGCHLD, signal.SIGHUP, signal.SIGINT): signal.signal(each, signal.SIG_IGN)
if "blocks" in kinds: signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
if "closed" in kinds:
    for each in range(3): os.close(each)
if "umask" in kinds: os.umask(0o777)
if "open" in kinds:
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, 4096), hard))
    kept = [os.open(os.devnull, os.O_RDONLY) for _ in range(1500)]
if "limited" in kinds:
    for kind, most in ((resource.RLIMIT_DATA, 400 << 20), (resource.RLIMIT_SIGPENDING, 99), (resource.RLIMIT_CPU, 90)):
        resource.setrlimit(kind, (most, most))
def wait():
    while True:
        try: os.waitpid(-1, 0)
        except OSError: time.sleep(0.0005)
if "waits" in kinds: threading.Thread(target=wait, daemon=True).start()

from natlang_envs.sandbox import AutoExploreSandbox
from natlang_envs.sandbox import sandbox as module
if "layered" in kinds: module.MANY = 0
with AutoExploreSandbox(folder, limits=module.Limits(seconds=20)) as sandbox:
    sandbox.execute("python -c pass")  # what is kept for the next run is there
    before = sorted(os.listdir("/proc/self/fd"))
    code = '''import os, signal; print(oct(os.umask(0)),
        [n for n in range(1, 32) if signal.getsignal(n) is signal.SIG_IGN],
        signal.pthread_sigmask(0, []), sorted(os.listdir("/proc/self/fd"))); os.mkdir("made"); os._exit(3)'''
    sandbox.execute("cat > code.py << 'END'\\n" + code + "\\nEND")
    killed = sandbox.execute("python -c 'import os; os.kill(os.getpid(), 9)'").exit_code
    same = sorted(os.listdir("/proc/self/fd")) == before
    print(sandbox.execute("python code.py"), killed, sandbox.execute("ls").stdout.split(), same, file=out, flush=True)
os._exit(0)
"""
FOUND = (
    "CommandResult(stdout=\"0o22 [13, 25] set() ['0', '1', '2', '3']\\n\", stderr='', exit_code=3, stopped=None)"
    " 137 ['a.py', 'code.py', 'made'] True\n"
)
EACH = ("", "ignores", "blocks", "closed", "umask", "open", "limited", "waits")
ALL = "ignores blocks closed umask open limited waits"


@pytest.mark.parametrize(
    "kinds", [ALL, f"{ALL} layered", *(pytest.param(each, marks=pytest.mark.slow) for each in EACH)]
)
def test_a_program_finds_the_same_whatever_its_caller_is(tmp_path: Path, kinds: str) -> None:
    isolation_or_skip()
    (tmp_path / "a.py").write_text("print(1)\n")
    command = [sys.executable, "-c", SCRIPT, kinds, str(tmp_path)]
    here = {**os.environ, "TMPDIR": str(tmp_path)}
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=here) as running:
        out, errors = running.communicate(timeout=SECONDS)
    assert (out, errors) == (FOUND, "")
    assert "layered" in kinds or not [*MEMORY.glob(f"natlang-explore-{running.pid}-*")]
    assert "layered" in kinds or [each.name for each in tmp_path.iterdir()] == ["a.py"]


@pytest.mark.slow
def test_the_doctor_ends_where_the_end_of_children_is_ignored(tmp_path: Path) -> None:
    isolation_or_skip()
    code = (
        "import signal, sys; signal.signal(signal.SIGCHLD, signal.SIG_IGN)\n"
        "from natlang_envs.cli.main import app; sys.argv = ['natlang', 'doctor']; app()"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=SECONDS, check=False)
    assert "bubblewrap" in done.stdout


def test_without_isolation_an_exit_code_that_nobody_sees_is_refused(tmp_path: Path) -> None:
    code = (
        "import signal; signal.signal(signal.SIGCHLD, signal.SIG_IGN)\n"
        "from pathlib import Path; from natlang_envs.sandbox.isolation.isolation import Limits, Unsafe\n"
        "from natlang_envs.sandbox.isolation.files import HostFolder\n"
        f"print(Unsafe().run(('python', '-c', '1/0'), HostFolder(Path({str(tmp_path)!r})), '', Limits()))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=SECONDS, check=False)
    assert "exit_code=126" in done.stdout
    assert "SIGCHLD" in done.stdout
