"""The attacks that hostile code tries from inside the isolation; `arena.py` judges them."""

from __future__ import annotations

import os

from natlang_envs.sandbox.attacks import by_call, by_layer, by_memory, by_network, kernel_files
from natlang_envs.sandbox.attacks.attack import LIMITS, LONG, PRELUDE, Attack, blocked, bomb
from natlang_envs.sandbox.attacks.calls import CALLS

X86 = os.uname().machine == "x86_64"

READING = {
    "absolute path": Attack("leak(open(P['canary']).read())"),
    "dots from the folder": Attack("leak(open('../' * 20 + P['canary'][1:]).read())"),
    "dots after a folder of its own": Attack("os.mkdir('d'); leak(open('d/' + '../' * 20 + P['canary'][1:]).read())"),
    "symlink to a file": Attack("os.symlink(P['canary'], 'l'); leak(open('l').read())"),
    "symlink to a folder": Attack("os.symlink(P['outside'], 'l'); leak(open('l/canary').read())"),
    "chain of symlinks": Attack("os.symlink('b', 'a'); os.symlink(P['canary'], 'b'); leak(open('a').read())"),
    "relative symlink": Attack("os.symlink('../' * 20 + P['canary'][1:], 'l'); leak(open('l').read())"),
    "/proc/self/root": Attack("leak(open('/proc/self/root' + P['canary']).read())"),
    "/proc/1/root": blocked("leak(open('/proc/1/root' + P['canary']).read())"),
    "/proc/self/cwd and dots": Attack("leak(open('/proc/self/cwd/' + '../' * 20 + P['canary'][1:]).read())"),
    "roots of all processes": Attack(
        "for n in os.listdir('/proc'):\n"
        "    for way in ('root', 'cwd/' + '../' * 20):\n"
        "        with_text = quiet(lambda: open(f'/proc/{n}/{way}{P[\"canary\"]}').read())\n"
        "        leak(with_text or '')"
    ),
    "hard link": Attack("os.link(P['canary'], 'l'); leak(open('l').read())"),
    "folder descriptor and dots": Attack(
        "fd = os.open('.', os.O_RDONLY)\nfor _ in range(30): fd = os.open('..', os.O_RDONLY, dir_fd=fd)\n"
        "leak(os.read(os.open(P['canary'][1:], os.O_RDONLY, dir_fd=fd), 99))"
    ),
    "ctypes open": Attack(
        "fd = libc.open(P['canary'].encode(), 0); b = ctypes.create_string_buffer(99)\n"
        "libc.read(fd, b, 99); leak(b.raw)"
    ),
    "subprocess": Attack("leak(subprocess.run(['cat', P['canary']], capture_output=True).stdout)"),
    "os.system": Attack("os.system('cat ' + P['canary'] + ' > got'); leak(open('got').read())"),
    "shell substitution": Attack("leak(os.popen('echo \"$(cat ' + P['canary'] + ')\"').read())"),
    "metacharacters": Attack("leak(os.popen('true; cat ' + P['canary'] + ' | tee x && true').read())"),
    "copytree": Attack("quiet(shutil.copytree, P['outside'], 'c'); leak(open('c/canary').read())"),
    "import from outside": Attack("sys.path.insert(0, P['outside']); import planted; leak(planted.TEXT)"),
    "walk for names": blocked(
        "for top in ('/home', '/root', '/etc', '/var', '/srv', '/mnt', '/tmp', '/work', '/run'):\n"
        "    for folder, _, files in os.walk(top):\n"
        "        if 'canary' in files: leak(open(folder + '/canary').read())"
    ),
    "packages of the machine": blocked(
        "import glob\n"
        "for lib in ('/usr/lib', '/usr/local/lib', '/opt/python/lib', sys.prefix + '/lib'):\n"
        "    for n in glob.glob(lib + '/python3*/*-packages/*', include_hidden=True): reached(n)"
    ),
    "password file": Attack("open('/etc/passwd').read(); reached('passwd')"),
    "environment": Attack("leak(json.dumps(dict(os.environ)))", control=False),  # unsafe cleans it too
    "environment of bubblewrap": Attack("leak(open('/proc/1/environ', 'rb').read())", control=False),
    "environments of all": blocked(
        "for n in os.listdir('/proc'):\n    leak(quiet(lambda: open(f'/proc/{n}/environ', 'rb').read()) or b'')"
    ),
    "command lines of all": Attack(
        "for n in os.listdir('/proc'):\n    d = quiet(lambda: open(f'/proc/{n}/cmdline', 'rb').read()) or b''\n"
        "    if P['hostpid'] and n == str(P['hostpid']) and d == bytes.fromhex(P['hostline']): reached('cmdline')"
    ),
    "leaked descriptors": blocked(
        "for n in range(3, 4096):\n    if quiet(os.fstat, n): reached(os.readlink(f'/proc/self/fd/{n}'))"
    ),
    "standard input": blocked("if sys.stdin.buffer.read(): reached('stdin')"),
    "descriptors of pid 1": blocked(
        "for n in os.listdir('/proc/1/fd'):\n    to = os.readlink(f'/proc/1/fd/{n}')\n"
        "    if not to.startswith(('pipe:', 'anon_inode:[eventfd]')): reached(to)"
    ),
    # As an ordinary user pid 1, bubblewrap's, is the same user's: it must know nothing.
    "memory of pid 1": blocked(
        "m = open('/proc/1/mem', 'rb', 0)\n"
        "for line in open('/proc/1/maps'):\n    a, b = (int(x, 16) for x in line.split()[0].split('-'))\n"
        "    quiet(m.seek, a); leak(quiet(m.read, min(b - a, 1 << 22)) or b'')"
    ),
}

