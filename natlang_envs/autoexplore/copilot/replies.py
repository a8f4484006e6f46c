"""Finds the command in what a person or a model answers: the rest is what they thought.

Understood are a bare command, the label or the words of a listed choice, a fenced block, a line that begins with
`Action:` (as ReAct has it), and a command in backquotes or on a line of its own among other words.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

from natlang_envs.autoexplore.sandbox.parser import ParseError, parse
from natlang_envs.enumeration import Choice

ENDS = ("id", "answer", "exit")
WORDS = frozenset({"cat", "cd", "echo", "head", "ls", "pip", "pip3", "python", "python3", "tail", *ENDS})

_THOUGHT = re.compile(r"\A.*</think(?:ing)?>", re.DOTALL | re.IGNORECASE)
_TAG = re.compile(r"</?think(?:ing)?>", re.IGNORECASE)
_FENCE = re.compile(r"^[ \t]*(```+|~~~+)[ \t]*[\w+-]*[ \t]*\n(.*?)\n?^[ \t]*\1[ \t]*$", re.MULTILINE | re.DOTALL)
_ACTION = re.compile(r"^[ \t>*_#]*Action(?:[ \t]*\d+)?[ \t*_]*:[ \t*_]*", re.MULTILINE | re.IGNORECASE)
_INPUT = re.compile(r"\A([\w.]+)[ \t*_]*\n[ \t*_]*Action Input[ \t*_]*:[ \t*_]*(.*)\Z", re.DOTALL | re.IGNORECASE)
_NEXT_FIELD = re.compile(
    r"^[ \t>*_#]*(?:Observation|Thought|Action|Final Answer)(?:[ \t]*\d+)?[ \t*_]*:", re.MULTILINE | re.IGNORECASE
)
_QUOTED = re.compile(r"(?<!`)`([^`\n]+)`(?!`)")
_PROMPT = re.compile(r"\A(?:\$|>)[ \t]+")
_PROGRAM = re.compile(r"[a-z][\w.+-]*", re.ASCII)
_LABELLED = re.compile(r"\A(?:choice[ \t]*:?[ \t]*)?[(\[*`\"']*([A-Za-z]{1,2})[)\]*`\"']*[.:)]?\Z", re.IGNORECASE)


class Reply(NamedTuple):
    """What an answer says.

    Attributes:
        command: The one command in it, or None where none can be found.
        reasoning: What stands around it.
        left_over: How many lines of a block follow the command and are not run.
    """

    command: str | None
    reasoning: str = ""
    left_over: int = 0


def read_reply(text: str, choices: Sequence[Choice] = ()) -> Reply:
    """Find the command.

    Args:
        text: The answer.
        choices: The listed choices; a label or the words of one stand for it.
    """
    thought = _THOUGHT.match(text)
    said = (text[thought.end() :] if thought else text).strip()
    before = _TAG.sub("", thought[0]).strip() + "\n" if thought else ""
    chosen = _choice(said, choices)
    if chosen is not None:
        return Reply(chosen, before.strip())
    if _is_command(said):
        return Reply(_bare(said), before.strip())
    found = _from_action(said) or _from_fence(said, choices) or _from_line(said)
    if found is None:
        last = said.rpartition("\n")[2].strip()  # a label at the end of a reasoning
        chosen = _choice(last, choices)
        if chosen is None:
            return Reply(None, text.strip())
        return Reply(chosen, (before + said[: -len(last)]).strip())
    command, around, left_over = found
    return Reply(_choice(command, choices) or command, (before + around).strip(), left_over)


def _choice(said: str, choices: Sequence[Choice]) -> str | None:
    """Return the command of the choice that is named by its label, its words, or both."""
    label = _LABELLED.match(said)
    for each in choices:
        if said == each.command or (label and label[1] == each.label) or said == f"{each.label}. {each.command}":
            return each.command
    return None


def _bare(line: str) -> str:
    """Return a line without a shell's prompt or quotation marks around it."""
    line = _PROMPT.sub("", line.strip())
    quoted = _QUOTED.fullmatch(line)
    return quoted[1].strip() if quoted else line


def _first_word(line: str) -> str:
    return line.split(None, 1)[0] if line.split() else ""


def _is_command(said: str) -> bool:
    """Return whether all of an answer is one command."""
    line = _bare(said)
    word = _first_word(line)
    if word == "answer":
        return True
    if word in WORDS:
        return "\n" not in line or _parses(line)
    # One line in small letters may be a command that does not exist: the sandbox says so.
    return "\n" not in line and _PROGRAM.fullmatch(word) is not None and len(line.split()) <= 6


def _parses(line: str) -> bool:
    try:
        parse(line)
    except ParseError:
        return False
    return True


Found = tuple[str, str, int]


def _from_action(said: str) -> Found | None:
    """Return the command of the first `Action:`; a model that goes on writes observations of its own after it."""
    label = _ACTION.search(said)
    if label is None:
        return None
    rest = said[label.end() :]
    around = said[: label.start()]
    pair = _INPUT.match(rest)
    if pair is not None:
        rest = f"{pair[1]} {pair[2]}"
    after = _NEXT_FIELD.search(rest)
    field = (rest[: after.start()] if after else rest).strip()
    fence = _FENCE.match(field)
    if fence is not None:
        field = fence[2]
    command, left_over = _first_command(field)
    return (command, around, left_over if fence else 0) if command else None


def _from_fence(said: str, choices: Sequence[Choice]) -> Found | None:
    """Return the first command of the first block that holds one."""
    for block in _FENCE.finditer(said):
        command, left_over = _first_command(block[2])
        word = _first_word(command)
        if word in WORDS or _choice(command, choices) or (not left_over and _PROGRAM.fullmatch(word)):
            return command, said[: block.start()] + said[block.end() :], left_over
    return None


def _from_line(said: str) -> Found | None:
    """Return the first line that is a command, or the first words in backquotes that are."""
    lines = said.split("\n")
    for number, line in enumerate(lines):
        command = _bare(line)
        word = _first_word(command)
        if word in WORDS and (_parses(command) or word == "answer"):
            if word == "answer":
                return "\n".join([command, *lines[number + 1 :]]).strip(), "\n".join(lines[:number]), 0
            return command, "\n".join(lines[:number] + lines[number + 1 :]), 0
    for quoted in _QUOTED.finditer(said):
        words = quoted[1].split()
        if words and words[0] in WORDS and (len(words) > 1 or words[0] in ("ls", "cd", "exit")):
            return quoted[1].strip(), said, 0
    return None


def _first_command(text: str) -> tuple[str, int]:
    """Return the first command of some lines (an open quote takes in the next line), and how many lines are left."""
    lines = text.strip("\n").split("\n")
    while len(lines) > 1 and (not lines[0].strip() or lines[0].lstrip().startswith("#")):
        del lines[0]
    first = _bare(lines[0])
    if _first_word(first) == "answer":
        return "\n".join([first, *lines[1:]]).strip(), 0
    count = _lines_of_one([first, *lines[1:]])
    return "\n".join([first, *lines[1:count]]), sum(1 for line in lines[count:] if line.strip())


def _lines_of_one(lines: Sequence[str]) -> int:
    """Return how many lines the first command takes: an open quote goes on in the next; 1 where none closes it."""
    quote = ""
    for number, line in enumerate(lines, 1):
        escaped = False
        for character in line:
            if escaped:
                escaped = False
            elif character == "\\" and quote != "'":
                escaped = True
            elif quote:
                quote = "" if character == quote else quote
            elif character in "'\"":
                quote = character
        if not quote:
            return number
    return 1
