"""What Git knows of the entries; nothing where it knows nothing, as in an installed package."""

from __future__ import annotations

import subprocess
from pathlib import Path


def git(arguments: list[str], where: Path) -> str | None:
    """Return what a command of Git prints in a folder, or None if it fails there."""
    printed = git_bytes(arguments, where)
    return None if printed is None else printed.decode().strip()


def git_bytes(arguments: list[str], where: Path) -> bytes | None:
    """Return what a command of Git prints in a folder, as it is, or None if it fails there."""
    try:
        ran = subprocess.run(["git", *arguments], cwd=where, capture_output=True, check=False)
    except OSError:
        return None
    return ran.stdout if ran.returncode == 0 else None