WRITING = {
    "absolute path": Attack("open(P['outside'] + '/new', 'w').close(); reached('new')"),
    "over the canary": blocked("open(P['canary'], 'w').write('x'); reached('canary')"),
    "symlink to a new file": Attack("os.symlink(P['outside'] + '/new', 'l'); open('l', 'w'); reached('new')"),
    "redirection": Attack("sys.exit(os.system('echo x > ' + P['outside'] + '/new') or reached('new'))"),
    "rename outside": Attack("open('f', 'w'); os.rename('f', P['outside'] + '/new'); reached('new')"),
    "link outside": Attack("open('f', 'w'); os.link('f', P['outside'] + '/new'); reached('new')"),
    "unlink outside": blocked("os.unlink(P['canary']); reached('unlink')"),
    "beside the folder": Attack("open('../new-here', 'w'); reached('beside')"),
    "into /usr": blocked("open('/usr/new', 'w'); reached('usr')"),
    "into the Python": blocked("open(os.path.dirname(os.__file__) + '/new.py', 'w'); reached('stdlib')"),
    "into the tools": blocked("open('/opt/tools/pip/__main__.py', 'a'); reached('tools')"),
    "into the root": blocked("open('/new', 'w'); reached('root')"),
    "into /dev": blocked("open('/dev/new', 'w'); reached('dev')"),
    "kernel settings": blocked("open('/proc/sys/kernel/core_pattern', 'w').write('x'); reached('sysctl')"),
    "sysrq": blocked("open('/proc/sysrq-trigger', 'w'); reached('sysrq')"),
    "out-of-memory score of pid 1": blocked("open('/proc/1/oom_score_adj', 'wb', 0).write(b'-999'); reached('oom')"),
    "the folder itself": blocked("os.rmdir('/work'); reached('rmdir')"),
    "the folder renamed": blocked("os.rename('/work', '/elsewhere'); reached('rename')"),
    "zip with dots": Attack(
        "import zipfile; z = zipfile.ZipFile('z.zip', 'w'); z.writestr('../' * 20 + P['outside'][1:] + '/new', 'x')\n"
        "z.close(); z = zipfile.ZipFile('z.zip')\n"
        "for n in z.namelist(): open(n, 'wb').write(z.read(n)); reached(n)"
    ),
    "zip extracted": blocked(
        "import zipfile; z = zipfile.ZipFile('z.zip', 'w'); z.writestr('../' * 20 + P['outside'][1:] + '/new', 'x')\n"
        "z.close(); zipfile.ZipFile('z.zip').extractall('.')"
    ),
    "tar with an absolute path": Attack(
        "import io, tarfile; t = tarfile.open('t.tar', 'w'); i = tarfile.TarInfo(P['outside'] + '/new'); i.size = 1\n"
        "t.addfile(i, io.BytesIO(b'x')); t.close(); t = tarfile.open('t.tar')\n"
        "if hasattr(tarfile, 'fully_trusted_filter'): t.extraction_filter = tarfile.fully_trusted_filter\n"
        "t.extractall(); os.stat(P['outside'] + '/new'); reached('tar')"
    ),
    "tar through a link": Attack(
        "import io, tarfile; t = tarfile.open('t.tar', 'w'); i = tarfile.TarInfo('l'); i.type = tarfile.SYMTYPE\n"
        "i.linkname = P['outside']; t.addfile(i); i = tarfile.TarInfo('l/new'); i.size = 1\n"
        "t.addfile(i, io.BytesIO(b'x')); t.close(); t = tarfile.open('t.tar')\n"
        "if hasattr(tarfile, 'fully_trusted_filter'): t.extraction_filter = tarfile.fully_trusted_filter\n"
        "t.extractall(); os.stat(P['outside'] + '/new'); reached('tar')"
    ),
}

