"""What packages register is read once, and again when a package is installed."""

from __future__ import annotations

import importlib.metadata
from pathlib import Path

import pytest

from natlang_envs.evaluation.agents import agent_names
from natlang_envs.installed import entry_points


def test_a_package_that_is_installed_meanwhile_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    reads, read = list[int](), importlib.metadata.entry_points
    monkeypatch.setattr(importlib.metadata, "entry_points", lambda **of: reads.append(1) or read(**of))
    monkeypatch.syspath_prepend(tmp_path)
    for _ in range(3):
        assert "late" not in agent_names()
    assert len(reads) == 1
    package = tmp_path / "late-1.0.dist-info"
    package.mkdir()
    (package / "METADATA").write_text("Metadata-Version: 2.1\nName: late\nVersion: 1.0\n")
    (package / "entry_points.txt").write_text("[natlang_envs.agents]\nlate = late:load\n")
    assert "late" in agent_names()
    assert entry_points("natlang_envs.agents", name="late")["late"].value == "late:load"
    assert len(reads) == 2
