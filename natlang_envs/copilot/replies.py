"""Finds the command in what a person or a model answers: the rest is what they thought.

`_READERS` is the table of forms, in the order in which they are tried: the more expressly a command is given, the
earlier. A command that ends the work is never taken out of prose where there is another one.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from typing import NamedTuple

from natlang_envs.copilot.command_text import (
    ENDS,
    FREE_TEXT,
    MARKS,
    PROGRAM,
    QUOTED,
    SHELLS,
    WORDS,
    bare,
    first_command,
    first_word,
    is_command,
    parses,
    tidy,
    unquoted,
)
from natlang_envs.copilot.tool_calls import calls_in, command_of, python_call
from natlang_envs.evaluation.model_text import json_values, split_thought
from natlang_envs.prompt import Choice
from natlang_envs.sandbox.commands.parser import document_end

_FENCE_LINE = re.compile(r"^[ \t]*+(```++|~~~++)[ \t]*+([\w+.-]*+)[ \t]*+$", re.MULTILINE)
_ACTION = re.compile(
    r"^[ \t>*_#]*+(?:(?:Next|My)[ \t]+)?(?:Action|Command|Cmd|Run|Execute|Bash|Shell)(?:[ \t]*\d+)?"
    r"[ \t*_]*[:\uff1a][ \t*_]*",
    re.MULTILINE | re.IGNORECASE,
)
_INPUT = re.compile(r"\A([\w.]+)[ \t*_]*\n[ \t*_]*Action Input[ \t*_]*:[ \t*_]*(.*)\Z", re.DOTALL | re.IGNORECASE)
_NEXT_FIELD = re.compile(
    r"^[ \t>*_#]*(?:Observation|Thought|Action|Final Answer)(?:[ \t]*\d+)?[ \t*_]*:", re.MULTILINE | re.IGNORECASE
)
_COLON = re.compile(r"\A(cat|cd|id):[ \t]+")
_BRACKETS = re.compile(r"\A([A-Za-z]+)\[([^\n]*)\]\Z")
_FINAL = re.compile(r"^[ \t>*_#]*+Final Answer[ \t*_]*:[ \t*_]*", re.MULTILINE | re.IGNORECASE)
_ANSWER = re.compile(r"^[ \t>*_#]*+(?:The[ \t]+)?Answer(?:[ \t]+is)?[ \t*_]*:[ \t*_]*", re.MULTILINE | re.IGNORECASE)
_COMMAND_LINE = re.compile(
    rf"^[^\S\n]*+{MARKS}?[`*]*+[^\S\n]*+({'|'.join(sorted(WORDS, key=len, reverse=True))})(?=[\s`*.]|\Z)", re.MULTILINE
)
# Words in the sentence before a quoted command after which it is not meant to be done now.
_NOT_NOW = re.compile(
    r"n['\u2019]t\b|\b(?:not|never|yet|before|until|unless|without|instead|later|avoid|if|when|once|can|could|may|might)\b",
    re.IGNORECASE,
)
# Words of sentences.
_SMALL = frozenset(
    ("the", "to", "of", "it", "is", "that", "this", "in", "and", "for", "we", "at", "would", "was", "as")
)
_SENTENCE_ENDS = re.compile(r"[.!?:;]\s|\n")
_LONGEST_LABELLED = 40  # characters of an answer that is a label alone
_MOST_DOCUMENTS = 20  # lines of one answer that may begin a here-document
_MOST_TRIED = 500  # blocks, lines and quotations of one answer that are tried
_LABELLED = re.compile(r"\A(?:choice[ \t]*:?[ \t]*)?[(\[*`\"']*([A-Za-z]{1,2})[)\]*`\"']*[.:)]?\Z", re.IGNORECASE)


class Reply(NamedTuple):
    """The parts of an answer."""

    command: str | None  # the one command in it, or None where none can be found
    reasoning: str = ""  # the text around it
    left_over: int = 0  # how many further commands stand with it and are not run


def read_reply(text: str, choices: Sequence[Choice] = (), final: str = "answer") -> Reply:
    """Find the command; a label or the words of one of the choices stand for it.

    `final` is the command that a final answer stands for: `answer`, `id`, or `exit`, which takes no text.
    """
    thought, said, finished = split_thought(text)
    if not finished:  # it was cut while it thought: only what stands last can be a command, and none that ends the work
        said, finished = thought.rpartition("\n")[2].strip(), True
        if not _may_end_a_thought(said):
            return Reply(None, thought or text.strip())
        thought = thought[: -len(said)].strip()
    before = f"{thought}\n" if thought else ""
    chosen = _choice(said, choices)
    if chosen is not None:
        return Reply(chosen, thought)
    said = _COLON.sub(r"\1 ", said)
    if is_command(said):
        line, left_over = first_command(said) if _is_several(said) else (tidy(bare(said)), 0)
        return Reply(line, thought, left_over)
    for reader in _READERS:
        found = reader(said, choices, final)
        if found is not None:
            command, around, left_over = found
            return Reply(_choice(command, choices) or command, (before + around).strip(), left_over)
    last = said.rpartition("\n")[2].strip()  # a label at the end of a reasoning
    chosen = _choice(last, choices)
    if chosen is None:
        return Reply(None, (before + said).strip())
    return Reply(chosen, (before + said[: -len(last)]).strip())


def _may_end_a_thought(line: str) -> bool:
    word = first_word(line)
    return word in WORDS and word not in ENDS and parses(line) and not _is_prose(line)


def _is_several(said: str) -> bool:
    word = first_word(bare(said))
    return word in SHELLS or (word in WORDS - {"answer"} and not parses(bare(said)))


def _choice(said: str, choices: Sequence[Choice]) -> str | None:
    """Return the command of the choice that is named by its label, its words, or both."""
    label = _LABELLED.match(said) if len(said) <= _LONGEST_LABELLED else None
    for each in choices:
        if said == each.command or (label and label[1] == each.label) or said == f"{each.label}. {each.command}":
            return each.command
    return None


Found = tuple[str, str, int]  # the command, the text around it, and how many further commands there are
_Reader = Callable[[str, Sequence[Choice], str], Found | None]


def _from_action(said: str, choices: Sequence[Choice], final: str) -> Found | None:
    """Return the command of the first `Action:`; a model that goes on writes observations of its own after it."""
    label = _ACTION.search(said)
    if label is None:
        return None
    rest = said[label.end() :]
    pair = _INPUT.match(rest)
    if pair is not None:
        given = pair[2] if pair[1] in WORDS else _structured(pair[2])
        rest = f"{pair[1]} {given}" if pair[1] in WORDS else given
    after = _NEXT_FIELD.search(rest)
    field = (rest[: after.start()] if after else rest).strip()
    block = next(_blocks(field), None)
    fenced = block is not None and block.start == 0
    if block is not None and fenced:
        field = block.content
    elif "\n" in field and first_word(bare(field)) not in WORDS:
        field = field.partition("\n")[0]
    field = _structured(field)
    brackets = _BRACKETS.match(field)
    if brackets is not None:
        word = {"finish": "answer"}.get(brackets[1].lower(), brackets[1].lower())
        field = f"{word} {brackets[2]}" if word in WORDS else brackets[2]
    command, left_over = first_command(field)
    word = first_word(command)
    if word not in WORDS and not _choice(command, choices) and not PROGRAM.fullmatch(word):
        return None
    if not fenced:  # what follows on other lines is no command
        left_over = 0 if "\n" in command else first_command(field.partition("\n")[0]).left_over
    return command, said[: label.start()], left_over


def _structured(text: str) -> str:
    """Return the command that JSON, a tag or a call in Python's form names; else the text."""
    stripped = text.strip()
    if stripped[:1] in ("{", "["):
        return command_of(stripped) or text
    return next((command for command, _, _ in calls_in(stripped)), "") or python_call(stripped) or text


