"""What Git knows of the order in which files came; empty where it knows nothing, as in an installed package."""

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


def added_by(path: Path) -> str:
    """Return the commit that added a file or folder."""
    return _first(["--diff-filter=A", "--", str(path.absolute())], path.parent)


def named_by(path: Path, text: str) -> str:
    """Return the commit with which a text came into a file."""
    return _first([f"-S{text}", "--", str(path.absolute())], path.parent)


def follows(later: str, earlier: str, where: Path) -> bool:
    """Return whether a commit is another one, or comes after it."""
    return git(["merge-base", "--is-ancestor", earlier, later], where) is not None


def _first(arguments: list[str], where: Path) -> str:
    return (git(["log", "--format=%H", "--reverse", *arguments], where) or "").partition("\n")[0]
