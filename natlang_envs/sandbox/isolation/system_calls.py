"""The system calls that a program in the sandbox may make: a classic BPF program for seccomp.

Whatever is not listed is refused, so a call that a later kernel adds is refused too. What is listed is what CPython,
its standard library, pip, compilers and shells use. Namespaces hide files, processes and the network; what is left out
here is what they leave open. Some calls reach past namespaces (AF_VSOCK talks to the hypervisor, inotify tells who
reads a file of the host, sync waits for the host's disks), some hold memory that no process shows (memfd, System V,
POSIX queues), some are large and seldom needed attack surface (io_uring, bpf, ptrace, asynchronous I/O, keys).
"""

from __future__ import annotations

import errno
import platform
import struct
from collections.abc import Iterator
from typing import NamedTuple

_LOAD, _EQUAL, _AT_LEAST, _ANY_BIT, _RETURN = 0x20, 0x15, 0x35, 0x45, 0x06
_ALLOW, _REFUSE = 0x7FFF0000, 0x00050000
_NUMBER, _ARCHITECTURE, _FIRST_ARGUMENT, _SECOND_ARGUMENT = 0, 4, 16, 24  # offsets in struct seccomp_data
_F_SETLEASE, _F_NOTIFY = 1024, 1026  # of fcntl: they tell who opens a file, or reads a folder, of the host
_NEW_NAMESPACE = 0x7E020000  # every CLONE_NEW… flag
_FAMILIES = (1, 2, 10)  # AF_UNIX, AF_INET, AF_INET6: all three see the sandbox's own, empty network only

Ranges = tuple[tuple[int, int], ...]
"""Allowed calls in the order of their numbers: the first and the last of each run of them."""


class _Machine(NamedTuple):
    """One processor's numbers."""

    audit: int
    clone: int
    socket: int
    fcntl: int
    own: int  # the first number that this processor does not count by itself
    allowed: Ranges


# Since Linux 5.1 new calls have one number everywhere: pidfd_send_signal, pidfd_open, close_range and openat2,
# faccessat2, epoll_pwait2, futex_waitv, fchmodat2, mseal. clone3 is not there: its flags lie behind a pointer, and libc
# falls back to clone.
_EVERYWHERE = ((424, 424), (434, 434), (436, 437), (439, 439), (441, 441), (449, 449), (452, 452), (462, 462))
# Left out, in the order of the numbers: System V (29, 64, 67), ptrace, syslog, uselib, personality and ustat, sysfs,
# vhangup to _sysctl (with modify_ldt and pivot_root), adjtimex, chroot to quotactl (with sync and mount), areas of
# threads to asynchronous I/O, remap_file_pages, semtimedop, clock_settime, memory policy to kexec_load, keys to
# migrate_pages (with inotify), unshare, vmsplice, inotify_init1, perf_event_open, fanotify, handles, clock_adjtime and
# syncfs, setns, process_vm_readv to finit_module, seccomp, memfd_create to bpf, userfaultfd, pkeys, io_pgetevents.
_X86_64 = (
    *((0, 28), (32, 63), (72, 100), (102, 102), (104, 133), (137, 138), (140, 152), (157, 158), (160, 160)),
    *((186, 204), (213, 213), (217, 219), (221, 226), (228, 235), (247, 247), (257, 271), (273, 277), (280, 293)),
    *((295, 297), (299, 299), (302, 302), (307, 307), (309, 309), (314, 316), (318, 318), (322, 322), (324, 328)),
    *((332, 332), (334, 334)),
)
# The same on ARM.
_AARCH64 = (
    *((5, 17), (19, 25), (29, 29), (32, 38), (43, 50), (52, 57), (59, 59), (61, 74), (76, 80), (82, 88), (90, 91)),
    *((93, 96), (98, 103), (107, 111), (113, 115), (118, 141), (143, 160), (163, 169), (172, 179), (198, 216)),
    *((220, 223), (226, 233), (240, 240), (242, 243), (260, 261), (269, 269), (274, 276), (278, 278), (281, 281)),
    *((283, 287), (291, 291), (293, 293)),
)

_MACHINES = {
    "x86_64": _Machine(0xC000003E, 56, 41, 72, 335, (*_X86_64, *_EVERYWHERE)),
    "aarch64": _Machine(0xC00000B7, 220, 198, 25, 294, (*_AARCH64, *_EVERYWHERE)),
}


def allowed_calls() -> Ranges:
    """Return the numbers of the calls that are allowed on this machine's processor; empty where there is no filter."""
    machine = _MACHINES.get(platform.machine())
    return machine.allowed if machine else ()


def system_call_filter() -> bytes | None:
    """Return the compiled program for this machine's processor, or None where its call numbers are not known here."""
    machine = _MACHINES.get(platform.machine())
    if machine is None:
        return None
    return b"".join(struct.pack("=HBBI", *each) for each in _instructions(machine))


def _instructions(machine: _Machine) -> Iterator[tuple[int, int, int, int]]:
    """Yield (code, jump if true, jump if false, operand); a jump counts the instructions passed over."""
    refuse = (_RETURN, 0, 0, _REFUSE | errno.EPERM)
    allow = (_RETURN, 0, 0, _ALLOW)
    yield (_LOAD, 0, 0, _ARCHITECTURE)
    yield (_EQUAL, 1, 0, machine.audit)
    yield refuse  # 32-bit calls have numbers of their own
    yield (_LOAD, 0, 0, _NUMBER)
    yield (_EQUAL, 0, 3, machine.clone)
    yield (_LOAD, 0, 0, _FIRST_ARGUMENT)
    yield (_ANY_BIT, 4 + len(_FAMILIES), 0, _NEW_NAMESPACE)  # to the refusal below
    yield allow
    yield (_EQUAL, 0, 4 + len(_FAMILIES), machine.socket)
    yield (_LOAD, 0, 0, _FIRST_ARGUMENT)
    for passed, family in enumerate(_FAMILIES):
        yield (_EQUAL, len(_FAMILIES) + 1 - passed, 0, family)
    yield (_RETURN, 0, 0, _REFUSE | errno.EAFNOSUPPORT)
    yield refuse
    yield allow
    yield (_EQUAL, 0, 5, machine.fcntl)
    yield (_LOAD, 0, 0, _SECOND_ARGUMENT)
    yield (_EQUAL, 1, 0, _F_SETLEASE)
    yield (_EQUAL, 0, 1, _F_NOTIFY)
    yield refuse
    yield allow
    for first, last in machine.allowed:
        yield (_AT_LEAST, 0, 2, first)
        yield (_AT_LEAST, 1, 0, last + 1)
        yield allow
    # The libraries that know a newer call know what to do without it. x32, the x86-64 calls again under other numbers,
    # is beyond as well.
    yield (_AT_LEAST, 1, 0, machine.own)
    yield refuse
    yield (_RETURN, 0, 0, _REFUSE | errno.ENOSYS)
