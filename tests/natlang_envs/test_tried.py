"""The versions that other libraries were tried with."""

from __future__ import annotations

import logging
import re
from pathlib import Path

import pytest

from natlang_envs.learners import tried

ROOT = Path(__file__).parents[2]
PINNED = re.compile(r"^([a-z0-9-]+)(?:\[[a-z]+\])?==(\S+)$", re.MULTILINE)


@pytest.mark.parametrize("installed", ["1.15.0", "1.16.1", "2.0"])
def test_another_version_than_the_one_that_was_tried_is_told_in_one_line_with_both(
    installed: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(tried, "version", lambda _: installed)
    tried.tell_if_untried("trl")
    (line,) = caplog.messages
    assert line == f"trl {installed} is installed; natlang_envs was tried with {tried.TRIED['trl']}"
    assert caplog.records[0].levelno == logging.WARNING


def test_nothing_is_told_of_the_version_that_was_tried_or_of_what_is_not_installed(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(tried, "version", lambda _: tried.TRIED["trl"])
    tried.tell_if_untried("trl")
    monkeypatch.undo()
    tried.tell_if_untried("skyrl-gym")  # which the tests do without
    assert not caplog.messages


def test_the_versions_are_those_that_make_libraries_installs_and_every_adapter_and_example_tells() -> None:
    pins: dict[str, str] = {}
    for file in (ROOT / "examples/libraries").glob("requirements-*.txt"):
        pins |= dict(PINNED.findall(file.read_text(encoding="utf-8")))
    assert {name: pins.get(name) for name in tried.TRIED} == tried.TRIED
    sources = [*ROOT.glob("natlang_envs/learners/*.py"), *ROOT.glob("examples/libraries/*.py")]
    sources.append(ROOT / "natlang_envs/inspect.py")
    told = {name for each in sources for name in re.findall(r'^tell_if_untried\("(.+)"\)$', each.read_text(), re.M)}
    assert told == set(tried.TRIED)
