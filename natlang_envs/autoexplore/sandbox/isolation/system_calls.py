"""The system calls that a program in the sandbox is refused: a classic BPF program for seccomp.

Namespaces hide files, processes and the network; these calls are what they leave open. Some reach past namespaces
(AF_VSOCK talks to the hypervisor), some hold memory that no process shows (memfd, System V), some are large and
seldom needed attack surface (io_uring, bpf, ptrace).
"""

from __future__ import annotations

import errno
import platform
import struct
from collections.abc import Iterator
from typing import NamedTuple

_LOAD, _EQUAL, _AT_LEAST, _ANY_BIT, _RETURN = 0x20, 0x15, 0x35, 0x45, 0x06
_ALLOW, _REFUSE = 0x7FFF0000, 0x00050000
_NUMBER, _ARCHITECTURE, _FIRST_ARGUMENT = 0, 4, 16  # offsets in struct seccomp_data
_NEW_NAMESPACE = 0x7E020000  # every CLONE_NEW… flag
_FAMILIES = (1, 2, 10)  # AF_UNIX, AF_INET, AF_INET6: all three see the sandbox's own, empty network only
_X32 = 0x40000000  # the x86-64 calls again, under other numbers


class _Machine(NamedTuple):
    """One processor's numbers."""

    audit: int
    clone: int
    socket: int
    refused: tuple[int, ...]


# Since Linux 5.1 new calls have one number everywhere: io_uring_setup, open_tree, move_mount, fsopen, fsconfig,
# fsmount, fspick, pidfd_getfd, mount_setattr, memfd_secret.
_EVERYWHERE = (425, 428, 429, 430, 431, 432, 433, 438, 442, 447)
_CLONE3 = 435  # its flags lie behind a pointer; libc falls back to clone
# In the order of the numbers: shmget, semget, msgget, ptrace, syslog, pivot_root, chroot, mount, umount2, add_key,
# request_key, keyctl, unshare, perf_event_open, name_to_handle_at, open_by_handle_at, setns, process_vm_readv and
# _writev, kcmp, memfd_create, bpf, userfaultfd.
_X86_64 = (
    29,
    64,
    68,
    101,
    103,
    155,
    161,
    165,
    166,
    248,
    249,
    250,
    272,
    298,
    303,
    304,
    308,
    310,
    311,
    312,
    319,
    321,
    323,
)
# The same on ARM: umount2, mount, pivot_root, chroot, unshare, syslog, ptrace, msgget, semget, shmget, …
_AARCH64 = (
    39,
    40,
    41,
    51,
    97,
    116,
    117,
    186,
    190,
    194,
    217,
    218,
    219,
    241,
    264,
    265,
    268,
    270,
    271,
    272,
    279,
    280,
    282,
)

_MACHINES = {
    "x86_64": _Machine(0xC000003E, 56, 41, _X86_64),
    "aarch64": _Machine(0xC00000B7, 220, 198, _AARCH64),
}


def system_call_filter() -> bytes | None:
    """Return the compiled program for this machine's processor, or None where its call numbers are not known here."""
    machine = _MACHINES.get(platform.machine())
    if machine is None:
        return None
    return b"".join(struct.pack("=HBBI", *each) for each in _instructions(machine))


def _instructions(machine: _Machine) -> Iterator[tuple[int, int, int, int]]:
    """Yield (code, jump if true, jump if false, operand); a jump counts the instructions passed over."""
    refuse = (_RETURN, 0, 0, _REFUSE | errno.EPERM)
    yield (_LOAD, 0, 0, _ARCHITECTURE)
    yield (_EQUAL, 1, 0, machine.audit)
    yield refuse  # 32-bit calls have numbers of their own
    yield (_LOAD, 0, 0, _NUMBER)
    yield (_AT_LEAST, 0, 1, _X32)
    yield refuse
    for number in (*machine.refused, *_EVERYWHERE):
        yield (_EQUAL, 0, 1, number)
        yield refuse
    yield (_EQUAL, 0, 1, _CLONE3)
    yield (_RETURN, 0, 0, _REFUSE | errno.ENOSYS)
    yield (_EQUAL, 0, 3, machine.clone)
    yield (_LOAD, 0, 0, _FIRST_ARGUMENT)
    yield (_ANY_BIT, 0, 4 + len(_FAMILIES), _NEW_NAMESPACE)
    yield refuse
    yield (_EQUAL, 0, 2 + len(_FAMILIES), machine.socket)
    yield (_LOAD, 0, 0, _FIRST_ARGUMENT)
    for passed, family in enumerate(_FAMILIES):
        yield (_EQUAL, len(_FAMILIES) - passed, 0, family)
    yield (_RETURN, 0, 0, _REFUSE | errno.EAFNOSUPPORT)
    yield (_RETURN, 0, 0, _ALLOW)