REACHING = {
    "TCP on loopback": Attack("socket.create_connection(('127.0.0.1', P['tcp']), 1); reached('tcp')"),
    "TCP on localhost by name": Attack(
        "socket.create_connection((socket.gethostbyname('localhost'), P['tcp']), 1); reached('tcp')"
    ),
    "TCP on 0.0.0.0": Attack("socket.create_connection(('0.0.0.0', P['tcp']), 1); reached('tcp')"),
    "TCP mapped into IPv6": Attack(
        "s = socket.socket(socket.AF_INET6); s.settimeout(1); s.connect(('::ffff:127.0.0.1', P['tcp'])); reached('tcp')"
    ),
    "UDP on loopback": Attack(
        "s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); s.settimeout(.3)\n"
        "s.sendto(b'x', ('127.0.0.1', P['udp'])); s.recv(1); reached('udp')"
    ),
    "unix socket": Attack("s = socket.socket(socket.AF_UNIX); s.connect(P['unix']); reached('unix')"),
    "unix socket by a symlink": Attack(
        "os.symlink(P['unix'], 'l'); s = socket.socket(socket.AF_UNIX); s.connect('l'); reached('unix')"
    ),
    "abstract socket": Attack(
        "s = socket.socket(socket.AF_UNIX); s.connect('\\0' + P['abstract']); reached('abstract')"
    ),
    "listener of its own": Attack(
        "s = socket.socket(); s.bind(('127.0.0.1', 0)); s.listen()\n"
        "n = [l.split()[1] for l in open('/proc/net/tcp') if l.split()[1].endswith(':%04X' % P['tcp'])]\n"
        "if n: reached('the table of sockets')"
    ),
    "interfaces": blocked("if [n for _, n in socket.if_nameindex() if n != 'lo']: reached('interface')"),
    "a route out": blocked(
        "s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); s.connect(('8.8.8.8', 53)); reached('route')"
    ),
    "names": blocked("socket.getaddrinfo('example.com', 80); reached('name')"),
    "raw socket": blocked("socket.socket(socket.AF_INET, socket.SOCK_RAW, 1); reached('raw')"),
    "packet socket": blocked("socket.socket(17, socket.SOCK_RAW); reached('packet')"),
    "netlink": Attack("socket.socket(16, socket.SOCK_RAW, 0); reached('netlink')"),
    "hypervisor socket": blocked("socket.socket(40, socket.SOCK_STREAM); reached('vsock')"),
    "System V memory": Attack("if libc.shmget(0x5EED, 4096, 0o1666) >= 0: reached('shm')", control=False),
    "signal to the caller": Attack("os.kill(P['hostpid'], 0); reached('signal')"),
    "signal to all": blocked("os.kill(-1, signal.SIGUSR1)"),
    "signal to pid 1": blocked(
        "os.kill(1, signal.SIGKILL); time.sleep(.1)\nif not os.path.exists('/proc/1'): reached('1')"
    ),
    "signal to the group": blocked("signal.signal(signal.SIGTERM, signal.SIG_IGN); os.killpg(0, signal.SIGTERM)"),
    "a session from outside": blocked("if 0 in (os.getsid(0), os.getpgrp()): reached('session')"),
    "pidfd of the caller": Attack("os.pidfd_open(P['hostpid']); reached('pidfd')"),
    "ptrace of the caller": blocked("if libc.ptrace(16, P['hostpid'], 0, 0) == 0: reached('ptrace')"),
    "ptrace of pid 1": blocked("if libc.ptrace(16, 1, 0, 0) == 0: reached('ptrace')"),
    "ptrace of a child": blocked(
        "p = os.fork()\nif not p: time.sleep(1); os._exit(0)\nif libc.ptrace(16, p, 0, 0) == 0: reached('ptrace')"
    ),
    "memory of the caller": blocked("open(f'/proc/{P[\"hostpid\"]}/mem', 'rb').read(1); reached('mem')"),
    "priority of the caller": Attack("os.getpriority(os.PRIO_PROCESS, P['hostpid']); reached('priority')"),
    "keys typed into the terminal": blocked(
        "import fcntl, termios; fd = os.open('/dev/tty', os.O_RDWR)\n"
        "fcntl.ioctl(fd, termios.TIOCSTI, b'x'); reached('tty')"
    ),
}

