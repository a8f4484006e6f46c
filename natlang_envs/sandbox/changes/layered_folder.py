"""The files of a sandbox for one run of a program in a large repository: its changes above files that all runs share.

Filling and reading then take time by the changes alone. The unchanged files are copied once in a process, for all
sandboxes over a repository, and removed with its index. The original itself cannot be the lower layer: it changes, its
owners and permissions are not the sandbox's, and it holds files that are not shown.

Overlayfs refuses two operations that a copied folder allows: renaming a folder of the original (EXDEV, as between two
disks; `mv` and `shutil.move` then copy), and renaming a file onto its own hard link.
"""

from __future__ import annotations

import os
import stat
import tempfile
import threading
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple
from weakref import WeakKeyDictionary

from natlang_envs.repository.entries import open_beneath, open_folder
from natlang_envs.repository.names import on_disk, parts_of
from natlang_envs.repository.tree import Repository
from natlang_envs.sandbox.changes.overlay import Overlay, OverlayEntry, parent_of
from natlang_envs.sandbox.changes.work_folder import WorkFolder, finish, make_folder, make_link
from natlang_envs.sandbox.isolation.files import whole_pages
from natlang_envs.sandbox.isolation.layers import OPAQUE, Layer
from natlang_envs.sandbox.isolation.temporary_folders import MEMORY, OwnFolder, new_folder
from natlang_envs.sandbox.isolation.watch import available_memory

MANY = 5_000
"""The most files that each run copies, which takes a fifth of a second; more are shared beneath the changes."""


class _Shared(NamedTuple):
    folder: OwnFolder
    layer: Layer


_shared: WeakKeyDictionary[Repository, _Shared] = WeakKeyDictionary()
_lock = threading.Lock()
# The lock is held while files are copied; without this, a process forked at that time would wait for it forever.
os.register_at_fork(before=_lock.acquire, after_in_parent=_lock.release, after_in_child=_lock.release)


def _shared_layer(repository: Repository, owner: int, seconds: float) -> Layer:
    """Return the files of a repository as programs are shown them, which this process copies at the first call."""
    with _lock:
        known = _shared.get(repository)
        # A forked process has its own: its parent's goes with the parent.
        if known is not None and known.folder.process == os.getpid():
            return known.layer
        files = WorkFolder(Overlay(repository, 0), 0, seconds)
        own = OwnFolder(_place(files.size))
        folder = own.path / "files"
        try:
            new_folder(folder)
            with open_folder(folder) as opened:
                files.fill(opened, owner)
        except BaseException:
            own.close()
            raise
        layer = Layer(folder, files.names, files.widest)
        _shared[repository] = _Shared(own, layer)
        return layer


def _place(size: int) -> Path:
    """Return the folder for `size` bytes: in memory, which is faster, if that leaves half of it free."""
    with suppress(OSError):
        room = os.statvfs(MEMORY)
        if size < min(room.f_bavail * room.f_frsize, available_memory()) // 2 and os.access(MEMORY, os.W_OK):
            return MEMORY
    return Path(tempfile.gettempdir())


class LayeredFolder(WorkFolder):
    """The changes of an overlay for one run of a program, above the files of its repository."""

    @property
    def size(self) -> int:
        """The bytes of memory that the changes take up, whole pages each."""
        changed = (path for path, entry in self._overlay.changes.items() if entry is not None and entry.kind == "file")
        hidden = (len(entry.content or b"") for entry in self._overlay.hidden.values())
        return sum(map(whole_pages, (*map(self._overlay.size, changed), *hidden)))

    def layer(self, owner: int) -> Layer | None:
        return _shared_layer(self._overlay.repository, owner, self._seconds)

    def fill(self, root: int, owner: int) -> None:
        self._begin()
        changes, repository = self._overlay.changes, self._overlay.repository
        self._most = len(repository.files) + len(changes)
        finish(root, 0o755, owner)
        for path in sorted(changes):
            entry, (parent, name) = changes[path], parent_of(path)
            below = repository.kind(path) is not None and (path not in repository.barred or repository.is_locked(path))
            if not _is_made(entry) and (not below or self._overlay.kind(parent) != "folder"):
                continue  # there is nothing of this name, or nothing any more with its folder
            self._make_parents(root, parent, owner)
            with open_beneath(root, parts_of(parent)) as folder:
                if entry is None or not _is_made(entry):
                    os.mknod(on_disk(name), stat.S_IFCHR | 0o600, dir_fd=folder)  # what overlayfs takes for a whiteout
                elif entry.kind == "folder":
                    _make_folder(folder, name, owner)
                elif entry.kind == "file":
                    self._make_file(folder, name, path, owner)
                else:
                    make_link(folder, on_disk(name), entry.text, owner)
            self._check_time("writing the changes")
        self._fill_rest(root, owner, [path for path, entry in changes.items() if entry and entry.kind == "folder"])

    def _make_parents(self, root: int, path: str, owner: int) -> None:
        """Make a folder and those on the way to it, which are all in the lower layer or made already."""
        with suppress(FileNotFoundError), open_beneath(root, parts_of(path)):
            return
        parent, name = parent_of(path)
        self._make_parents(root, parent, owner)
        with open_beneath(root, parts_of(parent)) as folder:
            _make_folder(folder, name, owner)

    def _make_hidden(self, root: int, path: str, entry: OverlayEntry, owner: int) -> None:
        self._make_parents(root, parent_of(path)[0], owner)
        super()._make_hidden(root, path, entry, owner)

    def collect(self, root: int) -> None:
        self._gone: set[str] = set()
        self._opaque: set[str] = set()
        super().collect(root)

    def _changed(
        self, folder: int, each: os.DirEntry[str], path: str, status: os.stat_result, *, anew: bool
    ) -> OverlayEntry | None:
        if stat.S_ISCHR(status.st_mode) and status.st_rdev == 0:  # a whiteout, which no program can make
            self._gone.add(path)
            return None
        return super()._changed(folder, each, path, status, anew=anew)

    def _enter(self, folder: int, path: str) -> None:
        with suppress(OSError):
            if self._overlay.kind(path) == "folder" and os.getxattr(folder, OPAQUE) == b"y":
                self._opaque.add(path)

    def _missing(self, seen: set[str], changes: Mapping[str, OverlayEntry | None]) -> Iterator[str]:
        """Yield what is not there any more: hidden, or replaced with its folder, or taken out of the upper layer."""
        overlay = self._overlay
        for path in self._gone:
            if overlay.kind(path) is not None:
                yield path
        for path, entry in overlay.changes.items():
            if entry is not None and path not in seen:
                yield path
        replaced = {path for path in (*self._gone, *changes) if overlay.kind(path) == "folder"}
        kept = {path for path in replaced if (entry := changes.get(path)) is not None and entry.kind == "folder"}
        for top in (replaced - kept) | self._opaque:
            yield from (path for path in overlay.inside(top) if path not in seen)


def _is_made(entry: OverlayEntry | None) -> bool:
    """Return whether something is made for an entry; sockets and the like last for one run only."""
    return entry is not None and (entry.kind != "other" or entry.link)


def _make_folder(folder: int, name: str, owner: int) -> None:
    make_folder(folder, name)
    with open_beneath(folder, [on_disk(name)]) as opened:
        finish(opened, 0o755, owner)
