"""The hunks of a unified diff, in memory and time by the size of the two versions, however short their lines are."""

from __future__ import annotations

from collections.abc import Iterator
from difflib import SequenceMatcher
from typing import Literal

# Pairs of lines above which what differs is not aligned but replaced as a whole: aligning can take their number.
MAX_PAIRS = 25_000_000
MAX_LINES = 100_000  # likewise: an aligned line takes some hundred bytes of memory
CONTEXT = 3  # unchanged lines around a change
_BLOCK = 1 << 16
_OpCode = tuple[Literal["replace", "delete", "insert", "equal"], int, int, int, int]


def hunks(before: bytes, after: bytes) -> Iterator[bytes]:
    start, end = _same_ends(before, after)
    stops = len(before) - end, len(after) - end
    counts = _count(before, start, stops[0]), _count(after, start, stops[1])
    head = start
    for _ in range(CONTEXT):
        head = before.rfind(b"\n", 0, max(head - 1, 0)) + 1
    tail = stops[0]
    for _ in range(CONTEXT):
        at = before.find(b"\n", tail) + 1
        tail = at or len(before)
    skipped = _count(before, 0, head)
    if counts[0] * counts[1] > MAX_PAIRS or sum(counts) > MAX_LINES:
        around = _count(before, head, start) + _count(before, stops[0], tail)
        yield b"@@ -%s +%s @@\n" % (_range(skipped, counts[0] + around), _range(skipped, counts[1] + around))
        yield from _rows(b" ", before, head, start)
        yield from _rows(b"-", before, start, stops[0])
        yield from _rows(b"+", after, start, stops[1])
        yield from _rows(b" ", before, stops[0], tail)
        return
    leading, trailing = _lines(before[head:start]), _lines(before[stops[0] : tail])
    removed, added = _lines(before[start : stops[0]]), _lines(after[start : stops[1]])
    old, new = [*leading, *removed, *trailing], [*leading, *added, *trailing]
    for group in _aligned(len(leading), removed, added, len(trailing)).get_grouped_opcodes(CONTEXT):
        first, last = group[0], group[-1]
        ranges = _range(skipped + first[1], last[2] - first[1]), _range(skipped + first[3], last[4] - first[3])
        yield b"@@ -%s +%s @@\n" % ranges
        for tag, from_old, to_old, from_new, to_new in group:
            if tag == "equal":
                yield from (_row(b" ", line) for line in old[from_old:to_old])
            else:
                yield from (_row(b"-", line) for line in old[from_old:to_old])
                yield from (_row(b"+", line) for line in new[from_new:to_new])


def _aligned(leading: int, removed: list[bytes], added: list[bytes], trailing: int) -> SequenceMatcher[bytes]:
    """Return the alignment of lines that differ, between lines that do not."""
    ends = leading + len(removed), leading + len(added)
    codes: list[_OpCode] = [("equal", 0, leading, 0, leading)]
    for tag, *places in SequenceMatcher(None, removed, added).get_opcodes():
        a, b, c, d = (each + leading for each in places)
        codes.append((tag, a, b, c, d))
    codes.append(("equal", ends[0], ends[0] + trailing, ends[1], ends[1] + trailing))
    matcher = SequenceMatcher[bytes](None, (), ())
    filled = [each for each in codes if each[1] < each[2] or each[3] < each[4]]
    matcher.opcodes = filled  # pyright: ignore[reportAttributeAccessIssue] - the type stubs do not have it
    return matcher


def _same_ends(before: bytes, after: bytes) -> tuple[int, int]:
    """Return how many bytes of whole lines are the same at the beginning, and at the end of what follows."""
    start = _common(before, after)
    if not (start == len(before) == len(after)):
        start = before.rfind(b"\n", 0, start) + 1
    end = _common(before[start:][::-1], after[start:][::-1])
    ends = [
        (len(text) - end == start or text[len(text) - end - 1 : len(text) - end] == b"\n") for text in (before, after)
    ]
    if end and not all(ends):
        line = before.find(b"\n", len(before) - end) + 1
        end = len(before) - line if line else 0
    return start, end


def _common(one: bytes, other: bytes) -> int:
    begin, shorter = 0, min(len(one), len(other))
    while begin < shorter and one[begin : begin + _BLOCK] == other[begin : begin + _BLOCK]:
        begin += _BLOCK
    low, high = min(begin, shorter), min(begin + _BLOCK, shorter)
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if one[begin:middle] == other[begin:middle] else (low, middle - 1)
    return low


def _count(text: bytes, start: int, end: int) -> int:
    """Return the number of lines, the last of which may have no end."""
    return text.count(b"\n", start, end) + (end > start and text[end - 1 : end] != b"\n")


def _lines(text: bytes) -> list[bytes]:
    lines = text.split(b"\n")
    last = lines.pop()
    return [line + b"\n" for line in lines] + ([last] if last else [])


def _rows(mark: bytes, text: bytes, start: int, end: int) -> Iterator[bytes]:
    """Yield the rows of many lines, a block at a time."""
    while start < end:
        stop = end if end - start <= _BLOCK else text.find(b"\n", start + _BLOCK, end) + 1 or end
        block = text[start:stop]
        last = not block.endswith(b"\n")
        yield mark + (block if last else block[:-1]).replace(b"\n", b"\n" + mark)
        yield b"\n\\ No newline at end of file\n" if last else b"\n"
        start = stop


def _range(start: int, length: int) -> bytes:
    if length == 1:
        return b"%d" % (start + 1)
    return b"%d,%d" % (start + 1 if length else start, length)


def _row(mark: bytes, line: bytes) -> bytes:
    return mark + line if line.endswith(b"\n") else mark + line + b"\n\\ No newline at end of file\n"
