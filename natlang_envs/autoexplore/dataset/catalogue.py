"""The catalogue: the repositories of the dataset, pinned, and their folders in the cache.

`repositories.toml` pins each one: a source distribution by name, version and SHA-256, and the digest of its files. What
packaging adds to a distribution is left out, since it repeats files of the project.
"""

from __future__ import annotations

import tomllib
from dataclasses import dataclass, fields
from functools import cache
from pathlib import Path
from typing import Any

from natlang_envs.autoexplore.dataset.unpack import unpack
from natlang_envs.errors import UsageError, reason, require_choice
from natlang_envs.files import cache_folder
from natlang_envs.tasks import Split

COFFEE = "coffee-company"  # the one whose archive is part of the dataset


def data_folder() -> Path:
    """Return the folder of the dataset's own files: in the checkout, or where the wheel put them."""
    checkout = Path(__file__).parents[3] / "datasets" / "autoexplore"
    return checkout if checkout.is_dir() else Path(__file__).parent / "data"


@dataclass(frozen=True)
class PinnedRepository:
    name: str  # its name in the dataset, and in the packaging index
    version: str  # the version that is pinned
    licence: str  # its SPDX identifier
    split: Split  # `train`, `validation` or `test`: declared, for ever
    about: str  # a few words on what it is
    sha256: str  # of the archive; empty where it is part of the dataset
    digest: str  # of the files' names and contents: see `tree.Repository.digest`
    files: int  # how many they are

    @property
    def archive(self) -> str:
        return f"{self.name}-{self.version}.tar.gz"

    @property
    def folder(self) -> Path:
        """Where its files lie once they are there; the name holds the pin, so another pin is another folder."""
        return cache_folder() / "repositories" / f"{self.name}-{self.version}-{(self.sha256 or self.digest)[:12]}"

    @property
    def is_shipped(self) -> bool:
        """Whether its archive is part of the dataset, so that it needs no network."""
        return self.shipped_archive.is_file()

    @property
    def shipped_archive(self) -> Path:
        return data_folder() / f"{self.name}-{self.version}.tar.xz"

    @property
    def is_cached(self) -> bool:
        return self.folder.is_dir()


@cache
def catalogue() -> dict[str, PinnedRepository]:
    """Return the repositories that labels are about, by name, in the order of the file."""
    return read_catalogue(data_folder() / "repositories.toml")


def read_catalogue(path: Path) -> dict[str, PinnedRepository]:
    try:
        tables: list[dict[str, Any]] = tomllib.loads(path.read_text(encoding="utf-8"))["repository"]
    except (OSError, ValueError, KeyError) as error:
        raise UsageError(f"{path} is no list of repositories ({reason(error)}): install natlang_envs again") from None
    entries: dict[str, PinnedRepository] = {}
    keys = {each.name for each in fields(PinnedRepository)}
    for table in tables:
        if set(table) != keys:
            raise UsageError(
                f"{path}: repository {table.get('name')!r} has the keys {sorted(table)}, not {sorted(keys)}"
            )
        entries[table["name"]] = PinnedRepository(**table)
    return entries


def pinned_repository(name: str) -> PinnedRepository:
    return catalogue()[require_choice("repository", name, catalogue())]


def repository_folder(name: str) -> Path:
    """Return the folder with a repository's files; a shipped archive is unpacked when it is first asked for."""
    entry = pinned_repository(name)
    if not entry.is_cached:
        if not entry.is_shipped:
            raise UsageError(f"the files of {name} are not here: run natlang data fetch, or natlang data fetch {name}")
        unpack(entry.shipped_archive, entry.folder)
    return entry.folder