RIGHTS = {
    "become root": blocked("os.setuid(0); reached('root')"),
    "capabilities": blocked(
        "for l in open('/proc/self/status'):\n"
        "    if l[:6] in ('CapInh', 'CapPrm', 'CapEff', 'CapAmb') and int(l.split()[1], 16): reached(l)"
    ),
    "new privileges": blocked("if 'NoNewPrivs:\\t1' not in open('/proc/self/status').read(): reached('no_new_privs')"),
    # As an ordinary user it is the same user's, so a program can change it: it must have no more rights.
    "rights of pid 1": blocked(
        "for l in open('/proc/1/status') if os.stat('/proc/1').st_uid == os.getuid() else ():\n"
        "    n, _, v = l.partition(':')\n"
        "    if n in ('CapInh', 'CapPrm', 'CapEff', 'CapAmb') and int(v, 16) or n == 'NoNewPrivs' and int(v) != 1:\n"
        "        reached(l)\n"
        "    if n == 'Seccomp' and int(v) != 2 and os.uname().machine in ('x86_64', 'aarch64'): reached(l)"
    ),
    "setuid programs": blocked(
        "if b'uid=0' in subprocess.run(['su', '-c', 'id'], capture_output=True).stdout: reached('su')"
    ),
    "setuid of its own": blocked(
        "shutil.copy('/bin/sh', 'sh'); os.chmod('sh', 0o6755)\n"
        "if subprocess.run(['./sh', '-p', '-c', 'id -u'], capture_output=True).stdout == b'0\\n': reached('setuid')"
    ),
    "user namespace": blocked("if libc.unshare(0x10000000) == 0: reached('userns')"),
    "user namespace by clone": blocked(
        "p = libc.syscall(56 if os.uname().machine == 'x86_64' else 220, 0x10000000 | 17, 0, 0, 0, 0)\n"
        "if p == 0: os._exit(0)\nif p > 0: reached('clone')"
    ),
    "enter a namespace": blocked("if libc.setns(os.open('/proc/1/ns/mnt', 0), 0) == 0: reached('setns')"),
    "mount": blocked("if libc.mount(b'none', b'/work', b'tmpfs', 0, None) == 0: reached('mount')"),
    "remount the root writable": blocked("if libc.mount(None, b'/', None, 32, None) == 0: reached('remount')"),
    "unmount": blocked("if libc.umount2(b'/work', 2) == 0: reached('umount')"),
    "chroot": blocked("os.chroot('/work'); reached('chroot')"),
    "make a device": blocked("os.mknod('d', 0o60666, os.makedev(254, 0)); os.open('d', 0); reached('mknod')"),
    "devices": blocked(
        "for n in ('mem', 'kmsg', 'kvm', 'fuse', 'net/tun', 'loop0', 'sda', 'vda', 'nvme0n1', 'vsock'):\n"
        "    if quiet(os.open, '/dev/' + n, os.O_RDONLY): reached(n)"
    ),
    "kernel log": blocked("if libc.klogctl(3, ctypes.create_string_buffer(99), 99) >= 0: reached('klog')"),
    "keyrings": blocked("if libc.syscall(250, 0, -3, 1) >= 0: reached('keyctl')" if X86 else "raise OSError"),
    "bpf": blocked("if libc.syscall(321, 0, bytes(64), 64) >= 0: reached('bpf')" if X86 else "raise OSError"),
    "io_uring": Attack("b = bytes(120)\nif libc.syscall(425, 8, b) >= 0: reached('io_uring')", control=False),
    "hidden memory": Attack("os.memfd_create('x'); reached('memfd')"),
    "32-bit calls": blocked("if libc.syscall(0x40000000 + 272, 0x10000000) == 0: reached('x32')"),
    "limits raised": blocked(
        "import resource\nfor n in ('NPROC', 'AS', 'DATA', 'FSIZE', 'CPU', 'NOFILE', 'CORE'):\n"
        "    r = getattr(resource, 'RLIMIT_' + n); s = resource.getrlimit(r)[1] + 1\n"
        "    quiet(resource.setrlimit, r, (s, s)); s > resource.getrlimit(r)[1] or reached(n)"
    ),
}

