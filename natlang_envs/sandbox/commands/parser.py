"""Splits command lines into words by rules of its own: no shell sees them.

Quotes and backslashes mean what they mean in `sh`. Characters that a shell would expand or run (`;`, `&`, `$`, `*`, …)
are refused unless they are quoted; the message says why. There are pipes, here-documents, `> FILE`, `>> FILE`,
`2> /dev/null` and `2>&1`.
"""

from __future__ import annotations

import re
from typing import Any, Literal, NamedTuple

MAX_LINE = 65_536  # characters
MAX_DOCUMENT = 1 << 20  # characters, with a here-document

_PLAIN = re.compile(r"[\w\t %+,\-./:=@\[\]{}^!]*", re.ASCII)
_SAFE = re.compile(r"[\w%+,\-./:=@^]+", re.ASCII)
_REFUSED = {
    ";": "one command a line",
    "&": "one command a line, in the foreground",
    "|": "it stands between two commands",
    "<": "there is no input redirection but here-documents, `<< 'EOF'`",
    "`": "there is no command substitution",
    "$": "there are no variables",
    "(": "there are no subshells",
    ")": "there are no subshells",
    "*": "there are no patterns; quote it where a command reads it",
    "?": "there are no patterns; quote it where a command reads it",
    "\n": "one command a line",
}
_ERRORS = re.compile(r"2>[ \t]*(/dev/null|&1)(?=[ \t|>\n]|\Z)")
_DOCUMENT = re.compile(r"<<(-?)[ \t]*(?:'([^'\n]+)'|\"([^\"\n]+)\"|\\([\w.+-]+)|([\w.+-]+))")
# In a here-document whose word is not quoted: characters after a backslash, and what a shell would expand.
_IN_DOCUMENT = re.compile(r"\\([\\$`]|\n)|(\$(?=[\w({@*#?!$-])|`)", re.ASCII)
_ESCAPABLE = '"\\$`'  # what a backslash makes plain within double quotes


class ParseError(ValueError):
    """A command line is not understood; the message is the answer."""

    code = 2


class DocumentError(ParseError):
    """A here-document holds something that a shell would expand."""


class CommandLine(NamedTuple):
    words: tuple[str, ...]  # the words of the command
    target: str | None = None  # the file that standard output goes to, or None
    append: bool = False  # whether it is added at its end, not put in its place
    # Whether standard error is left out (`2> /dev/null`) or joins standard output (`2>&1`).
    errors: Literal["", "/dev/null", "&1"] = ""
    given: str | None = None  # a here-document, which is standard input
    then: CommandLine | None = None  # the command that standard output goes to by a pipe


def parse(line: str) -> CommandLine:
    limit = MAX_DOCUMENT if _DOCUMENT.search(line.partition("\n")[0][:MAX_LINE]) else MAX_LINE
    if len(line) > limit:
        raise ParseError(f"the command line is longer than {limit} characters")
    if "\0" in line:
        raise ParseError("the command line holds a NUL character")
    line = line.strip(" \t\r\n")
    if _PLAIN.fullmatch(line):
        words = tuple(line.split())
        if not words:
            raise ParseError("there is no command")
        return CommandLine(words)
    return _LineReader(line).read()


class _LineReader:
    def __init__(self, line: str) -> None:
        self._line = line
        self._at = 0
        self._begin()

    def _begin(self) -> None:
        self._words: list[str] = []
        self._command = CommandLine(())
        self._redirected = False  # a `>` waits for its file

    def read(self) -> CommandLine:
        done: list[CommandLine] = []
        while self._at < len(self._line):
            character = self._line[self._at]
            errors = _ERRORS.match(self._line, self._at)
            if character in " \t":
                self._at += 1
            elif errors:
                self._set(errors=errors[1])
                self._at = errors.end()
            elif character == ">":
                self._redirect()
            elif character == "|" and self._line[self._at + 1 : self._at + 2] not in ("|", "&"):
                done.append(self._end())
                if self._command.target is not None:
                    raise ParseError("only the last command of a pipe can write to a file")
                self._begin()
                self._at += 1
            elif self._line.startswith("<<", self._at):
                self._document()
            elif self._redirected:
                self._set(target=self._word())
                self._redirected = False
            else:
                self._words.append(self._word())
        line = self._end()
        for each in reversed(done):
            line = each._replace(then=line)
        return line

    def _set(self, **parts: Any) -> None:
        self._command = self._command._replace(**parts)

    def _end(self) -> CommandLine:
        if self._redirected:
            raise ParseError("there is no file after `>`")
        if not self._words:
            raise ParseError("there is no command")
        return self._command._replace(words=tuple(self._words))

    def _document(self) -> None:
        """Take the lines after this one up to the word that closes them."""
        found = _DOCUMENT.match(self._line, self._at)
        if found is None or self._command.given is not None:
            raise ParseError("`<<` needs one word, which a line of its own repeats: << 'EOF'")
        tabs, *words = found.groups()
        word = next(filter(None, words))
        line, _, following = self._line[found.end() :].partition("\n")
        lines = following.split("\n")
        plain = [each.lstrip("\t") if tabs else each for each in lines]
        if word not in plain:
            raise ParseError(f"the here-document has no end: close it with a line that is {word} alone")
        end = plain.index(word)
        if any(each.strip() for each in lines[end + 1 :]):
            raise ParseError(f"one command a line: nothing may follow the line {word}")
        content = "".join(f"{each}\n" for each in plain[:end])
        self._set(given=_IN_DOCUMENT.sub(_plain, content) if words[-1] else content)
        self._line, self._at = line, 0

    def _redirect(self) -> None:
        if self._redirected or self._command.target is not None:
            raise ParseError("standard output can go to one file only")
        self._set(append=self._line.startswith(">>", self._at))
        self._at += 1 + self._command.append
        self._redirected = True

    def _word(self) -> str:
        parts: list[str] = []
        begun = self._at
        while self._at < len(self._line):
            character = self._line[self._at]
            if character in " \t":
                break
            if character == "|" and self._at > begun:
                break
            if character == ">":
                if self._line[begun : self._at].isdigit():
                    raise ParseError("only standard output can go to a file, by `> FILE` or `>> FILE`")
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


def document_end(text: str) -> int:
    """Return where a command ends that takes a here-document from its first line on; 0 if there is none."""
    found = _DOCUMENT.search(text.partition("\n")[0])
    if found is None:
        return 0
    tabs, *words = found.groups()
    word = re.escape(next(filter(None, words)))
    closing = re.compile(rf"\n{chr(9) + '*' if tabs else ''}{word}(?=\n|\Z)").search(text, found.end())
    if closing is None:
        return 0
    try:
        return closing.end() if parse(text[: closing.end()]).given is not None else 0
    except DocumentError:
        return closing.end()
    except ParseError:
        return 0


def _plain(found: re.Match[str]) -> str:
    """Return what a shell makes of a backslash in a here-document."""
    if found[2]:
        raise DocumentError(f"`{found[2]}` is not allowed in a here-document unless its word is quoted: << 'EOF'")
    return "" if found[1] == "\n" else found[1]


def quote(word: str) -> str:
    """Return `word` so that `parse` reads it as one word."""
    if _SAFE.fullmatch(word):
        return word
    return "'" + word.replace("'", "'\"'\"'") + "'"