def _from_calls(said: str, choices: Sequence[Choice], final: str) -> Found | None:
    """Return the command of the first tool call or tag, unless it stands in a block."""
    blocks = list(islice(_blocks(said), _MOST_TRIED)) if "<" in said or "[TOOL" in said else []
    calls = [call for call in calls_in(said) if not any(each.start < call[1] < each.end for each in blocks)]
    if not calls:
        return None
    content, start, end = calls[0]
    block = next(_blocks(content), None)
    command, left_over = first_command(block.content if block is not None and block.start == 0 else content)
    if not command:
        return None
    return _meant(command, final), said[:start] + said[end:], left_over + len(calls) - 1


def _meant(command: str, final: str) -> str:
    """Return what ends the work, for an answer that a tool or a tag gives."""
    word, _, text = command.partition(" ")
    if word != "answer":
        return command
    return final if final == "exit" else f"{final} {text}".strip()


class _Block(NamedTuple):
    """A fenced block: where it begins and ends in the text, and what is in it."""

    start: int
    end: int
    content: str


def _blocks(text: str) -> Iterator[_Block]:
    """Yield the fenced blocks; each ends at the next line that holds the same fence alone, the last at the end."""
    lines = list(islice(_FENCE_LINE.finditer(text), 4 * _MOST_TRIED))
    closing: defaultdict[str, list[int]] = defaultdict(list)  # the numbers of the lines that may close a block
    for number, line in enumerate(lines):
        if not line[2]:
            closing[line[1]].append(number)
    number = 0
    unclosed: re.Match[str] | None = None
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
        elif unclosed is None:
            unclosed = opening
    if unclosed is not None:
        yield _Block(unclosed.start(), len(text), text[unclosed.end() + 1 :])


