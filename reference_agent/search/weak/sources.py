"""The repositories of weak questions: pinned source distributions, installed ones, and Python's library."""

from __future__ import annotations

import hashlib
import sys
import sysconfig
import tomllib
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path
from typing import NamedTuple

from natlang_envs.autoexplore.dataset.catalogue import Entry, catalogue
from natlang_envs.autoexplore.dataset.fetch import fetch, problem_of
from natlang_envs.autoexplore.dataset.package_index import Index, Unreachable
from natlang_envs.errors import UsageError
from natlang_envs.files import cache_folder
from reference_agent.folders import finished

PYTHON = "python"  # what its standard library is called among the repositories

_LIBRARY_LEFT_OUT = {
    "site-packages",
    "dist-packages",
    "__pycache__",
    "test",
    "tests",
    "idle_test",
    "lib-dynload",
    "_bundled",
}
_COPIED = {".cfg", ".css", ".html", ".in", ".ini", ".js", ".json", ".md", ".py", ".pyi", ".pyx", ".rst", ".sh", ".toml"}
_COPIED |= {".txt", ".typed", ".yaml", ".yml"}
_LARGEST_COPIED = 1 << 20


class Sources(NamedTuple):
    """Where questions come from.

    Attributes:
        pinned: Source distributions that are fetched, by name.
        installed: The names of distributions of the environment.
        library: Whether Python's standard library is one of the sources.
    """

    pinned: dict[str, Entry]
    installed: tuple[str, ...]
    library: bool


def read_sources(path: Path | None = None) -> Sources:
    """Return the list of sources; without a path, the one of this package.

    Raises:
        UsageError: It cannot be read, or names a repository of the labelled dataset.
    """
    path = path or Path(__file__).with_name("sources.toml")
    try:
        content = tomllib.loads(path.read_text(encoding="utf-8"))
        pinned = {each["name"]: Entry(split="train", **each) for each in content.get("source", ())}
        installed = tuple(content.get("installed", ()))
        library = bool(content.get("library", False))
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise UsageError(f"{path} is no list of sources ({error})") from None
    labelled = sorted({*pinned, *installed} & set(catalogue()))
    if labelled:
        raise UsageError(f"{path} names {', '.join(labelled)}, which labelled questions are about: take it out")
    return Sources(pinned, installed, library)


def repositories_of(
    sources: Sources, index: Callable[[], Index], missing: dict[str, str]
) -> Iterator[tuple[str, str, Path]]:
    """Yield the name, version and folder of each source that can be had, and note in `missing` which cannot."""
    if sources.library:
        yield PYTHON, sys.version.split()[0], _library()
    for name in sources.installed:
        try:
            yield name, distribution(name).version, _installed(name)
        except PackageNotFoundError:
            missing[name] = "not installed"
    opened: list[Index] = []
    refused: str | None = None

    def once() -> Index:
        if refused:
            raise Unreachable(refused)
        if not opened:
            opened.append(index())
        return opened[0]

    for name, entry in sources.pinned.items():
        try:
            folder = _checked(entry, once)
        except UsageError as error:
            missing[name] = str(error)
            if isinstance(error, Unreachable):
                refused = str(error)  # the same for the others, which would each wait for it
            continue
        yield name, entry.version, folder


def _checked(entry: Entry, index: Callable[[], Index]) -> Path:
    folder = fetch(entry, index)
    problem = problem_of(entry)
    if problem:
        raise UsageError(f"{problem}: delete it")
    return folder


def _library() -> Path:
    """Return a copy of the texts of Python's standard library, without its tests."""
    top = Path(sysconfig.get_path("stdlib"))
    files = sorted(
        path.relative_to(top)
        for path in top.rglob("*")
        if path.is_file() and not _LIBRARY_LEFT_OUT.intersection(path.parts) and "config-" not in str(path)
    )
    return _copied(f"{PYTHON}-{sys.version.split()[0]}", top, files)


def _installed(name: str) -> Path:
    """Return a copy of the texts of an installed distribution's largest package, which becomes the root."""
    found = distribution(name)
    listed = [file for file in found.files or () if len(file.parts) > 1 and ".." not in file.parts]
    kept = [
        file
        for file in listed
        if not file.parts[0].endswith((".dist-info", ".data")) and "__pycache__" not in file.parts
    ]
    if not kept:
        raise PackageNotFoundError(name)
    (top, _), *_ = Counter(file.parts[0] for file in sorted(kept)).most_common(1)
    root = Path(str(found.locate_file(top)))
    files = sorted(Path(*file.parts[1:]) for file in kept if file.parts[0] == top)
    return _copied(f"{name}-{found.version}", root, files)


def _copied(name: str, top: Path, files: Sequence[Path]) -> Path:
    rules = hashlib.sha256(repr((sorted(_LIBRARY_LEFT_OUT), sorted(_COPIED), _LARGEST_COPIED)).encode()).hexdigest()

    def make(folder: Path) -> None:
        for file in files:
            path = top / file
            if file.suffix in _COPIED and path.is_file() and path.stat().st_size <= _LARGEST_COPIED:
                (folder / file).parent.mkdir(parents=True, exist_ok=True)
                (folder / file).write_bytes(path.read_bytes())

    return finished(cache_folder() / "installed" / f"{name}-{rules[:8]}", make)
