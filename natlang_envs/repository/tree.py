"""A repository, indexed once per process and shared by all that read it.

Only names, sizes and times are read at first; contents are read on demand and kept. Nothing outside the folder is
opened: each part of a path is opened below the one before, and symbolic links are not followed.
"""

from __future__ import annotations

import hashlib
import os
import stat
import threading
from collections.abc import Callable, Collection, Generator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import Self, TypeVar

from natlang_envs.errors import UsageError
from natlang_envs.files import opening
from natlang_envs.repository.entries import (
    FILE_FLAGS,
    KEPT_BYTES,
    NOT_REGULAR,
    Folder,
    Kind,
    Mark,
    open_beneath,
    open_folder,
    read_part,
)
from natlang_envs.repository.ignore import Ignored, Patience, Rule, leaves_out, rules_above, rules_in
from natlang_envs.repository.names import is_git, of_entry, on_disk, parts_of, shown

_T = TypeVar("_T")
MAX_ENTRIES = 1_000_000  # a repository with more is refused: it is a disk, not a repository
MAX_DEPTH = 128  # folders in folders; what is deeper is left out and named

_DIGESTED = 1 << 30  # bytes of the largest file that is part of a digest
_NAMED = 3  # of what is left out
LINK = "Symbolic links are not followed here"
TOO_DEEP = "Too many folders in one another"
LOCKED = "Permission denied"
CHANGING = "It changes all the time"
# Messages after the name of a file.
GONE = "it is gone, and left out"
ANEW = "it is taken as it is now"


class RepositoryChanged(UsageError):  # noqa: N818 - a UsageError that says what happened
    """The original changed after it was indexed; `path` names the file."""

    path = ""


