"""What the tests of AutoExplore share."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from natlang_envs.autoexplore.dataset.catalogue import COFFEE, repository_folder
from natlang_envs.repository.tree import Repository, open_repository


@pytest.fixture(scope="module")
def coffee(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Repository]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("NATLANG_CACHE", str(tmp_path_factory.mktemp("cache")))
        yield open_repository(repository_folder(COFFEE))
