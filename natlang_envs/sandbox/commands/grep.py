"""`grep`, without a process: it sees files through the overlay, follows no link, and has the limits of all commands."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Iterator, Sequence
from itertools import chain
from typing import Literal

from natlang_envs.repository.names import on_disk
from natlang_envs.repository.wildmatch import wildmatch
from natlang_envs.sandbox.commands.context import ROOT, CommandContext, CommandError, Output, resolve
from natlang_envs.sandbox.commands.files import Readable, readable, walk
from natlang_envs.sandbox.commands.regular_expression import Expression, ExpressionError, Syntax

_SNIFFED = 1 << 15  # bytes in which a NUL makes a file binary
_GREP_FLAGS = "rRnivlLcwxEFGPHhqsIa"
_GREP_LONG = {
    **{"--recursive": "r", "--line-number": "n", "--ignore-case": "i", "--invert-match": "v", "--count": "c"},
    **{"--files-with-matches": "l", "--files-without-match": "L", "--word-regexp": "w", "--line-regexp": "x"},
    **{"--extended-regexp": "E", "--fixed-strings": "F", "--basic-regexp": "G", "--perl-regexp": "P"},
    **{"--with-filename": "H", "--no-filename": "h", "--quiet": "q", "--no-messages": "s"},
    **{"--color": "", "--colour": ""},
}
_GLOBS = ("--include", "--exclude", "--exclude-dir")


class _Grep:
    def __init__(self, words: Sequence[str]) -> None:
        self.flags = ""
        self.operands: list[str] = []
        self._numbers: dict[str, int] = {}
        self._lists: dict[str, list[str]] = {name: [] for name in ("e", *_GLOBS)}
        self._read(deque(words))
        self.patterns = self._lists["e"]
        if not self.patterns:
            if not self.operands:
                raise CommandError("grep: there is no pattern", 2)
            self.patterns = [self.operands.pop(0)]
        around = self._numbers.get("C", 0)
        self.before, self.after = self._numbers.get("B", around), self._numbers.get("A", around)
        self.most = self._numbers.get("m", math.inf)
        self.include, *exclude = (
            [wildmatch(each.encode("utf-8", "backslashreplace")) for each in self._lists[name]] for name in _GLOBS
        )
        self.exclude = list(chain(*exclude))

    def _read(self, waiting: deque[str]) -> None:
        while waiting:
            word = waiting.popleft()
            name, equals, rest = word.partition("=")
            if word == "--":
                self.operands.extend(waiting)
                return
            if name in _GLOBS:
                self._value(name, rest if equals else "", waiting)
            elif name in _GREP_LONG:
                self.flags += _GREP_LONG[name]
            elif word.startswith("--"):
                raise CommandError(f"grep: unrecognized option '{word}'", 2)
            elif len(word) < 2 or word[0] != "-":
                self.operands.append(word)
            elif word[1:].isascii() and word[1:].isdigit():
                self._numbers["C"] = int(word[1:][:9])
            else:
                for place, letter in enumerate(word[1:], 2):
                    if letter in "eABCm":
                        self._value(letter, word[place:], waiting)
                        break
                    if letter not in _GREP_FLAGS:
                        raise CommandError(f"grep: option '-{letter}' is not here", 2)
                    self.flags += letter.replace("R", "r")

    def _value(self, letter: str, rest: str, waiting: deque[str]) -> None:
        if not rest and not waiting:
            raise CommandError(f"grep: option requires an argument -- '{letter}'", 2)
        given = rest or waiting.popleft()
        if letter in self._lists:
            self._lists[letter].append(given)
        elif given.isascii() and given.isdigit():
            self._numbers[letter] = int(given[:9])
        else:
            raise CommandError(f"grep: {given}: invalid number for -{letter}", 2)


def grep(context: CommandContext, words: Sequence[str], output: Output) -> int:
    asked = _Grep(words)
    flags = asked.flags
    kinds: dict[str, Syntax] = {"E": "extended", "F": "fixed", "P": "perl", "G": "basic"}
    syntaxes: list[Syntax] = ["basic", *(kinds[flag] for flag in flags if flag in kinds)]
    bound: Literal["", "w", "x"] = "x" if "x" in flags else "w" if "w" in flags else ""
    try:
        expression = Expression("\n".join(asked.patterns), kind=syntaxes[-1], ignore_case="i" in flags, bound=bound)
    except ExpressionError as error:
        raise CommandError(f"grep: {error}", 2) from None
    operands = asked.operands or (["."] if "r" in flags else ["-"])
    marks = [flag for flag in flags if flag in "hH"]
    single = len(operands) == 1 and not ("r" in flags and _is_folder(context, operands[0]))
    named = marks[-1] == "H" if marks else not single
    shower = _Shower(expression, asked, output, named)
    code = 0
    for typed in operands:
        try:
            for called, file in _files_of(context, asked, typed, output):
                shower.show(called, file)
        except CommandError as error:
            if "s" not in flags:
                output.fail(f"grep: {typed}: {error}")
            code = 2
    return code or (0 if shower.any else 1)


def _is_folder(context: CommandContext, typed: str) -> bool:
    try:
        return resolve(context, typed)[1] == "folder"
    except CommandError:
        return False


def _files_of(context: CommandContext, asked: _Grep, typed: str, output: Output) -> Iterator[tuple[str, Readable]]:
    if typed == "-":
        yield "(standard input)", readable(context, typed)
        return
    if "r" not in asked.flags:
        yield typed, readable(context, typed)
        return
    left_out: list[str] = []
    for found in walk(context, typed, output):
        name = on_disk(found.called.rstrip("/").rpartition("/")[2])
        if found.called.startswith(tuple(left_out)):
            continue
        if found.depth and any(each.fullmatch(name) for each in asked.exclude):
            left_out.append(f"{found.called}/")
        elif found.kind == "file" and (not asked.include or any(each.fullmatch(name) for each in asked.include)):
            called = found.called if asked.operands else found.called.removeprefix("./")
            yield called, readable(context, f"{ROOT}/{found.path}")


class _Shower:
    def __init__(self, expression: Expression, asked: _Grep, output: Output, named: bool) -> None:
        self._expression = expression
        self._asked = asked
        self._output = output
        self._named = named
        self.any = False  # something was found
        self._shown = False

    def show(self, called: str, file: Readable) -> None:
        flags = self._asked.flags
        binary = b"\0" in file.part(0, _SNIFFED) and "a" not in flags
        if binary and "I" in flags:
            return
        quiet = any(flag in flags for flag in "qlLc") or binary
        prefix = called.encode("utf-8", "backslashreplace") if self._named else b""
        count = self._lines(file, prefix, quiet)
        if (count > 0) != ("L" in flags):
            self.any = True
        if "q" in flags:
            return
        if "l" in flags or "L" in flags:
            if (count > 0) == ("l" in flags):
                self._output.line(called)
        elif "c" in flags:
            self._output.write((prefix + b":" if self._named else b"") + b"%d\n" % count)
        elif binary and count:
            self._output.fail(f"grep: {called}: binary file matches")

    def _lines(self, file: Readable, prefix: bytes, quiet: bool) -> int:
        asked, output = self._asked, self._output
        once = any(flag in asked.flags for flag in "qlL") or (quiet and "c" not in asked.flags)
        before: deque[tuple[int, bytes]] = deque(maxlen=asked.before)
        count, follow, last = 0, 0, 0
        for number, line in enumerate(file.lines(output), 1):
            text = line.decode("utf-8", "surrogateescape")
            fits = count < asked.most and self._expression.found_in(text, output.check_time) != ("v" in asked.flags)
            if fits:
                count += 1
                if once:
                    return count
                if not quiet:
                    first = before[0][0] if before else number
                    if (asked.before or asked.after) and self._shown and (not last or first > last + 1):
                        output.write(b"--\n")
                    for each in before:
                        self._row(prefix, b"-", *each)
                    self._row(prefix, b":", number, line)
                    last = number
                before.clear()
                follow = asked.after
            elif follow and not quiet:
                follow -= 1
                self._row(prefix, b"-", number, line)
                last = number
            else:
                before.append((number, line))
            if count >= asked.most and not follow:
                break
        return count

    def _row(self, prefix: bytes, mark: bytes, number: int, line: bytes) -> None:
        numbered = b"%d%s" % (number, mark) if "n" in self._asked.flags else b""
        self._output.write((prefix + mark if self._named else b"") + numbered + line + b"\n")
        self._shown = True