class Repository:
    """An immutable index of a folder, by `open_repository`, with contents on demand.

    Paths are POSIX paths below the folder, without a leading slash, as `names.shown` shows them. `.git` is hidden.
    Methods raise `KeyError` for a path that is not there, and those that read `RepositoryChanged` where the original is
    not what was indexed any more.

    Args:
        path: The real path of the folder.
        ignored: Whether what git ignores is there, too; `"built"`: only what a build writes for Python.

    Attributes:
        name: The name of the folder.
        path: The real path of the folder.
        files: All regular files that can be read, sorted by code points.
        size: The bytes of all files together.
        links: The symbolic links, which are neither files nor folders here, and what each points to.
        barred: What else is there but cannot be read (devices, sockets, no permission), and why.
    """

    def __init__(self, path: Path, ignored: Ignored = True) -> None:
        self.path = path
        self._ignored: Ignored = ignored
        self.name = shown(path.name) or "root"
        self._folders: dict[str, Folder] = {}
        self._marks: dict[str, Mark] = {}
        self._others: dict[str, tuple[str, ...]] = {}
        self._links: dict[str, str] = {}
        self._barred: dict[str, str] = {}
        self._contents: dict[str, bytes] = {}
        self._digest: str | None = None
        with open_folder(path) as root:
            self._index(root)
        self.files: tuple[str, ...] = tuple(sorted(self._marks))
        self.size = sum(mark.size for mark in self._marks.values())
        self.links: Mapping[str, str] = MappingProxyType(self._links)
        self.barred: Mapping[str, str] = MappingProxyType(self._barred)

    def __reduce__(self) -> tuple[Callable[..., Repository], tuple[str]]:
        """Pickle as the folder's path: another process indexes it itself, a copy in this one is the same index."""
        return partial(open_repository, ignored=self._ignored), (str(self.path),)

    def _index(self, root: int) -> None:
        patience = Patience()
        rules, top = ((), b"") if self._ignored is True else rules_above(self.path, patience)
        waiting: list[tuple[str, tuple[bytes, ...], tuple[Rule, ...]]] = [("", (), rules)]
        while waiting:
            path, parts, rules = waiting.pop()
            prefix = f"{path}/" if path else ""
            found: dict[Kind, list[str]] = {"folder": [], "file": [], "other": []}
            try:
                with open_beneath(root, parts) as opened, os.scandir(opened) as entries:
                    base = top + b"".join(part + b"/" for part in parts)
                    if self._ignored is not True:
                        rules += rules_in(opened, base, patience, bool(parts), self._ignored == "built")
                    for entry in entries:
                        name = of_entry(entry)
                        if is_git(name):
                            continue
                        if rules:
                            patience.check(1)
                            if leaves_out(rules, base, entry):
                                continue
                        kind = self._add(prefix + name, entry, opened)
                        if kind is not None:
                            found[kind].append(name)
            except OSError as error:
                if not path:
                    raise
                self._barred[path] = error.strerror or "cannot be read"
            folders, files, others = found.values()
            if folders and len(parts) == MAX_DEPTH:
                self._barred.update(dict.fromkeys((prefix + name for name in folders), TOO_DEEP))
                others, folders = [*others, *folders], []
            self._folders[path] = Folder(path, tuple(sorted(folders)), tuple(sorted(files)))
            if others:
                self._others[path] = tuple(sorted(others))
            if len(self._marks) + len(self._folders) + len(waiting) > MAX_ENTRIES:
                raise UsageError(f"{self.path} holds more than {MAX_ENTRIES:,} files: choose a folder in it")
            waiting.extend((prefix + name, (*parts, on_disk(name)), rules) for name in folders)

    def _add(self, path: str, entry: os.DirEntry[str], folder: int) -> Kind | None:
        try:
            status = entry.stat(follow_symlinks=False)
        except FileNotFoundError:  # deleted while this was indexed
            return None
        if stat.S_ISDIR(status.st_mode):
            return "folder"
        if stat.S_ISLNK(status.st_mode):
            self._links[path] = shown(os.readlink(entry.name, dir_fd=folder))
        elif not stat.S_ISREG(status.st_mode):
            self._barred[path] = NOT_REGULAR
        elif not os.access(entry.name, os.R_OK, dir_fd=folder):
            self._barred[path] = LOCKED
        else:
            self._marks[path] = Mark.of(status)
            return "file"
        return "other"

    def __repr__(self) -> str:
        return f"<Repository {self.name}: {len(self.files)} files>"

    @property
    def left_out(self) -> str:
        """What cannot be read, in words: the first names and how many more there are; "" where all can."""
        named = [f"{path} ({why.lower()})" for path, why in sorted(self.barred.items())[:_NAMED]]
        more = len(self.barred) - len(named)
        return f"Left out: {', '.join(named)}{f', and {more:,} more' if more else ''}." if named else ""

    @property
    def shows_ignored(self) -> bool:
        """Whether files that git ignores are included."""
        return self._ignored is True

    def folder(self, path: str) -> Folder:
        """Return a folder."""
        return self._folders[path]

    def others(self, path: str) -> tuple[str, ...]:
        """Return the sorted names in a folder that are neither folders nor files, such as sockets."""
        return self._others.get(path, ())

    def kind(self, path: str) -> Kind | None:
        """Return whether a path is a file, a folder or something else; None if it does not exist."""
        if path in self._marks:
            return "file"
        if path in self._folders:
            return "folder"
        return "other" if path in self._links or path in self._barred else None

    def is_locked(self, path: str) -> bool:
        """Return whether there is a file of this path that may not be read."""
        return self._barred.get(path) == LOCKED and path not in self._folders

    def mark(self, path: str) -> Mark:
        """Return what was indexed of a file."""
        return self._marks[path]

    def read(self, path: str) -> bytes:
        """Return the content of a file."""
        content = self._contents.get(path)
        if content is None:
            content = self.part(path, 0, self._marks[path].size)
            if len(content) <= KEPT_BYTES:
                self._contents[path] = content
        return content

    def part(self, path: str, start: int, length: int) -> bytes:
        """Return `length` bytes of a file from `start` (fewer at its end), without keeping them."""
        kept = self._contents.get(path)
        if kept is not None:
            return kept[start : start + length]
        with self.opened(path) as opened:
            return read_part(opened, start, max(0, min(length, self._marks[path].size - start)))

    def read_folder(self, path: str, names: Sequence[str]) -> None:
        """Read files of one folder, as `read` does one: opening their folder for each takes five times as long."""
        prefix = f"{path}/" if path else ""
        marks = {name: self._marks[prefix + name] for name in names if prefix + name not in self._contents}
        needed = [(name, mark) for name, mark in marks.items() if mark.size <= KEPT_BYTES]
        if not needed:
            return
        whole = prefix + needed[0][0]
        try:
            with open_folder(self.path) as root, open_beneath(root, parts_of(path)) as folder:
                for name, mark in needed:
                    whole = prefix + name
                    with opening(on_disk(name), FILE_FLAGS, dir_fd=folder) as opened:
                        self._compare(whole, os.fstat(opened))
                        content = read_part(opened, 0, mark.size)
                        self._compare(whole, os.fstat(opened))
                    self._contents[whole] = content
        except OSError:
            raise self._changed(whole) from None

    @contextmanager
    def opened(self, path: str) -> Generator[int]:
        """Open a file for reading; it is compared with what was indexed before and after the block."""
        opened = self._in_its_folder(path, lambda name, folder: os.open(name, FILE_FLAGS, dir_fd=folder))
        try:
            self._compare(path, os.fstat(opened))
            yield opened
            self._compare(path, os.fstat(opened))
        finally:
            os.close(opened)

    def _in_its_folder(self, path: str, act: Callable[[bytes, int], _T]) -> _T:
        _ = self._marks[path]
        *parts, name = parts_of(path)
        try:
            with open_folder(self.path) as root, open_beneath(root, parts) as folder:
                return act(name, folder)
        except OSError:
            raise self._changed(path) from None

    def _compare(self, path: str, now: os.stat_result) -> None:
        if Mark.of(now) != self._marks[path] or not stat.S_ISREG(now.st_mode):
            raise self._changed(path)

    def is_executable(self, path: str) -> bool:
        """Return whether a path is a file with the owner's execute permission."""
        mark = self._marks.get(path)
        return mark is not None and bool(mark.mode & 0o100)

    def check(self, path: str) -> None:
        """Compare a file of the original with what was indexed, without reading it."""
        now = self._in_its_folder(path, lambda name, folder: os.stat(name, dir_fd=folder, follow_symlinks=False))
        self._compare(path, now)

    def _changed(self, path: str) -> RepositoryChanged:
        with _lock:  # the next one to open this folder gets it as it is then
            if _opened.get((self.path, self._ignored)) is self:
                del _opened[self.path, self._ignored]
        error = RepositoryChanged(f"{path} of {self.path} changed since it was indexed: open the repository again")
        error.path = path
        return error

    @property
    def digest(self) -> str:
        """The SHA-256 (64 hex digits) of the names and contents of all files; read at the first call.

        Raises:
            RepositoryChanged: The original is not what was indexed any more.
            UsageError: A file is larger than can be read in a moment.
        """
        if self._digest is None:
            total = hashlib.sha256()
            for path in self.files:
                if self._marks[path].size > _DIGESTED:
                    raise UsageError(f"{path} of {self.path} holds more than {_DIGESTED:,} bytes: take it out of there")
                content = hashlib.sha256(self.part(path, 0, self._marks[path].size)).hexdigest()
                total.update(f"{content} {path}\n".encode())
            self._digest = total.hexdigest()
        return self._digest

    def renewed(self, without: Collection[str] = ()) -> tuple[Self, dict[str, str]]:
        """Return an index of the files as they are now, and what became of each that is not as it was.

        Folders and new files are not looked for. The content of what changed is read at once and kept, so that it may
        go on changing; a file that is too large for that is left out if it is in `without`.
        """
        fresh = object.__new__(type(self))
        fresh.__dict__.update(self.__dict__, _digest=None, _marks=dict(self._marks), _barred=dict(self._barred))
        fresh._folders, fresh._others, fresh._contents = dict(self._folders), dict(self._others), dict(self._contents)
        became: dict[str, str] = {}
        with open_folder(self.path) as root:
            for folder in self._folders.values():
                now = self._renew_folder(root, folder, without, fresh)
                if now:
                    became |= now
                    fresh._list_again(folder)
        fresh.files = tuple(sorted(fresh._marks))
        fresh.size = sum(mark.size for mark in fresh._marks.values())
        fresh.barred = MappingProxyType(fresh._barred)
        return fresh, became

    def _renew_folder(self, root: int, folder: Folder, without: Collection[str], fresh: Self) -> dict[str, str]:
        """Put the files of a folder as they are now into another index, and return what became of them."""
        became: dict[str, str] = {}
        prefix = f"{folder.path}/" if folder.path else ""
        with ExitStack() as stack:
            opened: int | None = None
            with suppress(OSError):
                opened = stack.enter_context(open_beneath(root, parts_of(folder.path)))
            for path in (prefix + name for name in folder.files):
                kept = path in self._contents
                try:
                    if opened is None:
                        raise FileNotFoundError
                    found = os.stat(parts_of(path)[-1], dir_fd=opened, follow_symlinks=False)
                    if Mark.of(found) == self._marks[path] and path not in without:
                        continue
                    if kept and path not in without and found.st_size > KEPT_BYTES:
                        continue  # what was read of it at first stays
                    became[path] = fresh._take_anew(path, opened, found, path in without)
                except OSError:
                    became[path] = GONE
                    del fresh._marks[path]
                    fresh._contents.pop(path, None)
        return became

    def _take_anew(self, path: str, folder: int, found: os.stat_result, leave_out: bool) -> str:
        self._contents.pop(path, None)
        if leave_out or not stat.S_ISREG(found.st_mode):
            del self._marks[path]
            self._barred[path] = CHANGING if leave_out else NOT_REGULAR
            return f"{self._barred[path].lower()}: it is left out"
        with opening(parts_of(path)[-1], FILE_FLAGS, dir_fd=folder) as opened:
            found = os.fstat(opened)
            self._marks[path] = Mark.of(found)
            if found.st_size <= KEPT_BYTES:
                content = os.read(opened, found.st_size)
                self._marks[path] = self._marks[path]._replace(size=len(content))
                self._contents[path] = content
        return ANEW

    def _list_again(self, folder: Folder) -> None:
        prefix = f"{folder.path}/" if folder.path else ""
        files = tuple(name for name in folder.files if prefix + name in self._marks)
        barred = {name for name in folder.files if prefix + name in self._barred}
        self._folders[folder.path] = folder._replace(files=files)
        if barred:
            self._others[folder.path] = tuple(sorted({*self._others.get(folder.path, ()), *barred}))


