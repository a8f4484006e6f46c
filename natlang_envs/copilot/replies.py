"""Finds the command in what a person or a model answers: the rest is what they thought.

Understood are a bare command, the label or the words of a listed choice, a fenced block, a line that begins with
`Action:` (as ReAct has it), and a command in backquotes or on a line of its own among other words.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import NamedTuple

from natlang_envs.prompt import Choice
from natlang_envs.sandbox.parser import ParseError, parse

ENDS = ("id", "answer", "exit")
WORDS = frozenset({"cat", "cd", "echo", "head", "ls", "pip", "pip3", "python", "python3", "tail", *ENDS})

_THOUGHT = re.compile(r"\A.*</think(?:ing)?>", re.DOTALL | re.IGNORECASE)
_TAG = re.compile(r"</?think(?:ing)?>", re.IGNORECASE)
_FENCE_LINE = re.compile(r"^[ \t]*+(```++|~~~++)[ \t]*+([\w+-]*+)[ \t]*+$", re.MULTILINE)
_ACTION = re.compile(r"^[ \t>*_#]*Action(?:[ \t]*\d+)?[ \t*_]*:[ \t*_]*", re.MULTILINE | re.IGNORECASE)
_INPUT = re.compile(r"\A([\w.]+)[ \t*_]*\n[ \t*_]*Action Input[ \t*_]*:[ \t*_]*(.*)\Z", re.DOTALL | re.IGNORECASE)
_NEXT_FIELD = re.compile(
    r"^[ \t>*_#]*(?:Observation|Thought|Action|Final Answer)(?:[ \t]*\d+)?[ \t*_]*:", re.MULTILINE | re.IGNORECASE
)
_QUOTED = re.compile(r"(?<!`)`([^`\n]+)`(?!`)")
_PROMPT = re.compile(r"\A(?:\$|>)[ \t]+")
_PROGRAM = re.compile(r"[a-z][\w.+-]*", re.ASCII)
_LONGEST_LABELLED = 40  # characters of an answer that is a label alone
_MOST_TRIED = 500  # blocks, lines and quotations of one answer that are tried
_COMMAND_LINE = re.compile(
    rf"^[^\S\n]*+(?:[$>][ \t]++)?`?[^\S\n]*+(?:{'|'.join(sorted(WORDS, key=len, reverse=True))})(?=[\s`]|\Z)",
    re.MULTILINE,
)
_WORD = re.compile(r"\s*+(\S++)")
_SKIPPED = re.compile(r"(?:[^\S\n]*+(?:#[^\n]*+)?\n)*+")  # blank lines and comments
_FILLED_LINE = re.compile(r"\S[^\n]*+")
# One command: to the first line break outside quotes.
_ONE_COMMAND = re.compile(r"""(?:[^'"\\\n]++|\\[^\n]?+|'[^']*+'|"(?:[^"\\]++|\\[^\n]?+)*+")*+""")
_LABELLED = re.compile(r"\A(?:choice[ \t]*:?[ \t]*)?[(\[*`\"']*([A-Za-z]{1,2})[)\]*`\"']*[.:)]?\Z", re.IGNORECASE)


class Reply(NamedTuple):
    """The parts of an answer.

    Attributes:
        command: The one command in it, or None where none can be found.
        reasoning: The text around it.
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
    label = _LABELLED.match(said) if len(said) <= _LONGEST_LABELLED else None
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
    word = _WORD.match(line)
    return word[1] if word else ""


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
    block = next(_blocks(field), None)
    fenced = block is not None and block.start == 0
    if block is not None and fenced:
        field = block.content
    command, left_over = _first_command(field)
    return (command, around, left_over if fenced else 0) if command else None


class _Block(NamedTuple):
    """A fenced block: where it begins and ends in the text, and what is in it."""

    start: int
    end: int
    content: str


def _blocks(text: str) -> Iterator[_Block]:
    """Yield the fenced blocks; each ends at the next line that holds the same fence alone."""
    lines = list(islice(_FENCE_LINE.finditer(text), 4 * _MOST_TRIED))
    closing: defaultdict[str, list[int]] = defaultdict(list)  # the numbers of the lines that may close a block
    for number, line in enumerate(lines):
        if not line[2]:
            closing[line[1]].append(number)
    number = 0
    while number < len(lines):
        opening = lines[number]
        same = closing[opening[1]]
        at = bisect_right(same, number)
        number += 1
        if at < len(same):
            end = lines[same[at]]
            content = text[opening.end() + 1 : end.start()].removesuffix("\n")
            yield _Block(opening.start(), end.end(), content)
            number = same[at] + 1


def _from_fence(said: str, choices: Sequence[Choice]) -> Found | None:
    """Return the first command of the first block that holds one."""
    for block in islice(_blocks(said), _MOST_TRIED):
        command, left_over = _first_command(block.content)
        word = _first_word(command)
        if word in WORDS or _choice(command, choices) or (not left_over and _PROGRAM.fullmatch(word)):
            return command, said[: block.start] + said[block.end :], left_over
    return None


def _from_line(said: str) -> Found | None:
    """Return the first line that is a command, or the first words in backquotes that are."""
    for found in islice(_COMMAND_LINE.finditer(said), _MOST_TRIED):
        end = said.find("\n", found.end())
        end = len(said) if end < 0 else end
        command = _bare(said[found.start() : end])
        word = _first_word(command)
        if word == "answer":
            return f"{command}{said[end:]}".strip(), said[: found.start()], 0
        if word in WORDS and _parses(command):
            return command, said[: found.start()] + said[end + 1 :], 0
    for quoted in islice(_QUOTED.finditer(said), _MOST_TRIED):
        words = quoted[1].split()
        if words and words[0] in WORDS and (len(words) > 1 or words[0] in ("ls", "cd", "exit")):
            return quoted[1].strip(), said, 0
    return None


def _first_command(text: str) -> tuple[str, int]:
    """Return the first command of some lines (an open quote takes in the next line), and how many lines are left."""
    text = text.strip("\n")
    skipped = _SKIPPED.match(text)
    text = text[skipped.end() :] if skipped else text
    line, break_, rest = text.partition("\n")
    first = _bare(line)
    text = f"{first}{break_}{rest}"
    if _first_word(first) == "answer":
        return text.strip(), 0
    whole = _ONE_COMMAND.match(text)
    end = whole.end() if whole else len(first)
    if text[end : end + 1] not in ("", "\n"):  # a quote that nothing closes
        end = len(first)
    return text[:end], sum(1 for _ in _FILLED_LINE.finditer(text, end))
