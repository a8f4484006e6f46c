"""Attacks on files and processes outside, one for each way in which the kernel can be asked for them.

What holds must hold for every call by itself: a kernel that checks `open` may have forgotten `setxattr`.
"""

from __future__ import annotations

from natlang_envs.sandbox.attacks.attack import Attack, blocked

READING = {
    "who reads a folder of the host": blocked(
        "import fcntl; fcntl.fcntl(os.open('/usr', os.O_RDONLY), fcntl.F_NOTIFY, fcntl.DN_ACCESS); reached('dnotify')"
    ),
    "who opens a file of the Python for writing": blocked(
        "import fcntl; fcntl.fcntl(os.open(os.__file__, os.O_RDONLY), fcntl.F_SETLEASE, fcntl.F_RDLCK)\n"
        "reached('lease')"
    ),
    "openat2": Attack(
        "b = ctypes.create_string_buffer(99)\n"
        "fd = libc.syscall(437, -100, P['canary'].encode(), bytes(24), 24); libc.read(fd, b, 99); leak(b.raw)"
    ),
    "a path descriptor opened again": Attack(
        "fd = os.open(P['canary'], os.O_PATH); leak(open(f'/proc/self/fd/{fd}').read())"
    ),
    "stat": Attack("os.stat(P['canary']); reached('stat')"),
    "lstat of a folder": Attack("os.lstat(P['outside']); reached('lstat')"),
    "access": Attack("if os.access(P['canary'], os.R_OK): reached('access')"),
    "listing": Attack("os.listdir(P['outside']); reached('listing')"),
    "change of folder": Attack("os.chdir(P['outside']); leak(open('canary').read())"),
    "room of the disk": Attack("os.statvfs(P['outside']); reached('statvfs')"),
    "extended attributes": Attack("os.listxattr(P['canary']); reached('listxattr')"),
    "configuration of the path": Attack("os.pathconf(P['canary'], 'PC_NAME_MAX'); reached('pathconf')"),
    "the loader's preload": Attack(
        "r = subprocess.run(['/bin/true'], env={'LD_PRELOAD': P['canary']}, capture_output=True)\n"
        "if b'too short' in r.stderr or b'invalid ELF' in r.stderr: reached('preload')"
    ),
    "the loader's library path": blocked(
        "e = {'LD_LIBRARY_PATH': P['outside'], 'LD_DEBUG': 'libs'}\n"
        "r = subprocess.run(['/bin/true'], env=e, capture_output=True)\n"
        "if any('canary' in l for l in r.stderr.decode().splitlines()): reached('library path')"
    ),
    "dlopen": Attack(
        "try: ctypes.CDLL(P['canary'])\nexcept OSError as e:\n"
        "    if 'too short' in str(e) or 'invalid ELF' in str(e): reached('dlopen')"
    ),
    "an interpreter line": Attack(
        "open('s', 'w').write('#!' + P['canary'] + '\\n'); os.chmod('s', 0o755)\n"
        "try: os.posix_spawn('./s', ['s'], {})\nexcept PermissionError: reached('interpreter')"
    ),
    "execution": Attack(
        "try: os.posix_spawn(P['canary'], ['c'], {})\nexcept PermissionError: reached('execve')"
    ),
    "a database": Attack(
        "import sqlite3; c = sqlite3.connect('file:' + P['canary'] + '?mode=ro', uri=True)\n"
        "try: c.execute('select 1 from x')\n"
        "except sqlite3.DatabaseError as e:\n"
        "    if 'not a database' in str(e) or 'no such table' in str(e): reached('database')"
    ),
    "users by the name service": blocked("import pwd\nif pwd.getpwall(): reached('users')"),
    "groups by the name service": blocked("import grp\nif grp.getgrall(): reached('groups')"),
    "the caller's groups": blocked("g = set(os.getgroups()) - {65534}\nif g: reached(g)"),
    "the machine's name": blocked("if os.uname().nodename != 'sandbox': reached('name')"),
    "terminal of the caller": blocked("reached(os.ttyname(2))"),
    "controlling terminal": blocked("os.open('/dev/tty', os.O_RDWR); reached('tty')"),
    "mounts from outside": blocked("if P['outside'] in open('/proc/self/mountinfo').read(): reached('mountinfo')"),
    "memory that others left": blocked(
        "import mmap\nfor _ in range(8):\n    if mmap.mmap(-1, 4 << 20).read().strip(b'\\0'): reached('pages')"
    ),
    "disk blocks that others left": blocked(
        "f = os.open('f', os.O_RDWR | os.O_CREAT); os.posix_fallocate(f, 0, 1 << 20)\n"
        "if os.read(f, 1 << 20).strip(b'\\0'): reached('blocks')"
    ),
    "files of an earlier run": blocked("for d in ('/tmp', '/dev/shm'):\n    if os.listdir(d): reached(d)"),
    "other terminals": blocked("if set(os.listdir('/dev/pts')) - {'ptmx'}: reached('pts')"),
    "home folders": blocked("for d in ('/root', '/home', '/var', '/run', '/mnt', '/srv', '/boot'):\n"
        "    if os.path.lexists(d): reached(d)"),
    "the machine's settings": blocked("if set(os.listdir('/etc')) - {'ld.so.cache'}: reached('etc')"),
}  # fmt: skip

