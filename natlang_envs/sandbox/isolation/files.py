"""The files that a program works on, here those of a folder of the host: copied in before a run, and back after it."""

from __future__ import annotations

import os
import shutil
import stat
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Protocol

from natlang_envs.files import opening
from natlang_envs.sandbox.isolation.child import PACKAGES
from natlang_envs.sandbox.isolation.environments import PythonEnvironment
from natlang_envs.sandbox.isolation.layers import Layer
from natlang_envs.sandbox.isolation.temporary_folders import new_folder, remove_folder

NO_OWNER = -1  # `os.chown` leaves the owner as it is
PAGE = os.sysconf("SC_PAGE_SIZE")


def whole_pages(size: int) -> int:
    return -(-size // PAGE) * PAGE


class Files(Protocol):
    """The files that a program works on; `work_folder.WorkFolder` are those of a sandbox."""

    packages: str = PACKAGES
    """The folder that `pip` installs into, relative to the top."""
    beside: Mapping[str, Path] = MappingProxyType({})
    """Folders of the host that the program may read, by where it finds them: paths below /opt."""
    environment: PythonEnvironment | None = None
    """The Python environment whose Python and packages programs get."""
    original: Path | None = None
    """Where the files are on the host, if they should be found there, too."""

    @property
    def size(self) -> int:
        """The bytes that `fill` writes, in whole pages."""
        ...

    def layer(self, owner: int) -> Layer | None:
        """Return files of `owner`'s that many runs share and that `fill` leaves out; None where it writes all.

        `fill` then makes, and `collect` reads, the upper layer of an overlay. Asked only where `Isolation.lays`.
        """

    def is_folder(self, path: str) -> bool:
        """Return whether a path below the top is a folder."""
        ...

    def fill(self, root: int, owner: int) -> None:
        """Write all files into an open folder, and give them to `owner`, which needs root, or to `NO_OWNER`."""

    def collect(self, root: int) -> None:
        """Take over what the program did in the folder, when all of it has ended."""


class HostFolder(Files):
    def __init__(self, folder: Path, layer: Layer | None = None) -> None:
        self._folder = folder
        self._layer = layer

    @property
    def size(self) -> int:
        return sum(whole_pages(each.stat().st_size) for each in self._folder.rglob("*") if each.is_file())

    def layer(self, owner: int) -> Layer | None:
        return self._layer

    def is_folder(self, path: str) -> bool:
        """Return whether a path is a folder, and no link to one."""
        found = self._folder / path
        return found.is_dir() and not found.is_symlink()

    def fill(self, root: int, owner: int) -> None:
        place = Path(f"/proc/self/fd/{root}")
        shutil.copytree(self._folder, place, symlinks=True, dirs_exist_ok=True)
        os.fchown(root, owner, owner)
        for top, folders, files in os.walk(place):
            for name in (*folders, *files):
                os.chown(Path(top, name), owner, owner, follow_symlinks=False)
        os.fchmod(root, 0o755)

    def collect(self, root: int) -> None:
        """Replace the folder by what the program left, as far as it can be copied."""
        remove_folder(self._folder)
        new_folder(self._folder)
        _copy(root, self._folder, 0)


def _copy(source: int, target: Path, depth: int) -> None:
    if depth > 100:
        return
    os.fchmod(source, 0o700)
    for name in os.listdir(source):
        found = os.stat(name, dir_fd=source, follow_symlinks=False)
        if stat.S_ISDIR(found.st_mode):
            new_folder(target / name)
            os.chmod(name, 0o700, dir_fd=source)
            with opening(name, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW, dir_fd=source) as inner:
                _copy(inner, target / name, depth + 1)
        elif stat.S_ISREG(found.st_mode):
            if not found.st_mode & 0o400:
                os.chmod(name, 0o600, dir_fd=source)
            (target / name).write_bytes(Path(f"/proc/self/fd/{source}/{name}").read_bytes())
        elif stat.S_ISLNK(found.st_mode):
            (target / name).symlink_to(os.readlink(name, dir_fd=source))
