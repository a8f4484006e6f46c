"""The files of a sandbox for one run of a program: an empty folder is filled before it, and read after it.

The folder is a file system in memory of a fixed size. Programs may leave anything in it, so every path is walked from
the top without following a symbolic link, and only regular files are read. Contents are compared, not times: a program
can write through a memory map without changing the times.
"""

from __future__ import annotations

import errno
import os
import stat
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress

from natlang_envs.files import opening
from natlang_envs.repository.entries import FILE_FLAGS, KEPT_BYTES, NOT_REGULAR, open_beneath, read_part
from natlang_envs.repository.names import is_git, of_entry, on_disk, parts_of, shown
from natlang_envs.repository.tree import MAX_DEPTH
from natlang_envs.sandbox.changes.overlay import Overlay, OverlayEntry, parent_of
from natlang_envs.sandbox.isolation.files import PAGE, Files, whole_pages
from natlang_envs.sandbox.isolation.temporary_folders import new_folder

MORE_ENTRIES = 20_000  # how many files and folders programs may add
_NEW_FILE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
_BLOCK = 1 << 20
_PER_FILE = 0.001  # seconds that a file may take, on a slow and busy machine


class TooMuch(Exception):  # noqa: N818 - a limit, not an error of ours
    """A limit on copying in or reading back is passed; the message is a plain sentence."""


