"""The tests that `pytest --pyargs natlang_envs.conformance` runs: one per check and environment."""

from __future__ import annotations

import json
from typing import Any, cast

import gymnasium
import pytest

from natlang_envs.conformance.case import Case, NotApplicable
from natlang_envs.conformance.checks import CHECKS, Check


def cases(config: pytest.Config) -> list[Case]:
    """Return every environment of the command line with every set of arguments."""
    ids = _option(config, "natlang_env")
    if not ids:
        raise pytest.UsageError("say which environment to check: --natlang-env ID")
    found = [Case(env_id, kwargs) for env_id in ids for kwargs in _arguments(_option(config, "natlang_kwargs"))]
    for case in found:
        try:
            case.make().close()
        except (gymnasium.error.Error, ImportError, TypeError, ValueError) as error:
            raise pytest.UsageError(f"--natlang-env {case} cannot be made: {error}") from None
    return found


def _option(config: pytest.Config, name: str) -> list[str]:
    # Without the plugin, as in a checkout that is not installed, there is no such option.
    return cast("list[str]", config.getoption(name, []))


def _arguments(texts: list[str]) -> list[dict[str, Any]]:
    arguments: list[dict[str, Any]] = []
    for text in texts or ["{}"]:
        try:
            value: Any = json.loads(text)
        except ValueError as error:
            raise pytest.UsageError(f"--natlang-kwargs {text!r} is not JSON: {error}") from None
        if not isinstance(value, dict):
            raise pytest.UsageError(f'--natlang-kwargs {text!r} is not a JSON object such as \'{{"split": "test"}}\'')
        arguments.append(value)  # pyright: ignore[reportUnknownArgumentType]
    return arguments


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Make one test a check and environment."""
    found = cases(metafunc.config)
    metafunc.parametrize("case", found, ids=str)
    metafunc.parametrize("check", CHECKS, ids=lambda check: check.__name__)


def test_contract(check: Check, case: Case) -> None:
    """Run one check; what the environment does not promise is skipped."""
    try:
        check(case)
    except NotApplicable as reason:
        pytest.skip(str(reason))