def _from_fence(said: str, choices: Sequence[Choice], final: str) -> Found | None:
    """Return the first command of the first block that holds one."""
    found: Found | None = None
    for block in islice(_blocks(said), _MOST_TRIED):
        command, left_over = first_command(_structured(block.content))
        word = first_word(command)
        if word in WORDS or _choice(command, choices) or (not left_over and PROGRAM.fullmatch(word)):
            if found is not None:
                found = (found[0], found[1], found[2] + 1 + left_over)
            else:
                found = (command, said[: block.start] + said[block.end :], left_over)
    return found


def _from_json(said: str, choices: Sequence[Choice], final: str) -> Found | None:
    """Return the command of the first object or list that names one, or of a call in Python's form."""
    for each in json_values(said):
        command = None if each.broken else command_of(each.value)
        if command and (said[each.start] == "{" or first_word(command) in WORDS):
            line, left_over = first_command(command)
            return _meant(line, final), said[: each.start] + said[each.end :], left_over
    command = python_call(said)
    return (*first_command(command)[:1], "", 0) if command else None


def _from_line(said: str, choices: Sequence[Choice], final: str) -> Found | None:
    """Return the first line that is a command; one that ends the work only where there is no other."""
    first: Found | None = None
    further, end, documents = 0, -1, 0
    for found in islice(_COMMAND_LINE.finditer(said), _MOST_TRIED):
        begin = found.start(1)
        if begin < end:  # within a here-document
            continue
        end = said.find("\n", begin)
        end = len(said) if end < 0 else end
        if found[1] == "answer":
            if first is None or first_word(first[0]) in ENDS:
                return bare(said[found.start() :]), said[: found.start()], 0
            break
        documents += "<<" in said[begin:end]
        length = document_end(said[begin:]) if "<<" in said[begin:end] and documents <= _MOST_DOCUMENTS else 0
        end = max(end, begin + length)
        line = said[begin:end] if length else bare(said[found.start() : end])
        command, left_over = first_command(line)
        word = first_word(command)
        if word not in WORDS or not (length or "<<" in command or parses(command)) or _is_prose(line):
            continue
        if first is None or (first_word(first[0]) in ENDS and word not in ENDS):
            further += first is not None
            first = (command, said[: found.start()] + said[end + 1 :], left_over)
        else:
            further += 1
    return None if first is None else (first[0], first[1], first[2] + further)


def _is_prose(line: str) -> bool:
    """Return whether a line that begins with a command's name is more likely a sentence."""
    word, *words = line.split()
    if word == "exit":
        return bool(words)
    if word == "id":
        return len(words) > 1 and not set("./'\"\\_-") & set("".join(words[:-1]) + words[-1][:-1])
    plain = [each.rstrip(".,:!?") for each in words]
    return word not in FREE_TEXT and len(words) > 1 and all(map(str.isalpha, plain)) and bool(_SMALL & set(plain))


def _from_quotes(said: str, choices: Sequence[Choice], final: str) -> Found | None:
    """Return the first words in backquotes that are a command; one that ends the work only if the sentence means it."""
    end: str | None = None
    for quoted in islice(QUOTED.finditer(said), _MOST_TRIED):
        line, left_over = first_command(unquoted(quoted))
        words = line.split()
        if not words or words[0] not in WORDS or not (len(words) > 1 or words[0] in ("ls", "cd", "exit", "pwd")):
            continue
        if words[0] not in ENDS:
            return line, said, left_over
        if end is None and not _is_put_off(said, quoted.start(), quoted.end()):
            end = line
    return None if end is None else (end, said, 0)


def _is_put_off(said: str, start: int, end: int) -> bool:
    """Return whether the sentence around a quotation says that it is not to be done now."""
    before = said[max(0, start - 200) : start]
    after = said[end : end + 200]
    begins = [each.end() for each in _SENTENCE_ENDS.finditer(before)]
    ends = _SENTENCE_ENDS.search(after)
    sentence = f"{before[begins[-1] if begins else 0 :]} {after[: ends.start() if ends else None]}"
    return _NOT_NOW.search(sentence) is not None


def _from_final(said: str, choices: Sequence[Choice], final: str, label: re.Pattern[str] = _FINAL) -> Found | None:
    """Return what ends the work, for the text after a label."""
    found = label.search(said) if "answer" in said.lower() else None
    text = said[found.end() :].strip() if found else ""
    if found is None or not text:
        return None
    if final == "id":
        text = bare(text.partition("\n")[0]).removeprefix("id ")
    command = "exit" if final == "exit" else tidy(f"{final} {text.removeprefix('answer ')}")
    return command, said[: found.start()], 0


def _from_answer(said: str, choices: Sequence[Choice], final: str) -> Found | None:
    """Return the same for the text after `Answer:`, which does not say that a change is done."""
    return _from_final(said, choices, final, _ANSWER) if final != "exit" else None


_READERS: tuple[_Reader, ...] = (
    _from_action,
    _from_calls,
    _from_final,
    _from_fence,
    _from_json,
    _from_line,
    _from_quotes,
    _from_answer,
)
