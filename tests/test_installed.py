"""What an installed package has: all that the repository has of it."""

from __future__ import annotations

import subprocess
import sys
import tarfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PACKAGES = ("natlang_envs", "reference_agent")


def test_an_installed_package_has_every_file_of_the_repository(tmp_path: Path) -> None:
    listed = subprocess.run(["git", "ls-files", *PACKAGES], cwd=ROOT, capture_output=True, text=True, check=False)
    if listed.returncode:
        pytest.skip("this folder is no Git checkout")
    notes = tmp_path / "notes"  # or those of an earlier installation would name files that no setting does
    notes.mkdir()
    build = [sys.executable, "setup.py", "-q", "egg_info", "--egg-base", str(notes)]
    build += ["build_py", "--build-lib", str(tmp_path)]
    done = subprocess.run(build, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    files = [file for file in listed.stdout.splitlines() if (ROOT / file).exists()]
    assert files
    assert [file for file in files if not (tmp_path / file).exists()] == []


@pytest.mark.slow
def test_a_source_distribution_has_the_package_and_no_part_of_the_tests(tmp_path: Path) -> None:
    build = [sys.executable, "setup.py", "-q", "egg_info", "--egg-base", str(tmp_path), "sdist", "-d", str(tmp_path)]
    done = subprocess.run(build, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    with tarfile.open(*tmp_path.glob("*.tar.gz")) as archive:
        rooms = {name.split("/")[1] for name in archive.getnames() if "/" in name}
    assert rooms >= {"natlang_envs", "reference_agent", "leaderboard", "datasets", "setup.py"}
    assert "tests" not in rooms  # a part of them would fail at collection
