"""A real folder that holds a sandbox's files, for programs to run in, and kept in step with the view in memory.

Programs may leave anything in it. So every path is walked from the top without following a symbolic link, only regular
files are read, and nothing is written into a file that is there: a new one takes its name.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Generator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import NamedTuple

from natlang_envs.autoexplore.repository.names import is_git, of_entry, on_disk
from natlang_envs.autoexplore.repository.tree import (
    FILE_FLAGS,
    LINK,
    MAX_DEPTH,
    NOT_REGULAR,
    Kind,
    open_beneath,
    open_folder,
)
from natlang_envs.autoexplore.sandbox.overlay import View, parent_of
from natlang_envs.autoexplore.sandbox.temporary_folders import OwnFolder, choose_place
from natlang_envs.errors import UsageError

MORE_ENTRIES = 20_000  # how many files and folders programs may add
_NEW_FILE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
_UNFINISHED = b".natlang-explore-unfinished"


class TooMuch(Exception):  # noqa: N818 - a limit, not an error of ours
    """A program left more than can be taken over; the message is a plain sentence."""


class Seen(NamedTuple):
    """What was found of one path. The last of `mark`, the change time, cannot be set by a program."""

    kind: Kind
    mark: tuple[int, int, int, int]

    @classmethod
    def of(cls, status: os.stat_result) -> Seen:
        """Return what a status says."""
        mode = status.st_mode
        kind: Kind = "folder" if stat.S_ISDIR(mode) else "file" if stat.S_ISREG(mode) else "other"
        if kind == "folder":
            return cls(kind, (0, 0, 0, 0))  # its times change with what is in it
        return cls(kind, (status.st_size, status.st_mtime_ns, status.st_ino, status.st_ctime_ns))


class WorkFolder:
    """A copy on disk of a view.

    Args:
        view: What to copy, and what `update` brings in step afterwards.
        limit: The most bytes that files changed by programs may hold together.
        place: The folder to make it in; None: the RAM disk where it has room, else the folder for temporary files.

    Attributes:
        path: The real folder that holds the files.
        process: The id of the process that made it.

    Raises:
        UsageError: No folder can be made there, or there is no room for the files.
        RepositoryChanged: The original changed before a file was first read.
    """

    def __init__(self, view: View, limit: int, place: Path | None = None) -> None:
        self._view = view
        self._limit = limit
        self._known: dict[str, Seen] = {}
        if place is None:
            place = choose_place(2 * (limit + view.repository.size))
        self._own = OwnFolder(place)
        self.process = self._own.process
        self.path = self._own.path / "files"
        try:
            self.path.mkdir()
            with open_folder(self.path) as root:
                self._fill(root)
        except OSError as error:
            self.close()
            reason = error.strerror or "no access"
            raise UsageError(
                f"the sandbox cannot be copied to {str(place)!r} ({reason}): choose another folder"
            ) from None
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """Remove it."""
        self._own.close()

    def _fill(self, root: int) -> None:
        waiting = [""]
        links = self._view.repository.links
        while waiting:
            path = waiting.pop()
            prefix = f"{path}/" if path else ""
            listed = self._view.folder(path)
            with open_beneath(root, _parts(path)) as folder:
                for name in listed.folders:
                    os.mkdir(on_disk(name), dir_fd=folder)
                    self._known[prefix + name] = Seen("folder", (0, 0, 0, 0))
                    waiting.append(prefix + name)
                for name in listed.files:
                    whole = prefix + name
                    self._known[whole] = self._create(folder, on_disk(name), self._view.read(whole), self._mode(whole))
                for name in self._view.others(path):
                    if prefix + name in links:
                        os.symlink(on_disk(links[prefix + name]), on_disk(name), dir_fd=folder)
                        self._known[prefix + name] = self._status(folder, on_disk(name))

    def _mode(self, path: str) -> int:
        executable = self._view.repository.kind(path) == "file" and self._view.repository.mark(path).mode & 0o100
        return 0o755 if executable else 0o644

    @staticmethod
    def _status(folder: int, name: bytes) -> Seen:
        return Seen.of(os.stat(name, dir_fd=folder, follow_symlinks=False))

    @staticmethod
    def _create(folder: int, name: bytes, content: bytes, mode: int) -> Seen:
        opened = os.open(name, _NEW_FILE, mode, dir_fd=folder)
        with os.fdopen(opened, "wb") as file:
            file.write(content)
            file.flush()
            return Seen.of(os.fstat(opened))

    def write(self, path: str, content: bytes) -> None:
        """Make or replace a file, which the view has already.

        Raises:
            OSError: The folder is gone or cannot be written to.
        """
        parent, name = parent_of(path)
        with self.open(parent) as folder:
            with suppress(FileNotFoundError):
                os.unlink(_UNFINISHED, dir_fd=folder)
            self._create(folder, _UNFINISHED, content, self._mode(path))
            os.rename(_UNFINISHED, on_disk(name), src_dir_fd=folder, dst_dir_fd=folder)
            self._known[path] = self._status(folder, on_disk(name))  # renaming changed its time

    @contextmanager
    def open(self, path: str) -> Generator[int]:
        """Open one of its folders."""
        with open_folder(self.path) as root, open_beneath(root, _parts(path)) as folder:
            yield folder

    def update(self) -> None:
        """Bring the view in step with what programs did here.

        Raises:
            TooMuch: They left more than the limits allow, or what cannot be read; the view is as it was.
        """
        found: dict[str, Seen] = {}
        contents: dict[str, bytes] = {}
        reasons: dict[str, str] = {}
        try:
            with open_folder(self.path) as root:
                self._scan(root, found, contents, reasons)
        except OSError as error:
            raise TooMuch(f"the program left what cannot be read ({error.strerror})") from None
        before = self._view.state()
        try:
            for path in sorted(self._known.keys() - found.keys(), reverse=True):
                self._view.remove(path)
            for path in sorted(found):
                self._apply(path, found[path].kind, contents.get(path), reasons.get(path))
        except OSError:
            self._view.restore(before)
            raise TooMuch(f"the program changed more than {self._limit} bytes of files") from None
        self._known = found

    def _apply(self, path: str, kind: Kind, content: bytes | None, reason: str | None) -> None:
        there = self._view.kind(path)
        if kind == "folder":
            if there != "folder":
                self._view.add_folder(path)
        elif reason is not None:
            if there != "other":
                self._view.add_other(path, reason)
        elif content is not None and (there != "file" or content != self._view.read(path)):
            self._view.write(path, content)

    def _scan(self, root: int, found: dict[str, Seen], contents: dict[str, bytes], reasons: dict[str, str]) -> None:
        most = len(self._known) + MORE_ENTRIES
        room = self._limit
        waiting = [""]
        while waiting:
            path = waiting.pop()
            if path.count("/") >= MAX_DEPTH:
                raise TooMuch(f"the program made folders more than {MAX_DEPTH} deep")
            with self._unlocked(root, path) as folder, os.scandir(folder) as entries:
                for entry in entries:
                    name = of_entry(entry)
                    if is_git(name):
                        continue
                    whole = f"{path}/{name}" if path else name
                    try:
                        seen = found[whole] = Seen.of(entry.stat(follow_symlinks=False))
                    except FileNotFoundError:
                        continue
                    if len(found) > most:
                        raise TooMuch(f"the program made more than {MORE_ENTRIES} files")
                    if seen.kind == "folder":
                        waiting.append(whole)
                    elif seen.kind == "other":
                        reasons[whole] = LINK if entry.is_symlink() else NOT_REGULAR
                    elif seen != self._known.get(whole):
                        # The same file with another owner or time costs a look, and nothing of the limit.
                        alike = self._view.kind(whole) == "file" and self._view.size(whole) == seen.mark[0]
                        if not alike and seen.mark[0] > room:
                            raise TooMuch(f"the program changed more than {self._limit} bytes of files")
                        content = _read(folder, os.fsencode(entry.name), seen.mark[0])
                        if content is None:
                            reasons[whole] = NOT_REGULAR
                        elif not alike or content != self._view.read(whole):
                            contents[whole] = content
                            room -= len(content)

    @contextmanager
    def _unlocked(self, root: int, path: str) -> Generator[int]:
        """Open a folder, of which a program may have taken our permission."""
        parts = _parts(path)
        try:
            with open_beneath(root, parts):
                pass
        except PermissionError:
            with open_beneath(root, parts[:-1]) as parent:
                os.chmod(parts[-1], 0o700, dir_fd=parent)
        with open_beneath(root, parts) as folder:
            yield folder


def _parts(path: str) -> list[bytes]:
    return on_disk(path).split(b"/") if path else []


def _read(folder: int, name: bytes, size: int) -> bytes | None:
    """Return up to `size` bytes of a regular file, or None where it is none any more."""
    try:
        try:
            opened = os.open(name, FILE_FLAGS, dir_fd=folder)
        except PermissionError:  # ours, but a program took our permission
            os.chmod(name, 0o600, dir_fd=folder)
            opened = os.open(name, FILE_FLAGS, dir_fd=folder)
        with os.fdopen(opened, "rb") as file:
            return file.read(size) if stat.S_ISREG(os.fstat(opened).st_mode) else None
    except OSError:
        return None
