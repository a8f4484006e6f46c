"""`make demo` in small: every step of it, with a model too small to learn."""

from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner

from examples.demo import app


def test_the_demo_trains_plays_verifies_and_shows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NATLANG_CACHE", str(tmp_path / "cache"))
    done = CliRunner().invoke(app, ["--preset", "smoke", "--jobs", "1", "--out", str(tmp_path / "out")])
    assert done.exit_code == 0, done.output
    assert "100 demonstrations" in done.output
    assert "Every episode was replayed" in done.output
    entries = {path.name for path in (tmp_path / "out/submissions/dangerous-taxi-pickup/v1").iterdir()}
    assert {"random", "oracle", "slips-100-sampled-seed-0", "slips-100-sft-sampled-seed-0"} <= entries
    assert (tmp_path / "out/site/index.html").exists()
    assert (tmp_path / "out/demo.png").exists()
