"""Files that git ignores, left out of an index: virtual environments, caches and build outputs.

The rules are git's for untracked files: those of `.gitignore` in each folder and in the folders above the repository
that belong to the same working tree, of `.git/info/exclude`, and of the user's `core.excludesFile`. Tracked files that
match a rule are left out too, because git's index is not read; nor are the repository's own settings, which may name or
include whatever its author likes. What cannot be read in a moment is refused by name.

The package pathspec is no help: it makes backtracking expressions of patterns, and a `.gitignore` may be hostile (24
bytes of `*a` take it more than 40 seconds for one name); nor does it know `[[:digit:]]`.
"""

from __future__ import annotations

import os
import re
import subprocess
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Literal, NamedTuple, TypeAlias

from natlang_envs.errors import UsageError
from natlang_envs.repository.entries import FILE_FLAGS, NOT_REGULAR, read_regular
from natlang_envs.repository.wildmatch import wildmatch

Ignored: TypeAlias = bool | Literal["built"]  # whether it is there: all of it, none, or what a build wrote
IGNORE_FILE = ".gitignore"
LARGEST = 1 << 20  # bytes of a file of rules
_SECONDS = 5.0  # for git to say where the user's rules are
_LONGEST = 4096  # bytes of a rule: no path is longer
_PATIENCE, _PER_NAME = 0.5, 0.000_25  # seconds of processor time for all rules, and for each name that they are about
_SHOW_ALL = "show all files with --ignored"


class Rule(NamedTuple):
    pattern: re.Pattern[bytes]  # what the path below `base`, or with `by_name` the name, is as a whole
    base: bytes  # the folder with the file, as bytes with a slash at the end; empty for the top
    by_name: bool  # whether it is about names at any depth
    folders_only: bool  # whether it is about folders alone
    keeps: bool  # whether it takes back what rules before it left out


class Patience:
    """The time that the rules of one repository may take."""

    def __init__(self) -> None:
        self._begun, self._names = time.thread_time(), 0

    def check(self, names: int = 0) -> None:
        """Raise `UsageError` where the rules take too long; `names` are those that they have decided about since."""
        self._names += names
        if time.thread_time() - self._begun > _PATIENCE + self._names * _PER_NAME:
            raise UsageError(f"its {IGNORE_FILE} files hold rules that take too long: {_SHOW_ALL}")


def read_rules(content: bytes, base: bytes = b"", patience: Patience | None = None) -> tuple[Rule, ...]:
    patience = patience or Patience()
    rules: list[Rule] = []
    for line in content.removeprefix(b"\xef\xbb\xbf").split(b"\n"):
        patience.check()
        if (rule := _rule(line.removesuffix(b"\r"), base)) is not None:
            rules.append(rule)
    return tuple(rules)


def _rule(line: bytes, base: bytes) -> Rule | None:
    # Spaces at the end do not count, but for one after a backslash. A NUL ends a line.
    kept = re.match(rb"(?:\\.|[^ \\]|\\\Z| ++(?!\Z))*+", line.partition(b"\0")[0], re.DOTALL)
    line = kept[0] if kept else b""
    if not line or line.startswith(b"#"):
        return None
    if len(line) > _LONGEST:
        raise UsageError(f"a rule of {IGNORE_FILE} is longer than {_LONGEST:,} bytes: {_SHOW_ALL}")
    keeps = line.startswith(b"!")
    pattern = line[1:] if keeps else line
    folders_only = pattern.endswith(b"/")
    pattern = pattern.removesuffix(b"/")
    by_name = b"/" not in pattern
    return Rule(_pattern(pattern.removeprefix(b"/"), by_name), base, by_name, folders_only, keeps)


def _pattern(pattern: bytes, by_name: bool) -> re.Pattern[bytes]:
    """Return what a pattern fits: git compares what stands before the first wildcard by itself."""
    plain = re.match(rb"[^*?\[\\]*", pattern)
    prefix = b"" if by_name or plain is None else plain[0]
    rest = wildmatch(pattern[len(prefix) :])
    return re.compile(re.escape(prefix) + rest.pattern, re.DOTALL) if prefix else rest


def is_ignored(rules: Sequence[Rule], path: bytes, folder: bool) -> bool:
    """Return whether rules leave a path, from the top of the working tree, out; the last one about it decides."""
    name = path.rfind(b"/") + 1
    for rule in reversed(rules):
        start = name if rule.by_name else len(rule.base)
        if (folder or not rule.folders_only) and rule.pattern.fullmatch(path, start):
            return not rule.keeps
    return False


