"""What was installed in a sandbox: it is in no patch, and yet decides what later programs do."""

from __future__ import annotations

import csv
import posixpath
import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from natlang_envs.repository.names import shown
from natlang_envs.sandbox.changes.overlay import Overlay

_NAMED = 5  # paths that a line names
_PACKAGE = re.compile(r"(.+/site-packages)/([^/-]+)-([^/]+)\.dist-info/RECORD")
_HOOK = re.compile(r".+/site-packages/([^/]+\.pth|(site|user)customize(\.py|/.+))")


class Installed(NamedTuple):
    """What is in the folder that `pip` installs into.

    Attributes:
        packages: Each package with its version.
        hooks: The files that every later Python reads when it starts, unless it is told not to (`python -I`).
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
    """Return what was installed, by pip or by hand."""
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
    try:
        yield from (posixpath.normpath(f"{folder}/{shown(row[0])}") for row in rows if row)
    except csv.Error:
        return


def _some(names: Iterable[str]) -> str:
    all_of_them = list(names)
    more = len(all_of_them) - _NAMED
    return ", ".join(all_of_them[:_NAMED]) + (f" and {more} more" if more > 0 else "")
