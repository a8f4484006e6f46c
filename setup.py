"""Puts the files of the datasets into the wheel, and compiles ALFWorld's engine where that is asked for.

Everything else about the package stands in pyproject.toml.

The files of the datasets live in `datasets/`, which must never be importable (it would shadow the Hugging Face
library), so they are not package data. A build copies the labels into the package `natlang_envs.autoexplore.dataset`,
and packs the change tasks with their services into one archive in `natlang_envs.change`.

`NATLANG_COMPILE=1 pip install --no-build-isolation .` compiles the engine with mypyc; it needs a C compiler, mypy and
setuptools. The modules that are compiled are those that run without it.
"""

from __future__ import annotations

import gzip
import hashlib
import os
import shutil
import tarfile
from pathlib import Path
from typing import Any

from setuptools import setup
from setuptools.command.build_py import build_py

DATASETS = Path(__file__).parent / "datasets"
LABELS = Path("natlang_envs", "autoexplore", "dataset", "data")
CHANGE_TASKS = Path("natlang_envs", "change", "data.tar.gz")
PACKAGE = Path("natlang_envs")
ENGINE = ("actions", "game", "goals", "grammar", "world")
GAMES = ("game_builder", "generator", "layout", "pddl_writer", "realistic_layout", "size_limits")
COMPILED = (
    "task_random.py",
    *(f"alfworld/engine/{name}.py" for name in ENGINE),
    *(f"alfworld/games/{name}.py" for name in GAMES),
)
COMPILE = os.environ.get("NATLANG_COMPILE") == "1"


class BuildWithData(build_py):
    """Builds the packages, then copies the dataset; an editable install reads it where it lies."""

    def run(self) -> None:
        """Build."""
        super().run()
        if not self.editable_mode:
            target = Path(self.build_lib) / LABELS
            shutil.rmtree(target, ignore_errors=True)
            shutil.copytree(DATASETS / "autoexplore", target, ignore=shutil.ignore_patterns("drafts", "__pycache__"))
            write_archive(DATASETS / "change", Path(self.build_lib) / CHANGE_TASKS)
        if COMPILE:  # what the engine compares its sources with when it is imported
            digests = [f"{hashlib.sha256((PACKAGE / each).read_bytes()).hexdigest()} {each}" for each in COMPILED]
            listed = Path(self.build_lib) / PACKAGE / "alfworld" / "engine" / "compiled.txt"
            listed.write_text("\n".join(digests) + "\n", encoding="ascii")


def write_archive(folder: Path, archive: Path) -> None:
    """Pack a folder into an archive, the same bytes each time."""

    def plain(member: tarfile.TarInfo) -> tarfile.TarInfo | None:
        member.mtime = member.uid = member.gid = 0
        member.uname = member.gname = ""
        member.mode = 0o755 if member.isdir() else 0o644
        return None if "__pycache__" in member.name else member

    with gzip.GzipFile(archive, "wb", mtime=0) as packed, tarfile.open(fileobj=packed, mode="w") as tar:
        tar.add(folder, folder.name, filter=plain)


def extensions() -> list[Any]:
    """Return the engine as extension modules; none unless they are asked for."""
    if not COMPILE:
        return []
    from mypyc.build import mypycify

    files = [str(PACKAGE / each) for each in COMPILED]
    return list(mypycify(["--follow-imports=skip", *files], opt_level="3", group_name="natlang_alfworld"))


setup(cmdclass={"build_py": BuildWithData}, ext_modules=extensions())
