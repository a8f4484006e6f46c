"""What installed packages register: entry points, read from the disk once, and again when packages change."""

from __future__ import annotations

import importlib.metadata
import os
import sys
from functools import lru_cache
from importlib.metadata import EntryPoints


def entry_points(group: str, **named: str) -> EntryPoints:
    """Return the entry points of a group, such as `entry_points("natlang_envs.agents", name="recall")`.

    `importlib.metadata.entry_points` opens a file of every installed package, which takes 10 ms each time.
    """
    return _every(tuple((folder, _changed_at(folder)) for folder in sys.path)).select(group=group, **named)


@lru_cache(maxsize=1)
def _every(_: tuple[tuple[str, int], ...]) -> EntryPoints:
    return importlib.metadata.entry_points()


def _changed_at(folder: str) -> int:
    try:
        return os.stat(folder or ".").st_mtime_ns  # noqa: PTH116 (a path of text is quicker, and "" is this folder)
    except OSError:
        return 0
