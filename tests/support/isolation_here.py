"""Whether anything isolates on this machine, for the tests that run programs."""

from __future__ import annotations

import pytest

from natlang_envs.errors import UsageError
from natlang_envs.sandbox.isolation.isolation import Isolation, find_isolation


def isolation_here() -> Isolation | str:
    """Return what isolates here, or the sentence that says why nothing does."""
    try:
        return find_isolation()
    except UsageError as error:
        return str(error)


def isolated() -> bool:
    return not isinstance(isolation_here(), str)


def isolation_or_skip() -> Isolation:
    found = isolation_here()
    if isinstance(found, str):
        pytest.skip(f"NOTHING ISOLATES HERE, so this was not tested: {found}")
    return found


needs_isolation = pytest.mark.skipif(not isolated(), reason="bubblewrap does not work here: no python or pip is run")
