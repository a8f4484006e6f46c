"""The extras of pyproject.toml, and every place that names them."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

from typer.main import get_group

import natlang_envs
from natlang_envs.cli import doctor, support
from natlang_envs.cli.main import app


def test_pyproject_the_doctor_the_messages_and_the_help_know_the_same_extras() -> None:
    text = (Path(natlang_envs.__file__).parents[1] / "pyproject.toml").read_text(encoding="utf-8")
    wanted = tomllib.loads(text)["project"]["optional-dependencies"]
    extras = {name: " ".join(packages) for name, packages in wanted.items()}
    for_developers = {"docs", "dev"}
    assert set(support.EXTRAS) == set(extras) - for_developers
    for extra in support.EXTRAS:
        assert set(support.packages_of(extra)) == {re.split(r"[^\w-]", each)[0] for each in wanted[extra]}
    named = {each.what for each in doctor.findings()}
    assert {f"extra {name}" for name in support.EXTRAS} <= named
    listed = get_group(app).list_commands(None)  # type: ignore[arg-type]
    assert {"explore", "data", "serve", "alfworld"} <= set(listed) & set(extras)  # commands that an extra is for


def test_every_extra_is_installed_beside_the_newest_releases_by_make_libraries() -> None:
    folder = Path(natlang_envs.__file__).parents[1] / "examples/libraries"
    text = "".join(each.read_text(encoding="utf-8") for each in sorted(folder.glob("requirements-*.txt")))
    named = {name for found in re.findall(r"^-e \.\[(.+)\]$", text, re.MULTILINE) for name in found.split(",")}
    assert named == set(support.EXTRAS) - {"alfworld"}  # that one is built by `make textworld`
    assert "openenv-core" not in text
