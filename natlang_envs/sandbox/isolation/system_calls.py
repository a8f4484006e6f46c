"""The system calls that a program in the sandbox may make: a classic BPF program for seccomp.

Whatever is not listed is refused, so a call that a later kernel adds is refused too. What is listed is what CPython,
its standard library, pip, compilers and shells use. Namespaces hide files, processes and the network; what is left out
here is what they leave open. Some calls reach past namespaces (AF_VSOCK talks to the hypervisor, inotify tells who
reads a file of the host, sync waits for the host's disks), some hold memory that no process shows (memfd, System V,
POSIX queues, sockets of the Internet, larger buffers of pipes and sockets) or let a few bytes hold whole pages (splice,
tee, sendfile), some are large and seldom needed attack surface (io_uring, bpf, ptrace, asynchronous I/O, keys).

All that a program can write is in memory, so calls that wait for a disk could only flush the host's: they do nothing
and say that it is done.
"""

from __future__ import annotations

import errno
import mmap
import platform
import struct
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from natlang_envs.sandbox.isolation.processes import CLONE, SHARED_MAP

_LOAD, _EQUAL, _MORE, _AT_LEAST, _ANY_BIT, _AND, _RETURN = 0x20, 0x15, 0x25, 0x35, 0x45, 0x54, 0x06
_ALLOW, _REFUSE = 0x7FFF0000, 0x00050000
_NUMBER, _ARCHITECTURE = 0, 4  # offsets in struct seccomp_data
_ARGUMENTS = (16, 24, 32, 40)  # the lower half of each; its upper half is 4 bytes further
# Of fcntl: F_SETLEASE and F_NOTIFY tell who opens a file, or reads a folder, of the host. F_OFD_GETLK, F_OFD_SETLK and
# F_OFD_SETLKW make locks that a map keeps when the descriptor is closed, so that nothing shows them.
_F_REFUSED = (1024, 1026, 36, 37, 38)
_F_SETPIPE_SZ, _PIPE = 1031, 1 << 16  # and the size that every pipe begins with
_NEW_NAMESPACE = 0x7E020000  # every CLONE_NEW… flag
_CLONE_FILES, _CLONE_THREAD = 0x400, 0x10000
_AF_UNIX, _SOL_SOCKET = 1, 1
_AF_INTERNET = (2, 10)  # of both versions of its protocol
# SO_SNDBUF, SO_RCVBUF, SO_ATTACH_FILTER, SO_SNDBUFFORCE, SO_RCVBUFFORCE, SO_ATTACH_BPF and its two for SO_REUSEPORT
_HOLD_MEMORY = (7, 8, 26, 32, 33, 50, 51, 52)
_MAP_SHARED_ANONYMOUS, _MAP_HUGETLB, _MS_SYNC = 0x21, 0x40000, 4
# MERGEABLE; COLD and PAGEOUT, which take files of the host out of its memory.
_ADVICE_REFUSED = (12, 20, 21)
# Of prctl: signals to children, dumpable, capabilities, names, timer slack, reading what is in force. Left out are, for
# instance, huge pages (41), tables for futexes of any size (78), and names of maps, which hide what a map is.
_PRCTL = (1, 2, 3, 4, 7, 8, 15, 16, 21, 23, 24, 27, 28, 29, 30, 36, 37, 38, 39, 40, 42, 47, 52, 53)

Ranges = tuple[tuple[int, int], ...]
"""Allowed calls in the order of their numbers: the first and the last of each run of them."""


class _Machine(NamedTuple):
    """One processor's numbers."""

    audit: int
    clone: int
    sockets: tuple[int, int]  # socket, socketpair
    setsockopt: int
    fcntl: int
    mmap: int
    msync: int
    madvise: int
    prctl: int
    flushes: tuple[int, int, int]  # fsync, fdatasync, sync_file_range
    attributes: tuple[int, int, int]  # setxattr, lsetxattr, fsetxattr
    own: int  # the first number that this processor does not count by itself
    allowed: Ranges


