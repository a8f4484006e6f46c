"""The folder of a repository's tests is the same however it is written, and never all of it or outside."""

from __future__ import annotations

from pathlib import Path

import pytest

from natlang_envs.change.making.fork_runner import open_tested
from natlang_envs.errors import UsageError
from tests.support.folders import write
from tests.support.kiosk import KIOSK


@pytest.mark.parametrize("said", ["./tests", "tests/", "tests/.", "kiosk/../tests"])
def test_it_is_no_source_to_break(said: str, tmp_path: Path) -> None:
    write(tmp_path / "kiosk", KIOSK)
    plain = open_tested(tmp_path / "kiosk")
    assert open_tested(tmp_path / "kiosk", [said]) == plain
    assert not [path for path in plain.sources if path.startswith("tests/")]


@pytest.mark.parametrize("said", [".", "", "tests/.."])
def test_all_of_a_repository_are_no_tests(said: str, tmp_path: Path) -> None:
    write(tmp_path / "kiosk", KIOSK)
    with pytest.raises(UsageError, match="all of kiosk would be tests: name the folder with the tests in it"):
        open_tested(tmp_path / "kiosk", [said])
    with pytest.raises(UsageError, match=r"tests '\.\.' do not lie in .*kiosk: name them relative to it"):
        open_tested(tmp_path / "kiosk", [".."])
