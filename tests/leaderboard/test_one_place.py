"""A board and a column each stand in one place; every output reads them from there."""

from __future__ import annotations

import csv
import io
import json
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from typer.testing import CliRunner

from leaderboard.pack import pack
from leaderboard.site import build
from leaderboard.standings import columns
from leaderboard.standings.columns import Column, count
from natlang_envs.cli.main import app
from natlang_envs.evaluation import (
    Round,
    evaluate,
    live_boards,
    live_protocol,
    load_agent,
    load_protocol,
    protocols,
    why_development,
)
from tests.leaderboard.conftest import NAME, Finished
from tests.leaderboard.forge import PROTOCOL

CITIES = "dangerous-taxi-pickup-cities/v1"


def test_a_column_is_added_by_one_line(
    submissions: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: Callable[..., Finished]
) -> None:
    lost = Column(
        "lost",
        lambda row: row.entry.result.outcomes.count("0") * 1_000,
        count,
        ("download", "board", "paper", "entry", "command"),
        head="Lost",
        unit="‰",
        note="of tasks",
        label="Episodes lost",
        words=", {} lost",
    )
    monkeypatch.setattr(columns, "COLUMNS", (*columns.COLUMNS, lost))
    site = tmp_path / "site"
    build(submissions, site)
    (row,) = json.loads((site / "leaderboard.json").read_text())
    value, board = row["lost"], site / "boards" / PROTOCOL
    text = f"{value // 1_000}\u202f000"
    assert value > 0
    assert next(csv.DictReader(io.StringIO((site / "leaderboard.csv").read_text())))["lost"] == str(value)
    assert 'data-sort="num">Lost, ‰ <small>of tasks</small></th>' in (board / "index.html").read_text()
    assert (
        f'<td class="num" data-label="Lost, ‰" data-value="{value}">{text}</td>' in (board / "index.html").read_text()
    )
    assert (
        f"<span>Episodes lost</span><b>{text}‰</b>" in (site / "entries" / PROTOCOL / NAME / "index.html").read_text()
    )
    for paper, separator in (("table.tex", " & "), ("table.md", " | ")):
        lines = (board / paper).read_text().splitlines()
        assert any(f"Steps{separator}Lost, ‰" in line for line in lines)
        assert any(f"{separator}{value}" in line for line in lines)
    assert command("verify", submissions / PROTOCOL / NAME).out[0].endswith(f"replayed, {value} lost")


def test_a_board_is_added_where_its_family_defines_its_protocols(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = shutil.copytree(str(protocols._folder()), tmp_path / "protocols")
    monkeypatch.setattr(protocols, "_folder", lambda: folder)
    cities = load_protocol(CITIES)
    night = replace(cities, name="dangerous-taxi-night/v1", episodes=cities.episodes[:3], live=5)
    day = replace(night, name="dangerous-taxi-day/v1", live="its maps are public")
    protocols.write_protocols([night, day])
    assert load_protocol(night.name) == night
    assert night.digest == replace(night, live="its maps are public").digest
    assert night.name in live_boards()
    assert day.name not in live_boards()
    assert why_development(day.name) == "its maps are public"
    assert len(live_protocol(Round(night.name, "2026-12"), "beacon").episodes) == 5
    listed = CliRunner().invoke(app, ["protocols"]).stdout
    assert f"{night.name:33} 3 episodes, 1 run of at most 15 steps, live\n" in listed
    assert f"{day.name:33} 3 episodes, 1 run of at most 15 steps\n" in listed
    for board in (night, day):
        evaluate(load_agent("random"), board.name, out=tmp_path / board.name)
        pack(tmp_path / board.name, name="random", out=tmp_path / "submissions")
    build(tmp_path / "submissions", tmp_path / "site")
    pages = [(tmp_path / "site" / "boards" / board.name / "index.html").read_text() for board in (night, day)]
    assert ">live rounds</span>" in pages[0]
    assert ">development</span> Its maps are public: an agent may know them by heart." in pages[1]
