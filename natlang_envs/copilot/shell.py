"""Commands of the sandbox in an answer: the copilot's grammar for `read_answer`.

The search goes from explicit to implicit forms: a label, a tool call or a tag, a final answer, a block, JSON, a line of
its own, a box, a sentence, quotes. `natlang_envs.answers` finds the parts. The first of several commands is taken, and
the others are counted. A command that ends the work is not taken out of prose if there is another one.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from itertools import islice
from typing import Any

from natlang_envs.answers import Reading
from natlang_envs.answers.calls import commands_of
from natlang_envs.answers.listed import is_rejected
from natlang_envs.answers.texts import MOST_TRIED, AnswerPart, blocks, fields_of, is_example, parts_of
from natlang_envs.copilot.command_text import (
    ASIDE,
    ENDS,
    MARKS,
    PROGRAM,
    QUOTED,
    SHELLS,
    WORDS,
    bare,
    first_command,
    first_word,
    is_command,
    is_prose,
    parsed,
    tidy,
    unquoted,
    within,
)
from natlang_envs.copilot.edit_forms import SHELL_NAMES, edit_in, edit_of, files_in, marked
from natlang_envs.sandbox.commands.parser import document_end

_ACTION = re.compile(
    r"^[ \t>*_#-]*+(?:(?:Next|My|The|Best|Chosen|Selected)[ \t]+)*(?:Action|Command|Cmd|Run|Execute|Bash"
    r"|Shell|Choice|Decision|Move)"
    r"(?:[ \t]*\d+)?[ \t*_]*(?:[:\uff1a=]|[ \t]-(?=[ \t]))[ \t*_]*",
    re.MULTILINE | re.IGNORECASE,
)
_SENTENCE = re.compile(
    r"\b(?:I(?: will|'ll| shall| am going to|'m going to)|let(?:'s| me)) (?:now |first |next )?[`\"]?"
    rf"((?:{'|'.join(sorted(WORDS - set(ENDS)))})(?: [^\n`\"]*?)?)[`\"]?[.!]?(?=\s|\Z)(?=\s*(?:\Z|\n|[A-Z]))"
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
_SENTENCE_ENDS = re.compile(r"[.!?:;]\s|\n")
_DONE = frozenset(("finish", "submit", "done"))  # words that say that a change is done
_MOST_DOCUMENTS = 20  # lines of one answer that may begin a here-document


class Shell:
    """The grammar of the copilot's commands.

    `final` is the command that a final answer stands for: `answer`, `id`, or `exit`, which takes no text. `more` are
    names of further commands, each a line of its own. `chained`: commands that `&&` joins are one.
    """

    def __init__(self, final: str = "answer", more: Collection[str] = (), chained: bool = False) -> None:
        self._final, self._more, self._chained = final, more, chained
        self._edits = final == "exit"
        self._words = WORDS | _DONE if self._edits else WORDS

    def whole(self, said: str) -> Reading | None:
        line = bare(said)
        if "\n" not in line and first_word(line) in self._more:
            return Reading(line, "bare")
        said = _COLON.sub(r"\1 ", said)
        if said[-1:] in "!\"')]*" and said[:1] not in "`" and (inner := within(said)) and inner != said:
            if first_word(inner) == "answer" and not said.lstrip("\"'([*`").startswith("answer"):
                return None  # "[the answer …]" is a sentence
            return Reading(inner, "bare")
        if not is_command(said) or (self._edits and marked(said)):
            return None
        word, parts = first_word(line), line.split()
        several = word in SHELLS or (word in WORDS - {"answer"} and not parsed(line))
        command, left_over = first_command(said, self._chained) if several else (tidy(bare(said)), 0)
        return Reading(self._end(command) if len(parts) == 1 else command, "bare", "", left_over)

    def read(self, said: str) -> Reading | None:
        said = _COLON.sub(r"\1 ", said)
        label = _ACTION.search(said)
        if self._edits and (edit := edit_in(said[label.end() :] if label else said)) is not None:
            return Reading(edit, "edit")
        files = files_in(said) if self._edits else None
        said = said if files else stated(said)
        parts = parts_of(said)[1]
        found = (
            self._label(said, parts)
            or self._given(said, parts, "tool call", "tag")
            or self._answer(said)
            or (Reading(files, "edit") if files else None)
            or self._given(said, parts, "fence")
            or self._given(said, parts, "json")
            or self._line(said)
            or self._box(said, parts)
            or self._sentence(said)
            or self._quotation(said)
        )
        if found is not None:
            return found
        lines = said.splitlines() if self._more else ()
        asked = next((line for line in map(bare, lines) if line in self._more), None)
        if asked is not None:
            return Reading(asked, "line", said)
        return self._answer(said, _ANSWER) if self._final != "exit" else None

    def called(self, calls: Sequence[Mapping[str, Any]]) -> Reading | None:
        command = self._of_value(calls[0])
        if command is None:
            return None
        line, left_over = first_command(command, self._chained)
        return Reading(self._meant(line), "tool call", "", left_over + len(calls) - 1)

    def _of_value(self, value: object) -> str | None:
        edit = edit_of(value) if self._edits else None
        return edit or next((each for each in commands_of(value, self._words) if each), None)

    def _end(self, command: str) -> str:
        """Return `exit` for the other words that say that a change is done."""
        return "exit" if self._edits and command.strip("()").lower() in _DONE else command

    def _meant(self, command: str) -> str:
        """Return what ends the work, for an answer that a tool or a tag gives."""
        word, _, text = command.partition(" ")
        if (
            word == "answer"
            and self._final != "answer"
            and first_word(text) in WORDS - {*ENDS}
            and within(text) == text
        ):
            return text
        if word != "answer":
            return self._end(word) if word in _DONE else command
        return self._final if self._final == "exit" else f"{self._final} {text}".strip()

    def _commands_of(self, part: AnswerPart) -> list[str]:
        """Return the commands that a block, a tool call, a tag, JSON, or a call in Python's form names."""
        if part.form == "fence":
            return [self._structured(str(part.values[0]))]
        found = [command for each in part.values if (command := self._of_value(each))]
        return [block.content if (block := next(blocks(each), None)) and not block.start else each for each in found]

    def _structured(self, text: str) -> str:
        """Return the first command of what a text begins with, if that is JSON, a tag or a call; else the text."""
        part = next(iter(parts_of(text.strip())[1]), None)
        if part is None or part.start or part.form == "fence":
            return text
        return next(iter(self._commands_of(part)), text)

    def _label(self, said: str, parts: Sequence[AnswerPart]) -> Reading | None:
        """Return the command of the first `Action:`; a model that goes on writes observations of its own after it."""
        label = _ACTION.search(said)
        if label is None:
            return None
        rest = said[label.end() :]
        pair = _INPUT.match(rest)
        if pair is not None:
            rest = f"{pair[1]} {pair[2]}" if pair[1] in WORDS else self._structured(pair[2])
        after = _NEXT_FIELD.search(rest)
        field = (rest[: after.start()] if after else rest).strip()
        begin = said.find(field, label.end())
        part = next((each for each in parts if each.start == begin), None)
        fenced = part is not None and part.form == "fence"
        if part is not None and (commands := self._commands_of(part)):
            field = commands[0]
        elif first_word(bare(field)) not in WORDS:
            field = self._structured(field.partition("\n")[0])
        brackets = _BRACKETS.match(field)
        if brackets is not None:
            word = "answer" if brackets[1].lower() in _DONE else brackets[1].lower()
            field = self._meant(f"{word} {brackets[2]}") if word in WORDS else brackets[2]
        command, left_over = first_command(field, self._chained)
        if (
            not fenced
            and "<<" not in field
            and (first_word(command) not in WORDS or ASIDE.search(command) or command[-1] in "!*")
        ):
            command = within(field.partition("\n")[0]) or command
        word = first_word(command)
        if word not in WORDS and not PROGRAM.fullmatch(word) and word not in self._more:
            return None
        if not fenced:  # what follows on other lines is no command
            left_over = 0 if "\n" in command else first_command(field.partition("\n")[0], self._chained).left_over
        return Reading(self._end(command), "action", said[: label.start()], left_over)

    def _given(self, said: str, parts: Sequence[AnswerPart], *forms: str) -> Reading | None:
        """Return the first command of the parts of some forms; the others are left over."""
        found: Reading | None = None
        for part in parts:
            for text in self._commands_of(part) if part.form in forms else ():
                command, left_over = first_command(text, self._chained)
                if not command or (part.form == "fence" and not self._is_command(command, left_over, text, part)):
                    continue
                if found is not None:
                    found = found._replace(left_over=found.left_over + 1 + left_over)
                else:
                    command = self._end(command) if part.form == "fence" else self._meant(command)
                    found = Reading(command, part.form, said[: part.start] + said[part.end :], left_over)
        return found

    def _is_command(self, command: str, left_over: int, text: str, block: AnswerPart) -> bool:
        """Return whether a block's text is a command; where files are edited, a block may be code."""
        content, name = map(str, block.values)
        word = first_word(command)
        if word in WORDS or word in self._more:
            return True
        is_code = self._edits and text == content and name.lower() not in SHELL_NAMES
        return not left_over and not is_code and PROGRAM.fullmatch(word) is not None

    def _answer(self, said: str, label: re.Pattern[str] = _FINAL) -> Reading | None:
        """Return what ends the work, for the text after a label."""
        found = label.search(said) if "answer" in said.lower() else None
        text = said[found.end() :].strip() if found else ""
        if found is None or not text:
            return None
        if self._final != "answer" and first_word(text) in WORDS - {*ENDS} and (own := within(text.partition("\n")[0])):
            return Reading(own, "final", said[: found.start()])
        if self._final == "id":
            text = bare(text.partition("\n")[0]).removeprefix("id ")
        command = "exit" if self._final == "exit" else tidy(f"{self._final} {text.removeprefix('answer ')}")
        return Reading(command, "final", said[: found.start()])

    def _line(self, said: str) -> Reading | None:
        """Return the first line that is a command; one that ends the work only where there is no other."""
        first: Reading | None = None
        further, end, documents = 0, -1, 0
        for found in islice(_COMMAND_LINE.finditer(said), MOST_TRIED):
            begin = found.start(1)
            if begin < end:  # within a here-document
                continue
            end = said.find("\n", begin)
            end = len(said) if end < 0 else end
            if found[1] == "answer":
                if first is None or first_word(first.command or "") in ENDS:
                    return Reading(bare(said[found.start() :]), "line", said[: found.start()])
                break
            documents += "<<" in said[begin:end]
            length = document_end(said[begin:]) if "<<" in said[begin:end] and documents <= _MOST_DOCUMENTS else 0
            end = max(end, begin + length)
            line = said[begin:end] if length else bare(said[found.start() : end])
            command, left_over = first_command(line, self._chained)
            word = first_word(command)
            if word not in WORDS or not (length or "<<" in command or parsed(command)) or is_prose(line):
                continue
            further += first is not None
            if first is None or (first_word(first.command or "") in ENDS and word not in ENDS):
                first = Reading(command, "line", said[: found.start()] + said[end + 1 :], left_over)
        return None if first is None else first._replace(left_over=first.left_over + further)

    def _box(self, said: str, parts: Sequence[AnswerPart]) -> Reading | None:
        boxed = {command for part in parts if part.form == "boxed" and (command := within(str(part.values[0])))}
        return Reading(boxed.pop(), "boxed", said) if len(boxed) == 1 else None

    def _sentence(self, said: str) -> Reading | None:
        """Return the command that a sentence says is done, with a name, an option or a quotation."""
        found = [each for each in _SENTENCE.finditer(said) if parsed(each[1]) and not is_prose(each[1])]
        if len(found) != 1 or not re.search(r"\A(?:ls|pwd)\Z| \S*[./\\'\"\d-]", found[0][1]):
            return None
        line = said[: found[0].start()].rpartition("\n")[2][-200:]
        unsaid = line.strip("*_#> ").lower().startswith(("thought", "observation")) or is_rejected(
            _SENTENCE_ENDS.split(line)[-1]
        )
        return None if unsaid else Reading(tidy(found[0][1]), "sentence", said)

    def _quotation(self, said: str) -> Reading | None:
        """Return the first words in backquotes that are a command; one that ends the work only if that is meant."""
        end: str | None = None
        for quoted in islice(QUOTED.finditer(said), MOST_TRIED):
            line, left_over = first_command(unquoted(quoted), self._chained)
            words = line.split()
            if not words or words[0] not in WORDS or not (len(words) > 1 or words[0] in ("ls", "cd", "exit", "pwd")):
                continue
            if words[0] not in ENDS:
                return Reading(line, "quotation", said, left_over)
            if end is None and not _is_put_off(said, quoted.start(), quoted.end()):
                end = line
        return None if end is None else Reading(end, "quotation", said)


def stated(said: str) -> str:
    """Return a text without introduced lists and examples, and without observations; unchanged if it holds a file."""
    if said.count("\n") > MOST_TRIED or any(each in said for each in ("<<", "```", "~~~", "'", '"')):
        return said
    kept: list[str] = []
    introduction = ""
    for field in fields_of(said):
        introduction = field.raw if field.raw.rstrip("*_ ")[-1:] == ":" else introduction
        if field.kind != "shown" and not (field.kind == "other" and not field.labelled and is_example(introduction)):
            kept.append(field.raw)
    return "\n".join(kept)


def _is_put_off(said: str, start: int, end: int) -> bool:
    """Return whether the sentence around a quotation says that it is not to be done now."""
    before = said[max(0, start - 200) : start]
    after = said[end : end + 200]
    begins = [each.end() for each in _SENTENCE_ENDS.finditer(before)]
    ends = _SENTENCE_ENDS.search(after)
    sentence = f"{before[begins[-1] if begins else 0 :]} {after[: ends.start() if ends else None]}"
    return _NOT_NOW.search(sentence) is not None
