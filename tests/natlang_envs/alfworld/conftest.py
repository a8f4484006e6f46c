"""Fixtures of the tests of ALFWorld."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.support.compat_games import lay_generated


@pytest.fixture(scope="module")
def generated_games(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Lay generated games as the alfworld package has its own, in the folder that `$GAMES` names."""
    folder = tmp_path_factory.mktemp("games")
    lay_generated(folder)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("GAMES", str(folder))
        yield
