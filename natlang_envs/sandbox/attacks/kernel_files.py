"""Attacks through the files in which the kernel shows and takes settings, each with a permission check of its own."""

from __future__ import annotations

from natlang_envs.sandbox.attacks.attack import blocked

_SECRET_FILES = (
    "kcore", "kmsg", "slabinfo", "vmallocinfo", "kpagecount", "kpageflags", "timer_list", "1/stack",
)  # fmt: skip
READING = {
    **{f"/proc/{name}": blocked(f"if open('/proc/{name}', 'rb').read(64): reached({name!r})")
       for name in _SECRET_FILES},
    "addresses of the kernel": blocked(
        "for l in open('/proc/kallsyms'):\n    if int(l.split()[0], 16): reached(l); break"
    ),
    "addresses of the memory": blocked(
        "for l in open('/proc/iomem'):\n    if int(l.split('-')[1].split()[0], 16): reached(l); break"
    ),
    "frames of its own pages": blocked(
        "a = id(0) // 4096; f = open('/proc/self/pagemap', 'rb'); f.seek(a * 8)\n"
        "if int.from_bytes(f.read(8), 'little') & ((1 << 55) - 1): reached('frame')"
    ),
    "keys of others": blocked("if open('/proc/keys').read(): reached('keys')"),
    "locks of others": blocked("if open('/proc/locks').read(): reached('locks')"),
    "names of abstract sockets": blocked("if P['abstract'] in open('/proc/net/unix').read(): reached('abstract')"),
    "shared memory of others": blocked("if open('/proc/sysvipc/shm').read().count('\\n') > 1: reached('shm')"),
    "message queues of others": blocked("if open('/proc/sysvipc/msg').read().count('\\n') > 1: reached('msg')"),
    "addresses of neighbours": blocked("if open('/proc/net/arp').read().count('\\n') > 1: reached('arp')"),
    "routes": blocked("if open('/proc/net/route').read().count('\\n') > 1: reached('route')"),
    "listening datagram sockets": blocked(
        "if ':%04X' % P['udp'] in open('/proc/net/udp').read(): reached('udp')"
    ),
    "devices in /sys": blocked("os.listdir('/sys'); reached('sys')"),
    "settings of the bus": blocked("import glob\nfor n in glob.glob('/proc/bus/pci/*/*'):\n"
        "    if len(open(n, 'rb').read()) > 64: reached(n)"),
}  # fmt: skip

_SETTINGS = {
    "kernel/hostname": "x", "kernel/domainname": "x", "kernel/modprobe": "/x",
    "kernel/ns_last_pid": "9000", "kernel/randomize_va_space": "0", "kernel/yama/ptrace_scope": "0",
    "kernel/dmesg_restrict": "0", "kernel/unprivileged_bpf_disabled": "0", "kernel/panic": "1", "kernel/sysrq": "1",
    "vm/drop_caches": "1", "vm/overcommit_memory": "1", "vm/swappiness": "1", "fs/file-max": "1",
    "fs/protected_symlinks": "0", "fs/suid_dumpable": "2",
    "fs/binfmt_misc/register": ":x:M::x::/x:",
    "net/ipv4/ip_forward": "1", "net/ipv4/ping_group_range": "0 65534", "net/ipv4/ip_unprivileged_port_start": "0",
    "user/max_user_namespaces": "1",
}  # fmt: skip
_ABOUT_PROCESSES = {
    "self/oom_score_adj": "-1000", "self/oom_adj": "-17", "self/uid_map": "0 0 1", "self/gid_map": "0 0 1",
    "self/setgroups": "allow", "self/autogroup": "-10",
    "self/timens_offsets": "monotonic 1 0", "self/attr/current": "unconfined",
    "irq/default_smp_affinity": "1", "mtrr": "x", "acpi/wakeup": "x",
}  # fmt: skip
WRITING = {
    f"{text} into /proc/{name}": blocked(
        f"f = os.open('/proc/{name}', os.O_WRONLY); os.write(f, {text.encode()!r}); reached({name!r})"
    )
    for name, text in {**{f"sys/{name}": text for name, text in _SETTINGS.items()}, **_ABOUT_PROCESSES}.items()
}
