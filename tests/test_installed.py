"""What an installed package has: all that the repository has of it."""

from __future__ import annotations

import os
import subprocess
import sys
import tarfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PACKAGES = ("natlang_envs", "reference_agent")


# What a package without its checkout knows of change tasks: digests of services, and ids of both kinds of tasks.
CHANGE_TASKS = """
from natlang_envs.change import repositories
from natlang_envs.change.free_edits.task_sampling import FreeTasks
from natlang_envs.change.listed_edits.tasks import make_tasks
print(repositories.data_folder())
print([each.open().digest for each in repositories.change_repositories().values() if each.pin is None])
print([*make_tasks("all", None, None).ids()], [*FreeTasks("all").ids()])
"""


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("built")
    notes = folder / "notes"  # or those of an earlier installation would name files that no setting does
    notes.mkdir()
    build = [sys.executable, "setup.py", "-q", "egg_info", "--egg-base", str(notes)]
    build += ["build_py", "--build-lib", str(folder)]
    done = subprocess.run(build, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return folder


def test_an_installed_package_has_every_file_of_the_repository(built: Path) -> None:
    listed = subprocess.run(["git", "ls-files", *PACKAGES], cwd=ROOT, capture_output=True, text=True, check=False)
    if listed.returncode:
        pytest.skip("this folder is no Git checkout")
    files = [file for file in listed.stdout.splitlines() if (ROOT / file).exists()]
    assert files
    assert [file for file in files if not (built / file).exists()] == []


def test_an_installed_package_has_the_change_tasks_of_the_repository(built: Path, tmp_path: Path) -> None:
    def known(package: Path) -> list[str]:
        environment = {**os.environ, "PYTHONPATH": str(package), "NATLANG_CACHE": str(tmp_path)}
        command = [sys.executable, "-P", "-c", CHANGE_TASKS]
        done = subprocess.run(command, cwd="/", env=environment, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        return done.stdout.splitlines()

    unpacked, *installed = known(built)
    folder, *checkout = known(ROOT)
    assert Path(folder) == ROOT / "datasets" / "change"
    assert Path(unpacked).parent == tmp_path / "datasets"
    assert installed == checkout


@pytest.mark.slow
def test_a_source_distribution_has_the_package_and_no_part_of_the_tests(tmp_path: Path) -> None:
    build = [sys.executable, "setup.py", "-q", "egg_info", "--egg-base", str(tmp_path), "sdist", "-d", str(tmp_path)]
    done = subprocess.run(build, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    with tarfile.open(*tmp_path.glob("*.tar.gz")) as archive:
        rooms = {name.split("/")[1] for name in archive.getnames() if "/" in name}
    assert rooms >= {"natlang_envs", "reference_agent", "leaderboard", "datasets", "setup.py"}
    assert "tests" not in rooms  # a part of them would fail at collection
