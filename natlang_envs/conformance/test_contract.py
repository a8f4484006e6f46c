"""The tests that `pytest --pyargs natlang_envs.conformance` runs: one per check and environment."""

from __future__ import annotations

import json
import sys
from typing import Any, cast

import gymnasium
import pytest

from natlang_envs.conformance import CHECKS, Case, Check, NotApplicable


def cases(config: pytest.Config) -> list[Case]:
    """Return every environment of the command line with every set of arguments."""
    # Without the plugin, as in a checkout that is not installed, there are no such options.
    ids, texts = (cast("list[str]", config.getoption(name, [])) for name in ("natlang_env", "natlang_kwargs"))
    if not ids:
        raise pytest.UsageError("say which environment to check: --natlang-env ID")
    if any(":" in each for each in ids):
        sys.path.insert(0, "")  # of the current folder too: `pytest` does not look there, as `python -m pytest` does
    found = [Case(env_id, _arguments(text)) for env_id in ids for text in texts or ["{}"]]
    for case in found:
        try:
            case.make().close()
        except (gymnasium.error.Error, ImportError, TypeError, ValueError) as error:
            raise pytest.UsageError(f"--natlang-env {case} cannot be made: {error}") from None
    return found


def _arguments(text: str) -> dict[str, Any]:
    try:
        value: Any = json.loads(text)
    except ValueError as error:
        raise pytest.UsageError(f"--natlang-kwargs {text!r} is not JSON: {error}") from None
    if not isinstance(value, dict):
        raise pytest.UsageError(f'--natlang-kwargs {text!r} is not a JSON object such as \'{{"split": "test"}}\'')
    return cast("dict[str, Any]", value)


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    found = cases(metafunc.config)
    metafunc.parametrize("case", found, ids=str)
    metafunc.parametrize("check", CHECKS, ids=lambda check: check.__name__)


def test_contract(check: Check, case: Case) -> None:
    """Run one check; what the environment does not promise is skipped."""
    try:
        check(case)
    except NotApplicable as reason:
        pytest.skip(str(reason))
