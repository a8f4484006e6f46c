"""Whether the lab is here, for the tests that run tests in the sandbox."""

from __future__ import annotations

import pytest

from natlang_envs.change.free_edits.pinned_pytest import lab
from natlang_envs.errors import UsageError


def _missing() -> str:
    try:
        lab()
    except UsageError as error:
        return str(error)
    return ""


needs_lab = pytest.mark.skipif(bool(_missing()), reason=_missing())