BOMBS = {
    "fork": bomb("while True:\n    quiet(os.fork)"),
    "threads": bomb("import threading\nwhile True: quiet(threading.Thread(target=time.sleep, args=(9,)).start)"),
    "memory of one": bomb("x = []\nwhile True: quiet(lambda: x.append(bytes(1 << 20)))"),
    "memory of many": bomb(
        "for _ in range(8):\n    if os.fork() == 0: x = bytearray(os.urandom(1 << 10)) * (50 << 10); time.sleep(9)\n"
        "time.sleep(9)",
        LIMITS,
    ),
    "shared memory": bomb(
        "import mmap\nm = mmap.mmap(-1, 300 << 20)\nfor i in range(0, 300 << 20, 4096): m[i] = 1", LIMITS
    ),
    "one large file": bomb("f = open('f', 'wb', 0)\nwhile True: quiet(f.write, bytes(1 << 20))"),
    "many files": bomb("n = 0\nwhile True: n += 1; open(f'f{n}', 'wb').write(bytes(1 << 20))", LIMITS),
    "empty files": bomb("n = 0\nwhile True: n += 1; open(f'f{n}', 'wb').close()", LIMITS),
    "files without a name": bomb(
        "fs = []\nwhile True:\n    f = open('f', 'wb', 0); os.unlink('f'); f.write(bytes(1 << 20)); fs.append(f)",
        LIMITS,
    ),
    "mapped files without a name": bomb(
        "import mmap; ms = []\nwhile True:\n    f = open('f', 'w+b', 0); os.unlink('f'); f.write(bytes(1 << 20))\n"
        "    ms.append(mmap.mmap(f.fileno(), 1 << 20)); f.close()",
        LIMITS,
    ),
    "temporary files": bomb("n = 0\nwhile True: n += 1; quiet(lambda: open(f'/tmp/{n}', 'wb').write(bytes(1 << 20)))"),
    "empty temporary files": bomb("n = 0\nwhile True: n += 1; open(f'/dev/shm/{n}', 'wb').close()", LIMITS),
    "sparse file": bomb("os.truncate(os.open('f', os.O_CREAT | os.O_RDWR), 1 << 40); reached('a file of a terabyte')"),
    "nested folders": bomb("while True: os.mkdir('d'); os.chdir('d')", LIMITS),
    "unreadable folders": bomb(
        "os.mkdir('d'); os.chdir('d'); os.chmod('.', 0o300)\nn = 0\n"
        "while True: n += 1; open(f'f{n}', 'wb').write(bytes(1 << 20))",
        LIMITS,
    ),
    "output": bomb("while True: print('x' * 1000)", LIMITS),
    "errors without a line end": bomb("while True: os.write(2, b'x' * 65536)", LIMITS),
    "output of many": bomb("os.fork(); os.fork()\nwhile True: os.write(1, b'x' * 4096)", LIMITS),
    "sleep": bomb("time.sleep(60)"),
    "busy loop": bomb("while True: pass"),
    "deaf to signals": bomb(
        "for n in range(1, 65): quiet(signal.signal, n, signal.SIG_IGN)\nwhile True: time.sleep(1)"
    ),
    "silent and closed": bomb("os.close(1); os.close(2); time.sleep(60)"),
    "stopped by itself": bomb("os.kill(os.getpid(), signal.SIGSTOP)"),
    "regular expression": bomb("import re; re.match('(a*)*b', 'a' * 40)"),
    "FIFO without a writer": bomb("os.mkfifo('p'); open('p').read()"),
    "swaps while we look": bomb(
        "os.mkdir('d'); os.symlink(P['outside'], 'l')\n"
        "while True:\n    os.rename('d', 'e'); os.rename('l', 'd'); os.rename('d', 'l'); os.rename('e', 'd')"
    ),
    "daemon": bomb(
        "if os.fork() == 0:\n    os.setsid()\n    if os.fork() == 0:\n        os.close(1); os.close(2)\n"
        "        while True: open('alive', 'a').write('x'); time.sleep(.01)\n    os._exit(0)\n"
        "time.sleep(.1); os._exit(0)",
        LIMITS,
    ),
    "daemon that holds the output": bomb(
        "if os.fork() == 0:\n    os.setsid()\n    if os.fork() == 0: time.sleep(60)\n    os._exit(0)\nos._exit(0)",
        LIMITS,
    ),
    "daemon past a time limit": bomb(
        "if os.fork() == 0:\n    os.setsid(); libc.prctl(1, 0)\n"
        "    while True: open('alive', 'a').write('x'); time.sleep(.01)\ntime.sleep(60)"
    ),
}

