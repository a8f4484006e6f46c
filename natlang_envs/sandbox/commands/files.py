"""The files that commands read: in blocks and lines, one after the other, or all below a folder."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import NamedTuple

from natlang_envs.repository.entries import Kind
from natlang_envs.sandbox.commands.context import CommandContext, CommandError, Output, existing

BLOCK = 1 << 20


class Readable(NamedTuple):
    """A file to be read: a function of a start and a length in bytes that returns a part, and the file's size."""

    part: Callable[[int, int], bytes]
    size: int

    def blocks(self, output: Output) -> Iterator[bytes]:
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
        """Return where the rest begins after a number of lines or bytes."""
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


def readable(context: CommandContext, typed: str) -> Readable:
    """Return a file that is to be read; `-` is standard input."""
    if typed == "-":
        given = context.given

        def part(start: int, length: int) -> bytes:
            return given[start : start + length]

        return Readable(part, len(given))
    path, kind = existing(context, typed)
    if kind == "file":
        return Readable(partial(context.files.part, path), context.files.size(path))
    raise CommandError("Is a directory" if kind == "folder" else context.files.reason(path))


def each_file(
    name: str, context: CommandContext, operands: Sequence[str], output: Output, show: Callable[[str, Readable], None]
) -> int:
    """Show each file; without any, standard input."""
    code = 0
    called = "cannot open '{}'" if name in ("head", "tail") else "{}"
    for typed in operands or ["-"]:
        output.check_time()
        try:
            file = readable(context, typed)
        except CommandError as error:
            output.fail(f"{name}: {called.format(typed)}: {error}")
            code = 1
        else:
            show(typed, file)
    return code


class WalkedEntry(NamedTuple):
    """A file or folder of a tree: its path from where the search began, its whole path, its kind, its depth."""

    called: str
    path: str
    kind: Kind
    depth: int


def walk(context: CommandContext, typed: str, output: Output) -> Iterator[WalkedEntry]:
    """Yield a file, or a folder and all that is in it, sorted."""
    files = context.files
    waiting = [WalkedEntry(typed, *existing(context, typed), 0)]
    while waiting:
        output.check_time()
        found = waiting.pop()
        yield found
        if found.kind != "folder":
            continue
        _, folders, plain = files.folder(found.path)
        kinds: dict[str, Kind] = dict.fromkeys(plain, "file")
        kinds.update(dict.fromkeys(files.others(found.path), "other"))
        kinds.update(dict.fromkeys(folders, "folder"))
        called = found.called if found.called.endswith("/") else f"{found.called}/"
        prefix = f"{found.path}/" if found.path else ""
        names = sorted(kinds, reverse=True)
        waiting += [WalkedEntry(called + name, prefix + name, kinds[name], found.depth + 1) for name in names]
