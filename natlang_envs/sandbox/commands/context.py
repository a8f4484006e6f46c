"""What commands share: how one is described, options, output with a limit, and paths that cannot lead out."""

from __future__ import annotations

import time
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import NamedTuple

from natlang_envs.repository.entries import Kind
from natlang_envs.repository.names import is_git, on_disk, same
from natlang_envs.sandbox.changes.overlay import MAX_NAME, Overlay

ROOT = "/work"
MAX_PATH = 4096

MISSING = "No such file or directory"
NO_FOLDER = "Not a directory"
OUTSIDE = f"Permission denied (only {ROOT} is visible)"


class CommandError(Exception):
    """A command fails; the message is what it writes to standard error."""

    def __init__(self, message: str, code: int = 1) -> None:
        super().__init__(message)
        self.code = code


class LimitReached(Exception):  # noqa: N818 - no error of the command
    """The message is a plain sentence that names the limit."""


@contextmanager
def named(what: str) -> Generator[None]:
    """Begin the messages of errors in a block with what they are about."""
    try:
        yield
    except CommandError as error:
        raise CommandError(f"{what}: {error}", error.code) from None


class Output:
    def __init__(self, limit: int, seconds: float) -> None:
        self.chunks: list[bytes] = []
        self.errors: list[str] = []
        self.room = self._limit = limit
        self._seconds = seconds
        self._deadline = time.monotonic() + seconds

    def write(self, content: bytes) -> None:
        self.chunks.append(content[: self.room])
        self.room -= len(content)
        if self.room < 0:
            raise LimitReached(f"it wrote more than {self._limit} bytes")

    def check_time(self) -> None:
        if time.monotonic() > self._deadline:
            raise LimitReached(f"it ran longer than {self._seconds:g} seconds")

    def line(self, text: str) -> None:
        self.write(f"{text}\n".encode("utf-8", "backslashreplace"))

    def fail(self, message: str) -> None:
        self.errors.append(message)


@dataclass
class CommandContext:
    """The surroundings of a command: the files, the path of the current folder ("" for the root), standard input."""

    files: Overlay
    cwd: str = ""
    given: bytes = b""


class Command(NamedTuple):
    """A command of the sandbox that needs no process."""

    name: str  # the word that it begins with
    run: Callable[[CommandContext, Sequence[str], Output], int]  # given the words after the name, returns the exit code
    help: str  # how it is called, for the prompt of a model and the page
    reads_names: bool = False  # whether a file's name ends it: in an answer, a full stop after that is no part of it


class CommandKind(NamedTuple):
    """Commands of one kind, which share a line of the prompt and of the page.

    A module of this package that has one, called `KIND`, adds its commands to the sandbox.
    """

    help: str  # the line; `{commands}` stands for how each is called
    commands: tuple[Command, ...]  # in the order of the line

    def line(self) -> str:
        return self.help.format(commands=", ".join(each.help for each in self.commands))


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
    path, kind = resolve(context, typed)
    if kind is None:
        raise CommandError(MISSING)
    return path, kind


def resolve_target(context: CommandContext, typed: str) -> str:
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