SETUP = """
import setuptools
exec(open('attack.py').read())
setuptools.setup(name='hostile', version='1')
"""
LEFT = {
    "symlink to a file": blocked("os.symlink(P['canary'], 'l')"),
    "symlink to a folder": blocked("os.symlink(P['outside'], 'l')"),
    "loop of symlinks": blocked("os.symlink('l', 'l'); os.symlink('b', 'a'); os.symlink('a', 'b')"),
    "FIFO": blocked("os.mkfifo('p')"),
    "socket": blocked("socket.socket(socket.AF_UNIX).bind('s')"),
    "odd names": blocked(
        "for n in (b'a\\nb', b'\\xff\\xfe', b'-rf', b'n' * 255, b' ', b'\\x1b[2J', 'é'.encode()): open(n, 'w').close()"
    ),
    "names too long or with a NUL": blocked(
        "for n in ('n' * 256, 'a\\0b', 'd/' * 3000 + 'f'):\n    if quiet(open, n, 'w'): reached(n)"
    ),
    "folder without rights": blocked(
        "os.mkdir('d'); open('d/f', 'w'); os.mkdir('d/e'); os.chmod('d/e', 0); os.chmod('d', 0)"
    ),
    "top without rights": blocked("open('f', 'w'); os.chmod('.', 0)"),
    "deep folders": blocked("for _ in range(600): os.mkdir('d'); os.chdir('d')"),
}

