"""What the tests of AutoExplore share."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.natlang_envs.autoexplore import hostile


@pytest.fixture
def repo(tmp_path: Path) -> Path:
    """A repository with everything in it that a file system allows."""
    return hostile.make(tmp_path)
