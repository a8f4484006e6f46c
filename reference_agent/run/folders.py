"""Folders that are complete or missing."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from safetensors import SafetensorError

from natlang_envs.files import whole_folder

_SYSTEM_ERROR = re.compile(r"\(os error (\d+)\)")


def finished(folder: Path, make: Callable[[Path], None]) -> Path:
    """Return `folder`, made by `make` in a place beside it and renamed when whole, unless it is there already."""
    if not folder.exists():
        with whole_folder(folder, keep=True) as unfinished, disk_errors():
            make(unfinished)
    return folder


@contextmanager
def disk_errors() -> Iterator[None]:
    """Turn what safetensors raises where the disk fails, which is an error of its own, into the system's `OSError`."""
    try:
        yield
    except SafetensorError as error:
        number = _SYSTEM_ERROR.search(str(error))
        if number is None:
            raise
        raise OSError(int(number[1]), os.strerror(int(number[1]))) from None
