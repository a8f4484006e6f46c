"""The changes of a sandbox: file by file, as a unified diff, as a patch for `git apply` and `patch -p1`.

What was installed is in no patch, but decides what later programs do, so it is listed apart.
"""

from __future__ import annotations

import base64
import csv
import hashlib
import os
import posixpath
import re
import zlib
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Literal, NamedTuple

from natlang_envs.errors import UsageError
from natlang_envs.repository.names import on_disk, shown
from natlang_envs.repository.tree import Repository
from natlang_envs.sandbox.changes.line_diff import hunks
from natlang_envs.sandbox.changes.overlay import Overlay

_NAMED = 5  # paths that a line names
_PACKAGE = re.compile(r"(.+/site-packages)/([^/-]+)-([^/]+)\.dist-info/RECORD")
_HOOK = re.compile(r".+/site-packages/([^/]+\.pth|(site|user)customize(\.py|/.+))")
_QUOTED = re.compile(rb'(["\\])|[^ -~]')


class ChangedFile(NamedTuple):
    """One file or symbolic link that differs from the original.

    Attributes:
        path: Its path below the root.
        kind: `added`, `modified` or `deleted`.
        before: The original's content, of a link where it leads; None if added, or if it may not be read.
        after: The content now, of a link where it leads; None if deleted.
        executable: Whether it may be run as a program; of a deleted file, whether it might.
        was_executable: Whether the original may be run as a program.
        link: Whether it is a symbolic link; of something deleted, whether it was one.
        was_link: Whether the original is a symbolic link.
        locked: Whether the original may not be read, so that no patch can have this change.
    """

    path: str
    kind: Literal["added", "modified", "deleted"]
    before: bytes | None
    after: bytes | None
    executable: bool = False
    was_executable: bool = False
    link: bool = False
    was_link: bool = False
    locked: bool = False

    @property
    def binary(self) -> bool:
        return b"\0" in (self.before or b"") or b"\0" in (self.after or b"")


class _Version(NamedTuple):
    """What there is of a path: its content (None: it may not be read), and what of its mode git keeps."""

    content: bytes | None
    executable: bool = False
    link: bool = False


def changed_files(overlay: Overlay) -> Iterator[ChangedFile]:
    """Yield the changed files and symbolic links of an overlay, sorted by path, without what `pip` installed."""
    for path in sorted(overlay.changes):
        if overlay.is_installed(path):
            continue
        before, after = _original(overlay.repository, path), _present(overlay, path)
        kept = after or before
        if before != after and kept is not None:
            yield ChangedFile(
                path,
                "added" if before is None else "deleted" if after is None else "modified",
                before and before.content,
                after and after.content,
                kept.executable,
                (before or kept).executable,
                kept.link,
                (before or kept).link,
                before is not None and before.content is None,
            )


def _original(repository: Repository, path: str) -> _Version | None:
    kind = repository.kind(path)
    if kind == "file":
        repository.check(path)
        return _Version(repository.read(path), repository.is_executable(path))
    if kind == "other" and path in repository.links:
        return _Version(on_disk(repository.links[path]), link=True)
    return _Version(None) if repository.is_locked(path) else None


def _present(overlay: Overlay, path: str) -> _Version | None:
    if overlay.kind(path) == "file":
        return _Version(overlay.read(path), bool(overlay.mode(path) & 0o100))
    link = overlay.link(path)
    return None if link is None else _Version(on_disk(link), link=True)


def patch(changes: Iterable[ChangedFile], *, whole_binaries: bool = True) -> Iterator[bytes]:
    """Yield changes as a unified diff, in pieces that end where lines do, without files that may not be read.

    Binary files are written as git does (`git apply` reads that, `patch` does not), or are only named.
    """
    for change in changes:
        yield from _of_one_kind(change, whole_binaries)


def check_outside(path: str | Path, repository: Path) -> None:
    """Raise `UsageError` if a file for a patch lies in the repository, by its name or by where links lead.

    The original is never modified, and a hostile repository may hold links that lead elsewhere.
    """
    for place in (Path(os.path.abspath(path)), Path(os.path.realpath(path))):  # noqa: PTH100 - links are not followed
        if place.is_relative_to(repository):
            raise UsageError(f"{str(path)!r} lies in the repository, which is never changed: choose a place outside it")


def _quoted(prefix: bytes, path: str) -> bytes:
    name = prefix + on_disk(path)
    plain = _QUOTED.sub(lambda found: b"\\" + (found[1] or b"%03o" % found[0][0]), name)
    return name if plain == name else b'"' + plain + b'"'


