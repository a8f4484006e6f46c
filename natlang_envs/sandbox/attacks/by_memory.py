"""Attacks on the limits that are watched: by processes of which `/proc` says little, and by memory of the kernel.

Each tries to hold, for half a second, more than a tenth above what is allowed.
"""

from __future__ import annotations

import os
from dataclasses import replace

from natlang_envs.sandbox.attacks.attack import LIMITS, Attack, bomb

_X86 = os.uname().machine == "x86_64"
_FILES = LIMITS.disk // 4096 * 11 // 10
_ROOM = LIMITS.memory * 11 // 10
_COMMON = f"""
def held(what): time.sleep(.5); reached(what)
def filled(size): return bytearray(os.urandom(4096)) * (size >> 12)
def until_refused(call, most):
    n = 0
    while n < most:
        try: call()
        except (OSError, ValueError): break
        n += 1
    return n
def holders(count, hold):
    r, w = os.pipe()
    for _ in range(count):
        if os.fork() == 0:
            kept = hold(lambda: os.write(w, b'x')); os.write(w, b'x'); time.sleep(60); os._exit(0)
    for _ in range(count): os.read(r, 1)
    held('memory of ' + str(count))
def leaderless(work):
    import threading; threading.Thread(target=work).start(); libc.syscall({60 if _X86 else 93}, 0)
def sent(s, size=65536):
    s.setblocking(False); return until_refused(lambda: s.send(bytes(size)), 1 << 12)
def clone(flags): return libc.syscall({56 if _X86 else 220}, flags, 0, 0, 0, 0)
"""
_MANY_FILES = f"def make():\n    for n in range({_FILES}): open(f'{{D}}/{{n}}', 'w').close()\n    held('files')\n"
_LEADERLESS = (
    "def hold(done):\n    def work(): x = filled(45 << 20); done(); time.sleep(60)\n"
    "    leaderless(work)\nholders(4, hold)"
)

_WATCHED = {
    "leader gone: memory": _LEADERLESS,
    "leader gone: files in /dev/shm": f"D = '/dev/shm'\n{_MANY_FILES}leaderless(make)",
    "leader gone: files in /tmp": f"D = '/tmp'\n{_MANY_FILES}leaderless(make)",
    "leader gone: files in the folder": f"D = '.'\n{_MANY_FILES}leaderless(make)",
    "leader gone: pipes": (
        "def hold(done):\n    def work():\n        x = [filled(10 << 20)]\n        for _ in range(220):\n"
        "            r, w = os.pipe(); os.set_blocking(w, False); quiet(os.write, w, bytes(1 << 20)); os.close(w)\n"
        "        done(); time.sleep(60)\n    leaderless(work)\nholders(5, hold)"
    ),
    "zombies": (
        "for _ in range(5):\n    if os.fork() == 0: os._exit(0)\n"
        "holders(4, lambda done: filled(45 << 20))"
    ),
    "a first child that ends": (
        "if os.fork(): os._exit(0)\nos.setsid()\n"
        "while True: open('alive', 'a').write('x'); time.sleep(.01)"
    ),
    "a first child whose own child goes on": (
        "if os.fork() == 0:\n    os.setsid()\n    if os.fork() == 0:\n"
        "        leaderless(lambda: holders(4, lambda done: filled(45 << 20)))\n    os._exit(0)\ntime.sleep(9)"
    ),
    "undumpable": "holders(4, lambda done: (libc.prctl(4, 0), filled(45 << 20)))",
    "an unreadable program": (
        "shutil.copy('/usr/bin/tail', 'tail'); os.chmod('tail', 0o111)\n"
        "for _ in range(4): subprocess.Popen('ulimit -d 46000; exec ./tail /dev/zero', shell=True)\n"
        "time.sleep(1.5)\n"
        "if len([n for n in os.listdir('/proc') if n.isdigit() and quiet(lambda:\n"
        "    int(open(f'/proc/{n}/statm').read().split()[1]) > 9 << 10)]) > 2: reached('memory')"
    ),
    "another user": "holders(4, lambda done: ([quiet(os.setresuid, n, n, n) for n in (0, 1)], filled(45 << 20)))",
    "stopped": (
        "def hold(done): x = filled(45 << 20); done(); os.kill(os.getpid(), signal.SIGSTOP)\nholders(4, hold)"
    ),
    "parents that wait for a vfork": (
        "x = []\ndef chain(n):\n    x.append(filled(45 << 20))\n    if n == 0: held('memory')\n"
        "    elif clone(0x4000 | 17) == 0: x.clear(); chain(n - 1); os._exit(0)\nchain(3)"
    ),
}  # fmt: skip
_PAIRS = (
    "ps = []\ndef pair():\n    p = socket.socketpair(socket.AF_UNIX, K); ps.append(p)\n"
    "    for s in p:\n        for o in (7, 8, 32, 33): quiet(s.setsockopt, 1, o, 1 << 20) if LARGE else 0\n"
    "        global total; total += sent(s, SIZE) * SIZE\n"
)
_NINE = "def hold(done):\n    global total; total = 0\n    until_refused(pair, 110)\nholders(9, hold)"
_MAPS = "import mmap; ms = []\ndef touched(m):\n    for i in range(0, len(m), 4096): m[i] = 1\n    ms.append(m)\n"