def rules_in(folder: int, base: bytes, patience: Patience, below: bool, built: bool) -> tuple[Rule, ...]:
    """Return the rules of an open folder, which is the repository's own or `below` it.

    With `built`, rules outside the repository and of its top leave out no file that a build writes for Python.
    Most programs that make a virtual environment put the rule `*` in it; in one without rules that is the rule, too.
    """
    rules = _rules_of(IGNORE_FILE, base, FILE_FLAGS, patience, folder)
    if below and not rules:
        with suppress(OSError):
            os.stat("pyvenv.cfg", dir_fd=folder, follow_symlinks=False)
            return read_rules(b"*", base)
    return rules + (read_rules(b"!*.py\n!*.so\n!*.mo", base) if built and not below else ())


def _rules_of(
    path: str | Path, base: bytes, flags: int, patience: Patience, folder: int | None = None
) -> tuple[Rule, ...]:
    where = f"{os.fsdecode(base)}{path}"
    try:
        content = read_regular(path, LARGEST, flags, folder)
    except (OSError, ValueError) as error:
        if NOT_REGULAR in str(error):
            raise UsageError(f"{where} is not a regular file, so its rules cannot be read: {_SHOW_ALL}") from None
        return ()
    if len(content) > LARGEST:
        raise UsageError(f"{where} holds more than {LARGEST:,} bytes of rules: {_SHOW_ALL}")
    return read_rules(content, base, patience)


def rules_above(repository: Path, patience: Patience) -> tuple[tuple[Rule, ...], bytes]:
    """Return the rules that stand outside a folder, and its path from the top of the working tree it is in.

    Outside of a working tree there are none.
    """
    above = ((each, _git_folder(each)) for each in (repository, *repository.parents))
    top, git = next(((each, git) for each, git in above if git), (repository, None))
    if git is None:
        return (), b""
    links = FILE_FLAGS & ~os.O_NOFOLLOW
    rules = _rules_of(_users_file(top), b"", links, patience) + _rules_of(git / "info/exclude", b"", links, patience)
    path = b""
    for part in repository.relative_to(top).parts:
        rules += _rules_of(top / os.fsdecode(path) / IGNORE_FILE, path, FILE_FLAGS, patience)
        path += os.fsencode(part) + b"/"
    return rules, path


def _git_folder(folder: Path) -> Path | None:
    """Return git's own folder of the working tree whose top is `folder`; of a linked one, that of the first."""
    git = folder / ".git"
    if git.is_file():
        named = _first_line(git)
        if not named.startswith("gitdir:"):
            return None
        git = folder / named.removeprefix("gitdir:").strip()
        git /= _first_line(git / "commondir") or "."
    try:
        return git if (git / "HEAD").exists() else None
    except OSError:  # it names no path
        return None


def _first_line(path: Path) -> str:
    try:
        return os.fsdecode(read_regular(path, _LONGEST, FILE_FLAGS & ~os.O_NOFOLLOW).partition(b"\n")[0].rstrip(b"\r"))
    except (OSError, ValueError):
        return ""


def _users_file(top: Path) -> Path:
    """Return the file of rules that git's settings name for all repositories of a user."""
    asked = ["git", "config", "--type=path", "--get", "core.excludesFile"]
    alone = {**os.environ, "GIT_DIR": os.devnull}  # no repository's own settings
    try:
        done = subprocess.run(
            asked, capture_output=True, timeout=_SECONDS, stdin=subprocess.DEVNULL, check=False, env=alone, cwd="/"
        )
        named = os.fsdecode(done.stdout.removesuffix(b"\n"))
    except subprocess.TimeoutExpired:
        raise UsageError(f"git does not say which file core.excludesFile names: {_SHOW_ALL}") from None
    except OSError:  # git is not installed
        named = ""
    if named:
        return top / named
    settings = os.environ.get("XDG_CONFIG_HOME") or os.path.expanduser("~/.config")  # noqa: PTH111 - there may be no home
    return Path(settings, "git", "ignore")


def leaves_out(rules: Sequence[Rule], base: bytes, entry: os.DirEntry[str]) -> bool:
    return is_ignored(rules, base + os.fsencode(entry.name), entry.is_dir(follow_symlinks=False))
