"""`natlang check-sandbox`, with a few of the attacks; all of them are in `test_isolation_attacks.py`."""

from __future__ import annotations

from pathlib import Path

import pytest
import typer

from natlang_envs.cli import check_sandbox
from natlang_envs.cli.main import app
from natlang_envs.sandbox.attacks.cases import ATTACKS, GROUPS
from natlang_envs.sandbox.isolation.isolation import Unsafe
from tests.support.isolation_here import needs_isolation

FEW = {name: ATTACKS[name] for name in ("read: password file", "write: absolute path", "reach: TCP on loopback")}


def test_every_class_has_words() -> None:
    assert set(check_sandbox._CLASSES) == set(GROUPS)


@needs_isolation
def test_the_table_where_all_is_held(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(check_sandbox, "ATTACKS", FEW)
    check_sandbox.check_sandbox_command()
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("bubblewrap (")
    assert lines[-3].split() == ["read", "what", "is", "outside", "1", "1"]
    assert "NOT HELD" not in str(lines)


def test_what_is_not_held_is_said(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(check_sandbox, "ATTACKS", FEW)
    monkeypatch.setattr(check_sandbox, "find_isolation", Unsafe)
    with pytest.raises(typer.Exit) as left:
        check_sandbox.check_sandbox_command()
    assert left.value.exit_code == 1
    shown = capsys.readouterr().out
    assert shown.count("NOT HELD") == len(FEW)
    assert "NOT HELD: read: password file: ESCAPED" in shown


def test_it_is_a_command_of_natlang() -> None:
    assert "check-sandbox" in typer.main.get_command(app).list_commands(None)


def test_the_pages_say_how_many_attacks_there_are() -> None:
    root = Path(__file__).parents[3]
    page = (root / "docs/dev/sandbox.md").read_text(encoding="utf-8")
    assert f"tries [{len(ATTACKS)} attacks](docs/dev/sandbox.md)" in (root / "README.md").read_text(encoding="utf-8")
    assert f"with {len(ATTACKS)} programs" in " ".join(page.split())
    for kind, words in check_sandbox._CLASSES.items():
        assert f"| {words} | {len(GROUPS[kind])} | {len(GROUPS[kind])} |" in page


@needs_isolation
def test_where_the_kernel_counts_memory_the_watcher_is_tried_alone_too(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    few = {name: ATTACKS[name] for name in ("hold: attributes of files", "read: password file")}
    monkeypatch.setattr(check_sandbox, "ATTACKS", few)
    monkeypatch.setattr(check_sandbox, "groups_folder", lambda: Path("/sys/fs/cgroup"))
    check_sandbox.check_sandbox_command()
    assert [line.split()[-2:] for line in capsys.readouterr().out.splitlines()[-2:]] == [["2", "2"], ["1", "1"]]
