"""The repositories that change tasks are made of: services of our own, and pinned source distributions.

`repositories.toml` has the split of each and the files that are broken and tested. Pins that the labelled dataset has
are taken from there; the others are pinned here, for these tasks only.
"""

from __future__ import annotations

import hashlib
import tomllib
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from natlang_envs.autoexplore.dataset.catalogue import PinnedRepository, catalogue
from natlang_envs.autoexplore.dataset.unpack import unpack
from natlang_envs.change.making.fork_runner import SourcesWithTests, open_tested
from natlang_envs.errors import UsageError, reason, require_choice
from natlang_envs.files import cache_folder
from natlang_envs.tasks import Split

OWN, PUBLIC = "own", "public"


@dataclass(frozen=True)
class RepositoryEntry:
    """A repository to break, as `repositories.toml` has it."""

    name: str
    split: Split  # of its tasks
    count: int = 120  # the largest number of tasks
    seconds: float = 0.5  # of processor time, for a run of its tests
    tests: tuple[str, ...] = ("tests",)  # the files and folders of its tests
    sources: tuple[str, ...] = ()  # the files that may be broken; all where it names none
    arguments: tuple[str, ...] = ()  # further ones of pytest
    pin: PinnedRepository | None = None  # the source distribution; None for a service of our own

    @property
    def kind(self) -> str:
        """`own` or `public`: a model may have read public code, and its tests, before."""
        return OWN if self.pin is None else PUBLIC

    @property
    def more(self) -> bool:
        """Whether its tasks may be more alike: for training, many count more."""
        return self.split == "train"

    @property
    def folder(self) -> Path:
        if self.pin is None:
            return data_folder() / "services" / self.name
        if not self.pin.is_cached:
            raise UsageError(f"the files of {self.name} are not here: run natlang data fetch {self.name}")
        return self.pin.folder

    @property
    def listed(self) -> Path:
        return listed_folder(self.split) / f"{self.name}.jsonl.gz"

    def open(self) -> SourcesWithTests:
        return open_tested(self.folder, self.tests, self.sources, self.arguments)


def data_folder() -> Path:
    """Return the folder of tasks and services: a checkout has it, a wheel its archive."""
    checkout = Path(__file__).parents[2] / "datasets" / "change"
    if checkout.is_dir():
        return checkout
    archive = Path(__file__).with_name("data.tar.gz")
    folder = cache_folder() / "datasets" / f"change-{_digest(archive)[:12]}"
    if not folder.is_dir():
        unpack(archive, folder)
    return folder


@cache
def _digest(archive: Path) -> str:
    try:
        return hashlib.sha256(archive.read_bytes()).hexdigest()
    except OSError as error:
        raise UsageError(f"{archive} cannot be read ({reason(error)}): install natlang-envs again") from None


def listed_folder(split: str) -> Path:
    return data_folder() / "listed" / split


@cache
def change_repositories() -> dict[str, RepositoryEntry]:
    content = (data_folder() / "repositories.toml").read_text(encoding="utf-8")
    tables: list[dict[str, Any]] = tomllib.loads(content)["repository"]
    return {table["name"]: _read(table) for table in tables}


def change_repository(name: str) -> RepositoryEntry:
    return change_repositories()[require_choice("repository", name, change_repositories())]


def pinned_for_changes() -> dict[str, PinnedRepository]:
    """Return the source distributions that only change tasks need, by name."""
    pins = {each.name: each.pin for each in change_repositories().values() if each.pin is not None}
    return {name: pin for name, pin in pins.items() if name not in catalogue()}


def _read(table: dict[str, Any]) -> RepositoryEntry:
    name, split, pin = table["name"], table["split"], table.get("pin")
    pinned = PinnedRepository(name=name, split=split, **pin) if pin else catalogue().get(name)
    lists = {key: tuple(table[key]) for key in ("tests", "sources", "arguments") if key in table}
    values: dict[str, Any] = {**table, **lists, "pin": pinned}
    return RepositoryEntry(**values)
