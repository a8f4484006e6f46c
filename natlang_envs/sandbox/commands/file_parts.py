"""Parts of files that the native commands show: first and last lines, block by block, since a file may be large."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

from natlang_envs.sandbox.commands.context import Output

BLOCK = 1 << 20


class Readable(NamedTuple):
    """A file that is to be read: what returns up to a number of bytes of it from a place on, and how many it has."""

    part: Callable[[int, int], bytes]
    size: int

    def blocks(self, output: Output) -> Iterator[bytes]:
        """Yield the file block by block, as long as there is time."""
        for start in range(0, self.size, BLOCK):
            output.check_time()
            yield self.part(start, BLOCK)

    def lines(self, output: Output) -> Iterator[bytes]:
        """Yield the lines without their ends; one that is longer than a block comes in pieces."""
        rest = b""
        for block in self.blocks(output):
            *lines, rest = (rest + block).split(b"\n")
            yield from lines
            if len(rest) > BLOCK:
                yield rest
                rest = b""
        if rest:
            yield rest

    def first(self, unit: str, count: int, room: int, start: int = 0) -> bytes:
        """Return the first lines (unit `n`) or bytes from `start`."""
        if unit == "c":
            return self.part(start, min(count, room))
        content = b""
        while count and len(content) < room:  # block by block: ten lines are seldom more than one
            block = self.part(start + len(content), min(BLOCK // 16, room - len(content)))
            if not block:
                break
            lines = block.count(b"\n")
            if lines >= count:
                return content + block[: _line_end(block, count)]
            count -= lines
            content += block
        return content

    def last(self, unit: str, count: int, room: int) -> bytes:
        """Return the last lines or bytes."""
        if unit == "c":
            length = min(count, self.size)
            return self.part(self.size - length, min(length, room))
        content = self.part(max(0, self.size - room), room)
        end = len(content)
        begin = end - 1 if content.endswith(b"\n") else end  # the line break at the end ends a line, it begins none
        for _ in range(min(count, end)):
            begin = content.rfind(b"\n", 0, max(begin, 0))
            if begin < 0:
                return content
        return content[begin + 1 :] if count else b""

    def begin(self, unit: str, skipped: int, output: Output) -> int:
        """Return where the rest begins after so many lines or bytes."""
        if unit == "c" or not skipped:
            return skipped if unit == "c" else 0
        start = 0
        while start < self.size:  # block by block: the file may be larger than memory
            output.check_time()
            block = self.part(start, BLOCK)
            lines = block.count(b"\n")
            if lines >= skipped:
                return start + _line_end(block, skipped)
            skipped -= lines
            start += len(block)
        return start


def _line_end(block: bytes, count: int) -> int:
    end = 0
    for _ in range(count):
        end = block.find(b"\n", end) + 1
    return end
