"""What Git knows of the entries; nothing where it knows nothing, as in an installed package."""

from __future__ import annotations

import subprocess
from pathlib import Path


def git(arguments: list[str], where: Path) -> str | None:
    """Return what a command of Git prints in a folder, or None if it fails there."""
    try:
        ran = subprocess.run(["git", *arguments], cwd=where, capture_output=True, text=True, check=False)
    except OSError:
        return None
    return ran.stdout.strip() if ran.returncode == 0 else None
