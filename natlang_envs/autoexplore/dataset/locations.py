"""The folder of the dataset's own files, and the sources of the Coffee Company in it."""

from __future__ import annotations

import hashlib
from functools import cache
from pathlib import Path


def data_folder() -> Path:
    """Return the folder of the dataset's own files: in the checkout, or where the wheel put them."""
    checkout = Path(__file__).parents[3] / "datasets" / "autoexplore"
    return checkout if checkout.is_dir() else Path(__file__).parent / "data"


def coffee_files() -> list[Path]:
    """Return the hand-written files of the Coffee Company, sorted; pip compiles Python files where it installs them."""
    found = (data_folder() / "coffee_company").rglob("*")
    return sorted(path for path in found if path.is_file() and "__pycache__" not in path.parts)


@cache
def coffee_sources() -> str:
    """Return a digest of what the Coffee Company is built from."""
    total = hashlib.sha256()
    for path in (*coffee_files(), *sorted(Path(__file__).parent.joinpath("coffee_company").glob("*.py"))):
        content = hashlib.sha256(path.read_bytes()).hexdigest()
        total.update(f"{content} {path.parent.name}/{path.name}\n".encode())
    return total.hexdigest()