_opened: dict[tuple[Path, Ignored], Repository] = {}
_lock = threading.Lock()


def open_repository(path: str | Path, *, again: bool = False, ignored: Ignored = True) -> Repository:
    """Index a folder, or return the index of this process.

    Args:
        path: The folder.
        again: Index it again, because files changed.
        ignored: Index what git ignores, too, or of that only what is `"built"` for Python: `*.py`, `*.so` and `*.mo`.

    Raises:
        UsageError: It is missing, is a file, cannot be read, or holds no file.
    """
    if "\0" in str(path) or not str(path):
        raise UsageError(f"repository {str(path)!r} is no path: give a folder")
    real = Path(os.path.realpath(path))
    with _lock:
        known = _opened.get((real, ignored))
    if known is not None and not again:
        return known
    wrong = f"repository {str(path)!r}"
    try:
        repository = Repository(real, ignored)
    except FileNotFoundError:
        raise UsageError(f"{wrong} does not exist: give an existing folder") from None
    except NotADirectoryError:
        raise UsageError(f"{wrong} is a file: give a folder") from None
    except OSError as error:
        raise UsageError(f"{wrong} cannot be read ({error.strerror}): give a readable folder") from None
    if not repository.files:
        beside = "" if ignored is True else ", or show those that git ignores with --ignored"
        raise UsageError(f"{wrong} holds no readable file: give a folder with files{beside}")
    with _lock:
        if not again:
            return _opened.setdefault((real, ignored), repository)
        _opened[real, ignored] = repository
    return repository
