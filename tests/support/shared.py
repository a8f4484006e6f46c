"""Folders that are made once for all workers of pytest-xdist."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from natlang_envs.files import alone


def shared_folder(factory: pytest.TempPathFactory) -> Path:
    """Return the folder of this run of pytest that its workers have in common."""
    base = factory.getbasetemp()
    return base.parent if "PYTEST_XDIST_WORKER" in os.environ else base


def made_once(factory: pytest.TempPathFactory, name: str, make: Callable[[Path], object]) -> Path:
    """Return a folder that the first worker makes and the others wait for; nobody writes into it afterwards."""
    folder = shared_folder(factory) / name
    with alone(folder.with_name(f"{name}.lock")):
        if not folder.exists():
            unfinished = folder.with_name(f"{name}.unfinished")
            make(unfinished)
            unfinished.rename(folder)
    return folder
