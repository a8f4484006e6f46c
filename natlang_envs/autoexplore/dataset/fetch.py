"""Fetches the archives of the dataset's repositories into the cache, and checks what is there."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from pathlib import Path
from typing import Protocol

from natlang_envs.autoexplore.dataset.catalogue import PinnedRepository
from natlang_envs.autoexplore.dataset.package_index import Index
from natlang_envs.autoexplore.dataset.unpack import told, unpack
from natlang_envs.errors import UsageError
from natlang_envs.files import alone, cache_folder
from natlang_envs.repository.tree import open_repository

MAX_ARCHIVE = 128 << 20  # bytes
Progress = Callable[[int, int | None], None]  # bytes that are here, bytes in all where that is known


class Pinned(Protocol):
    """A file of the packaging index whose content is known."""

    @property
    def name(self) -> str: ...

    @property
    def version(self) -> str: ...

    @property
    def sha256(self) -> str: ...

    @property
    def archive(self) -> str: ...


def fetch(entry: PinnedRepository, index: Callable[[], Index], progress: Progress = lambda done, total: None) -> Path:
    """Bring a repository's files into the cache, unless they are there, and return their folder.

    A download that was interrupted goes on where it stopped. Only a verified archive is unpacked, and then deleted.
    One process fetches at a time. `index` is called only when something is to be downloaded.
    """
    if entry.is_cached:
        return entry.folder
    if entry.is_shipped:
        unpack(entry.shipped_archive, entry.folder)
        return entry.folder
    archives = archives_folder()
    try:
        archives.mkdir(parents=True, exist_ok=True)
        with alone(archives):  # another process that fetches waits for its turn
            if entry.is_cached:
                return entry.folder
            archive = download(entry, ".tar.gz", index, progress)
            unpack(archive, entry.folder)
            archive.unlink(missing_ok=True)
    except OSError as error:
        raise UsageError(told(error, archives)) from None
    return entry.folder


def archives_folder() -> Path:
    return cache_folder() / "archives"


def download(entry: Pinned, ending: str, index: Callable[[], Index], progress: Progress) -> Path:
    """Bring a verified file into the folder of archives, unless it is there, and return it.

    `ending` is that of its name on the index.
    """
    archive = archives_folder() / entry.archive
    if archive.is_file() and _sha256(archive) == entry.sha256:
        return archive
    part = archive.with_name(f"{archive.name}.{entry.sha256[:12]}.part")
    opened = index()
    address = opened.address(entry.name, entry.version, ending)
    for attempt in ("resumed", "anew"):
        have = part.stat().st_size if part.is_file() else 0
        with opened.open(address, have) as (begin, total, pieces), part.open("r+b" if begin else "wb") as file:
            done = file.seek(begin)
            for piece in pieces:
                done += len(piece)
                if done > MAX_ARCHIVE:
                    raise UsageError(
                        f"{archive.name} is larger than {MAX_ARCHIVE:,} bytes: that is not the pinned archive"
                    )
                file.write(piece)
                progress(done, total)
            file.truncate()
        if total is not None and done < total:
            raise UsageError(
                f"{archive.name} ended after {done:,} of {total:,} bytes: run natlang data fetch again, it goes on "
                "from there"
            )
        found = _sha256(part)
        if found == entry.sha256:
            break
        part.unlink()
        if not begin or attempt == "anew":
            raise UsageError(
                f"{archive.name} has the SHA-256 {found[:12]}…, not the pinned {entry.sha256[:12]}…: the index serves "
                "another file, see pip config list; nothing was unpacked"
            )
    part.replace(archive)
    return archive


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def problem_of(entry: PinnedRepository) -> str | None:
    """Return in one line how the files in the cache differ from the pinned ones, or None."""
    repository = open_repository(entry.folder, again=True)
    if len(repository.files) != entry.files or repository.links or repository.barred:
        return f"{entry.folder} holds {len(repository.files):,} files, {entry.files:,} are pinned"
    if repository.digest != entry.digest:
        return f"{entry.folder} has the digest {repository.digest[:12]}…, {entry.digest[:12]}… is pinned"
    return None
