"""What the native commands share: options, output with a limit, paths that cannot lead out, and files to be read."""

from __future__ import annotations

import time
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import NamedTuple

from natlang_envs.repository.entries import Kind
from natlang_envs.repository.names import is_git, on_disk, same
from natlang_envs.sandbox.changes.overlay import MAX_NAME, Overlay

ROOT = "/work"
MAX_PATH = 4096
BLOCK = 1 << 20

MISSING = "No such file or directory"
NO_FOLDER = "Not a directory"
OUTSIDE = f"Permission denied (only {ROOT} is visible)"


class CommandError(Exception):
    """A command cannot do what it was told; the message is what it writes to standard error."""

    def __init__(self, message: str, code: int = 1) -> None:
        super().__init__(message)
        self.code = code


class Stopped(Exception):  # noqa: N818 - no error of the command
    """A limit is reached; the message is a plain sentence."""


@contextmanager
def named(what: str) -> Generator[None]:
    """Put before what a command cannot do what it is about."""
    try:
        yield
    except CommandError as error:
        raise CommandError(f"{what}: {error}", error.code) from None


class Output:
    """The output of a command, with a limit in bytes and a time limit."""

    def __init__(self, limit: int, seconds: float) -> None:
        self.chunks: list[bytes] = []
        self.errors: list[str] = []
        self.room = self._limit = limit
        self._seconds = seconds
        self._deadline = time.monotonic() + seconds

    def write(self, content: bytes) -> None:
        """Write to standard output."""
        self.chunks.append(content[: self.room])
        self.room -= len(content)
        if self.room < 0:
            raise Stopped(f"it wrote more than {self._limit} bytes")

    def check_time(self) -> None:
        """Raise `Stopped` when the time is up."""
        if time.monotonic() > self._deadline:
            raise Stopped(f"it ran longer than {self._seconds:g} seconds")

    def line(self, text: str) -> None:
        """Write one line to standard output."""
        self.write(f"{text}\n".encode("utf-8", "backslashreplace"))

    def fail(self, message: str) -> None:
        """Write one line to standard error."""
        self.errors.append(message)


@dataclass
class CommandContext:
    """The surroundings of a command: the files, the path of the current folder ("" for the root), standard input."""

    files: Overlay
    cwd: str = ""
    given: bytes = b""


def resolve(context: CommandContext, typed: str) -> tuple[str, Kind | None]:
    """Return the path that a typed one leads to, and what is there (None: nothing, but its folder exists)."""
    if not typed:
        raise CommandError(MISSING)
    if len(typed) > MAX_PATH:
        raise CommandError("File name too long")
    files = context.files
    parts = typed.split("/")
    path = context.cwd
    if typed[0] == "/":
        parts = typed.lstrip("/").split("/")
        if parts[0] != ROOT[1:]:
            raise CommandError(OUTSIDE)
        del parts[0]
        path = ""
    kind = files.kind(path)
    for part in parts:
        if kind is None:
            raise CommandError(MISSING)
        if kind == "other":
            raise CommandError(files.reason(path))
        if kind == "file":
            raise CommandError(NO_FOLDER)
        if part in ("", "."):
            continue
        if part == "..":
            if not path:
                raise CommandError(OUTSIDE)
            path = path.rpartition("/")[0]
        else:
            name = same(part)
            if len(name) > MAX_NAME // 4 and len(on_disk(name)) > MAX_NAME:
                raise CommandError("File name too long")
            path = f"{path}/{name}" if path else name
        kind = files.kind(path)
    return path, kind


def existing(context: CommandContext, typed: str) -> tuple[str, Kind]:
    """Return the path that a typed one leads to, and what is there."""
    path, kind = resolve(context, typed)
    if kind is None:
        raise CommandError(MISSING)
    return path, kind


def resolve_target(context: CommandContext, typed: str) -> str:
    """Return the path of a file that may be written."""
    with named(typed):
        path, kind = resolve(context, typed)
        if kind == "folder" or typed.endswith("/"):
            raise CommandError("Is a directory")
        if kind == "other":
            raise CommandError(context.files.reason(path))
        if any(map(is_git, path.split("/"))):
            raise CommandError("Operation not permitted")
    return path


def read_options(
    name: str, words: Sequence[str], flags: str, valued: str = "", code: int = 1
) -> tuple[str, dict[str, str], list[str]]:
    """Return flags, values and operands; options and operands may be mixed, as in GNU programs."""
    given: list[str] = []
    values: dict[str, str] = {}
    operands: list[str] = []
    waiting = iter(words)
    for word in waiting:
        if word == "--":
            operands.extend(waiting)
        elif len(word) < 2 or word[0] != "-":
            operands.append(word)
        elif word.startswith("--"):
            raise CommandError(f"{name}: unrecognized option '{word}'", code)
        elif valued and word[1:].isascii() and word[1:].isdigit():
            values = {"n": word[1:]}
        else:
            for place, letter in enumerate(word[1:], 2):
                if letter in valued:
                    value = word[place:] or next(waiting, None)
                    if value is None:
                        raise CommandError(f"{name}: option requires an argument -- '{letter}'", code)
                    values = {letter: value}  # the last one counts
                    break
                if letter not in flags:
                    hint = f"; a name is written ./{word}" if "." in word else ""
                    raise CommandError(f"{name}: invalid option -- '{letter}'{hint}", code)
                given.append(letter)
    return "".join(given), values, operands


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
