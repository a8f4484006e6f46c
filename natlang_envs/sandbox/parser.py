"""Command lines into words, by rules of our own: no shell ever sees them.

Quotes and backslashes mean what they mean in `sh`. Whatever a shell would expand or run (`;`, `|`, `$`, `*` and their
like) is refused unless it is quoted, in words; `> FILE` and `>> FILE` are the one redirection.
"""

from __future__ import annotations

import re
from typing import NamedTuple

MAX_LINE = 65_536  # characters

_PLAIN = re.compile(r"[\w\t %+,\-./:=@\[\]{}^!]*", re.ASCII)
_SAFE = re.compile(r"[\w%+,\-./:=@^]+", re.ASCII)
_REFUSED = {
    ";": "one command a line",
    "&": "one command a line, in the foreground",
    "|": "there are no pipes",
    "<": "there is no input redirection",
    "`": "there is no command substitution",
    "$": "there are no variables",
    "(": "there are no subshells",
    ")": "there are no subshells",
    "*": "there are no patterns",
    "?": "there are no patterns",
    "\n": "one command a line",
}
_ESCAPABLE = '"\\$`'  # what a backslash makes plain within double quotes


class ParseError(ValueError):
    """A command line that is not understood; the message is the answer to whoever gave it."""


class CommandLine(NamedTuple):
    """A command line: its words, and the file that standard output goes to (or None), at its end or in its place."""

    words: tuple[str, ...]
    target: str | None = None
    append: bool = False


def parse(line: str) -> CommandLine:
    """Split a command line.

    Raises:
        ParseError: A quote is open, something is not allowed, or there is no command.
    """
    if len(line) > MAX_LINE:
        raise ParseError(f"the command line is longer than {MAX_LINE} characters")
    if "\0" in line:
        raise ParseError("the command line holds a NUL character")
    line = line.strip(" \t\r\n")
    if _PLAIN.fullmatch(line):
        words = tuple(line.split())
        if not words:
            raise ParseError("there is no command")
        return CommandLine(words)
    return _Reader(line).read()


class _Reader:
    """Reads one command line, character by character."""

    def __init__(self, line: str) -> None:
        self._line = line
        self._at = 0
        self._words: list[str] = []
        self._target: str | None = None
        self._append = False
        self._redirected = False  # a `>` waits for its file

    def read(self) -> CommandLine:
        while self._at < len(self._line):
            character = self._line[self._at]
            if character in " \t":
                self._at += 1
            elif character == ">":
                self._redirect()
            else:
                self._take(self._word())
        if self._redirected:
            raise ParseError("there is no file after `>`")
        if not self._words:
            raise ParseError("there is no command")
        return CommandLine(tuple(self._words), self._target, self._append)

    def _redirect(self) -> None:
        if self._redirected or self._target is not None:
            raise ParseError("standard output can go to one file only")
        self._append = self._line.startswith(">>", self._at)
        self._at += 2 if self._append else 1
        self._redirected = True

    def _take(self, word: str) -> None:
        if self._redirected:
            self._target, self._redirected = word, False
        else:
            self._words.append(word)

    def _word(self) -> str:
        parts: list[str] = []
        begun = self._at
        while self._at < len(self._line):
            character = self._line[self._at]
            if character in " \t":
                break
            if character == ">":
                if self._line[begun : self._at].isdigit():
                    raise ParseError("only standard output can be redirected, by `> FILE` or `>> FILE`")
                break
            if character in _REFUSED or (character in "~#" and self._at == begun):
                why = _REFUSED.get(character, "it has no special meaning here")
                name = "a line break" if character == "\n" else f"`{character}`"
                raise ParseError(f"{name} is not allowed outside quotes: {why}")
            self._at += 1
            if character == "'":
                parts.append(self._single())
            elif character == '"':
                parts.append(self._double())
            elif character == "\\":
                parts.append(self._escaped())
            else:
                parts.append(character)
        return "".join(parts)

    def _single(self) -> str:
        end = self._line.find("'", self._at)
        if end < 0:
            raise ParseError("a single quote is not closed")
        begun, self._at = self._at, end + 1
        return self._line[begun:end]

    def _escaped(self) -> str:
        if self._at == len(self._line):
            raise ParseError("the line ends with a backslash")
        self._at += 1
        return self._line[self._at - 1]

    def _double(self) -> str:
        parts: list[str] = []
        while self._at < len(self._line):
            character = self._line[self._at]
            self._at += 1
            if character == '"':
                return "".join(parts)
            if character in "$`":
                raise ParseError(f"`{character}` is not allowed in double quotes: write it in single quotes")
            if character == "\\" and self._line[self._at : self._at + 1] in tuple(_ESCAPABLE):
                character = self._escaped()
            parts.append(character)
        raise ParseError("a double quote is not closed")


def quote(word: str) -> str:
    """Return `word` so that `parse` reads it as one word."""
    if _SAFE.fullmatch(word):
        return word
    return "'" + word.replace("'", "'\"'\"'") + "'"