# Since Linux 5.1 new calls have one number everywhere: pidfd_send_signal, pidfd_open, close_range and openat2,
# faccessat2, epoll_pwait2, futex_waitv, fchmodat2, mseal. clone3 is not there: its flags lie behind a pointer, and libc
# falls back to clone.
_EVERYWHERE = ((424, 424), (434, 434), (436, 437), (439, 439), (441, 441), (449, 449), (452, 452), (462, 462))
# Left out, in the order of the numbers: System V (29, 64, 67), sendfile, ptrace, syslog, uselib, personality and ustat,
# sysfs, vhangup to _sysctl (with modify_ldt and pivot_root), adjtimex, chroot to quotactl (with sync and mount), areas
# of threads to asynchronous I/O, remap_file_pages, semtimedop, fadvise64 (it empties the host's cache), clock_settime,
# memory policy to kexec_load, keys to migrate_pages (with inotify), unshare, splice to vmsplice, inotify_init1,
# perf_event_open, fanotify, handles, clock_adjtime and syncfs, setns, process_vm_readv to finit_module, seccomp,
# memfd_create to bpf, userfaultfd, pkeys, io_pgetevents.
_X86_64 = (
    *((0, 28), (32, 39), (41, 63), (72, 100), (102, 102), (104, 133), (137, 138), (140, 152), (157, 158), (160, 160)),
    *((186, 204), (213, 213), (217, 219), (222, 226), (228, 235), (247, 247), (257, 271), (273, 274), (277, 277)),
    *((280, 293), (295, 297), (299, 299), (302, 302), (307, 307), (309, 309), (314, 316), (318, 318), (322, 322)),
    *((324, 328), (332, 332), (334, 334)),
)
# The same on ARM.
_AARCH64 = (
    *((5, 17), (19, 25), (29, 29), (32, 38), (43, 50), (52, 57), (59, 59), (61, 70), (72, 74), (78, 80), (82, 88)),
    *((90, 91), (93, 96), (98, 103), (107, 111), (113, 115), (118, 141), (143, 160), (163, 169), (172, 179)),
    *((198, 216), (220, 222), (226, 233), (240, 240), (242, 243), (260, 261), (269, 269), (274, 276), (278, 278)),
    *((281, 281), (283, 287), (291, 291), (293, 293)),
)

_MACHINES = {
    "x86_64": _Machine(
        *(0xC000003E, CLONE["x86_64"], (41, 53), 54, 72, 9, 26, 28, 157, (74, 75, 277), (188, 189, 190)),
        *(335, (*_X86_64, *_EVERYWHERE)),
    ),
    "aarch64": _Machine(
        *(0xC00000B7, CLONE["aarch64"], (198, 199), 208, 25, 222, 227, 233, 167, (82, 83, 84), (5, 6, 7)),
        *(294, (*_AARCH64, *_EVERYWHERE)),
    ),
}
_HERE = _MACHINES.get(platform.machine())


def allowed_calls() -> Ranges:
    """Return the numbers of the calls that are allowed on this machine's processor; empty where there is no filter."""
    return _HERE.allowed if _HERE else ()


def system_call_filter(network: bool = False, gpu: bool = False) -> bytes | None:
    """Return the compiled program for this machine's processor, or None where its call numbers are not known here.

    With `network` it allows sockets of the Internet too, with `gpu` the large shared maps that CUDA makes.
    """
    return _HERE and b"".join(struct.pack("=HBBI", *each) for each in _instructions(_HERE, network, gpu))


Instruction = tuple[int, int, int, int]
"""Code, jump if true, jump if false, operand; a jump counts the instructions passed over."""
_DENY: Instruction = (_RETURN, 0, 0, _REFUSE | errno.EPERM)
_PERMIT: Instruction = (_RETURN, 0, 0, _ALLOW)
_DONE: Instruction = (_RETURN, 0, 0, _REFUSE)


def _instructions(machine: _Machine, network: bool, gpu: bool) -> Iterator[Instruction]:
    yield (_LOAD, 0, 0, _ARCHITECTURE)
    yield (_EQUAL, 1, 0, machine.audit)
    yield _DENY  # 32-bit calls have numbers of their own
    yield (_LOAD, 0, 0, _NUMBER)
    for number, checks in _checked(machine, network, gpu).items():
        yield (_EQUAL, 0, len(checks), number)
        yield from checks
    for first, last in machine.allowed:
        yield (_AT_LEAST, 0, 2, first)
        yield (_AT_LEAST, 1, 0, last + 1)
        yield _PERMIT
    # The libraries that know a newer call know what to do without it. x32, the x86-64 calls again under other numbers,
    # is beyond as well.
    yield (_AT_LEAST, 1, 0, machine.own)
    yield _DENY
    yield (_RETURN, 0, 0, _REFUSE | errno.ENOSYS)


