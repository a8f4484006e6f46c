"""Shared parts of the native commands: options, output with a limit, and paths that cannot lead out."""

from __future__ import annotations

import math
import time
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

from natlang_envs.repository.entries import Kind
from natlang_envs.repository.names import is_git, on_disk, same
from natlang_envs.sandbox.changes.entries import MAX_NAME
from natlang_envs.sandbox.changes.overlay import Overlay

ROOT = "/work"
MAX_PATH = 4096

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


@dataclass
class Output:
    """The output of a command, with a limit in bytes and a time limit."""

    limit: int
    seconds: float = math.inf
    chunks: list[bytes] = field(default_factory=list[bytes])
    errors: list[str] = field(default_factory=list[str])
    room: int = 0
    deadline: float = math.inf

    def __post_init__(self) -> None:
        self.room = self.limit
        self.deadline = time.monotonic() + self.seconds

    def write(self, content: bytes) -> None:
        """Write to standard output."""
        self.chunks.append(content[: self.room])
        self.room -= len(content)
        if self.room < 0:
            raise Stopped(f"it wrote more than {self.limit} bytes")

    def check_time(self) -> None:
        """Raise `Stopped` when the time is up."""
        if time.monotonic() > self.deadline:
            raise Stopped(f"it ran longer than {self.seconds:g} seconds")

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
