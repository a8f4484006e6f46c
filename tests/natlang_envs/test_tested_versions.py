"""The versions that other libraries are tested with."""

from __future__ import annotations

import logging
import re
from pathlib import Path

import pytest

from natlang_envs.learners import tested_versions

ROOT = Path(__file__).parents[2]
PINNED = re.compile(r"^([a-z0-9-]+)(?:\[[a-z]+\])?==(\S+)$", re.MULTILINE)


@pytest.mark.parametrize("installed", ["1.15.0", "1.16.1", "2.0"])
def test_another_version_than_the_tested_one_is_logged_in_one_line_with_both(
    installed: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(tested_versions, "version", lambda _: installed)
    tested_versions.warn_if_untested("trl")
    (line,) = caplog.messages
    assert (
        line == f"trl {installed} is installed; natlang_envs was tested with {tested_versions.TESTED_VERSIONS['trl']}"
    )
    assert caplog.records[0].levelno == logging.WARNING


def test_nothing_is_logged_for_the_tested_version_or_a_missing_package(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(tested_versions, "version", lambda _: tested_versions.TESTED_VERSIONS["trl"])
    tested_versions.warn_if_untested("trl")
    monkeypatch.undo()
    tested_versions.warn_if_untested("skyrl-gym")  # which the tests do without
    assert not caplog.messages


def test_make_libraries_installs_the_tested_versions_and_every_adapter_and_example_checks_its_own() -> None:
    pins: dict[str, str] = {}
    for file in (ROOT / "examples/libraries").glob("requirements-*.txt"):
        pins |= dict(PINNED.findall(file.read_text(encoding="utf-8")))
    assert {name: pins.get(name) for name in tested_versions.TESTED_VERSIONS} == tested_versions.TESTED_VERSIONS
    sources = [*ROOT.glob("natlang_envs/learners/*.py"), *ROOT.glob("examples/libraries/*.py")]
    sources.append(ROOT / "natlang_envs/inspect.py")
    checked = {name for each in sources for name in re.findall(r'^warn_if_untested\("(.+)"\)$', each.read_text(), re.M)}
    assert checked == set(tested_versions.TESTED_VERSIONS)
