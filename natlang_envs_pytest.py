"""The options of `pytest --pyargs natlang_envs.conformance --natlang-env ID [--natlang-kwargs JSON]`.

Pytest loads this in every run of everybody who has the package installed, and importing anything beneath
`natlang_envs` imports Gymnasium: so it is a module of its own, and only declares the options.
`natlang_envs/conformance/test_contract.py` reads them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pytest


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("natlang_envs", "conformance of text environments")
    group.addoption(
        "--natlang-env",
        action="append",
        default=[],
        metavar="ID",
        help="a Gymnasium id to check, or module:id; may be given several times",
    )
    group.addoption(
        "--natlang-kwargs",
        action="append",
        default=[],
        metavar="JSON",
        help="arguments for gymnasium.make; given several times, every id is checked with each",
    )