_CREATED = {
    "a folder": "os.mkdir(N)",
    "a FIFO": "os.mkfifo(N)",
    "a node": "os.mknod(N)",
    "a symlink": "os.symlink('x', N)",
    "a socket": "socket.socket(socket.AF_UNIX).bind(N)",
    "a copied file": "open('f', 'w').write('x'); shutil.copyfile('f', N)",
    "a process's output": "subprocess.run(['sh', '-c', 'echo x > \"$0\"', N], check=True)",
    "openat2": "h = bytes([0x41, 0, 0, 0, 0, 0, 0, 0, 0xa4, 1]) + bytes(14)\n"
    "if libc.syscall(437, -100, N.encode(), h, 24) < 0: raise OSError",
    "a file without a name, linked": "f = os.open(P['outside'], os.O_TMPFILE | os.O_RDWR)\n"
    "if libc.linkat(-100, b'/proc/self/fd/%d' % f, -100, N.encode(), 0x400) < 0: raise OSError",
    "a hard link in an archive": "import tarfile; t = tarfile.open('t', 'w'); i = tarfile.TarInfo('l')\n"
    "i.type = tarfile.LNKTYPE; i.linkname = P['canary']; t.addfile(i); t.close()\n"
    "try: t = tarfile.open('t'); t.extractall(filter='fully_trusted')\nexcept TypeError: t.extractall()\n"
    "os.rename('l', N)",
    "a database": "import sqlite3; c = sqlite3.connect(N); c.execute('create table t (x)'); c.commit()",
}
_CHANGED = {
    "mode": "os.chmod(N, 0o777)",
    "mode by descriptor": "os.fchmod(os.open(N, os.O_RDONLY), 0o777)",
    "owner": "os.chown(N, os.getuid(), os.getgid())",
    "times": "os.utime(N, (1, 1))",
    "length": "os.truncate(N, 0)",
    "an extended attribute": "os.setxattr(N, 'user.x', b'x')",
    "a security attribute": "os.setxattr(N, 'security.capability', bytes(20))",
    "its name": "os.rename(N, N + '-')",
    "its place": "shutil.move(N, 'here')",
    "its name, exchanged": "open('f', 'w')\nif libc.renameat2(-100, b'f', -100, N.encode(), 2) < 0: raise OSError",
    "another name": "os.link(N, N + '-')",
    "no name": "os.unlink(N)",
    "flags": "import fcntl; fcntl.ioctl(os.open(N, os.O_RDONLY), 0x40086602, bytes([16, 0, 0, 0, 0, 0, 0, 0]))",
    "a shared map": "import mmap; f = os.open(N, os.O_RDONLY); m = mmap.mmap(f, 1, prot=3); m[0] = m[0]",
    "a copied range": "f = os.open(N, os.O_WRONLY); s = os.open('/bin/true', 0)\nos.copy_file_range(s, f, 1)",
    "a lock that keeps others out": "import fcntl; fcntl.lockf(os.open(N, os.O_RDWR), fcntl.LOCK_EX)",
    "a lease": "import fcntl; fcntl.fcntl(os.open(N, os.O_RDONLY), fcntl.F_SETLEASE, fcntl.F_WRLCK)",
}
WRITING = {
    **{f"{name} made outside": Attack(f"N = P['outside'] + '/new'\n{code}\nreached('made')")
       for name, code in _CREATED.items()},
    **{f"{name} of a file outside": blocked(f"N = P['canary']\n{code}\nreached('changed')")
       for name, code in _CHANGED.items()},
    **{f"{name} of a file of the Python": blocked(f"N = os.__file__\n{code}\nreached('changed')")
       for name, code in _CHANGED.items()},
    "a folder of /usr removed": blocked("os.rmdir('/usr/local/src'); reached('rmdir')"),
    "a private map of a program changed in the cache": blocked(
        "import mmap; f = os.open('/bin/true', 0); m = mmap.mmap(f, 4096, mmap.MAP_PRIVATE, mmap.PROT_READ)\n"
        "a = [l for l in open('/proc/self/maps') if l.rstrip().endswith('/true')][0].split('-')[0]\n"
        "w = os.open('/proc/self/mem', os.O_RDWR); quiet(os.pwrite, w, b'HOSTILE', int(a, 16))\n"
        "if b'HOSTILE' in open('/bin/true', 'rb').read(4096): reached('page cache')"
    ),
    "a pipe that holds pages of a program": blocked(
        "r, w = os.pipe(); os.write(w, bytes(65536)); os.read(r, 65536); f = os.open('/bin/true', 0)\n"
        "os.splice(f, w, 1, offset_src=4) if hasattr(os, 'splice') else 0; os.write(w, b'HOSTILE')\n"
        "if b'HOSTILE' in open('/bin/true', 'rb').read(4096): reached('page cache')"
    ),
}  # fmt: skip