class WorkFolder(Files):
    """The files of an overlay, which takes over the program's changes, for one run of a program.

    Changed files may hold `limit` bytes together. Copying in may take `seconds`, and so may reading back; a repository
    of many files adds to both.
    """

    def __init__(self, overlay: Overlay, limit: int, seconds: float) -> None:
        self.packages = overlay.packages
        self._overlay = overlay
        self._limit = limit
        self._seconds = seconds + len(overlay.repository.files) * _PER_FILE
        self._deadline = 0.0
        self._known: set[str] = set()
        self._most = 0
        self._room = 0

    def is_folder(self, path: str) -> bool:
        return self._overlay.kind(shown(path)) == "folder"

    @property
    def size(self) -> int:
        """The bytes of memory that the files take up, whole pages each; holes in large files take none."""
        repository, total = self._overlay.repository, 0
        for path in repository.files:
            size = repository.mark(path).size
            if size > KEPT_BYTES:
                with repository.opened(path) as opened:
                    size = sum(end - begin + PAGE for begin, end in _data(opened, size))
            total += whole_pages(size)
        changed = (*self._overlay.changes.values(), *self._overlay.hidden.values())
        return total + sum(whole_pages(len(each.content)) for each in changed if each and each.content)

    @property
    def names(self) -> int:
        return len(self._known)

    @property
    def widest(self) -> int:
        """The most names in one folder that `fill` wrote."""
        return max(Counter(parent_of(path)[0] for path in self._known).values(), default=0)

    def fill(self, root: int, owner: int) -> None:
        """Copy all files into an open folder, in which there may be folders that the program starts in."""
        self._begin()
        overlay = self._overlay
        folders: list[str] = []
        waiting = [""]
        while waiting:
            path = waiting.pop()
            folders.append(path)
            prefix = f"{path}/" if path else ""
            listed = overlay.folder(path)
            unchanged = [name for name in listed.files if overlay.changed_content(prefix + name) is None]
            overlay.repository.read_folder(path, unchanged)
            with open_beneath(root, parts_of(path)) as folder:
                for name in listed.folders:
                    make_folder(folder, name)
                    waiting.append(prefix + name)
                for name in listed.files:
                    self._make_file(folder, name, prefix + name, owner)
                for name in overlay.others(path):
                    if overlay.is_locked(prefix + name):  # the program may not read it either, and sees a new one
                        _make_file(folder, on_disk(name), b"", 0, owner)
                    else:
                        make_link(folder, on_disk(name), overlay.link(prefix + name), owner)
                finish(folder, 0o755, owner)
            self._known.update(prefix + name for name in (*listed.folders, *listed.files))
            for whole in (prefix + name for name in overlay.others(path)):
                if overlay.changes.get(whole) or overlay.is_locked(whole) or whole not in overlay.repository.barred:
                    self._known.add(whole)
            self._check_time("copying the repository")
        self._most = len(self._known)
        self._fill_rest(root, owner, folders)

    def _begin(self) -> None:
        self._deadline = time.monotonic() + self._seconds

    def _fill_rest(self, root: int, owner: int, folders: Iterable[str]) -> None:
        """Write what is hidden, then set permissions of folders, which may keep us from writing into them."""
        overlay = self._overlay
        locked = [(path, overlay.mode(path)) for path in folders if overlay.mode(path) != 0o755]
        for path in sorted(overlay.hidden):
            self._make_hidden(root, path, overlay.hidden[path], owner)
            mode = overlay.hidden[path].mode
            if overlay.hidden[path].kind == "folder" and mode is not None:
                locked.append((path, mode))
        for path, mode in sorted(locked, reverse=True):
            with open_beneath(root, parts_of(path)) as folder:
                os.fchmod(folder, mode)

    def _make_file(self, folder: int, name: str, path: str, owner: int) -> None:
        overlay = self._overlay
        if overlay.changed_content(path) is not None or overlay.size(path) <= KEPT_BYTES:
            _make_file(folder, on_disk(name), overlay.read(path), overlay.mode(path), owner)
            return
        with opening(on_disk(name), _NEW_FILE, 0o600, dir_fd=folder) as opened:
            self._copy_large(path, opened)
            finish(opened, overlay.mode(path), owner)

    def _make_hidden(self, root: int, path: str, entry: OverlayEntry, owner: int) -> None:
        *parts, name = parts_of(path)
        with open_beneath(root, parts) as folder:
            if entry.kind == "folder":
                new_folder(name, folder)
                os.chown(name, owner, owner, dir_fd=folder, follow_symlinks=False)
            elif entry.kind == "file":
                _make_file(folder, name, entry.content or b"", 0o644 if entry.mode is None else entry.mode, owner)
            elif entry.link:
                make_link(folder, name, entry.text, owner)

    def _copy_large(self, path: str, target: int) -> None:
        """Copy a large file of the original block by block, and its holes as holes."""
        size = self._overlay.size(path)
        with self._overlay.repository.opened(path) as opened:
            for begin, end in _data(opened, size):
                for start in range(begin, end, _BLOCK):
                    os.pwrite(target, os.pread(opened, min(_BLOCK, end - start), start), start)
                    self._check_time("copying the repository")
        os.ftruncate(target, size)

    def _check_time(self, what: str) -> None:
        if time.monotonic() > self._deadline:
            raise TooMuch(f"{what} took longer than {self._seconds:g} seconds")

    def collect(self, root: int) -> None:
        self._begin()
        self._room = self._limit
        os.fchmod(root, 0o700)
        seen: set[str] = set()
        changes: dict[str, OverlayEntry | None] = {}
        hidden: dict[str, OverlayEntry] = {}
        try:
            changes.update((path, found) for path, found in self._walk(root, "", seen, hidden) if found is not None)
            changes.update(dict.fromkeys(list(self._missing(seen, changes))))
            self._overlay.apply(changes, hidden)
        except OSError as error:
            if error.errno == errno.ENOSPC:
                raise TooMuch(f"the program changed more than {self._limit} bytes of files") from None
            raise TooMuch(f"the program left what cannot be read ({error.strerror})") from None

    def _missing(self, seen: set[str], changes: Mapping[str, OverlayEntry | None]) -> Iterable[str]:
        """Return what is not there any more, after a walk that saw `seen`, and `changes` in it."""
        return self._known - seen

    def _enter(self, folder: int, path: str) -> None:
        """Look at an open folder before what is in it."""

    def _walk(
        self, root: int, top: str, seen: set[str], hidden: dict[str, OverlayEntry] | None
    ) -> Iterator[tuple[str, OverlayEntry | None]]:
        """Yield each path with what it became, None where nothing changed; `.git` goes into `hidden`."""
        most = self._most + MORE_ENTRIES
        waiting = [top]
        while waiting:
            path = waiting.pop()
            if path.count("/") >= MAX_DEPTH:
                raise TooMuch(f"the program made folders more than {MAX_DEPTH} deep")
            with open_beneath(root, parts_of(path)) as folder, os.scandir(folder) as entries:
                self._enter(folder, path)
                for each in entries:
                    name = of_entry(each)
                    whole = f"{path}/{name}" if path else name
                    status = each.stat(follow_symlinks=False)
                    if (is_folder := stat.S_ISDIR(status.st_mode)) or stat.S_ISREG(status.st_mode):
                        _unlock(folder, each.name, status.st_mode)
                    seen.add(whole)
                    if len(seen) > most:
                        raise TooMuch(f"the program made more than {MORE_ENTRIES} files")
                    if hidden is not None and is_git(name):
                        for inside, entry in self._hidden_in(root, folder, each, whole, status, seen):
                            hidden[inside] = entry
                        continue
                    yield whole, self._changed(folder, each, whole, status, anew=hidden is None)
                    if is_folder:
                        waiting.append(whole)
            self._check_time("reading what the program left")

    def _hidden_in(
        self, root: int, folder: int, each: os.DirEntry[str], path: str, status: os.stat_result, seen: set[str]
    ) -> Iterator[tuple[str, OverlayEntry]]:
        first = self._changed(folder, each, path, status, anew=True)
        if first is not None:
            yield path, first
        if stat.S_ISDIR(status.st_mode):
            for inside, entry in self._walk(root, path, seen, None):
                if entry is not None:
                    yield inside, entry

    def _changed(
        self, folder: int, each: os.DirEntry[str], path: str, status: os.stat_result, *, anew: bool
    ) -> OverlayEntry | None:
        """Return what something became; None where it did not change. `anew`: there was nothing before."""
        overlay = self._overlay
        before = None if anew else overlay.kind(path)
        mode = stat.S_IMODE(status.st_mode) & 0o777
        if stat.S_ISDIR(status.st_mode):
            same = before == "folder" and mode == overlay.mode(path)
            return None if same else OverlayEntry("folder", mode=None if mode == 0o755 else mode)
        if stat.S_ISLNK(status.st_mode):
            target = shown(os.readlink(each.name, dir_fd=folder))
            same = before == "other" and overlay.link(path) == target
            return None if same else OverlayEntry("other", text=target, link=True)
        if not stat.S_ISREG(status.st_mode):
            return OverlayEntry("other", text=NOT_REGULAR)
        if not anew and overlay.is_locked(path) and (status.st_size, mode) == (0, 0):
            return None
        with opening(each.name, FILE_FLAGS, dir_fd=folder) as opened:
            if before == "file" and overlay.size(path) == status.st_size and self._is_same(opened, path):
                if mode == overlay.mode(path):
                    return None
                return OverlayEntry("file", overlay.changed_content(path), mode=mode)
            self._room -= status.st_size
            if self._room < 0:
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            content = read_part(opened, 0, status.st_size)
        usual = 0o755 if overlay.repository.is_executable(path) and not anew else 0o644
        return OverlayEntry("file", content, mode=None if mode == usual else mode)

    def _is_same(self, opened: int, path: str) -> bool:
        overlay = self._overlay
        size = overlay.size(path)
        if overlay.changed_content(path) is not None or size <= KEPT_BYTES:
            return read_part(opened, 0, size) == overlay.read(path)
        with overlay.repository.opened(path) as original:
            for begin, end in (*_data(opened, size), *_data(original, size)):
                for start in range(begin, end, _BLOCK):
                    length = min(_BLOCK, end - start)
                    if os.pread(opened, length, start) != os.pread(original, length, start):
                        return False
                    self._check_time("reading what the program left")
        return True


