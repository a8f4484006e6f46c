"""Files and folders written whole or not at all, the cache folder, and Python isolated from the current folder."""

from __future__ import annotations

import os
import secrets
import shutil
import subprocess
import sys
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path

from natlang_envs.errors import UsageError

CACHE_VARIABLE = "NATLANG_CACHE"
_NEW = os.O_CREAT | os.O_EXCL | os.O_WRONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0)


def write_whole(path: Path, content: bytes) -> None:
    """Write a file by renaming a finished one into place: a killed write leaves the old file.

    The unfinished file has a fresh name in the same folder, so nothing that lies there is followed or overwritten. What
    is at `path` is replaced, not followed: a link becomes a file, and its target stays as it is.

    Args:
        path: The file; its folder is made if it is missing.
        content: All of its bytes.

    Raises:
        OSError: It cannot be written.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    unfinished = path.with_name(f".{secrets.token_hex(8)}.unfinished")
    try:
        with os.fdopen(os.open(unfinished, _NEW, 0o666), "wb") as file:
            file.write(content)
        unfinished.replace(path)
    except BaseException:
        with suppress(OSError):
            unfinished.unlink()
        raise


@contextmanager
def whole_folder(
    target: Path,
    *,
    replace: bool = False,
    keep: bool = False,
    explain: Callable[[OSError, Path], str] | None = None,
) -> Generator[Path, None, None]:
    """Yield a new folder beside `target`, and rename it to `target` once the block has ended without an exception.

    Args:
        target: The folder to make.
        replace: Whether a folder that is already there gives way.
        keep: Whether a folder that is there by the end is kept in its place: another process was quicker, and made the
            same.
        explain: Returns the message for an error of the system and the folder that `target` is in.

    Raises:
        UsageError: The folder is already there, or cannot be written.
    """
    mark = secrets.token_hex(8)
    unfinished = target.with_name(f".{mark}.unfinished")
    former = target.with_name(f".{mark}.former")
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        unfinished.mkdir()
        yield unfinished
        if target.exists():
            if keep:
                return
            if not replace:
                raise UsageError(f"{target} already exists: choose another name, or delete it")
            target.rename(former)
        unfinished.rename(target)
    except OSError as error:
        if former.exists() and not target.exists():
            former.rename(target)
        why = f"{target} cannot be written ({error}): choose another folder"
        raise UsageError(explain(error, target.parent) if explain else why) from None
    finally:
        shutil.rmtree(unfinished, ignore_errors=True)
        if target.exists():
            shutil.rmtree(former, ignore_errors=True)


def cache_folder() -> Path:
    """Return the folder for what is fetched and built: `NATLANG_CACHE`, or one in the user's cache folder."""
    given = os.environ.get(CACHE_VARIABLE)
    if given:
        return Path(given).expanduser().absolute()
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches" / "natlang_envs"
    base = os.environ.get("XDG_CACHE_HOME", "")
    return (Path(base) if Path(base).is_absolute() else Path.home() / ".cache") / "natlang_envs"


def run_python(
    *arguments: str, environment: Mapping[str, str] | None = None, timeout: float | None = None
) -> subprocess.CompletedProcess[str]:
    """Run this Python on the host, isolated from the current folder, and return what it printed.

    A module of the standard library's or pip's name that lies in the user's current folder is not imported: `-I`
    keeps the folder, `PYTHON*` variables and the user's site-packages out, and the working folder is the root.

    Args:
        *arguments: For example `"-m", "pip", "config", "list"`. Paths must be absolute.
        environment: The whole environment; None for that of this process.
        timeout: Seconds.

    Raises:
        OSError: It cannot be started.
        subprocess.TimeoutExpired: It took too long.
    """
    return subprocess.run(
        [sys.executable, "-I", *arguments],
        cwd=Path(sys.executable).anchor,
        env=None if environment is None else dict(environment),
        capture_output=True,
        text=True,
        timeout=timeout,
        check=False,
    )
