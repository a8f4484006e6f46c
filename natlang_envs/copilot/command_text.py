"""Commands in the text of an answer: the first of several, without what models write around it."""

from __future__ import annotations

import re
from typing import NamedTuple

from natlang_envs.answers.listed import layers
from natlang_envs.sandbox.commands.parser import CommandLine, ParseError, document_end, parse
from natlang_envs.sandbox.commands.table import NATIVE
from natlang_envs.sandbox.sandbox import PROGRAMS

ENDS = ("id", "answer", "exit")
WORDS = frozenset({*NATIVE, *PROGRAMS, "pytest", *ENDS})
SHELLS = ("bash", "sh")
FREE_TEXT = frozenset({"answer", "echo"})  # what stands after these words may be prose
PROGRAM = re.compile(r"[a-z][\w.+-]*", re.ASCII)
# A shell's prompt, an arrow, a point or a number of a list.
MARKS = "(?:(?:[\\w.@:~/-]{0,80}\\$|>|[-*+%\u2022\u2192\u279c\u276f\u27a4\u00bb]|\\d{1,3}[.)])[ \\t]++)"
QUOTED = re.compile(r"(?<!`)(`{1,3}+)([^`\n]++)\1(?!`)")

_MARK = re.compile(MARKS)
_LANGUAGE = re.compile(r"(?:bash|sh|shell|console|zsh|text)[ \t]+", re.IGNORECASE)
_BOLD = re.compile(r"(\*\*|__)([^*\n]++)\1")
_WORD = re.compile(r"\s*+(\S++)")
_ODD_SPACES = re.compile("[\u00a0\u2000-\u200a\u202f\u3000]+")
_SKIPPED = re.compile(r"(?:[^\S\n]*+(?:#[^\n]*+)?\n)*+")  # blank lines and comments
_FILLED_LINE = re.compile(r"\S[^\n]*+")
_QUOTES = r"""\\[^\n]?+|'[^']*+'|"(?:[^"\\]++|\\[^\n]?+)*+\""""
# One command: to the first line break outside quotes, and to the first `&&`, `||` or `;`.
_ONE_LINE = re.compile(rf"""(?:[^'"\\\n]++|{_QUOTES})*+""")
_ONE_COMMAND = re.compile(rf"""(?:[^'"\\\n;&|#]++|{_QUOTES}|&(?!&)|\|(?!\|)|(?<![ \t])#)*+""")
_SEPARATOR = re.compile(r"[ \t]*(?:&&|\|\||;|#.*)[ \t]*", re.DOTALL)  # a comment ends the line
_FULL_STOP = re.compile(r"\w\.\Z")
_MOST_JOINED = 50  # lines that go on
_READS_NAMES = frozenset({"exit", "id", *(each.name for each in NATIVE.values() if each.reads_names)})
_REASON = re.compile(r"(?:,? (?:because|since|which|as (?:it|this|that))\b| [\u2013\u2014#]).*", re.DOTALL)
ASIDE = re.compile(  # after a command: a remark, a reason, an observation on the same line
    r"(?:[`*]*\s+\([^()]*\s[^()]*\)|,? (?:because|since|so that|which|instead of|rather than)\b.*"
    r"| Observation(?: \d+)?:.*)[.!]?\Z",
    re.DOTALL,
)
_SMALL = frozenset(re.findall(r"\w+", "the to of it is that this in and for we at would was as"))  # words of sentences
_LONGEST_WITHIN = 2_000  # characters of a command that something stands around


class FirstCommand(NamedTuple):
    line: str
    left_over: int = 0


def bare(line: str) -> str:
    """Return a line without a prompt, a number, or quotation marks around it."""
    line = line.strip()
    mark = _MARK.match(line)
    line = line[mark.end() :].strip() if mark else line
    bold = _BOLD.fullmatch(line)
    line = bold[2].strip() if bold else line
    quoted = QUOTED.fullmatch(line)
    return unquoted(quoted) if quoted else line


def unquoted(quoted: re.Match[str]) -> str:
    """Return what stands between backquotes; between three of them, without the name of a shell."""
    inner = quoted[2].strip()
    language = _LANGUAGE.match(inner) if len(quoted[1]) == 3 else None
    return inner[language.end() :] if language else inner


def first_word(line: str) -> str:
    word = _WORD.match(line)
    return word[1] if word else ""


def parsed(line: str) -> CommandLine | None:
    """Return a command line as the sandbox would understand it, or None."""
    try:
        return parse(line)
    except ParseError:
        return None


def tidy(command: str) -> str:
    """Return a command without typographic spaces and quotes, a full stop, and a reason after the file of `id`."""
    spaced = _ODD_SPACES.search(command, 0, 20)
    if spaced is not None and command[: spaced.start()] in WORDS:
        command = f"{command[: spaced.start()]} {command[spaced.end() :]}"
    word = first_word(command)
    if word == "answer":
        return command
    if word.rstrip(".!") in WORDS:
        command = command.replace(word, word.rstrip(".!"), 1)
    for opening, closing, plain in (("\u201c", "\u201d", '"'), ("\u2018", "\u2019", "'")):
        if opening in command and closing in command and plain not in command:
            command = command.replace(opening, plain).replace(closing, plain)
    if word == "id":
        command = _REASON.sub("", command, count=1)
    if word in _READS_NAMES and _FULL_STOP.search(command[-2:]):
        command = command[:-1]
    return command