def _by_value(argument: int, values: Sequence[int], found: Instruction, otherwise: Instruction) -> list[Instruction]:
    """Return what answers by whether the lower half of an argument is one of some values."""
    compared = [(_EQUAL, len(values) - at, 0, each) for at, each in enumerate(values)]
    return [(_LOAD, 0, 0, _ARGUMENTS[argument]), *compared, otherwise, found]


def _checked(machine: _Machine, network: bool, gpu: bool) -> dict[int, list[Instruction]]:
    """Return for each call that is allowed by its arguments what decides about it."""
    alike = _CLONE_FILES | _CLONE_THREAD
    families = (_AF_UNIX, *(_AF_INTERNET if network else ()))
    family = _by_value(0, families, _PERMIT, _refused(errno.EAFNOSUPPORT))
    maps = [
        (_LOAD, 0, 0, _ARGUMENTS[3]),
        (_ANY_BIT, 0, 1, _MAP_HUGETLB),
        _DENY,
        (_AND, 0, 0, _MAP_SHARED_ANONYMOUS),
        (_EQUAL, 0, 5, _MAP_SHARED_ANONYMOUS),
        (_LOAD, 0, 0, _ARGUMENTS[1] + 4),
        (_EQUAL, 0, 2, 0),
        (_LOAD, 0, 0, _ARGUMENTS[1]),
        (_MORE, 0, 1, SHARED_MAP),
        _DENY,
        _PERMIT,
    ]
    return {
        # Descriptors belong to whole processes, or the watch would have to look for them at every thread, and locks
        # could outlive the process that the kernel names as their owner.
        machine.clone: [
            (_LOAD, 0, 0, _ARGUMENTS[0]),
            (_ANY_BIT, 3, 0, _NEW_NAMESPACE),
            (_AND, 0, 0, alike),
            (_EQUAL, 2, 0, 0),
            (_EQUAL, 1, 0, alike),
            _DENY,
            _PERMIT,
        ],
        **dict.fromkeys(machine.sockets, family),
        machine.setsockopt: [
            (_LOAD, 0, 0, _ARGUMENTS[1]),
            (_EQUAL, 1, 0, _SOL_SOCKET),
            _PERMIT,
            *_by_value(2, _HOLD_MEMORY, _DENY, _PERMIT),
        ],
        machine.fcntl: [
            (_LOAD, 0, 0, _ARGUMENTS[1]),
            (_EQUAL, 0, 4, _F_SETPIPE_SZ),
            (_LOAD, 0, 0, _ARGUMENTS[2]),
            (_MORE, 0, 1, _PIPE),
            _DENY,
            _PERMIT,
            *_by_value(1, _F_REFUSED, _DENY, _PERMIT),
        ],
        machine.msync: [
            (_LOAD, 0, 0, _ARGUMENTS[0]),
            (_ANY_BIT, 2, 0, mmap.PAGESIZE - 1),  # a mistake, which the kernel is to name
            (_LOAD, 0, 0, _ARGUMENTS[2]),
            (_ANY_BIT, 1, 0, _MS_SYNC),
            _PERMIT,
            _DONE,
        ],
        machine.madvise: _by_value(2, _ADVICE_REFUSED, _DENY, _PERMIT),
        machine.prctl: _by_value(0, _PRCTL, _PERMIT, _refused(errno.EINVAL)),
        **{each: [_DONE] for each in machine.flushes},
        # As on file systems without attributes, which is what programs that copy files know.
        **{each: [_refused(errno.ENOTSUP)] for each in machine.attributes},
        **({} if gpu else {machine.mmap: maps}),
    }


def _refused(error: int) -> Instruction:
    return (_RETURN, 0, 0, _REFUSE | error)
