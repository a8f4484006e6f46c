"""The entry points of the package, and what is said where it is not installed."""

from __future__ import annotations

import tomllib
from importlib import import_module
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any

import pytest
import typer
from typer.testing import CliRunner

from natlang_envs.errors import UsageError
from natlang_envs.evaluation import agents
from reference_agent.run import command

ROOT = Path(__file__).parents[3]


def test_the_entry_points_are_installed_and_name_functions() -> None:
    project: dict[str, Any] = tomllib.loads((ROOT / "examples/judges/pyproject.toml").read_text())["project"]
    for group, named in project["entry-points"].items():
        installed = {each.name: each.value for each in entry_points(group=group)}
        for name, value in named.items():
            module, function = value.split(":")
            assert installed[name] == value
            assert callable(getattr(import_module(module), function))


@pytest.mark.parametrize("agent", ["searcher", "searcher:x.json", "searcher-sample:x.json", "mender:x.json"])
def test_an_agent_that_is_not_installed_is_refused_with_the_remedy(agent: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(agents, "entry_points", lambda group: [])
    with pytest.raises(UsageError, match="comes with an example: pip install -e examples/judges"):
        agents.load_agent(agent)


@pytest.mark.parametrize("name", ["search", "mend"])
def test_a_command_that_is_not_installed_is_refused_with_the_remedy(
    name: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(command, "entry_points", lambda group: [])
    command.add_commands(app := typer.Typer())
    said = CliRunner().invoke(app, [name, "--out", str(tmp_path), "--updates", "2"])
    assert str(said.exception) == f"`reflect-rl {name}` comes with an example: pip install -e examples/judges"
