"""The seccomp filter: what programs need works, and every call that is not listed is refused."""

from __future__ import annotations

import json
import platform
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from natlang_envs.sandbox.isolation.files import HostFolder
from natlang_envs.sandbox.isolation.isolation import Completed, Limits
from natlang_envs.sandbox.isolation.system_calls import allowed_calls
from tests.support.isolation_here import isolation_or_skip

LIMITS = Limits(seconds=60)
BEYOND = 1024  # no kernel has as many calls
PROBES = (335, 336)  # uretprobe and uprobe pass every filter, and end whoever calls them by hand with a signal


NEEDED = {
    "pools that fork": """
import multiprocessing as m
with m.get_context('fork').Pool(2) as pool: assert pool.map(abs, [-1, 2]) == [1, 2]
""",
    "pools that spawn": """
import multiprocessing as m
with m.get_context('spawn').Pool(2) as pool: assert pool.map(abs, [-1, 2]) == [1, 2]
""",
    "pools of a fork server": """
import multiprocessing as m
with m.get_context('forkserver').Pool(2) as pool: assert pool.map(abs, [-1, 2]) == [1, 2]
""",
    "shared memory": """
from multiprocessing import shared_memory as s
x = s.SharedMemory(create=True, size=9)
x.buf[0] = 7
y = s.SharedMemory(x.name)
assert y.buf[0] == 7
y.close()
x.close()
x.unlink()
""",
    "threads": """
import threading, queue
q = queue.Queue()
ts = [threading.Thread(target=q.put, args=(n,)) for n in range(8)]
[t.start() for t in ts]
[t.join() for t in ts]
assert q.qsize() == 8
""",
    "anonymous maps": """
import mmap
m = mmap.mmap(-1, 1 << 20)
m[5] = 7
m.madvise(mmap.MADV_DONTNEED)
m.flush()
m.resize(1 << 21)
m = mmap.mmap(-1, 1 << 25, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
""",
    "maps of files": """
import mmap
open('f', 'wb').write(bytes(9))
f = open('f', 'r+b')
m = mmap.mmap(f.fileno(), 9)
m[1] = 7
m.flush()
""",
    "unix sockets": """
import socket, os
a, b = socket.socketpair()
r, w = os.pipe()
socket.send_fds(a, [b'x'], [w])
os.write(socket.recv_fds(b, 1, 1)[1][0], b'y')
assert os.read(r, 1) == b'y'
s = socket.socket(socket.AF_UNIX)
s.bind('s')
s.listen()
c = socket.socket(socket.AF_UNIX)
c.connect('s')
s.accept()[0].sendall(b'z')
assert c.recv(1) == b'z'
""",
    "managers and connections": """
import multiprocessing as m
from multiprocessing.connection import Client, Listener
with m.Manager() as manager:
    d = manager.dict(a=1)
    assert d['a'] == 1
listener = Listener()
client = Client(listener.address)
listener.accept().send(5)
assert client.recv() == 5
""",
    "asyncio": """
import asyncio
async def main():
    p = await asyncio.create_subprocess_exec('cat', stdin=-1, stdout=-1)
    assert (await p.communicate(b'x'))[0] == b'x'; await asyncio.to_thread(sum, ())
asyncio.run(main())
""",
    "pipes of a shell": """
import subprocess
assert subprocess.run('echo a | sort | tr a b', shell=True, capture_output=True).stdout == b'b\\n'
""",
    "SQLite": """
import sqlite3
c = sqlite3.connect('d')
c.execute('pragma journal_mode=wal')
c.execute('create table t (x)')
c.execute('insert into t values (1)')
c.commit()
assert c.execute('select x from t').fetchone() == (1,)
""",
    "copies and links": """
import os, shutil
open('f', 'w').write('x')
os.link('f', 'g')
os.symlink('f', 'l')
os.mkfifo('p')
shutil.copytree('.', '/tmp/c', ignore=shutil.ignore_patterns('p'))
shutil.move('/tmp/c', 'c')
os.utime('f')
os.copy_file_range(os.open('f', 0), os.open('h', 66), 1)
shutil.copyfile('f', 'i')
assert open('i').read() == 'x'
""",
    "locks and syncs": """
import fcntl, os
f = open('f', 'w')
fcntl.flock(f, 2)
fcntl.lockf(f, 2)
os.posix_fallocate(f.fileno(), 0, 9)
os.fsync(f.fileno())
os.fdatasync(f.fileno())
os.eventfd(0)
os.getrandom(1)
os.pidfd_open(os.getpid())
""",
    "signals and timers": """
import signal, time, os
signal.signal(14, lambda *a: print('rang'))
signal.setitimer(0, .01)
signal.pause()
signal.sigtimedwait([10], .01)
time.sleep(.01)
os.sched_yield()
os.nice(1)
os.sched_getaffinity(0)
""",
    "terminals and epoll": """
import tempfile, os, pty, select
with tempfile.TemporaryFile() as f: f.write(b'x')
e = select.epoll()
e.register(os.pipe()[0])
e.poll(0)
os.posix_spawn('/bin/true', ['true'], {})
os.wait()
""",
    "executors": """
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
for kind in (ProcessPoolExecutor, ThreadPoolExecutor):
    with kind(2) as pool: assert list(pool.map(abs, [-1])) == [1]
""",
}


