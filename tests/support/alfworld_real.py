"""Tests that need the real TextWorld, its package alone, or the official games."""

from __future__ import annotations

from importlib.util import find_spec

import pytest

from tests.support.alfworld_samples import official_folder

needs_textworld = pytest.mark.skipif(
    any(find_spec(package) is None for package in ("textworld", "alfworld", "fast_downward")),
    reason="the real TextWorld is not installed: run `make textworld`",
)
needs_package = pytest.mark.skipif(find_spec("alfworld") is None, reason="the alfworld package is not installed")
needs_official = pytest.mark.skipif(official_folder() is None, reason="the official games are not here: ALFWORLD_DATA")
