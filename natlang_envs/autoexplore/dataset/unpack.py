"""Unpacks a source distribution, of which nothing is trusted: whole, or not at all."""

from __future__ import annotations

import errno
import lzma
import os
import shutil
import tarfile
import zlib
from pathlib import Path, PurePosixPath

from natlang_envs.errors import UsageError
from natlang_envs.files import whole_folder

MAX_MEMBERS = 20_000
MAX_BYTES = 512 << 20  # of all files together
MAX_DEPTH = 32  # folders in folders
_CHUNK = 1 << 20


def unpack(archive: Path, folder: Path) -> None:
    """Unpack the files of the one top folder of a `.gz` or `.xz` archive, without what packaging added.

    The folder must not exist; it comes into being when all is there.
    """
    with whole_folder(folder, keep=True, explain=told) as unfinished:
        try:
            with tarfile.open(archive, "r|xz" if archive.suffix == ".xz" else "r|gz") as tar:
                _write_all(tar, unfinished, archive.name)
        except (tarfile.TarError, EOFError, lzma.LZMAError, zlib.error) as error:
            raise UsageError(f"{archive.name} is truncated or damaged ({error}): fetch it again") from None


def told(error: OSError, folder: Path) -> str:
    """Return in one line why something cannot be written to the cache, and what to do."""
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return f"no space is left in {folder}: make room, or set NATLANG_CACHE to another folder"
    return f"{folder} cannot be written to ({error.strerror or error}): set NATLANG_CACHE to a folder of yours"


def _write_all(tar: tarfile.TarFile, folder: Path, name: str) -> None:
    top: str | None = None
    total = 0
    for count, member in enumerate(tar, 1):
        parts = _parts_of(member, name)
        top = parts[0] if top is None else top
        if parts[0] != top:
            raise UsageError(f"{name} holds {member.name!r} beside its folder {top!r}: it is no source distribution")
        total += member.size
        if count > MAX_MEMBERS or total > MAX_BYTES or len(parts) > MAX_DEPTH:
            raise UsageError(f"{name} unpacks to more than any repository of the dataset holds: do not use it")
        # Packaging added a description that repeats the README, and a list that names every file.
        of_packaging = parts[1:] == ("PKG-INFO",) or any(part.endswith(".egg-info") for part in parts[1:])
        if member.isfile() and not of_packaging:
            _write(tar, member, folder.joinpath(*parts[1:]))


def _parts_of(member: tarfile.TarInfo, name: str) -> tuple[str, ...]:
    if not (member.isfile() or member.isdir()):
        raise UsageError(f"{name} holds {member.name!r}, which is a link or a device: do not use it")
    parts = PurePosixPath(member.name).parts
    if not parts or member.name.startswith("/") or ".." in parts or "\0" in member.name:
        raise UsageError(f"{name} holds {member.name!r}, which leads outside its folder: do not use it")
    if member.isfile() and len(parts) == 1:
        raise UsageError(f"{name} holds the file {member.name!r} in no folder: it is no source distribution")
    return parts


def _write(tar: tarfile.TarFile, member: tarfile.TarInfo, path: Path) -> None:
    content = tar.extractfile(member)
    if content is None:
        raise tarfile.ReadError(member.name)
    path.parent.mkdir(parents=True, exist_ok=True)
    # O_EXCL: a member given twice, or twice on a disk that ignores case, must not replace what is there.
    opened = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o644)
    with os.fdopen(opened, "wb") as file:
        shutil.copyfileobj(content, file, _CHUNK)
    if path.stat().st_size != member.size:
        raise tarfile.ReadError(f"{member.name} ends early")
