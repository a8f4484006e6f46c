"""Runs Git; None means that the command failed, as in an installed package, which has no repository."""

from __future__ import annotations

import subprocess
from pathlib import Path


def git(arguments: list[str], where: Path) -> str | None:
    printed = git_bytes(arguments, where)
    return None if printed is None else printed.decode().strip()


def git_bytes(arguments: list[str], where: Path) -> bytes | None:
    try:
        ran = subprocess.run(["git", *arguments], cwd=where, capture_output=True, check=False)
    except OSError:
        return None
    return ran.stdout if ran.returncode == 0 else None
