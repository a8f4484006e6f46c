"""Attacks through sockets: kinds that the kernel has code of its own for, and ways out of an empty network."""

from __future__ import annotations

from natlang_envs.sandbox.attacks.attack import Attack, blocked

_FAMILIES = {
    "AX.25": 3, "X.25": 9, "IPsec keys": 15, "RDS": 21, "PPP over a network": 24, "LLC": 26, "InfiniBand": 27,
    "CAN": 29, "TIPC": 30, "Bluetooth": 31, "RxRPC": 33, "Phonet": 35, "IEEE 802.15.4": 36, "CAIF": 37,
    "kernel cryptography": 38, "NFC": 39, "KCM": 41, "Qualcomm's router": 42, "SMC": 43, "XDP": 44, "MCTP": 45,
}  # fmt: skip
_KINDS = "(socket.SOCK_STREAM, socket.SOCK_DGRAM, socket.SOCK_RAW, socket.SOCK_SEQPACKET, socket.SOCK_RDM)"
_UDP = "s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)\n"
REACHING = {
    **{
        f"the kernel's {name} sockets": blocked(
            f"for k in {_KINDS}:\n    try: socket.socket({family}, k); reached({name!r})\n"
            "    except OSError as e:\n        if e.errno not in (97, 1): reached(e)"  # EAFNOSUPPORT, EPERM
        )
        for name, family in _FAMILIES.items()
    },
    "TCP with data in the first packet": Attack(
        "s = socket.socket(); s.sendto(b'x', 0x20000000, ('127.0.0.1', P['tcp'])); reached('fast open')"
    ),
    "TCP over many paths": blocked(
        "s = socket.socket(socket.AF_INET, socket.SOCK_STREAM, 262)\ns.connect(('127.0.0.1', P['tcp']))\n"
        "reached('mptcp')"
    ),
    "a broadcast": blocked(
        _UDP + "s.setsockopt(socket.SOL_SOCKET, socket.SO_BROADCAST, 1)\n"
        "s.sendto(b'x', ('255.255.255.255', P['udp'])); reached('broadcast')"
    ),
    "a multicast": blocked(_UDP + "s.sendto(b'x', ('224.0.0.1', P['udp'])); reached('multicast')"),
    "addresses by ioctl": blocked(
        _UDP + "import fcntl, array\nb = array.array('B', bytes(4096)); a, n = b.buffer_info()\n"
        "r = fcntl.ioctl(s, 0x8912, n.to_bytes(8, 'little') + a.to_bytes(8, 'little'))\n"
        "if int.from_bytes(r[:4], 'little') > 40: reached('addresses')"
    ),
    "an interface set up": blocked(
        _UDP + "import fcntl; fcntl.ioctl(s, 0x8914, b'dummy0'.ljust(16, b'\\0') + bytes([65, 0]) + bytes(22))\n"
        "reached('up')"
    ),
    "a route added": blocked(_UDP + "import fcntl; fcntl.ioctl(s, 0x890B, bytes(120)); reached('route')"),
    "a bridge made": blocked(_UDP + "import fcntl; fcntl.ioctl(s, 0x89A0, bytes(16)); reached('bridge')"),
    "packets marked": blocked(_UDP + "s.setsockopt(socket.SOL_SOCKET, 36, 7); reached('mark')"),
    "another's address": blocked(_UDP + "s.setsockopt(0, 19, 1); reached('transparent')"),
    "a repaired connection": blocked("s = socket.socket(); s.setsockopt(6, 19, 1); reached('repair')"),
    "forced buffers": blocked(_UDP + "s.setsockopt(socket.SOL_SOCKET, 33, 1 << 26); reached('force')"),
    "tables of the firewall": blocked(_UDP + "s.getsockopt(0, 64, 84); reached('tables')"),
    "another process's identity": blocked(
        "a, b = socket.socketpair(); import struct; b.setsockopt(socket.SOL_SOCKET, socket.SO_PASSCRED, 1)\n"
        "a.sendmsg([b'x'], [(socket.SOL_SOCKET, 2, struct.pack('3i', 1, 0, 0))]); reached('credentials')"
    ),
    "sockets of services": blocked(
        "for n in ('/run/docker.sock', '/var/run/docker.sock', '/run/systemd/private', '/run/dbus/system_bus_socket',\n"
        "        '/run/systemd/journal/socket', '/dev/log', '/run/nscd/socket', '\\0/tmp/.X11-unix/X0',\n"
        "        '/tmp/.X11-unix/X0'):\n"
        "    if quiet(lambda: socket.socket(socket.AF_UNIX).connect(n) or 1): reached(n)"
    ),
    "the machine's name server": blocked("open('/etc/resolv.conf').read(); reached('resolv.conf')"),
}  # fmt: skip
