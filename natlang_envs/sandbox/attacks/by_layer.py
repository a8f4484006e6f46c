"""Attacks on the files that many runs share, and on the overlay that hides them.

A program is given an overlay above `shared.txt` and `shared/deep/inside.txt`. The host looks at these afterwards.
"""

from __future__ import annotations

from dataclasses import replace

from natlang_envs.sandbox.attacks.attack import blocked

_CHANGES = {
    "append": "open('shared.txt', 'a').write('x')",
    "write in place": "f = os.open('shared.txt', os.O_RDWR); os.pwrite(f, b'x', 0); os.fsync(f)",
    "a memory map, not synchronised": (
        "import mmap; f = open('shared.txt', 'r+b'); m = mmap.mmap(f.fileno(), 0); m[0] = 120; f.close(); os._exit(0)"
    ),
    "a reader's map made writable": (
        "f = os.open('shared.txt', os.O_RDONLY); libc.mmap.restype = ctypes.c_void_p\n"
        "p = libc.mmap(None, 4096, 1, 1, f, ctypes.c_long(0))\n"
        "if libc.mprotect(ctypes.c_void_p(p), 4096, 3) == 0: ctypes.memset(p, 120, 1); reached('a map of a reader')"
    ),
    "a reader opened again for writing": (
        "f = os.open('shared.txt', os.O_RDONLY); os.write(os.open(f'/proc/self/fd/{f}', os.O_WRONLY), b'x')"
    ),
    "a path descriptor opened again": (
        "f = os.open('shared.txt', os.O_PATH); os.write(os.open(f'/proc/self/fd/{f}', os.O_RDWR), b'x')"
    ),
    "truncate": "os.truncate('shared.txt', 0)",
    "permissions and times": "os.chmod('shared.txt', 0o777); os.utime('shared.txt', (1, 1)); os.chmod('shared', 0o700)",
    "an attribute": "os.setxattr('shared.txt', 'user.x', b'y')",
    "a second name": "os.link('shared.txt', 'name'); open('name', 'a').write('x')",
    "a copy by the kernel": (
        "open('own', 'w').write('x' * 9); a = os.open('own', 0); b = os.open('shared.txt', os.O_WRONLY)\n"
        "quiet(os.copy_file_range, a, b, 9); quiet(os.sendfile, b, a, 0, 9)"
    ),
    "a hole": "f = os.open('shared.txt', os.O_RDWR); libc.fallocate(f, 3, ctypes.c_long(0), ctypes.c_long(4))",
    "flags of the file": (
        "import fcntl; f = os.open('shared.txt', os.O_RDONLY)\n"
        "for n in (0x40086602, 0x401C5820, 0x6685): quiet(fcntl.ioctl, f, n, bytes([16]) + bytes(39))"
    ),
    "removal": "shutil.rmtree('shared'); os.remove('shared.txt')",
    "another in its place": "open('own', 'w').write('x'); os.replace('own', 'shared.txt')",
    "exchange of names": "open('own', 'w'); libc.renameat2(-100, b'own', -100, b'shared/deep/inside.txt', 2)",
    "new files in its folders": "open('shared/deep/new', 'w').write('x'); os.mkdir('shared/folder')",
    "a race with the copying up": (
        "for n in range(8):\n    if os.fork() == 0:\n"
        "        for _ in range(50):\n            quiet(lambda: open('shared.txt', 'r+').write('x'))\n"
        "            quiet(os.rename, 'shared.txt', f'n{n}'); quiet(os.rename, f'n{n}', 'shared.txt')\n"
        "        os._exit(0)"
    ),
}
_HIDING = {
    "the layers by their path": "n = os.listdir('/opt/layers')\nif n: reached(n)",
    "the place of the layer on the host": (
        "for n in ('mountinfo', 'mounts', 'mountstats'):\n"
        "    if 'natlang-arena' in open('/proc/self/' + n).read(): reached(n)"
    ),
    "the layer on the host": "if os.listdir(P['layer']): reached('the layer')",
    "the layers through other processes": (
        "for p in [n for n in os.listdir('/proc') if n.isdigit()]:\n"
        "    for n in ['cwd', 'root', *('fd/' + f for f in quiet(os.listdir, f'/proc/{p}/fd') or ())]:\n"
        "        for more in ('', '/..', '/../..'):\n"
        "            found = quiet(os.listdir, f'/proc/{p}/{n}{more}') or ()\n"
        "            if {'upper', 'lower', 'scratch'} & set(found): reached((p, n, more, found))"
    ),
    "what is beneath the mount": (
        "if libc.umount2(b'/work', 2) == 0 or libc.umount2(b'.', 2) == 0: reached('umount')\n"
        "if set(os.listdir('/work')) - {'shared', 'shared.txt'}: reached(os.listdir('/work'))"
    ),
    "an overlay of its own": (
        "o = b'lowerdir=/work/shared:/usr,userxattr'\n"
        "if libc.mount(b'overlay', b'/tmp', b'overlay', 0, o) == 0: reached('mount')\n"
        "if libc.syscall(430, b'overlay', 0) >= 0: reached('fsopen')"
    ),
    "a whiteout": "import stat; os.mknod('whiteout', stat.S_IFCHR | 0o600, 0); reached('a whiteout')",
    "overlay's own attributes": (
        "os.mkdir('d'); open('d/f', 'w')\n"
        "for n in ('redirect', 'opaque', 'metacopy', 'origin', 'impure', 'whiteout', 'whiteouts', 'nlink'):\n"
        "    for v in (b'y', b'x', b'/shared', b'/../scratch', b'../../etc'):\n"
        "        for t in ('d', 'd/f', 'shared', 'shared.txt'):\n"
        "            quiet(os.setxattr, t, 'user.overlay.' + n, v); quiet(os.setxattr, t, 'trusted.overlay.' + n, v)\n"
        "if os.listdir('d') != ['f'] or os.listdir('shared') != ['deep'] or not os.path.getsize('shared.txt'):\n"
        "    reached('a layer by its attributes')"
    ),
    "a handle of a file": (
        "h = ctypes.create_string_buffer(136); h[0] = 128; m = ctypes.c_int()\n"
        "if libc.name_to_handle_at(-100, b'shared.txt', h, ctypes.byref(m), 0) == 0:\n"
        "    if libc.open_by_handle_at(os.open('/work', 0), h, 0) >= 0: reached('a handle')"
    ),
}

LAYER = {name: replace(blocked(code), layered=True) for name, code in {**_CHANGES, **_HIDING}.items()}
