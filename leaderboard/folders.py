"""Writing a whole folder, or nothing."""

from __future__ import annotations

import os
import shutil
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

from natlang_envs.errors import UsageError

SUBMISSIONS = Path("leaderboard") / "submissions"  # where the entries are, seen from a checkout


@contextmanager
def whole_folder(target: Path, *, replace: bool = False) -> Generator[Path, None, None]:
    """Yield a new folder beside `target`, and rename it to `target` once the block has ended without an exception.

    Args:
        target: The folder to make.
        replace: Whether a folder that is already there gives way.

    Raises:
        UsageError: The folder is already there, or cannot be written.
    """
    unfinished = target.with_name(f".{target.name}.unfinished-{os.getpid()}")
    former = target.with_name(f".{target.name}.former-{os.getpid()}")
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        unfinished.mkdir()
        yield unfinished
        if target.exists():
            if not replace:
                raise UsageError(f"{target} already exists: choose another name, or delete it")
            target.rename(former)
        unfinished.rename(target)
    except OSError as error:
        if former.exists() and not target.exists():
            former.rename(target)
        raise UsageError(f"{target} cannot be written ({error}): choose another folder") from None
    finally:
        shutil.rmtree(unfinished, ignore_errors=True)
        if target.exists():
            shutil.rmtree(former, ignore_errors=True)
