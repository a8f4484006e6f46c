"""The changes of a sandbox, in memory, over an index of the repository that all sandboxes share."""

from __future__ import annotations

import errno
import os
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from itertools import count
from typing import Any

from natlang_envs.errors import UsageError
from natlang_envs.repository.entries import KEPT_BYTES, Folder, Kind
from natlang_envs.repository.names import is_git
from natlang_envs.repository.tree import LINK, Repository
from natlang_envs.sandbox.changes.entries import FILE_COST, Entry, State, is_path, read_change, to_change
from natlang_envs.sandbox.isolation.child import PACKAGES

NO_STATE = "this is no state of a sandbox over this repository: give one that it returned"


def parent_of(path: str) -> tuple[str, str]:
    """Return the path of the folder something is in, and its name in there."""
    parent, _, name = path.rpartition("/")
    return parent, name


def _package_folders() -> Iterator[str]:
    yield PACKAGES
    yield from (f"{PACKAGES}-{number}" for number in count(2))


class Overlay:
    """A repository and the changes to it. Making and resetting one costs the same at any size.

    A path is canonical: below the root, "" for the root, no `.`, `..` or `//`. What programs make of the name `.git`
    is kept for the next program, and shown to nobody else.

    Args:
        repository: What lies below; it is never changed.
        limit: The most bytes that changes may hold together.

    Attributes:
        packages: The folder that `pip` installs into: one of a name that the repository does not have.
    """

    def __init__(self, repository: Repository, limit: int) -> None:
        self.repository = repository
        self._limit = limit
        self._entries: dict[str, Entry | None] = {}  # None: gone
        self._hidden: dict[str, Entry] = {}
        self._folders: dict[str, Folder] = {}  # the listings that changed
        self._others: dict[str, tuple[str, ...]] = {}
        self._used = 0
        self._state: State | None = ()
        self.packages = next(name for name in _package_folders() if repository.kind(name) is None)

    def kind(self, path: str) -> Kind | None:
        """Return what there is of this path, or None."""
        if path in self._entries:
            entry = self._entries[path]
            return None if entry is None else entry.kind
        return self.repository.kind(path)

    def reason(self, path: str) -> str:
        """Return why something of kind `other` cannot be read."""
        entry = self._entries.get(path)
        if entry is not None:
            return LINK if entry.link else entry.text
        return self.repository.barred.get(path, LINK)

    def link(self, path: str) -> str | None:
        """Return where a symbolic link leads; None for anything else."""
        if path in self._entries:
            entry = self._entries[path]
            return entry.text if entry is not None and entry.link else None
        return self.repository.links.get(path)

    def is_locked(self, path: str) -> bool:
        """Return whether there is still the original's file of this path, which may not be read."""
        return path not in self._entries and self.repository.is_locked(path)

    def is_installed(self, path: str) -> bool:
        """Return whether a path is in the folder that `pip` installs into."""
        return path == self.packages or path.startswith(f"{self.packages}/")

    def mode(self, path: str) -> int:
        """Return the permissions of a file or folder."""
        entry = self._entries.get(path)
        if entry is not None and entry.mode is not None:
            return entry.mode
        return 0o755 if self.kind(path) == "folder" or self.repository.is_executable(path) else 0o644

    def folder(self, path: str) -> Folder:
        """Return a folder."""
        known = self._folders.get(path)
        if known is not None:
            return known
        if self.kind(path) != "folder":
            raise KeyError(path)
        return self.repository.folder(path)

    def others(self, path: str) -> tuple[str, ...]:
        """Return the sorted names of what is neither folder nor file in a folder."""
        return self._others[path] if path in self._folders else self.repository.others(path)

    def inside(self, top: str) -> Iterator[str]:
        """Yield all paths in a folder and in those in it."""
        waiting = [top]
        while waiting:
            path = waiting.pop()
            listed = self.folder(path)
            inside = [f"{path}/{name}" if path else name for name in listed.folders]
            yield from inside
            yield from (f"{path}/{name}" if path else name for name in (*listed.files, *self.others(path)))
            waiting += inside

    def size(self, path: str) -> int:
        """Return the number of bytes of a file."""
        entry = self._entries.get(path)
        return self.repository.mark(path).size if entry is None or entry.content is None else len(entry.content)

    def part(self, path: str, start: int, length: int) -> bytes:
        """Return up to `length` bytes of a file, from `start`."""
        content = self.changed_content(path)
        if content is not None:
            return content[start : start + length]
        if self.repository.mark(path).size <= KEPT_BYTES:
            return self.repository.read(path)[start : start + length]
        return self.repository.part(path, start, length)

    def read(self, path: str) -> bytes:
        """Return the content of a file."""
        content = self.changed_content(path)
        return self.repository.read(path) if content is None else content

    def changed_content(self, path: str) -> bytes | None:
        """Return the content of a file if it is not the original's."""
        entry = self._entries.get(path)
        return None if entry is None else entry.content

    def write(self, path: str, content: bytes) -> None:
        """Make or replace a file in an existing folder; its permissions stay."""
        entry = self._entries.get(path)
        mode = entry.mode if entry is not None and entry.kind == "file" else None
        self.apply({path: Entry("file", content, mode=mode)})

    def check_room(self, path: str, size: int) -> None:
        """Check that a file of `size` bytes may be written."""
        before = self._entries.get(path)
        self._check(self._used - (before.cost if before else 0) + size + FILE_COST)

    def _check(self, used: int) -> None:
        if used > self._limit:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    @property
    def changes(self) -> Mapping[str, Entry | None]:
        """Everything that was changed, None where it is gone."""
        return self._entries

    @property
    def hidden(self) -> Mapping[str, Entry]:
        """All that programs put under the name `.git`, by path."""
        return self._hidden

    def apply(self, changes: Mapping[str, Entry | None], hidden: Mapping[str, Entry] | None = None) -> None:
        """Make changes, all of them or none; what is in a removed folder is to be removed too.

        None takes a path away; `hidden` is what there is of the name `.git` from now on, where it is given.
        """
        used = self._used
        for path, entry in changes.items():
            before = self._entries.get(path)
            used += (entry.cost if entry else 0) - (before.cost if before else 0)
        if hidden is not None:
            used += sum(each.cost for each in hidden.values()) - sum(each.cost for each in self._hidden.values())
        self._check(used)
        groups: defaultdict[str, list[str]] = defaultdict(list)
        for path, entry in changes.items():
            if (None if entry is None else entry.kind) != self.kind(path):
                groups[parent_of(path)[0]].append(path)
        for parent in groups:
            if self._kind_after(changes, parent) != "folder" and any(changes[path] for path in groups[parent]):
                raise KeyError(parent)
        listings = {
            parent: self._listed_after(parent, {path: changes[path] for path in paths})
            for parent, paths in groups.items()
            if self._kind_after(changes, parent) == "folder"
        }
        for path, entry in changes.items():
            kind = None if entry is None else entry.kind
            if kind != "folder":
                self._folders.pop(path, None)
                self._others.pop(path, None)
            elif self.kind(path) != "folder" and path not in listings:
                listings[path] = (Folder(path, (), ()), ())
            if entry is None and self.repository.kind(path) is None:
                self._entries.pop(path, None)
            else:
                self._entries[path] = entry
        for parent, (folder, others) in listings.items():
            self._folders[parent], self._others[parent] = folder, others
        if hidden is not None:
            self._hidden = dict(hidden)
        self._used = used
        self._state = None

    def _kind_after(self, changes: Mapping[str, Entry | None], path: str) -> Kind | None:
        if path in changes:
            entry = changes[path]
            return None if entry is None else entry.kind
        return self.kind(path)

    def _listed_after(self, parent: str, changes: Mapping[str, Entry | None]) -> tuple[Folder, tuple[str, ...]]:
        """Return the listing of a folder after changes to what is directly in it."""
        names: dict[Kind, set[str]] = {"folder": set(), "file": set(), "other": set()}
        if self.kind(parent) == "folder":
            _, folders, files = self.folder(parent)
            names = {"folder": set(folders), "file": set(files), "other": set(self.others(parent))}
        for path, entry in changes.items():
            name = parent_of(path)[1]
            before = self.kind(path)
            if before is not None:
                names[before].discard(name)
            if entry is not None:
                names[entry.kind].add(name)
        folder = Folder(parent, tuple(sorted(names["folder"])), tuple(sorted(names["file"])))
        return folder, tuple(sorted(names["other"]))

    def reset(self) -> None:
        """Return to the repository as it was indexed."""
        self._become(Overlay(self.repository, self._limit))
        self._state = ()

    def moved_to(self, repository: Repository) -> Overlay:
        """Return the same changes over another index of the same folder; those of what is gone go with it."""
        fresh = Overlay(repository, self._limit)
        kept: dict[str, Entry | None] = {}
        for path, entry in self._entries.items():
            before = repository.kind(path)
            if entry is None:
                stays = before is not None
            else:
                stays = entry.kind != "file" or entry.content is not None or before == "file"
            if stays:
                kept[path] = entry
        fresh.apply(kept, self._hidden)
        return fresh

    def _become(self, other: Overlay) -> None:
        self._entries, self._hidden = other._entries, other._hidden
        self._folders, self._others, self._used = other._folders, other._others, other._used
        self._state = None

    def state(self) -> State:
        """Return the changes as immutable JSON values, for `restore`."""
        if self._state is None:
            everything = {**self._entries, **self._hidden}
            self._state = tuple(to_change(path, everything[path]) for path in sorted(everything))
        return self._state

    def restore(self, state: State | Sequence[Any]) -> None:
        """Return to a state of an overlay over the same repository, also one that went through JSON."""
        fresh = Overlay(self.repository, self._limit)
        if not isinstance(state, list | tuple):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise UsageError(NO_STATE)
        try:
            changes: dict[str, Entry | None] = {}
            hidden: dict[str, Entry] = {}
            twice = False
            for given in state:
                path, entry = read_change(given)
                twice = twice or path in changes or path in hidden
                if not any(is_git(part) for part in path.split("/")):
                    changes[path] = entry
                elif entry is not None:
                    hidden[path] = entry
            fresh._check_whole(changes, hidden, twice)
            fresh.apply(changes, hidden)
        except (ValueError, TypeError, KeyError, OSError, OverflowError):
            raise UsageError(NO_STATE) from None
        self._become(fresh)

    def _check_whole(self, changes: Mapping[str, Entry | None], hidden: Mapping[str, Entry], twice: bool) -> None:
        """Raise `ValueError` unless changes to the original make a tree, no path of it named twice."""
        if twice:
            raise ValueError
        for path, entry in changes.items():
            before = self.repository.kind(path)
            after = None if entry is None else entry.kind
            if after is None and before is None:
                raise ValueError(path)
            if after is not None and self._kind_after(changes, parent_of(path)[0]) != "folder":
                raise ValueError(path)
            if after == "file" and entry is not None and entry.content is None and before != "file":
                raise ValueError(path)
            if before == "folder" and after != "folder":
                _, folders, files = self.repository.folder(path)
                for name in (*folders, *files, *self.repository.others(path)):
                    if changes.get(f"{path}/{name}", before) is not None:
                        raise ValueError(path)
        for path, entry in hidden.items():
            parent = parent_of(path)[0]
            inside = hidden.get(parent)
            kind = inside.kind if inside is not None else self._kind_after(changes, parent)
            if kind != "folder" or (entry.kind == "file" and entry.content is None):
                raise ValueError(path)


def judged_copy(overlay: Overlay, limit: int, files: Mapping[str, bytes]) -> Overlay:
    """Return the original with the changes of an overlay, without what was installed, and with files above all that.

    `files` are put there whatever is in their place or on the way to it, and have room beside `limit`.
    """
    fresh = Overlay(overlay.repository, limit + sum(len(each) + 2 * FILE_COST for each in files.values()))
    fresh.apply({path: entry for path, entry in overlay.changes.items() if not overlay.is_installed(path)})
    for path, content in files.items():
        if not is_path(path) or any(is_git(part) for part in path.split("/")):
            raise UsageError(f"{path!r} is no path for a judge's file: give one below the repository, without . and ..")
        if fresh.kind(path) == "folder":
            fresh.apply({**dict.fromkeys(fresh.inside(path)), path: None})
        _make_folder(fresh, parent_of(path)[0])
        fresh.apply({path: Entry("file", content)})
    return fresh


def _make_folder(overlay: Overlay, path: str) -> None:
    if overlay.kind(path) != "folder":
        _make_folder(overlay, parent_of(path)[0])
        overlay.apply({path: Entry("folder")})
