"""Files that `.gitignore` leaves out of an index: virtual environments, caches and build outputs.

The rules are git's for untracked files. Tracked files that match a rule are left out too, because `.git` is not read.

The package pathspec would do the same, but makes regular expressions of patterns: one line with thirty times `**/a/`
takes it more than 20 seconds for a path, and a `.gitignore` may be hostile. Here a pattern takes linear time.
"""

from __future__ import annotations

import fnmatch
import os
import re
import stat
from collections.abc import Iterable, Sequence
from typing import NamedTuple

IGNORE_FILE = ".gitignore"
_LARGEST = 1 << 20  # bytes of one such file that are read
_ESCAPE = re.compile(r"\\(.)")
_ANY = re.compile("")


class Rule(NamedTuple):
    """One line of a `.gitignore`.

    Attributes:
        parts: A pattern for each part of a path; None stands for any number of parts.
        depth: The number of parts of the folder with the `.gitignore`; patterns are relative to it.
        folders_only: Whether it is about folders alone.
        keeps: Whether it takes back what rules before it left out.
    """

    parts: tuple[re.Pattern[str] | None, ...]
    depth: int
    folders_only: bool
    keeps: bool

    def fits(self, parts: Sequence[str]) -> bool:
        """Return whether it is about a path, which lies below the rule's folder."""
        if len(self.parts) == 2 and self.parts[0] is None and (last := self.parts[1]) is not None:
            return last.match(parts[-1]) is not None  # by far the most usual: a name, at any depth
        states = self._with_skips({0})
        for part in parts[self.depth :]:
            after: set[int] = set()
            for state in states:
                if state < len(self.parts):
                    pattern = self.parts[state]
                    if pattern is None:
                        after.add(state)
                    elif pattern.match(part):
                        after.add(state + 1)
            states = self._with_skips(after)
        return len(self.parts) in states

    def _with_skips(self, states: Iterable[int]) -> set[int]:
        found: set[int] = set()
        for state in states:
            found.add(state)
            while state < len(self.parts) and self.parts[state] is None:
                state += 1
                found.add(state)
        return found


def read_rules(content: bytes, depth: int) -> tuple[Rule, ...]:
    """Return the rules of a `.gitignore` that lies `depth` folders below the root."""
    lines = content.decode("utf-8", "replace").splitlines()
    return tuple(rule for line in lines if (rule := _rule(line, depth)) is not None)


def _rule(line: str, depth: int) -> Rule | None:
    line = re.sub(r"(?<!\\) +$", "", line)
    if not line or line.startswith("#"):
        return None
    keeps = line.startswith("!")
    pattern = line[1:] if keeps else line
    folders_only = pattern.endswith("/")
    pattern = pattern.rstrip("/")
    names = pattern.lstrip("/").split("/")
    if not pattern.strip("/"):
        return None
    parts: list[re.Pattern[str] | None] = [] if "/" in pattern else [None]
    for number, name in enumerate(names):
        if name != "**":
            parts.append(_pattern(name))
        elif number == len(names) - 1:
            parts += [_ANY, None]  # what lies in a folder, not the folder itself
        elif not parts or parts[-1] is not None:  # `**/**` says no more than `**`
            parts.append(None)
    return Rule(tuple(parts), depth, folders_only, keeps)


def _pattern(name: str) -> re.Pattern[str]:
    plain = _ESCAPE.sub(lambda found: f"[{found[1]}]" if found[1] in "*?[" else found[1], name)
    try:
        return re.compile(fnmatch.translate(plain))
    except re.error:
        return re.compile(fnmatch.translate(re.sub(r"[*?\[]", "[\\g<0>]", plain)))


def rules_in(folder: int, depth: int) -> tuple[Rule, ...]:
    """Return the rules of the `.gitignore` in an open folder, if there is one."""
    try:
        opened = os.open(IGNORE_FILE, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=folder)
    except OSError:
        return ()
    try:
        regular = stat.S_ISREG(os.fstat(opened).st_mode)
        return read_rules(os.read(opened, _LARGEST), depth) if regular else ()
    finally:
        os.close(opened)


def is_ignored(rules: Sequence[Rule], path: str, folder: bool) -> bool:
    """Return whether rules leave a path out; the last one that is about it decides."""
    parts = path.split("/")
    for rule in reversed(rules):
        if (folder or not rule.folders_only) and rule.fits(parts):
            return not rule.keeps
    return False
