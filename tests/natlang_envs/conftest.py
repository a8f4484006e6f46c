"""Repositories for the tests of the sandbox, the copilot and the index."""

from __future__ import annotations

from pathlib import Path

import pytest

from natlang_envs.sandbox.sandbox import AutoExploreSandbox
from tests.support import hostile
from tests.support.explore_command import FILES
from tests.support.folders import write


@pytest.fixture
def repo(tmp_path: Path) -> Path:
    """A repository with everything in it that a file system allows."""
    return hostile.make(tmp_path)


@pytest.fixture
def sandbox(repo):
    with AutoExploreSandbox(repo) as made:
        yield made


@pytest.fixture
def sums(tmp_path: Path) -> Path:
    folder = tmp_path / "sums"
    folder.mkdir()
    write(folder, FILES)
    return folder
