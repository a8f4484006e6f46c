"""A real browser, for the tests of pages."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
needs_chromium = pytest.mark.skipif(CHROMIUM is None, reason="chromium is not installed: apt-get install chromium")


def rendered(page: Path, profile: Path, query: str = "", wait: int = 0, dark: bool = False) -> str:
    """Return the document of a page after its scripts ran in headless Chromium, for `wait` milliseconds of its time."""
    assert CHROMIUM is not None
    flags = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-sync"]
    flags += ["--disable-background-networking", "--disable-component-update", f"--user-data-dir={profile}"]
    flags += [f"--virtual-time-budget={wait}"] if wait else []
    flags += ["--blink-settings=preferredColorScheme=0"] if dark else []
    ran = subprocess.run(
        [CHROMIUM, *flags, "--dump-dom", page.as_uri() + query], capture_output=True, text=True, timeout=60, check=True
    )
    return ran.stdout
