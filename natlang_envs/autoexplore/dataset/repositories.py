"""The files of a repository of the dataset: fetched before, or built on first use."""

from __future__ import annotations

from pathlib import Path

from natlang_envs.autoexplore.dataset.catalogue import COFFEE, entry_of
from natlang_envs.errors import UsageError


def repository_folder(name: str) -> Path:
    """Return the folder with a repository's files; the Coffee Company is built when it is first asked for."""
    entry = entry_of(name)
    if not entry.is_cached:
        if name != COFFEE:
            raise UsageError(f"the files of {name} are not here: run natlang data fetch, or natlang data fetch {name}")
        # Imported here: few who ask for a repository build one.
        from natlang_envs.autoexplore.dataset.coffee_company import build_coffee_company

        build_coffee_company(entry.folder)
    return entry.folder
