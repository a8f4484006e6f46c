"""Files and folders written whole or not at all, locks, the cache folder, and Python isolated from the current folder.

An unfinished file or folder is called `.<16 hexadecimal digits>.unfinished`, and is locked by the process that writes
it. The system drops the lock when that process ends, however it ends, and the next write beside it removes those that
nobody holds.
"""

from __future__ import annotations

import json
import os
import re
import secrets
import shutil
import subprocess
import sys
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from natlang_envs.errors import UsageError, reason

CACHE_VARIABLE = "NATLANG_CACHE"
_SAFE = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_NONBLOCK", 0)
_NEW = os.O_CREAT | os.O_EXCL | os.O_WRONLY | _SAFE
_UNFINISHED = re.compile(r"\.[0-9a-f]{16}\.unfinished")


class DoubledKeyError(ValueError):
    """A JSON object has a key twice, which parsers read differently."""


def keys_once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return a JSON object's pairs as a dict, for `object_pairs_hook`; raise `DoubledKeyError` for a doubled key."""
    found = dict(pairs)
    if len(found) < len(pairs):
        names = [name for name, _ in pairs]
        raise DoubledKeyError(f"it says {next(name for name in names if names.count(name) > 1)!r} twice")
    return found


def json_line(value: Any) -> bytes:
    """Return a value as a line of JSON without spaces; where a text cannot be UTF-8, with escapes."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    try:
        return text.encode() + b"\n"
    except UnicodeEncodeError:  # half a character
        return json.dumps(value, separators=(",", ":")).encode() + b"\n"


def read_plain(path: Path, most: int, remedy: str = "") -> bytes:
    """Return the content of a plain file; a link, a folder, and a file above `most` bytes raise `UsageError`."""
    if path.is_symlink() or not path.is_file():
        raise UsageError(f"{path} is missing or is no plain file{remedy}")
    with path.open("rb") as file:
        content = file.read(most + 1)
    if len(content) > most:
        raise UsageError(f"{path} is larger than {most} bytes{remedy}")
    return content


def write_whole(path: Path, content: bytes) -> None:
    """Write a file by renaming a finished one into place: a killed write leaves the old file.

    The unfinished file has a fresh name in the same folder, so nothing that lies there is followed or overwritten. What
    is at `path` is replaced, not followed: a link becomes a file, and its target stays as it is.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    unfinished, opened = _begin(path.parent, lambda new: os.open(new, _NEW, 0o666))
    file = os.fdopen(opened, "wb")
    try:
        file.write(content)
        file.flush()
        if os.name == "nt":  # an open file cannot be renamed there
            file.close()
        unfinished.replace(path)
    except BaseException:
        with suppress(OSError):
            unfinished.unlink()
        raise
    finally:
        file.close()


def remove_leftovers(folder: Path) -> None:
    """Remove unfinished files and folders of this user's dead processes; those of living ones are locked and stay."""
    try:
        names = [name for name in os.listdir(folder) if _UNFINISHED.fullmatch(name)]  # noqa: PTH208 - names are enough
    except OSError:
        return
    for each in (folder / name for name in names):
        with suppress(OSError):
            opened = os.open(each, os.O_RDONLY | _SAFE)
            try:
                if lock(opened) and os.fstat(opened).st_uid == os.geteuid():
                    shutil.rmtree(each) if each.is_dir() else each.unlink()
            finally:
                os.close(opened)


def _begin(folder: Path, make: Callable[[Path], int | None]) -> tuple[Path, int]:
    """Return the path of a new unfinished file or folder, and the descriptor that holds its lock, or -1."""
    remove_leftovers(folder)
    while True:
        path = folder / f".{secrets.token_hex(8)}.unfinished"
        # Until it is locked, another process may take it for a leftover.
        if (opened := make(path)) is None:
            continue
        if opened < 0 or (lock(opened) is not False and path.exists()):
            return path, opened
        os.close(opened)


def _new_folder(path: Path) -> int | None:
    """Make a folder, and return its descriptor, or -1; None where it was removed before it could be opened."""
    path.mkdir()
    try:
        return -1 if os.name == "nt" else os.open(path, os.O_RDONLY | _SAFE)
    except FileNotFoundError:
        return None


def make_folder(folder: Path) -> None:
    """Make a folder for results, unless it is there. Raises `UsageError` where there can be none."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UsageError(f"{folder} cannot hold a run ({reason(error)}): choose another --out") from None


@contextmanager
def whole_folder(
    target: Path,
    *,
    replace: bool = False,
    keep: bool = False,
    explain: Callable[[OSError, Path], str] | None = None,
) -> Generator[Path, None, None]:
    """Yield a new folder beside `target`, and rename it to `target` once the block has ended without an exception.

    A folder that is already there is refused, gives way (`replace`), or is kept in its place (`keep`): another process
    was quicker, and made the same. `explain` returns the message for an error of the system and the folder around it.
    """
    former = target.with_name(f".{secrets.token_hex(8)}.former")
    unfinished, opened = None, -1
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        unfinished, opened = _begin(target.parent, _new_folder)
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
        why = f"{target} cannot be written ({reason(error)}): choose another folder"
        raise UsageError(explain(error, target.parent) if explain else why) from None
    finally:
        if unfinished is not None:
            shutil.rmtree(unfinished, ignore_errors=True)
        if opened >= 0:
            os.close(opened)
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
    """Run this Python on the host, isolated from the current folder, and return what it printed; paths are absolute.

    A module of the standard library's or pip's name that lies in the user's current folder is not imported: `-I`
    keeps the folder, `PYTHON*` variables and the user's site-packages out, and the working folder is the root.
    """
    command = [sys.executable, "-I", *arguments]
    root = Path(sys.executable).anchor
    return subprocess.run(command, cwd=root, env=environment, capture_output=True, text=True, timeout=timeout)


def lock(descriptor: int, *, wait: bool = False) -> bool | None:
    """Lock an open file or folder; return whether it is held now, or None where the system locks no files."""
    try:
        import fcntl
    except ImportError:
        return None
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
    except BlockingIOError:
        return False
    except OSError:  # some network file systems
        return None
    return True


@contextmanager
def alone(path: Path, *, wait: bool = True) -> Generator[bool | None]:
    """Hold a lock on a folder, or on a file made for it; yield what `lock` returns."""
    path.parent.mkdir(parents=True, exist_ok=True)
    if os.name == "nt" and path.is_dir():  # Windows opens no folders, and locks nothing here
        yield None
        return
    with opening(path, os.O_RDONLY if path.is_dir() else os.O_WRONLY | os.O_CREAT, 0o666) as descriptor:
        yield lock(descriptor, wait=wait)


@contextmanager
def only_process(folder: Path) -> Generator[None]:
    """Hold a lock on a folder that exists, so that no other process works in it."""
    with alone(folder, wait=False) as held:
        if held is False:
            raise UsageError(f"another process works in {folder}: wait for its end, or choose another --out")
        yield


@contextmanager
def opening(path: str | bytes | Path, flags: int, mode: int = 0o600, dir_fd: int | None = None) -> Generator[int]:
    """Open a file or folder as `os.open` does, and close it at the end of a block."""
    opened = os.open(path, flags, mode, dir_fd=dir_fd)
    try:
        yield opened
    finally:
        os.close(opened)
