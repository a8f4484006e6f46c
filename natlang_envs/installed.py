"""What installed packages register: entry points, read from the disk once, and again when packages change."""

from __future__ import annotations

import importlib.metadata
import os
import sys
from functools import lru_cache
from importlib.metadata import EntryPoints


def entry_points(group: str, name: str | None = None) -> EntryPoints:
    """Return the entry points of a group, such as `entry_points("natlang_envs.agents", name="recall")`.

    `importlib.metadata.entry_points` opens a file of every installed package, which takes 10 ms each time.
    """
    found = _of_group(group, tuple((folder, _changed_at(folder)) for folder in sys.path))
    return found if name is None else found.select(name=name)


@lru_cache(maxsize=8)
def _of_group(group: str, _: tuple[tuple[str, int], ...]) -> EntryPoints:
    return importlib.metadata.entry_points(group=group)


def _changed_at(folder: str) -> int:
    try:
        return os.stat(folder or ".").st_mtime_ns  # noqa: PTH116 (a path of text is quicker, and "" is this folder)
    except OSError:
        return 0
