"""The changes of a sandbox, in memory, over an index of the repository that all sandboxes share."""

from __future__ import annotations

import base64
import binascii
import errno
import os
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import chain, count
from typing import Any, NamedTuple, cast

from natlang_envs.errors import UsageError
from natlang_envs.repository.entries import KEPT_BYTES, Folder, Kind
from natlang_envs.repository.names import is_git, on_disk, same
from natlang_envs.repository.tree import LINK, MAX_DEPTH, Repository
from natlang_envs.sandbox.isolation.child import PACKAGES

NO_STATE = "this is no state of a sandbox over this repository: give one that it returned"

FILE_COST = 1024  # bytes that a change is charged beyond its content, so that many empty files have a limit too
MAX_NAME = 255  # bytes, as in file systems

# Each change as (path, kind, text, mode). The kinds are `file` (text: its content as base64), `mode` (a file of the
# original with other permissions), `folder`, `link` (text: where to), `other` (text: why it cannot be read), and None
# for what is gone. The mode is None where it is the usual one.
Change = tuple[str, str | None, str, int | None]
State = tuple[Change, ...]


class OverlayEntry(NamedTuple):
    kind: Kind  # what it is now
    content: bytes | None = None  # the content of a file; None: that of the original
    text: str = ""  # where a symbolic link leads, or why something else cannot be read
    mode: int | None = None  # the permissions of a file or folder; None for the usual ones
    link: bool = False  # whether it is a symbolic link

    @property
    def cost(self) -> int:
        return FILE_COST + len(self.content or b"") + len(self.text)


def to_change(path: str, entry: OverlayEntry | None) -> Change:
    if entry is None:
        return path, None, "", None
    if entry.kind == "file":
        if entry.content is None:
            return path, "mode", "", entry.mode
        return path, "file", base64.b64encode(entry.content).decode(), entry.mode
    return path, "link" if entry.link else entry.kind, entry.text, entry.mode


def read_change(given: Any) -> tuple[str, OverlayEntry | None]:
    path, kind, text, mode = cast("tuple[object, ...]", given)
    if not isinstance(path, str) or not isinstance(text, str) or not is_path(path):
        raise ValueError(path)
    if mode is not None and (type(mode) is not int or not 0 <= mode <= 0o777 or kind not in ("file", "mode", "folder")):
        raise ValueError(mode)
    if kind == "file":
        try:
            return path, OverlayEntry("file", base64.b64decode(text, validate=True), mode=mode)
        except binascii.Error as error:
            raise ValueError(path) from error
    if kind == "link" and text and "\0" not in text and same(text) == text:
        return path, OverlayEntry("other", text=text, link=True)
    if kind == "other":
        return path, OverlayEntry("other", text=" ".join(text.split())[:200])
    if not text and kind == "folder":
        return path, OverlayEntry("folder", mode=mode)
    if not text and kind == "mode" and mode is not None:
        return path, OverlayEntry("file", mode=mode)
    if not text and kind is None:
        return path, None
    raise ValueError(kind)


def is_path(path: str) -> bool:
    """Return whether a path is canonical, as `names.shown` shows it."""
    parts = path.split("/")
    if len(parts) > MAX_DEPTH or "\0" in path:
        return False
    return all(part not in ("", ".", "..") and same(part) == part and len(on_disk(part)) <= MAX_NAME for part in parts)


def parent_of(path: str) -> tuple[str, str]:
    parent, _, name = path.rpartition("/")
    return parent, name


