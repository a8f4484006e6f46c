"""Puts the dataset's files into the wheel; everything else about the package stands in pyproject.toml.

The files live in `datasets/`, which must never be importable (it would shadow the Hugging Face library), so they are no
package data of their own place: they are copied into the package `natlang_envs.autoexplore.dataset` when it is built.
"""

from __future__ import annotations

import shutil
from pathlib import Path

from setuptools import setup
from setuptools.command.build_py import build_py

SOURCE = Path(__file__).parent / "datasets" / "autoexplore"
TARGET = Path("natlang_envs", "autoexplore", "dataset", "data")


class BuildWithData(build_py):
    """Builds the packages, then copies the dataset; an editable install reads it where it lies."""

    def run(self) -> None:
        """Build."""
        super().run()
        if not self.editable_mode:
            target = Path(self.build_lib) / TARGET
            shutil.rmtree(target, ignore_errors=True)
            shutil.copytree(SOURCE, target, ignore=shutil.ignore_patterns("drafts", "__pycache__"))


setup(cmdclass={"build_py": BuildWithData})
