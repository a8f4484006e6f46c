"""Edits as models write them: `*** Begin Patch`, unified diffs, and blocks of search and replace.

Lines are found by what they hold; the line numbers of a diff only choose among places of the same lines.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Literal, NamedTuple, cast

_Kind = Literal["Update", "Add", "Delete"]
_FILE = re.compile(r"\*\*\* (Update|Add|Delete) File: *(.+?)\s*")
_RANGE = re.compile(r"@@ -(\d+)(?:,\d+)? \+\d+(?:,\d+)? @@.*")
_NAMED = re.compile(r"[\s#>*`\"']*(?:(?:file|path|filename)\s*:)?[\s*`\"']*([^\s*`\"':]+)[\s*`\"':]*", re.IGNORECASE)
_SEARCH, _DIVIDER, _REPLACE = (
    re.compile(each) for each in (r"<{5,9} ?SEARCH\b.*", r"={5,9}\s*", r">{5,9} ?REPLACE\b.*")
)
_LEFT_OUT = re.compile(
    r"\W*(?:\.\.\.|\u2026)?\s*\(?(?:existing|rest of|unchanged|remaining|same as before|previous)\b.*\W*", re.IGNORECASE
)
MARKS = re.compile(
    r"^(?:\*\*\* Begin Patch|\*\*\* (?:Update|Add|Delete) File: |<{5,9} ?SEARCH\b|diff --git |--- \S[^\n]*\n\+\+\+ \S)",
    re.MULTILINE,
)


class EditError(ValueError):
    """An edit cannot be made; the message names the file and the reason."""


class _Hunk(NamedTuple):
    """Lines that others replace; a number, or the line before them, says where to look for them."""

    old: list[str]
    new: list[str]
    number: int | None = None
    after: str = ""
    single: bool = False  # whether the lines must occur once


class _Edit(NamedTuple):
    kind: _Kind
    path: str
    hunks: list[_Hunk]
    to: list[str]  # its new path, if it moves


def edited(text: str, read: Callable[[str], str | None]) -> dict[str, str | None]:
    """Return the files that the edits of a text change, by path, with their new texts; None for one that goes.

    `read` returns the text of a file, None where there is none. A text without edits raises `EditError`, too.
    """
    files: dict[str, str | None] = {}
    for edit in _read(text.replace("\r\n", "\n").split("\n")):
        path = edit.path
        before = files[path] if path in files else read(path)
        if edit.kind == "Add":
            lines = edit.hunks[0].new if edit.hunks else []
            if before is not None and (line := next(filter(_LEFT_OUT.fullmatch, lines), None)):
                raise EditError(f"{path}: {line.strip()!r} stands for lines that are left out: write them too")
            files[path] = "".join(f"{line}\n" for line in lines)
        elif before is None and not (edit.hunks and edit.kind == "Update" and not any(each.old for each in edit.hunks)):
            raise EditError(f"{path}: there is no such file")
        elif edit.kind == "Delete":
            files[path] = None
        else:
            ends = "\r\n" if "\r\n" in (before or "") else "\n"
            after = _changed(path, (before or "").replace("\r\n", "\n"), edit.hunks).replace("\n", ends)
            files[path] = None if edit.to else after
            files |= dict.fromkeys(edit.to, after)
    if not files:
        raise EditError("there is no edit in this")
    return files


def _read(lines: list[str]) -> Iterator[_Edit]:
    edit: _Edit | None = None
    named = ""
    at = 0
    while at < len(lines):
        line, following = lines[at], lines[at + 1] if at + 1 < len(lines) else ""
        at += 1
        header = _FILE.fullmatch(line)
        if header is not None or (line.startswith("--- ") and following.startswith("+++ ")):
            if edit is not None:
                yield edit
            if header is not None:
                edit = _Edit(cast("_Kind", header[1]), header[2], [], [])
            else:
                old, new = _path(line), _path(following)
                edit = _Edit("Delete" if new == "/dev/null" else "Update", old if new == "/dev/null" else new, [], [])
                at += 1
        elif _SEARCH.fullmatch(line):
            if edit is not None:
                yield edit
                edit = None
            if not named:
                raise EditError("a block of search and replace needs the path of its file on the line before it")
            old, at = _until(_DIVIDER, lines, at)
            new, at = _until(_REPLACE, lines, at)
            yield _Edit("Update", named, [_Hunk(old, new, single=True)], [])
        elif edit is not None and line.startswith("*** Move to: "):
            edit.to.append(line[13:].strip())
        elif edit is not None and line.startswith("@@"):
            number = _RANGE.fullmatch(line)
            after = "" if number else line[2:].strip().removesuffix("@@").strip()
            edit.hunks.append(_Hunk([], [], int(number[1]) - 1 if number else None, after))
        elif edit is not None and (line[:1] in (" ", "+", "-") or not line):
            if not edit.hunks:
                edit.hunks.append(_Hunk([], []))
            if line[:1] != "+" and (line or following[:1] in (" ", "+", "-")):
                edit.hunks[-1].old.append(line[1:])
            if line[:1] != "-" and (line or following[:1] in (" ", "+", "-")):
                edit.hunks[-1].new.append(line[1:])
        elif edit is not None and not line.startswith("\\"):
            yield edit
            edit = None
        if line.strip() and not line.lstrip().startswith("```") and (found := _NAMED.fullmatch(line)):
            named = found[1]
    if edit is not None:
        yield edit


def _path(line: str) -> str:
    path = line[4:].partition("\t")[0].strip()
    return path[2:] if path[:2] in ("a/", "b/") else path


def _until(end: re.Pattern[str], lines: list[str], at: int) -> tuple[list[str], int]:
    last = next((number for number in range(at, len(lines)) if end.fullmatch(lines[number])), None)
    if last is None:
        raise EditError("a block of search and replace has no end: <<<<<<< SEARCH, =======, >>>>>>> REPLACE")
    return lines[at:last], last + 1


def _changed(path: str, text: str, hunks: list[_Hunk]) -> str:
    at = 0
    for hunk in hunks:
        lines = text.split("\n")
        if hunk.after:
            at = next((number + 1 for number in range(at, len(lines)) if lines[number].strip() == hunk.after), at)
        if not hunk.old:
            last = len(lines) - (not lines[-1])
            at = min(hunk.number + 1 if hunk.number is not None else at if hunk.after else last, last)
            lines[at:at] = hunk.new
        else:
            places = _places(lines, hunk.old)
            if not places and hunk.single and text.count("\n".join(hunk.old)) == 1:  # a part of a line
                text = text.replace("\n".join(hunk.old), "\n".join(hunk.new))
                continue
            if not places:
                first = next((line.strip() for line in hunk.old if line.strip()), "")
                raise EditError(f"{path}: these lines are not in the file; they begin with {first[:80]!r}")
            if hunk.single and len(places) > 1:
                raise EditError(
                    f"{path}: these lines stand {len(places)} times in the file: give more lines around them"
                )
            later = [place for place in places if place >= at] or places
            at = later[0] if hunk.number is None else min(places, key=lambda place: abs(place - (hunk.number or 0)))
            lines[at : at + len(hunk.old)] = hunk.new
        at += len(hunk.new)
        text = "\n".join(lines)
    return text


def _places(lines: list[str], old: list[str]) -> list[int]:
    """Return where lines stand: exactly, or else without spaces at their ends."""
    for plain in (str, str.rstrip):
        wanted, given = [plain(each) for each in old], [plain(each) for each in lines]
        found = [at for at, line in enumerate(given) if line == wanted[0] and given[at : at + len(wanted)] == wanted]
        if found:
            return found
    return []