REFUSED = {
    "a socket of IPv4": "socket.socket()",
    "a socket of IPv6": "socket.socket(socket.AF_INET6)",
    "a pair of another family": "socket.socketpair(30)",
    "a larger buffer": "socket.socketpair()[0].setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 1 << 20)",
    "a larger buffer to receive": "socket.socketpair()[0].setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 20)",
    "a larger pipe": "fcntl.fcntl(os.pipe()[1], 1031, 1 << 20)",
    "a large shared map": "mmap.mmap(-1, 9 << 20)",
    "a shared map of more than 4 GB": "mmap.mmap(-1, (1 << 32) + 1)",
    "a shared map of zeros": "mmap.mmap(os.open('/dev/zero', os.O_RDWR), 4096)",
    "pages of a file sent": "os.sendfile(1, os.open(os.__file__, 0), 0, 1)",
}


def run(folder: Path, code: str, limits: Limits = LIMITS) -> Completed:
    return isolation_or_skip().run(("python", "-c", code), HostFolder(folder), "", limits)


def is_allowed(number: int) -> bool:
    return any(first <= number <= last for first, last in allowed_calls())


@pytest.mark.skipif(platform.machine() not in ("x86_64", "aarch64"), reason="no filter for this processor")
def test_every_call_that_is_not_listed_is_refused(tmp_path: Path) -> None:
    candidates = (*range(BEYOND), 0x40000000, 0x40000001)
    numbers = [number for number in candidates if not is_allowed(number) and number not in PROBES]
    code = (
        f"import ctypes, json; libc = ctypes.CDLL(None, use_errno=True); passed = []\n"
        f"for n in {numbers}:\n"
        "    if libc.syscall(ctypes.c_long(n), *[ctypes.c_long(-1)] * 6) != -1 or ctypes.get_errno() not in (1, 38):\n"
        "        passed.append((n, ctypes.get_errno()))\n"
        "print(json.dumps(passed))"
    )
    done = run(tmp_path, code)
    assert done.exit_code == 0, done
    assert json.loads(done.stdout) == []


def test_new_calls_look_as_on_an_older_kernel(tmp_path: Path) -> None:
    code = (
        "import ctypes, os; libc = ctypes.CDLL(None, use_errno=True); libc.syscall(999); print(ctypes.get_errno())\n"
        "try: os.memfd_create('x')\nexcept OSError as error: print(error.errno)"
    )
    assert run(tmp_path, code).stdout == b"38\n1\n"


@pytest.mark.parametrize("name", NEEDED)
def test_what_programs_need_works(tmp_path: Path, name: str) -> None:
    (tmp_path / "main.py").write_text(f"if __name__ == '__main__':\n    exec({NEEDED[name]!r})\n")
    done = isolation_or_skip().run(("python", "main.py"), HostFolder(tmp_path), "", replace(LIMITS, processes=64))
    assert done.exit_code == 0, done.stderr.decode()


@pytest.mark.parametrize("name", REFUSED)
def test_what_would_have_the_kernel_hold_more_is_refused(tmp_path: Path, name: str) -> None:
    code = f"import fcntl, mmap, os, socket\ntry: {REFUSED[name]}\nexcept OSError as error: print(error.errno)"
    assert run(tmp_path, code).stdout in (b"1\n", b"19\n", b"97\n")  # EPERM, ENODEV, EAFNOSUPPORT


def test_what_is_a_little_smaller_is_allowed(tmp_path: Path) -> None:
    code = (
        "import fcntl, mmap, os, socket; fcntl.fcntl(os.pipe()[1], 1031, 4096); mmap.mmap(-1, 8 << 20)\n"
        "a, b = socket.socketpair(); a.setsockopt(socket.SOL_SOCKET, socket.SO_PASSCRED, 1)\n"
        "a.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1); print(open('/dev/zero', 'rb').read(3))"
    )
    assert run(tmp_path, code) == Completed(0, b"b'\\x00\\x00\\x00'\n", b"", None)


def test_the_standard_librarys_own_tests_pass_where_they_are_installed(tmp_path: Path) -> None:
    if not Path(sys.modules["os"].__file__ or "", "..", "test", "test_mmap.py").resolve().exists():
        pytest.skip("this Python came without its tests")
    argv = ("python", "-m", "test", "-j1", "test_mmap", "test_thread", "test_pipes", "test_select")
    done = isolation_or_skip().run(argv, HostFolder(tmp_path), "", replace(LIMITS, processes=64, memory=1 << 30))
    assert done.exit_code == 0, done
