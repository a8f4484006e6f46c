"""What the tests of AutoExplore share."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from natlang_envs.autoexplore.dataset.catalogue import COFFEE
from natlang_envs.autoexplore.dataset.repositories import repository_folder
from natlang_envs.repository.tree import Repository, open_repository
from natlang_envs.sandbox.sandbox import AutoExploreSandbox
from tests.natlang_envs.autoexplore.copilot.explore_command import FILES
from tests.natlang_envs.autoexplore.sandbox import hostile
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


@pytest.fixture(scope="module")
def coffee(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Repository]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("NATLANG_CACHE", str(tmp_path_factory.mktemp("cache")))
        yield open_repository(repository_folder(COFFEE))
