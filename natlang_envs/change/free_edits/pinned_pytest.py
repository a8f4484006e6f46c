"""The lab: pytest and what it needs, pinned, compiled, and shown read-only to what runs tests in the sandbox.

`natlang data fetch` brings it. Its folder is named after what is pinned and the Python that it is compiled for, and
is renamed into place when all is there; a list in it has the digest of each file.
"""

from __future__ import annotations

import compileall
import hashlib
import json
import py_compile
import sys
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from natlang_envs.autoexplore.dataset.fetch import Progress, archives_folder, download
from natlang_envs.autoexplore.dataset.package_index import Index
from natlang_envs.autoexplore.dataset.unpack import told
from natlang_envs.errors import UsageError
from natlang_envs.files import alone, cache_folder, whole_folder

LAB = "lab"  # for the commands of natlang data
INSIDE = "/opt/lab"  # where programs in the sandbox find it
_PLAIN = "-py3-none-any.whl"
_LIST = "lab.json"


@dataclass(frozen=True)
class Wheel:
    """A pinned wheel of pure Python."""

    name: str
    version: str
    sha256: str

    @property
    def archive(self) -> str:
        return f"{self.name}-{self.version}{_PLAIN}"


WHEELS = (
    Wheel("pytest", "9.2.0", "07acdcf88ec174f907dc01af70bf52d49b014bbab03faeeade31c96b18c2e588"),
    Wheel("pluggy", "1.7.0", "7dd7b0d8832ba3cb632c306926ded123429211b83641b35dc5c41ad2d34f9bec"),
    Wheel("iniconfig", "2.3.1", "9121e2c1fdb355232495be3194c8dfe87ccc2d5dee45947b78e68f499790d7a7"),
    Wheel("packaging", "26.3", "d7193f7c8e4e93f444fde0262bf90af30e16fa0ad0ad44cb553c87339b23cd1c"),
    Wheel("pygments", "2.21.0", "2363c69b61c4a97c838da3b130dcd6468f4848992b21a82f2a63ec34377137d9"),
)
ABOUT = f"pytest {WHEELS[0].version} and what it needs, for change tasks"


def lab_folder() -> Path:
    pins = hashlib.sha256("".join(each.sha256 for each in WHEELS).encode()).hexdigest()
    return cache_folder() / "labs" / f"pytest-{WHEELS[0].version}-{pins[:12]}-{sys.implementation.cache_tag}"


def lab() -> Path:
    """Return the lab's folder, looked through once per process."""
    folder = lab_folder()
    if not folder.is_dir():
        others = sorted(each.name for each in folder.parent.glob("pytest-*"))
        there = f"; {others[0]} is there, for another version" if others else ""
        raise UsageError(
            f"the lab {folder.name} is not here (pytest, to run tests with){there}: run natlang data fetch lab"
        )
    problem = _looked_through(folder)
    if problem:
        raise UsageError(f"{problem}: run natlang data fetch lab, which makes it anew")
    return folder


def fetch_lab(index: Callable[[], Index], progress: Progress = lambda done, total: None) -> Path:
    """Bring the lab into the cache, unless it is there as it should be, and return its folder."""
    folder = lab_folder()
    archives = archives_folder()
    try:
        archives.mkdir(parents=True, exist_ok=True)
        with alone(archives):  # another process that fetches waits for its turn
            if folder.is_dir() and problem_of_lab(folder) is None:
                return folder
            opened = cache(index)
            wheels = [download(each, _PLAIN, opened, progress) for each in WHEELS]
            with whole_folder(folder, replace=True, explain=told) as unfinished:
                _make(unfinished, wheels)
            for each in wheels:
                each.unlink(missing_ok=True)
    except OSError as error:
        raise UsageError(told(error, archives)) from None
    _looked_through.cache_clear()
    return folder


def problem_of_lab(folder: Path) -> str | None:
    """Return in one line how a lab differs from what was made, or None."""
    try:
        listed: dict[str, str] = json.loads((folder / _LIST).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return f"the lab {folder} has no whole list of its files"
    found = _digests(folder)
    odd = sorted(name for name in listed.keys() | found.keys() if listed.get(name) != found.get(name))
    return f"the lab {folder} is not as it was made: see {odd[0]}" if odd else None


_looked_through = cache(problem_of_lab)


def _make(folder: Path, wheels: list[Path]) -> None:
    for each in wheels:
        try:
            with zipfile.ZipFile(each) as wheel:
                wheel.extractall(folder)
        except zipfile.BadZipFile as error:
            raise UsageError(f"{each.name} cannot be unpacked ({error}): run natlang data fetch lab again") from None
    # Unchecked: the sandbox's files have other times, and every run would compile pytest again.
    compileall.compile_dir(
        folder,
        quiet=2,
        stripdir=str(folder),
        prependdir=INSIDE,
        invalidation_mode=py_compile.PycInvalidationMode.UNCHECKED_HASH,
    )
    (folder / _LIST).write_text(json.dumps(_digests(folder), indent=0), encoding="utf-8")


def _digests(folder: Path) -> dict[str, str]:
    files = sorted(each for each in folder.rglob("*") if each.is_file() and each.name != _LIST)
    return {each.relative_to(folder).as_posix(): hashlib.sha256(each.read_bytes()).hexdigest() for each in files}
