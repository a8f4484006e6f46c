"""The files of a sandbox for a program that scores its changes: nothing in them decides what that program prints."""

from __future__ import annotations

from collections.abc import Mapping

from natlang_envs.errors import UsageError
from natlang_envs.repository.names import is_git
from natlang_envs.sandbox.entries import FILE_COST, Entry, is_path
from natlang_envs.sandbox.overlay import Overlay, parent_of


def judged_copy(overlay: Overlay, limit: int, files: Mapping[str, bytes]) -> Overlay:
    """Return the original with the changes of an overlay, without what was installed, and with files above all that.

    Args:
        overlay: The changes. It stays as it is.
        limit: The most bytes that changes may hold, beside `files`.
        files: Contents by path, which are put there whatever is in their place or on the way to it.

    Raises:
        UsageError: A path is none of a file in the repository.
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