def _per_process(code: str, count: int = 9) -> str:
    return f"def hold(done):\n{code}\n    return locals()\nholders({count}, hold)"


_KERNEL = {
    "unix sockets": f"K, LARGE, SIZE = socket.SOCK_STREAM, False, 65536\n{_PAIRS}{_NINE}",
    "unix sockets with large buffers": (
        f"K, LARGE, SIZE = socket.SOCK_STREAM, True, 65536\ntotal = 0\n{_PAIRS}until_refused(pair, 110)\n"
        f"if total > {_ROOM}: held(total)"
    ),
    "unix sockets, a byte at a time": f"K, LARGE, SIZE = socket.SOCK_STREAM, False, 1\n{_PAIRS}{_NINE}",
    "unix sockets for packets": f"K, LARGE, SIZE = socket.SOCK_SEQPACKET, False, 65536\n{_PAIRS}{_NINE}",
    "unix sockets for datagrams": (
        "n, rs = 0, []\nfor i in range(200):\n"
        "    r = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM); r.bind(f'\\0{i}'); rs.append(r)\n"
        "    for _ in range(11):\n        s = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM); s.setblocking(False)\n"
        "        try: n += s.sendto(bytes(200000), f'\\0{i}')\n        except OSError: pass\n        s.close()\n"
        f"if n > {_ROOM}: held(n)"
    ),
    "unix sockets that nobody accepts": (
        "l = socket.socket(socket.AF_UNIX); l.bind('\\0x'); l.listen(4096); n = 0\nfor _ in range(2000):\n"
        "    s = socket.socket(socket.AF_UNIX); s.setblocking(False)\n    if quiet(s.connect, '\\0x') is None:"
        f" n += sent(s) << 16\n    s.close()\nif n > {_ROOM}: held(n)"
    ),
    "TCP on loopback": (
        "l = socket.create_server(('127.0.0.1', 0)); n, cs = 0, []\nfor _ in range(60):\n"
        "    c = socket.create_connection(l.getsockname()); cs += [c, l.accept()[0]]\n"
        "    for o in (7, 8): quiet(c.setsockopt, 1, o, 1 << 20)\n    n += sent(c) << 16\nheld(n)"
    ),
    "UDP on loopback": (
        "r, s = (socket.socket(socket.AF_INET6, socket.SOCK_DGRAM) for _ in 'rs'); r.bind(('::1', 0))\n"
        "s.sendto(bytes(9), r.getsockname()); held('udp')"
    ),
    "filters of sockets": (
        "a, b = socket.socketpair(); x = ctypes.create_string_buffer(b'\\x06\\0\\0\\0\\1\\0\\0\\0' * 4096)\n"
        "import struct; a.setsockopt(1, 26, struct.pack('HL', 4096, ctypes.addressof(x))); reached('a filter')"
    ),
    "pages of files in sockets": (
        "f = os.open('f', os.O_RDWR | os.O_CREAT); os.write(f, bytes(1 << 20))\n"
        "a, b = socket.socketpair(); r, w = os.pipe()\n"
        "for i in range(16): os.splice(f, w, 1, offset_src=i * 4096)\nif os.splice(r, a.fileno(), 16): reached('pages')"
    ),
    "pages of files in sockets, by sendfile": (
        "f = os.open('f', os.O_RDWR | os.O_CREAT); os.write(f, bytes(1 << 20)); a, b = socket.socketpair()\n"
        "if os.sendfile(a.fileno(), f, 0, 1): reached('a page')"
    ),
    "pipes": _per_process(
        "    ps = [os.pipe() for _ in range(110)]; x = filled(5 << 20)\n"
        "    for _, w in ps: os.set_blocking(w, False); quiet(os.write, w, bytes(1 << 20))", 11
    ),
    "pipes with large buffers": (
        "import fcntl; r, w = os.pipe()\nif fcntl.fcntl(w, 1031, 1 << 20) > 1 << 16: reached('a larger pipe')"
    ),
    "FIFOs": _per_process(
        "    ps = []; x = filled(5 << 20)\n    for n in range(220):\n"
        "        p = f'/tmp/{os.getpid()}-{n}'; os.mkfifo(p); f = os.open(p, os.O_RDWR | os.O_NONBLOCK); os.unlink(p)\n"
        "        quiet(os.write, f, bytes(1 << 20)); ps.append(f)", 11
    ),
    "areas of memory": _per_process(
        "    libc.mmap.restype = ctypes.c_void_p; z = ctypes.c_size_t(65000 << 12)\n"
        "    p = libc.mmap(None, z, 1, 0x22, -1, ctypes.c_long(0))\n"
        "    for i in range(0, 65000, 2): libc.mprotect(ctypes.c_void_p(p + (i << 12)), 4096, 0)"
    ),
    "tables of pages": _per_process(
        "    libc.mmap.restype = ctypes.c_void_p; z = ctypes.c_size_t(90 << 20); ps = []\n"
        "    for _ in range(3):\n"
        "        p = libc.mmap(None, z, 1, 0x22, -1, ctypes.c_long(0)); ps.append(p)\n"
        "        ctypes.string_at(p, 90 << 20)\n    x = filled(9 << 20)", 11
    ),
    "queued signals": (
        "signal.pthread_sigmask(signal.SIG_BLOCK, [40]); b = ctypes.create_string_buffer(128)\n"
        "ctypes.cast(b, ctypes.POINTER(ctypes.c_int))[2] = -1\n"
        f"n = 0\nwhile n < 9000 and libc.syscall({129 if _X86 else 138}, os.getpid(), 40, b) == 0: n += 1\n"
        "if n > 1200: held(n)"
    ),
    "timers": (
        "t = ctypes.c_int(); n = 0\n"
        f"while n < 9000 and libc.syscall({222 if _X86 else 107}, 1, None, ctypes.byref(t)) == 0: n += 1\n"
        "if n > 1200: held(n)"
    ),
    "descriptors watched": _per_process(
        "    import select; fs = [os.pipe()[0] for _ in range(20)]; es = [select.epoll() for _ in range(60)]\n"
        "    for e in es:\n        for f in fs:\n            for k in range(150, 250): os.dup2(f, k); e.register(k, 1)"
    ),
    "locks on records": _per_process(
        "    import fcntl; fs = [open(f'/tmp/{os.getpid()}-{n}', 'w') for n in range(90)]\n"
        "    x = filled(5 << 20)\n"
        "    for f in fs:\n        for k in range(500): fcntl.lockf(f, fcntl.LOCK_EX, 1, 2 * k)", 11
    ),
    "locks whose owner is gone": (
        "p = clone(0x400 | 17)\nif p == 0: os._exit(0)\nif p > 0: reached('a table of descriptors of two processes')"
    ),
    "locks of open files": (
        "import fcntl; import struct; f = open('f', 'w')\n"
        "fcntl.fcntl(f, 37, struct.pack('hhqqi4x', 1, 0, 0, 1, 0)); reached('a lock that a map keeps')"
    ),
    "threads with descriptors of their own": (
        "p = clone(0x10000 | 0x100 | 0x800)\nif p > 0: reached('such a thread')"
    ),
    "terminals": _per_process(
        "    ts = []; x = filled(6 << 20)\n    until_refused(lambda: ts.append(os.openpty()), 120)\n"
        "    for a, b in ts:\n        for s in (a, b): os.set_blocking(s, False); quiet(os.write, s, bytes(9000))", 11
    ),
    "shared memory that no table shows": (
        _MAPS + f"for _ in range({_ROOM >> 22}):\n    m = mmap.mmap(-1, 4 << 20); touched(m)\n"
        "    m.madvise(mmap.MADV_DONTNEED)\n"
        "held('memory')"
    ),
    "shared memory in one piece": (
        _MAPS + f"m = mmap.mmap(-1, {_ROOM}); touched(m); m.madvise(mmap.MADV_DONTNEED); held('memory')"
    ),
    "shared memory unmapped but for a page": (
        _MAPS + f"for _ in range({_ROOM >> 22}):\n    m = mmap.mmap(-1, 4 << 20); touched(m); m.resize(4096)\n"
        "held('memory')"
    ),
    "shared memory of a device": (
        _MAPS + f"m = mmap.mmap(os.open('/dev/zero', os.O_RDWR), {_ROOM}); touched(m); m.madvise(mmap.MADV_DONTNEED)\n"
        "held('memory')"
    ),
    "shared memory that waits for a child": (
        _MAPS + f"for _ in range({_ROOM >> 23}):\n    m = mmap.mmap(-1, 8 << 20); ms.append(m)\n"
        "if os.fork() == 0:\n    for m in list(ms): touched(m)\n    os._exit(0)\nos.wait(); held('memory')"
    ),
}  # fmt: skip

_HOLDING = {name: bomb(_COMMON + code, LIMITS) for name, code in {**_WATCHED, **_KERNEL}.items()}
_LAID = {name: replace(attack, layered=True) for name, attack in _HOLDING.items() if name.startswith("leader gone:")}
HOLDING: dict[str, Attack] = {**_HOLDING, **{f"{name}, over an overlay": attack for name, attack in _LAID.items()}}