_OF_THE_CALLER = {
    "group": "os.getpgid(H)",
    "session": "os.getsid(H)",
    "processors": "os.sched_getaffinity(H)",
    "choice of processors": "os.sched_setaffinity(H, os.sched_getaffinity(0))",
    "scheduler": "os.sched_getscheduler(H)",
    "scheduler's parameters": "os.sched_getparam(H)",
    "time slice": "os.sched_rr_get_interval(H)",
    "limits": "import resource; resource.prlimit(H, resource.RLIMIT_NOFILE)",
    "signal of one thread": "if libc.syscall(234, H, H, 0) < 0: raise OSError",
    "signal with data": "if libc.syscall(129, H, 0, bytes(128)) < 0: raise OSError",
    "priority set": "os.setpriority(os.PRIO_PROCESS, H, os.getpriority(os.PRIO_PROCESS, H))",
    "priority of input": "if libc.syscall(252, 1, H) < 0: raise OSError",
    "locks of a thread": "b = bytes(8)\nif libc.syscall(274, H, b, b) < 0: raise OSError",
    "capabilities": "h = (0x20080522).to_bytes(4, 'little') + H.to_bytes(4, 'little')\n"
    "if libc.syscall(125, h, bytes(24)) < 0: raise OSError",
    "processor clock": "time.clock_gettime(~H << 3 | 2)",
    "signals sent for a file": "import fcntl; r, w = os.pipe(); fcntl.fcntl(r, fcntl.F_SETOWN, H)\n"
    "if fcntl.fcntl(r, fcntl.F_GETOWN) != H: raise OSError",
    "attributes of scheduling": "if libc.syscall(315, H, bytes(48), 48, 0) < 0: raise OSError",
    "core scheduling": "if libc.prctl(62, 0, H, 0, ctypes.byref(ctypes.c_ulong())) < 0: raise OSError",
}
_UNCERTAIN = {"signal with data", "core scheduling", "locks of a thread"}
REACHING = {
    f"the caller's {name}": Attack(
        f"H = P['hostpid']\n{code}\nreached({name!r})", control=name not in _UNCERTAIN
    )
    for name, code in _OF_THE_CALLER.items()
}  # fmt: skip
