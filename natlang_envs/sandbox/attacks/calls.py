"""Attacks by system call: each asks the kernel for something that no program here needs.

A call is refused where the kernel never begins with it; an answer about its arguments means that the filter let it in.
"""

from __future__ import annotations

import os

from natlang_envs.sandbox.attacks.attack import Attack, blocked

_X86_64 = {
    "shmat": 30,
    "semget": 64,
    "msgget": 68,
    "uselib": 134,
    "personality": 135,
    "modify_ldt": 154,
    "pivot_root": 155,
    "adjtimex": 159,
    "sync": 162,
    "acct": 163,
    "settimeofday": 164,
    "swapon": 167,
    "reboot": 169,
    "sethostname": 170,
    "iopl": 172,
    "ioperm": 173,
    "init_module": 175,
    "quotactl": 179,
    "io_setup": 206,
    "clock_settime": 227,
    "mbind": 237,
    "mq_open": 240,
    "kexec_load": 246,
    "add_key": 248,
    "request_key": 249,
    "ioprio_set": 251,
    "inotify_init": 253,
    "inotify_add_watch": 254,
    "migrate_pages": 256,
    "vmsplice": 278,
    "move_pages": 279,
    "inotify_init1": 294,
    "perf_event_open": 298,
    "fanotify_init": 300,
    "name_to_handle_at": 303,
    "open_by_handle_at": 304,
    "clock_adjtime": 305,
    "syncfs": 306,
    "process_vm_readv": 310,
    "process_vm_writev": 311,
    "kcmp": 312,
    "finit_module": 313,
    "seccomp": 317,
    "kexec_file_load": 320,
    "userfaultfd": 323,
    "pkey_alloc": 330,
    "io_uring_enter": 426,
    "io_uring_register": 427,
    "open_tree": 428,
    "move_mount": 429,
    "fsopen": 430,
    "fsmount": 432,
    "clone3": 435,
    "pidfd_getfd": 438,
    "process_madvise": 440,
    "mount_setattr": 442,
    "landlock_create_ruleset": 444,
    "memfd_secret": 447,
    "process_mrelease": 448,
    "map_shadow_stack": 453,
    "statmount": 457,
    "lsm_set_self_attr": 460,
    "ustat": 136,
    "sysfs": 139,
    "vhangup": 153,
    "swapoff": 168,
    "setdomainname": 171,
    "delete_module": 176,
    "nfsservctl": 180,
    "io_submit": 209,
    "lookup_dcookie": 212,
    "remap_file_pages": 216,
    "semtimedop": 220,
    "set_mempolicy": 238,
    "get_mempolicy": 239,
    "mq_unlink": 241,
    "mq_notify": 244,
    "fanotify_mark": 301,
    "io_pgetevents": 333,
    "fsconfig": 431,
    "fspick": 433,
    "quotactl_fd": 443,
    "landlock_add_rule": 445,
    "landlock_restrict_self": 446,
    "set_mempolicy_home_node": 450,
    "cachestat": 451,
    "futex_wake": 454,
    "listmount": 458,
    "lsm_get_self_attr": 459,
    "lsm_list_modules": 461,
    "setxattrat": 463,
}
_REFUSED = "(1, 38)"  # EPERM; ENOSYS, as on a kernel that has no such call


def _attack(name: str, number: int) -> Attack:
    if os.uname().machine != "x86_64":
        return blocked("raise OSError")
    return blocked(
        f"if libc.syscall({number}, *[ctypes.c_long(-1)] * 6) != -1 or ctypes.get_errno() not in {_REFUSED}:\n"
        f"    reached({name!r})"
    )


CALLS = {name: _attack(name, number) for name, number in _X86_64.items()}