def _make_file(folder: int, name: bytes, content: bytes, mode: int, owner: int) -> None:
    with opening(name, _NEW_FILE, dir_fd=folder) as opened:
        left = memoryview(content)
        while left:
            left = left[os.write(opened, left) :]
        finish(opened, mode, owner)


def make_link(folder: int, name: bytes, target: str | None, owner: int) -> None:
    """Make a symbolic link; without a target none."""
    if target is not None:
        os.symlink(on_disk(target), name, dir_fd=folder)
        os.chown(name, owner, owner, dir_fd=folder, follow_symlinks=False)


def make_folder(folder: int, name: str) -> None:
    with suppress(FileExistsError):
        new_folder(on_disk(name), folder)


def finish(opened: int, mode: int, owner: int) -> None:
    os.fchown(opened, owner, owner)
    os.fchmod(opened, mode)


def _unlock(folder: int, name: str, mode: int) -> None:
    """Give us the rights to a file or folder that a program may have taken."""
    if mode & 0o700 < (0o700 if stat.S_ISDIR(mode) else 0o400):
        os.chmod(name, 0o700, dir_fd=folder)


def _data(opened: int, size: int) -> Iterator[tuple[int, int]]:
    """Yield where a file holds data: all of it but for its holes."""
    end = 0
    while end < size:
        try:
            begin = os.lseek(opened, end, os.SEEK_DATA)
        except OSError:  # a hole up to the end
            return
        end = min(os.lseek(opened, begin, os.SEEK_HOLE), size)
        if begin < end:
            yield begin, end