def within(text: str) -> str | None:
    """Return the command that stands within quotation marks, brackets and the like, or before an aside."""
    for layer in layers(text) if len(text) <= _LONGEST_WITHIN else ():
        for line in (ASIDE.sub("", layer, count=1), layer) if first_word(layer) not in FREE_TEXT else (layer,):
            word = first_word(line)
            if word in WORDS and "\n" not in line and parsed(line) and line[-1:] not in "!*" and not is_prose(line):
                return tidy(line)
    return None


def is_command(said: str) -> bool:
    line = bare(said)
    word = first_word(_ODD_SPACES.sub(" ", line[:40]))
    if word == "answer":
        return True
    if word in WORDS:
        return "\n" not in line or parsed(line) is not None
    # One line in small letters may be a command that does not exist: the sandbox says so.
    return "\n" not in line and PROGRAM.fullmatch(word) is not None and len(line.split()) <= 6


def first_command(text: str, chained: bool = False) -> FirstCommand:
    """Return the first command of some lines; an open quote or a here-document takes in the lines after it.

    Where they are `chained`, what `&&` joins is one command.
    """
    text = text.strip("\n")
    skipped = _SKIPPED.match(text)
    text = text[skipped.end() :] if skipped else text
    line, break_, rest = text.partition("\n")
    first = bare(line)
    text = f"{first}{break_}{rest}"
    if first_word(first) == "answer":
        return FirstCommand(text.strip())
    end = document_end(text)
    if end:
        return FirstCommand(text[:end], _lines(text, end))
    text = _joined(text)
    whole = _ONE_LINE.match(text)
    end = whole.end() if whole else len(first)
    if text[end : end + 1] not in ("", "\n"):  # a quote that nothing closes
        return FirstCommand(tidy(first), _lines(text, len(first)))
    left_over = _lines(text, end)
    line = _inner(text[:end])
    if first_word(line) in WORDS:
        line, further = _first_of(line, chained)
        left_over += further
    return FirstCommand(tidy(line), left_over)


def _joined(text: str) -> str:
    """Return lines, with the first joined to those that it continues on after a backslash."""
    parts: list[str] = []
    while (at := text.find("\n")) > 0 and text[at - 1] == "\\" and len(parts) < _MOST_JOINED:
        parts.append(text[: at - 1])
        text = text[at + 1 :].lstrip(" \t")
    return "".join(parts) + text


def _inner(line: str) -> str:
    """Return the command of a shell's command line: `ls` for `bash -c 'ls'`."""
    command = parsed(line) if first_word(line) in SHELLS else None
    words = command.words if command else ()
    return words[2].strip() if len(words) == 3 and words[1] in ("-c", "-lc") and words[2].strip() else line


def _first_of(line: str, chained: bool) -> tuple[str, int]:
    """Return the first of several commands on a line, and how many follow it."""
    commands, joined = _split(line)
    if chained or cd_first(line) is not None:
        most = 1 + next((at for at, each in enumerate(joined) if each != "&&"), len(joined))
        most = most if chained else min(most, 2)
        return " && ".join(commands[:most]), max(0, len(commands) - most)
    return commands[0], len(commands) - 1


def _split(line: str) -> tuple[list[str], list[str]]:
    """Return the commands of a line, and what joins each to the next."""
    commands: list[str] = []
    joined: list[str] = []
    at = 0
    while at < len(line):
        command = _ONE_COMMAND.match(line, at)
        separator = _SEPARATOR.match(line, command.end() if command else at)
        if command is None or separator is None:
            commands.append(line[at:].strip())
            break
        if command[0].strip():
            commands.append(command[0].strip())
            joined.append(separator[0].strip())
        at = separator.end()
    filled = [each for each in commands if each] or [line]
    return filled, joined[: len(filled) - 1]


def in_turn(line: str) -> list[str]:
    """Return the commands that `&&` joins; one that joins others otherwise stays as it is."""
    commands, joined = _split(line) if "&&" in line and parsed(line) is None else ([line], [])
    return commands if all(each == "&&" for each in joined) else [line]


def cd_first(line: str) -> tuple[str, str] | None:
    command = _ONE_COMMAND.match(line) if first_word(line) == "cd" else None
    separator = _SEPARATOR.match(line, command.end()) if command else None
    if command is None or separator is None or separator[0].strip() != "&&" or not line[separator.end() :]:
        return None
    return command[0].strip(), line[separator.end() :]


def _lines(text: str, start: int) -> int:
    return sum(1 for _ in _FILLED_LINE.finditer(text, start))


def is_prose(line: str) -> bool:
    """Return whether a line that begins with a command's name is more likely a sentence."""
    word, *words = line.split()
    if word == "exit":
        return bool(words)
    if word == "id":
        return len(words) > 1 and not set("./'\"\\_-") & set("".join(words[:-1]) + words[-1][:-1])
    plain = [each.rstrip(".,:!?") for each in words]
    return word not in FREE_TEXT and len(words) > 1 and all(map(str.isalpha, plain)) and bool(_SMALL & set(plain))


def operands(typed: str) -> tuple[str, ...]:
    """Return what a name may mean: without its quotes, and as typed."""
    command = parsed(f"id {typed}")
    words = command.words[1:] if command else ()
    spoken = typed.split(" ")
    # What follows the name may be a reason: the longest beginning that is a name counts.
    return (*(words if len(words) == 1 else ()), *(" ".join(spoken[:end]) for end in range(len(spoken), 0, -1)))
