"""The repository's tree stays small."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
MOST = 25_000_000  # bytes


def test_the_tracked_tree_is_small() -> None:
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=False)
    if listed.returncode:
        pytest.skip("this is no checkout")
    files = [ROOT / name.decode() for name in listed.stdout.split(b"\0")[:-1]]
    assert sum(each.stat().st_size for each in files if each.is_file()) <= MOST
