"""The catalogue: the repositories of the dataset, pinned, and their folders in the cache.

`repositories.toml` pins each one: a source distribution by name, version and SHA-256, and the digest of its files. What
packaging adds to a distribution is left out, since it repeats files of the project.
"""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from natlang_envs.autoexplore.dataset.locations import coffee_sources, data_folder
from natlang_envs.errors import UsageError, one_of
from natlang_envs.files import cache_folder
from natlang_envs.tasks import Split

COFFEE = "coffee-company"  # the one that is built, not fetched
_KEYS = {"name", "version", "licence", "split", "about", "sha256", "digest", "files"}


@dataclass(frozen=True)
class Entry:
    """A repository of the dataset.

    Attributes:
        name: Its name in the dataset, and in the packaging index.
        version: The version that is pinned.
        licence: Its SPDX identifier.
        split: `train`, `validation` or `test`: declared, for ever.
        about: A few words on what it is.
        sha256: Of the archive; empty for the Coffee Company, which is built.
        digest: Of the files' names and contents: see `tree.Repository.digest`.
        files: How many they are.
    """

    name: str
    version: str
    licence: str
    split: Split
    about: str
    sha256: str
    digest: str
    files: int

    @property
    def archive(self) -> str:
        """What the archive is called in the cache."""
        return f"{self.name}-{self.version}.tar.gz"

    @property
    def folder(self) -> Path:
        """Where its files lie once they are there; the name holds the pin, so another pin is another folder."""
        pin = self.sha256 or coffee_sources()
        return cache_folder() / "repositories" / f"{self.name}-{self.version}-{pin[:12]}"

    @property
    def is_cached(self) -> bool:
        """Whether its files are there: they are put there whole, or not at all."""
        return self.folder.is_dir()


@cache
def catalogue() -> dict[str, Entry]:
    """Return the repositories that labels are about, by name, in the order of the file."""
    return read_catalogue(data_folder() / "repositories.toml")


def read_catalogue(path: Path) -> dict[str, Entry]:
    """Read a file such as `repositories.toml`."""
    try:
        tables: list[dict[str, Any]] = tomllib.loads(path.read_text(encoding="utf-8"))["repository"]
    except (OSError, ValueError, KeyError) as error:
        raise UsageError(f"{path} is no list of repositories ({error}): install natlang_envs again") from None
    entries: dict[str, Entry] = {}
    for table in tables:
        if set(table) != _KEYS:
            raise UsageError(
                f"{path}: repository {table.get('name')!r} has the keys {sorted(table)}, not {sorted(_KEYS)}"
            )
        entries[table["name"]] = Entry(**table)
    return entries


def entry_of(name: str) -> Entry:
    """Return a repository of the dataset."""
    return catalogue()[one_of("repository", name, catalogue())]