def _of_one_kind(change: ChangedFile, whole_binaries: bool) -> Iterator[bytes]:
    """Yield the parts of a change; a file that became a link, or a link a file, is deleted and added."""
    if change.locked:
        return
    if change.link == change.was_link:
        yield from _parts(change, whole_binaries)
        return
    gone = change._replace(kind="deleted", after=None, executable=change.was_executable, link=change.was_link)
    yield from _parts(gone, whole_binaries)
    yield from _parts(change._replace(kind="added", before=None), whole_binaries)


def _parts(change: ChangedFile, whole_binaries: bool) -> Iterator[bytes]:
    old, new = _quoted(b"a/", change.path), _quoted(b"b/", change.path)
    mode = b"120000" if change.link else b"100755" if change.executable else b"100644"
    yield b"diff --git %s %s\n" % (old, new)
    if change.kind == "added":
        yield b"new file mode %s\n" % mode
    elif change.kind == "deleted":
        yield b"deleted file mode %s\n" % mode
    elif change.executable != change.was_executable:
        yield b"old mode %s\nnew mode %s\n" % (b"100755" if change.was_executable else b"100644", mode)
    before, after = change.before or b"", change.after or b""
    if change.kind == "modified" and before == after:  # its permissions alone
        return
    if change.binary or before == after or change.link:  # an empty file has no lines to show
        mode = b" 120000" if change.link and change.kind == "modified" else b""
        yield b"index %s..%s%s\n" % (_blob(change.before), _blob(change.after), mode)
    if before == after:
        return
    if change.binary:
        if whole_binaries:
            yield b"GIT binary patch\n%s\n%s\n" % (_literal(after), _literal(before))
        else:
            named = (b"/dev/null" if change.before is None else old, b"/dev/null" if change.after is None else new)
            yield b"Binary files %s and %s differ\n" % named
        return
    # A tab ends a name that holds spaces.
    end = b"\t" if " " in change.path else b""
    yield b"--- %s\n" % (b"/dev/null" if change.before is None else old + end)
    yield b"+++ %s\n" % (b"/dev/null" if change.after is None else new + end)
    yield from hunks(before, after)


def _blob(content: bytes | None) -> bytes:
    """Return git's own name of a content."""
    if content is None:
        return b"0" * 40
    named = hashlib.sha1(b"blob %d\0" % len(content) + content, usedforsecurity=False)
    return named.hexdigest().encode()


def _literal(content: bytes) -> bytes:
    """Return a content as git writes it into a binary patch: compressed, 52 bytes a line."""
    packed = zlib.compress(content)
    lines = [b"literal %d\n" % len(content)]
    for start in range(0, len(packed), 52):
        row = packed[start : start + 52]
        length = b"%c" % (len(row) + (64 if len(row) <= 26 else 70))  # A to Z, then a to z
        lines.append(length + base64.b85encode(row, pad=True) + b"\n")
    return b"".join(lines)


class Installed(NamedTuple):
    """What is in the folder that `pip` installs into.

    Attributes:
        packages: Each package with its version.
        hooks: The files that every later Python reads when it starts, except with `python -I`.
        loose: The other files that belong to no package.
    """

    packages: tuple[str, ...] = ()
    hooks: tuple[str, ...] = ()
    loose: tuple[str, ...] = ()

    def lines(self) -> tuple[str, ...]:
        """Return all of it in words; none where nothing was installed."""
        said = (
            ("Installed in the sandbox, not in the patch: ", self.packages),
            ("Run by every Python that starts in the sandbox, not in the patch: ", self.hooks),
            ("Put beside what is installed, not in the patch: ", self.loose),
        )
        return tuple(words + _some(what) for words, what in said if what)


def installed(overlay: Overlay) -> Installed:
    files = {path for path in overlay.changes if overlay.is_installed(path) and overlay.kind(path) in ("file", "other")}
    packages: list[str] = []
    owned: set[str] = set()
    for path in sorted(files):
        found = _PACKAGE.fullmatch(path)
        if found is not None and overlay.kind(path) == "file":
            packages.append(f"{found[2]} {found[3]}")
            owned.update(_recorded(found[1], overlay.read(path)))
    hooks = {path for path in files if _HOOK.fullmatch(path)}
    return Installed(tuple(packages), tuple(sorted(hooks)), tuple(sorted(files - hooks - owned)))


def _recorded(folder: str, content: bytes) -> Iterator[str]:
    rows = csv.reader(content.decode("utf-8", "surrogateescape").splitlines())
    with suppress(csv.Error):
        yield from (posixpath.normpath(f"{folder}/{shown(row[0])}") for row in rows if row)


def _some(names: Sequence[str]) -> str:
    more = len(names) - _NAMED
    return ", ".join(names[:_NAMED]) + (f" and {more} more" if more > 0 else "")
