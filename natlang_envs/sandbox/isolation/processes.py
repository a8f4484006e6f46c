"""The memory of a program that may be hostile: of its processes, and what the kernel holds for them.

All is read through descriptors that are opened before the program runs, so nothing that it does later hides it: neither
the end of a process, nor that of a leading thread, after which `/proc/PID` says nothing of the threads that go on.

The kernel counts its own memory for control groups alone. The objects that system calls can make here are therefore
charged one by one, each at the most that it can hold. Every reading is bounded: it ends at the limit.
"""

from __future__ import annotations

import os
import platform
import socket
import stat
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, suppress
from functools import lru_cache
from pathlib import Path

from natlang_envs.files import opening

# Processor time of a look, for what the kernel holds; more where that was not enough. Not wall-clock time: where others
# want the processor, looks would see so little that what a program holds for a second is not found in time.
_SECONDS, _SECONDS_MORE = 0.01, 0.06
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC
_PAGE = os.sysconf("SC_PAGE_SIZE")
_BLOCK = 1 << 16
# Bytes of one, measured on Linux 6.18 and rounded up; of a shared map the filter allows no larger one.
_AREA, _LINE, _PIPE, _TERMINAL = 1024, 1024, 80 << 10, 64 << 10
_PROC = 64 << 10  # of a file of /proc: a page of its text or what it says of all processors, and parts of a process
_LISTED = 352  # of a name of a folder that was read in an overlay
_IN_SOCKETS = 253  # descriptors in one message, which may be sent where as many as one process may have already are
_MANY_AREAS = 8_192
OPEN_FILES = 256
"""The most descriptors of one process."""
TERMINALS = 64
"""The most terminals of one run at a time."""
_NO_KIND = 0  # what the kernel says of epoll and the like
SHARED_MAP = 8 << 20
"""The most bytes of one anonymous shared map, whose pages stay when no page table shows them any more."""
_UNREADABLE = OPEN_FILES * _PIPE + 65_536 * _AREA  # of a process that hides its descriptors and its areas
CLONE = {"x86_64": 56, "aarch64": 220}
"""The number of the system call, by processor."""
_CLONE, _VFORK = (str(each.get(platform.machine())).encode() for each in (CLONE, {"x86_64": 58}))
_SAME_MEMORY = 0x100 | 0x4000  # the flags of a clone that waits for a process in its own memory, as vfork does
_DATAGRAMS = 14  # how often a socket for datagrams can be sent what a sender may hold: its queue takes 11
_DATAGRAM, _STREAMS = b"0002", 3  # a stream is sent once what its sender may hold, and half of that beyond


