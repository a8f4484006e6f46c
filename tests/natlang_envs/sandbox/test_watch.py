"""The limit on memory of all processes together: what an honest program does is not taken for more than it is."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import replace
from itertools import count
from pathlib import Path

import pytest

from natlang_envs.sandbox.isolation.control_group import control_group, groups_folder, who_counts_memory
from natlang_envs.sandbox.isolation.files import HostFolder
from natlang_envs.sandbox.isolation.isolation import Completed, Limits
from natlang_envs.sandbox.isolation.processes import Processes
from tests.support.isolation_here import isolation_or_skip

EXIT = 60 if os.uname().machine == "x86_64" else 93  # ends one thread
LIMITS = Limits(seconds=60, memory=160 << 20)
FILLED = "x = bytearray(os.urandom(4096)) * (100 << 8)\n"  # 100 MB

HONEST = {
    "starts many programs while it holds more than half": (
        f"import os, subprocess\n{FILLED}for _ in range(200): subprocess.run(['/bin/true'], check=True)"
    ),
    "holds more than half while a program is slow to begin": (
        "import os, time\nos.mkfifo('/tmp/f')\n"
        "if os.fork() == 0: time.sleep(.5); open('/tmp/f', 'w').close(); os._exit(0)\n"
        f"{FILLED}a = [(os.POSIX_SPAWN_OPEN, 0, '/tmp/f', os.O_RDONLY, 0)]\n"
        "os.posix_spawn('/bin/true', ['true'], {}, file_actions=a)"
    ),
    "shares most of its memory with its children": (
        f"import os, time\n{FILLED}ps = [os.fork() for _ in range(4)]\ntime.sleep(.5)\n"
        "if all(ps):\n    for _ in ps: os.wait()"
    ),
    "maps shared memory": "import mmap; ms = [mmap.mmap(-1, 1 << 20) for _ in range(8)]; import time; time.sleep(.3)",
    "has sockets and pipes": (
        "import os, socket, time; x = [socket.socketpair() for _ in range(40)] + [os.pipe() for _ in range(40)]\n"
        "time.sleep(.3)"
    ),
    "has a pool and an event loop": (
        "import asyncio, multiprocessing as m\nwith m.get_context('fork').Pool(8) as p:\n"
        "    p.map(abs, range(99)); asyncio.run(asyncio.sleep(.3))"
    ),
}


def run(folder: Path, code: str, limits: Limits = LIMITS) -> Completed:
    return isolation_or_skip().run(("python", "-c", code), HostFolder(folder), "", limits)


@pytest.mark.parametrize("does", HONEST)
def test_an_honest_program_is_not_stopped_that(tmp_path: Path, does: str) -> None:
    done = run(tmp_path, HONEST[does])
    assert (done.exit_code, done.stderr, done.stopped) == (0, b"", None)


def test_a_program_over_the_limit_is_told_so(tmp_path: Path) -> None:
    code = f"import os, time\n{FILLED}if os.fork() == 0: x = None; y = os.urandom(90 << 20)\ntime.sleep(30)"
    assert run(tmp_path, code).stopped == "it held more than 167,772,160 bytes of memory"


def test_as_many_files_as_are_allowed(tmp_path: Path) -> None:
    code = "import time\nfor n in range(900): open(f'/tmp/{n}', 'w').close()\ntime.sleep(.2)"
    assert run(tmp_path, code, replace(LIMITS, disk=4 << 20)).stopped is None


def test_a_thread_that_goes_on_without_its_leader_is_counted() -> None:
    code = (
        "import ctypes, os, sys, threading\n"
        "def work(): x = bytearray(os.urandom(4096)) * (50 << 8); print('ready', flush=True); sys.stdin.read()\n"
        f"threading.Thread(target=work).start(); ctypes.CDLL(None).syscall({EXIT}, 0)"
    )
    pipe = subprocess.PIPE
    with subprocess.Popen([sys.executable, "-c", code], stdin=pipe, stdout=pipe) as child:
        assert child.stdout is not None
        assert child.stdout.readline() == b"ready\n"
        assert Path(f"/proc/{child.pid}/statm").read_text().startswith("0 "), "this kernel shows it: no proof"
        with Processes(os.getpid(), Path("/")) as processes:
            mine = next(each for each in processes._living() if each.partition("/")[0] == str(child.pid))
            assert 50 << 20 < processes._resident(mine) < 200 << 20
            assert processes._share(mine) > 50 << 20
            assert sum(processes._tables(mine)) > 0
        child.stdin.close() if child.stdin else None


def test_what_the_kernel_holds_is_counted_where_others_want_the_processor(monkeypatch: pytest.MonkeyPatch) -> None:
    passed = count()
    monkeypatch.setattr("time.monotonic", lambda: float(next(passed)))  # a second passes between any two lines
    with Processes(os.getpid(), Path("/")) as processes:
        assert not any(processes.holds_more(1 << 50) for _ in range(60))
        assert processes._kernel > 0


def test_who_counts_memory_is_said_as_it_is() -> None:
    place = groups_folder()
    assert (str(place) in who_counts_memory()) == (place is not None)


def test_a_control_group_counts_and_goes() -> None:
    place = groups_folder()
    if place is None:
        pytest.skip("NO CONTROL GROUP CAN BE MADE HERE, so this was not tested")
    code = (
        "import os, sys; sys.stdin.readline(); x = os.urandom(20 << 20)\n"
        "print('held', flush=True); sys.stdin.readline()"
    )
    before = sorted(place.glob("natlang-*"))
    with (
        control_group(1 << 30, ()) as group,
        subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as child,
    ):
        assert group is not None
        group.take([child.pid])
        assert child.stdin is not None
        assert child.stdout is not None
        child.stdin.write(b"\n")
        child.stdin.flush()
        assert child.stdout.readline() == b"held\n"
        assert 20 << 20 < group.held() < 60 << 20
        assert not group.was_full()
        child.stdin.close()
        child.wait()
    assert sorted(place.glob("natlang-*")) == before