class Overlay:
    """A repository and the changes to it. Making and resetting one takes the same time at any size.

    Paths are canonical: below the root, "" for the root, without `.`, `..` or `//`. `limit` is the most bytes that
    changes may hold together. `packages` is the folder that `pip` installs into, whose name the repository does not
    have. `changes` holds each change by path, None for what is gone. `hidden` holds what programs put under the name
    `.git`: the next program finds it, and nothing else shows it. `apply` sets both.
    """

    def __init__(self, repository: Repository, limit: int) -> None:
        self.repository = repository
        self._limit = limit
        self.changes: dict[str, OverlayEntry | None] = {}
        self.hidden: dict[str, OverlayEntry] = {}
        self._changed_in: defaultdict[str, set[str]] = defaultdict(set)  # the names of entries, by folder
        self._listings: dict[str, tuple[Folder, tuple[str, ...]]] = {}  # of folders in which something changed
        self._used = 0
        self._state: State | None = ()
        names = chain((PACKAGES,), (f"{PACKAGES}-{number}" for number in count(2)))
        self.packages = next(name for name in names if repository.kind(name) is None)

    def kind(self, path: str) -> Kind | None:
        if path in self.changes:
            entry = self.changes[path]
            return entry and entry.kind
        return self.repository.kind(path)

    def reason(self, path: str) -> str:
        """Return why something of kind `other` cannot be read."""
        entry = self.changes.get(path)
        if entry is not None:
            return LINK if entry.link else entry.text
        return self.repository.barred.get(path, LINK)

    def link(self, path: str) -> str | None:
        """Return where a symbolic link leads; None for anything else."""
        if path in self.changes:
            entry = self.changes[path]
            return entry.text if entry is not None and entry.link else None
        return self.repository.links.get(path)

    def is_locked(self, path: str) -> bool:
        """Return whether there is still the original's file of this path, which may not be read."""
        return path not in self.changes and self.repository.is_locked(path)

    def is_installed(self, path: str) -> bool:
        return path == self.packages or path.startswith(f"{self.packages}/")

    def mode(self, path: str) -> int:
        entry = self.changes.get(path)
        if entry is not None and entry.mode is not None:
            return entry.mode
        return 0o755 if self.kind(path) == "folder" or self.repository.is_executable(path) else 0o644

    def folder(self, path: str) -> Folder:
        if self.kind(path) != "folder":
            raise KeyError(path)
        return self._listed(path)[0]

    def others(self, path: str) -> tuple[str, ...]:
        """Return the sorted names of what is neither folder nor file in a folder."""
        return self._listed(path)[1]

    def _listed(self, path: str) -> tuple[Folder, tuple[str, ...]]:
        original = Folder(path, (), ())
        if self.repository.kind(path) == "folder":
            original = self.repository.folder(path)
        if not self._changed_in.get(path):
            return original, self.repository.others(path)
        if path not in self._listings:
            kinds: dict[str, Kind | None] = dict.fromkeys(original.folders, "folder")
            kinds.update(dict.fromkeys(original.files, "file"))
            kinds.update(dict.fromkeys(self.repository.others(path), "other"))
            kinds |= {name: self.kind(f"{path}/{name}" if path else name) for name in self._changed_in[path]}
            folders, files, others = (
                tuple(sorted(name for name, found in kinds.items() if found == kind))
                for kind in ("folder", "file", "other")
            )
            self._listings[path] = Folder(path, folders, files), others
        return self._listings[path]

    def inside(self, top: str) -> Iterator[str]:
        waiting = [top]
        while waiting:
            path = waiting.pop()
            listed = self.folder(path)
            inside = [f"{path}/{name}" if path else name for name in listed.folders]
            yield from inside
            yield from (f"{path}/{name}" if path else name for name in (*listed.files, *self.others(path)))
            waiting += inside

    def size(self, path: str) -> int:
        entry = self.changes.get(path)
        return self.repository.mark(path).size if entry is None or entry.content is None else len(entry.content)

    def part(self, path: str, start: int, length: int) -> bytes:
        content = self.changed_content(path)
        if content is not None:
            return content[start : start + length]
        if self.repository.mark(path).size <= KEPT_BYTES:
            return self.repository.read(path)[start : start + length]
        return self.repository.part(path, start, length)

    def read(self, path: str) -> bytes:
        content = self.changed_content(path)
        return self.repository.read(path) if content is None else content

    def changed_content(self, path: str) -> bytes | None:
        entry = self.changes.get(path)
        return None if entry is None else entry.content

    def write(self, path: str, content: bytes) -> None:
        """Make or replace a file in an existing folder; its permissions stay."""
        entry = self.changes.get(path)
        mode = entry.mode if entry is not None and entry.kind == "file" else None
        self.apply({path: OverlayEntry("file", content, mode=mode)})

    def check_room(self, path: str, size: int) -> None:
        before = self.changes.get(path)
        self._check(self._used - (before.cost if before else 0) + size + FILE_COST)

    def _check(self, used: int) -> None:
        if used > self._limit:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    def apply(
        self, changes: Mapping[str, OverlayEntry | None], hidden: Mapping[str, OverlayEntry] | None = None
    ) -> None:
        """Make changes, all of them or none; None removes a path. A removed folder's content must be removed, too.

        `hidden` replaces what there is under the name `.git`.
        """
        used = self._used
        for path, entry in changes.items():
            before = self.changes.get(path)
            used += (entry.cost if entry else 0) - (before.cost if before else 0)
        if hidden is not None:
            used += sum(each.cost for each in hidden.values()) - sum(each.cost for each in self.hidden.values())
        self._check(used)
        for path, entry in changes.items():
            parent = parent_of(path)[0]
            if entry and entry.kind != self.kind(path) and self._kind_after(changes, parent) != "folder":
                raise KeyError(parent)
        for path, entry in changes.items():
            parent, name = parent_of(path)
            self._listings.pop(parent, None)
            if entry is None and self.repository.kind(path) is None:
                self.changes.pop(path, None)
                self._changed_in[parent].discard(name)
            else:
                self.changes[path] = entry
                self._changed_in[parent].add(name)
        if hidden is not None:
            self.hidden = dict(hidden)
        self._used = used
        self._state = None

    def _kind_after(self, changes: Mapping[str, OverlayEntry | None], path: str) -> Kind | None:
        if path not in changes:
            return self.kind(path)
        entry = changes[path]
        return entry and entry.kind

    def reset(self) -> None:
        self._become(Overlay(self.repository, self._limit))
        self._state = ()

    def moved_to(self, repository: Repository) -> Overlay:
        """Return the same changes over another index of the same folder, without those of files that are gone."""
        fresh = Overlay(repository, self._limit)
        kept: dict[str, OverlayEntry | None] = {}
        for path, entry in self.changes.items():
            before = repository.kind(path)
            if (entry.kind != "file" or entry.content is not None or before == "file") if entry else before:
                kept[path] = entry
        fresh.apply(kept, self.hidden)
        return fresh

    def _become(self, other: Overlay) -> None:
        self.changes, self.hidden = other.changes, other.hidden
        self._changed_in, self._listings, self._used = other._changed_in, other._listings, other._used
        self._state = None

    def state(self) -> State:
        if self._state is None:
            everything = {**self.changes, **self.hidden}
            self._state = tuple(to_change(path, everything[path]) for path in sorted(everything))
        return self._state

    def restore(self, state: State | Sequence[Any]) -> None:
        """Return to a state of an overlay over the same repository, also one that went through JSON."""
        fresh = Overlay(self.repository, self._limit)
        if not isinstance(state, list | tuple):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise UsageError(NO_STATE)
        try:
            changes: dict[str, OverlayEntry | None] = {}
            hidden: dict[str, OverlayEntry] = {}
            for given in state:
                path, entry = read_change(given)
                if path in changes or path in hidden:
                    raise ValueError(path)  # noqa: TRY301 - as for all that makes no tree
                if not any(map(is_git, path.split("/"))):
                    changes[path] = entry
                elif entry is not None:
                    hidden[path] = entry
            fresh._check_whole(changes, hidden)
            fresh.apply(changes, hidden)
        except (ValueError, TypeError, KeyError, OSError, OverflowError):
            raise UsageError(NO_STATE) from None
        self._become(fresh)

    def _check_whole(self, changes: Mapping[str, OverlayEntry | None], hidden: Mapping[str, OverlayEntry]) -> None:
        """Raise `ValueError` unless changes to the original make a tree."""
        for path, entry in changes.items():
            before = self.repository.kind(path)
            after = entry and entry.kind
            if after is None and before is None:
                raise ValueError(path)
            if after is not None and self._kind_after(changes, parent_of(path)[0]) != "folder":
                raise ValueError(path)
            if entry and after == "file" and entry.content is None and before != "file":
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


def judged_copy(overlay: Overlay, limit: int, files: Mapping[str, bytes], without: Callable[[str], bool]) -> Overlay:
    """Return the original with the changes of an overlay, and `files` in place of what is at their paths.

    What was installed is left out, and so are changes for which `without` holds. `files` do not count against `limit`.
    """
    fresh = Overlay(overlay.repository, limit + sum(len(each) + 2 * FILE_COST for each in files.values()))
    kept = (each for each in overlay.changes.items() if not (overlay.is_installed(each[0]) or without(each[0])))
    fresh.apply(dict(kept))
    for path, content in files.items():
        if not is_path(path) or any(map(is_git, path.split("/"))):
            raise UsageError(f"{path!r} is no path for a judge's file: give one below the repository, without . and ..")
        if fresh.kind(path) == "folder":
            fresh.apply({**dict.fromkeys(fresh.inside(path)), path: None})
        _make_folder(fresh, parent_of(path)[0])
        fresh.apply({path: OverlayEntry("file", content)})
    return fresh


def _make_folder(overlay: Overlay, path: str) -> None:
    if overlay.kind(path) != "folder":
        _make_folder(overlay, parent_of(path)[0])
        overlay.apply({path: OverlayEntry("folder")})
