"""A patch as commands: what an entry of the leaderboard records, since programs print other things each time.

`patch ["PATH", START, END, "TEXT"]` puts a text in the place of some characters of a file that counts. The commands of
a file go from its end to its beginning, so that each is about places of the text as it was.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from difflib import SequenceMatcher
from typing import Any, cast

from natlang_envs.env import MAX_COMMAND_LENGTH
from natlang_envs.sandbox import CommandResult

WORD = "patch"
_ROOM = MAX_COMMAND_LENGTH - 300  # characters of JSON for the text of one command
_MOST_HUNKS = 10  # of a file; more become one


def commands(before: Mapping[str, str], after: Mapping[str, str]) -> list[str]:
    """Return the commands that make changed files of those before."""
    found: list[str] = []
    for path in sorted(after):
        hunks = list(_hunks(before[path], after[path]))
        if len(hunks) > _MOST_HUNKS:
            start, end = hunks[0][0], hunks[-1][1]
            hunks = [(start, end, after[path][start : len(after[path]) - len(before[path]) + end])]
        for start, end, text in reversed(hunks):
            for piece in _pieces(text):
                found.append(f"{WORD} {json.dumps([path, start, end, piece], ensure_ascii=False)}")
                start = end = start + len(piece)
    return found


def patched(texts: Mapping[str, str], arguments: str) -> tuple[str, str] | str:
    """Return the path and new text of a file after a command, without its first word; or why it is none."""
    try:
        given: Any = json.loads(arguments)
    except (ValueError, RecursionError):
        given = None
    if not isinstance(given, list) or [type(each) for each in cast("list[Any]", given)] != [str, int, int, str]:
        return f'{WORD}: write {WORD} ["PATH", START, END, "TEXT"]: characters START to END give way to TEXT'
    path, start, end, new = cast("tuple[str, int, int, str]", tuple(cast("list[Any]", given)))
    if path not in texts:
        return f"{WORD}: {path} is no file that counts: one of {', '.join(texts)}"
    if not 0 <= start <= end <= len(texts[path]):
        return f"{WORD}: {path} has {len(texts[path]):,} characters, not places {start} to {end}"
    try:
        new.encode()
    except UnicodeEncodeError:
        return f"{WORD}: the text holds half a character"
    return path, texts[path][:start] + new + texts[path][end:]


def applied(texts: Mapping[str, str], arguments: str, write: Callable[[str, bytes], None]) -> CommandResult:
    """Answer a command, without its first word: write the file that it changes."""
    found = patched(texts, arguments)
    if isinstance(found, str):
        return CommandResult("", f"{found}\n", 2)
    try:
        write(found[0], found[1].encode())
    except (OSError, KeyError) as error:
        return CommandResult("", f"{WORD}: {found[0]} cannot be written ({error})\n", 1)
    return CommandResult("", "", 0)


def _hunks(before: str, after: str) -> Iterator[tuple[int, int, str]]:
    """Yield the places of a text that differ, and what is there afterwards."""
    old, new = before.splitlines(keepends=True), after.splitlines(keepends=True)
    start = done = 0
    for kind, first, last, new_first, new_last in SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        start += sum(map(len, old[done:first]))
        end = start + sum(map(len, old[first:last]))
        if kind != "equal":
            yield start, end, "".join(new[new_first:new_last])
        start, done = end, last


def _pieces(text: str) -> Iterator[str]:
    """Yield a text in parts that fit into commands, at least one."""
    while len(json.dumps(text, ensure_ascii=False)) > _ROOM:
        size = _ROOM // 2
        while len(json.dumps(text[: size + 200], ensure_ascii=False)) <= _ROOM:
            size += 200
        while len(json.dumps(text[:size], ensure_ascii=False)) > _ROOM:
            size //= 2
        yield text[:size]
        text = text[size:]
    yield text