_HOSTILE = "quiet(lambda: leak(open(P['canary']).read()))\nquiet(lambda: open(P['outside'] + '/new', 'w'))\n"
_PROJECT = f"""import sys, os
os.makedirs('project')
open('project/setup.py', 'w').write({SETUP!r})
open('project/attack.py', 'w').write('import sys; sys.argv[1:], saved = [' + repr(sys.argv[1]) + '], sys.argv[1:]\\n'
    + {PRELUDE!r} + {_HOSTILE!r} + "open('/work/ran', 'w').write('hostile setup.py')\\nsys.argv[1:] = saved\\n")
"""
_WHEEL = """
import zipfile
def wheel(members):
    info = 'evil-1.dist-info/'
    members = {**members, info + 'METADATA': 'Metadata-Version: 2.1\\nName: evil\\nVersion: 1\\n',
        info + 'WHEEL': 'Wheel-Version: 1.0\\nRoot-Is-Purelib: true\\nTag: py3-none-any\\n'}
    members[info + 'RECORD'] = ''.join(f'{name},,\\n' for name in (*members, info + 'RECORD'))
    with zipfile.ZipFile('evil-1-py3-none-any.whl', 'w') as archive:
        for name, text in members.items(): archive.writestr(name, text)
"""
PIP = {
    "setup.py": Attack(_PROJECT, False, LONG, ("install", "./project")),
    "setup.py of a wheel build": Attack(_PROJECT, False, LONG, ("wheel", "--no-deps", "./project")),
    "wheel with dots": Attack(
        _WHEEL + "wheel({'../' * 20 + P['outside'][1:] + '/new': 'x'})",
        False,
        LONG,
        ("install", "./evil-1-py3-none-any.whl"),
    ),
    "target outside": Attack(
        _WHEEL + "wheel({'evil.py': ''})",
        False,
        LONG,
        ("install", "--target", "{outside}", "./evil-1-py3-none-any.whl"),
    ),
    "an index on the host": Attack("", False, LONG, ("install", "--index-url=http://127.0.0.1:{tcp}/", "x")),
    "an address on the host": Attack("", False, LONG, ("install", "http://127.0.0.1:{tcp}/x.tar.gz")),
    "a requirements file": Attack(
        "open('r.txt', 'w').write(f'--index-url http://127.0.0.1:{P[\"tcp\"]}/\\nx\\n')",
        False,
        LONG,
        ("install", "-r", "r.txt"),
    ),
    "a file outside": Attack("", False, LONG, ("install", "-r", "{canary}")),
}

GROUPS = {
    "read": {**READING, **by_call.READING, **kernel_files.READING},
    "write": {**WRITING, **by_call.WRITING, **kernel_files.WRITING},
    "reach": {**REACHING, **by_call.REACHING, **by_network.REACHING},
    "rights": RIGHTS,
    "bomb": BOMBS,
    "hold": by_memory.HOLDING,
    "left": LEFT,
    "pip": PIP,
    "call": CALLS,
    "layer": by_layer.LAYER,
}
ATTACKS = {f"{group}: {name}": attack for group, named in GROUPS.items() for name, attack in named.items()}