class Processes:
    """The processes of one pid namespace, as a context manager.

    `first` is the first process there, which is waiting, and `root` the file system that the program will see. Where
    its /work is an overlay, `widest` is the most names of one folder below, and `made` says how many are above.
    """

    def __init__(self, first: int, root: Path, widest: int = 0, made: Callable[[], int] | None = None) -> None:
        with ExitStack() as opened:
            self._proc = opened.enter_context(opening(root / "proc", _FOLDER))
            self._terminals = opened.enter_context(opening(root / "dev/pts", _FOLDER))
            self.temporary = tuple(opened.enter_context(opening(root / name, _FOLDER)) for name in ("tmp", "dev/shm"))
            # While it is open it lists the sockets of this network, also when a process has ended.
            self._sockets = opened.enter_context(opening(f"/proc/{first}/net/unix", os.O_RDONLY))
            self._opened = opened.pop_all()
        self._proc_device = os.fstat(self._proc).st_dev
        self._overlay = (root / "work").stat().st_dev if made else -1
        self._widest, self._made = widest, made or int
        self._kernel, self._counted, self._seconds = 0, 0, _SECONDS
        # What a descriptor keeps stays when that was taken away which it says, so the most that was seen counts.
        self._most_lines = self._most_made = 0
        self._parts: Iterator[int] = iter(())

    def __enter__(self) -> Processes:
        return self

    def __exit__(self, *exception: object) -> None:
        self._opened.close()

    def holds_more(self, limit: int) -> bool:
        """Return whether all of them together, and the kernel for them, hold more bytes than a limit.

        What the kernel holds is counted piecemeal, as much at a time as a look may take: a program can make that long.
        """
        each = list(self._living())
        limit -= self.terminals() * _TERMINAL
        left = limit - sum(map(self._resident, each))
        if max(self._kernel, self._counted) > left:
            left = limit - self._in_use(each)
        begun = time.thread_time()
        for part in self._parts:
            self._counted += part
            if self._counted > left or time.thread_time() - begun > self._seconds:
                self._seconds = _SECONDS_MORE
                break
        else:
            self._kernel, self._counted, self._seconds = self._counted, 0, _SECONDS
            self._parts = self._held_by_kernel(each)
        return max(self._kernel, self._counted) > left

    def _in_use(self, processes: list[str]) -> int:
        """Return the shares of all processes; of one that waits for another in its memory, that other's alone.

        Who has waited from before all were listed until after all were read had its memory read at that other.
        """
        before = {each for process in processes for each in self._waiting(process)}
        shares = {process: self._share(process) for process in self._living()}
        return sum(share for process, share in shares.items() if before.isdisjoint(self._waiting(process)))

    def _waiting(self, process: str) -> Iterator[tuple[str, bytes]]:
        """Yield the threads that wait for a process in their own memory to begin its program, and when: a count."""
        with suppress(OSError):
            folder = process.partition("/")[0] + "/task"
            for thread in self._listed(folder):
                call, flags, *_ = *b"".join(self._blocks(f"{folder}/{thread}/syscall")).split(), b"", b"0"
                if call == _VFORK or (call == _CLONE and int(flags, 16) & _SAME_MEMORY == _SAME_MEMORY):
                    status = b"".join(self._blocks(f"{folder}/{thread}/status"))
                    yield thread, status.partition(b"\nvoluntary_ctxt_switches:")[2].partition(b"\n")[0]

    def _living(self) -> Iterator[str]:
        """Yield the folder in /proc of each process, or of a thread of it where the leading one has exited."""
        for name in self._listed("."):
            if not name.isdigit():
                continue
            if self._resident(name):
                yield name
                continue
            with suppress(OSError):
                threads = [f"{name}/task/{each}" for each in self._listed(f"{name}/task")]
                yield next((each for each in threads if self._resident(each)), name)

    def _listed(self, name: str) -> list[str]:
        with opening(name, _FOLDER, dir_fd=self._proc) as folder, os.scandir(folder) as entries:
            return [each.name for each in entries]

    def _blocks(self, name: str) -> Iterator[bytes]:
        with suppress(OSError), opening(name, os.O_RDONLY, dir_fd=self._proc) as opened:
            while block := os.read(opened, _BLOCK):
                yield block

    def _resident(self, process: str) -> int:
        fields = b"".join(self._blocks(f"{process}/statm")).split()
        return int(fields[1]) * _PAGE if fields else 0

    def _share(self, process: str) -> int:
        """Return the process's proportional share: pages that forked processes have in common are counted once.

        Of one with very many areas that would take the kernel long: its resident pages stand for its share then.
        """
        areas = 0
        for block in self._blocks(f"{process}/maps"):
            areas += block.count(b"\n")
            if areas > _MANY_AREAS:
                return self._resident(process)
        for line in b"".join(self._blocks(f"{process}/smaps_rollup")).splitlines():
            if line.startswith(b"Pss:"):
                return int(line.split()[1]) << 10
        return self._resident(process)

    def _held_by_kernel(self, processes: list[str]) -> Iterator[int]:
        yield from self._held_by_sockets()
        self._most_made = max(self._most_made, self._made())
        pipes: set[tuple[int, int]] = set()
        shared: set[bytes] = set()
        for process in processes:
            yield from self._tables(process)
            yield from self._areas(process, shared)
            yield from self._descriptors(process, pipes)

    def terminals(self) -> int:
        with os.scandir(self._terminals) as terminals:
            return sum(name.name != "ptmx" for name in terminals)

    def _held_by_sockets(self) -> Iterator[int]:
        """Yield what sockets can hold; those that wait to be accepted belong to no process, but are listed."""
        most, rest, at = _sent_by_one_socket(), b"", 0
        while block := os.pread(self._sockets, _BLOCK, at):
            at += len(block)
            *lines, rest = (rest + block).split(b"\n")
            for line in lines:
                fields = line.split(None, 5)
                if len(fields) == 6 and fields[0] != b"Num":
                    yield most * _DATAGRAMS if fields[4] == _DATAGRAM else most * _STREAMS // 2

    def _tables(self, process: str) -> Iterator[int]:
        for line in b"".join(self._blocks(f"{process}/status")).splitlines():
            if line.startswith((b"VmPTE:", b"VmSwap:")):
                yield int(line.split()[1]) << 10

    def _areas(self, process: str, shared: set[bytes]) -> Iterator[int]:
        """Yield what the list of a process's areas of memory takes, and each shared map that is not in `shared` yet."""
        rest, found = b"", False
        for block in self._blocks(f"{process}/maps"):
            found = True
            *lines, rest = (rest + block).split(b"\n")
            yield len(lines) * _AREA
            for line in lines:
                if line.endswith(b"/dev/zero (deleted)") and (inode := line.split(None, 5)[4]) not in shared:
                    shared.add(inode)
                    yield SHARED_MAP
        if not found and self._resident(process):
            yield _UNREADABLE

    def _descriptors(self, process: str, pipes: set[tuple[int, int]]) -> Iterator[int]:
        """Yield what descriptors hold: pipes not seen yet, a line for each lock and each one watched, what was read."""
        try:
            names = self._listed(f"{process}/fd")
        except PermissionError:
            yield max(_UNREADABLE, OPEN_FILES * self._most())
            return
        except OSError:
            return
        for name in names:
            with suppress(OSError):
                status = os.stat(f"{process}/fd/{name}", dir_fd=self._proc)
                kind = stat.S_IFMT(status.st_mode)
                if kind == stat.S_IFIFO and (pipe := (status.st_dev, status.st_ino)) not in pipes:
                    pipes.add(pipe)
                    yield _PIPE
                elif kind == stat.S_IFDIR and status.st_dev == self._overlay:
                    yield self._folder()
                elif kind == stat.S_IFREG and status.st_dev == self._proc_device:
                    yield self._proc_file()
                elif kind in (stat.S_IFREG, stat.S_IFSOCK, _NO_KIND):
                    yield from self._says(f"{process}/fdinfo/{name}")

    def _says(self, fdinfo: str) -> Iterator[int]:
        """Yield what a descriptor says that it holds: a line each, and in a socket descriptors that nobody received.

        Those may be in one another, so where there are any the most that there can be are charged, each at the most.
        """
        lines, sent = 0, False
        for block in self._blocks(fdinfo):
            lines += block.count(b"\n")
            sent = sent or (b"\nscm_fds:" in block and b"\nscm_fds:\t0" not in block and b"\nscm_fds: 0" not in block)
            yield block.count(b"\n") * _LINE
        self._most_lines = max(self._most_lines, lines)
        if sent:
            yield (OPEN_FILES + _IN_SOCKETS) * self._most()

    def _most(self) -> int:
        """Return the most that one descriptor holds, as far as was seen."""
        return max(_PIPE, self._proc_file(), self._most_lines * _LINE, self._folder())

    def _proc_file(self) -> int:
        """Return the most that an open file of /proc holds: all that a descriptor said at the time it was read."""
        return max(_PROC, self._most_lines * _LINE // 4)

    def _folder(self) -> int:
        """Return the most that an open folder of the overlay holds: all its names at the time it was read."""
        return (self._widest + self._most_made) * _LISTED if self._overlay != -1 else 0


@lru_cache
def _sent_by_one_socket() -> int:
    """Return how many bytes a new socket may have sent that nobody has read, as the kernel counts them."""
    with socket.socket(socket.AF_UNIX) as asked:
        return asked.getsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF)
