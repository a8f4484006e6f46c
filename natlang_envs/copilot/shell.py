"""Commands of the sandbox in an answer: the copilot's grammar for `read_answer`.

The more expressly a command is given, the earlier it is looked for: after a label, as a tool call or a tag, as a final
answer, in a block, as JSON, as a line of its own, in a box, a sentence or quotes. Of several the first is taken, and
the others are counted; a command that ends the work is never taken out of prose where there is another one.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from itertools import islice
from typing import Any

from natlang_envs.answers import Reading, json_values
from natlang_envs.answers.calls import calls_in, commands_of, python_calls
from natlang_envs.answers.listed import is_against
from natlang_envs.answers.texts import MOST_TRIED, blocks, fields_of, is_example
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
    parses,
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
_BOX = re.compile(r"\\boxed\s*\{([^{}\n]+)\}")
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

    Args:
        final: The command that a final answer stands for: `answer`, `id`, or `exit`, which takes no text.
        more: The names of further commands, each a line of its own.
    """

    def __init__(self, final: str = "answer", more: Collection[str] = ()) -> None:
        self._final, self._more = final, more
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
        several = word in SHELLS or (word in WORDS - {"answer"} and not parses(line))
        command, left_over = first_command(said) if several else (tidy(bare(said)), 0)
        return Reading(self._end(command) if len(parts) == 1 else command, "bare", "", left_over)

    def read(self, said: str) -> Reading | None:
        said = _COLON.sub(r"\1 ", said)
        label = _ACTION.search(said)
        if self._edits and (edit := edit_in(said[label.end() :] if label else said)) is not None:
            return Reading(edit, "edit")
        said = said if self._edits and files_in(said) else stated(said)
        readers = [
            self._label,
            self._call,
            self._answer,
            self._fence,
            self._json,
            self._line,
            self._box,
            self._sentence,
            self._quotation,
        ]
        if self._edits:
            readers.insert(3, self._files)
        for reader in readers:
            found = reader(said)
            if found is not None:
                return found
        asked = next((line for line in map(bare, said.splitlines()) if line in self._more), None)
        if asked is not None:
            return Reading(asked, "line", said)
        return self._answer(said, _ANSWER) if self._final != "exit" else None

    def called(self, calls: Sequence[Mapping[str, Any]]) -> Reading | None:
        command = self._of_value(calls[0])
        if command is None:
            return None
        line, left_over = first_command(command)
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

    def _structured(self, text: str) -> str:
        """Return the command that JSON, a tag or a call in Python's form names; else the text."""
        stripped = text.strip()
        values = (
            [stripped] if stripped[:1] in ("{", "[") else [each.values[0] for each in islice(calls_in(stripped), 1)]
        )
        values += list(python_calls(stripped))
        return next((found for each in values if (found := self._of_value(each)) and found != stripped), text)

    def _label(self, said: str) -> Reading | None:
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
        block = next(blocks(field), None)
        fenced = block is not None and block.start == 0
        if block is not None and fenced:
            field = block.content
        elif "\n" in field and first_word(bare(field)) not in WORDS:
            field = field.partition("\n")[0]
        field = self._structured(field)
        brackets = _BRACKETS.match(field)
        if brackets is not None:
            word = "answer" if brackets[1].lower() in _DONE else brackets[1].lower()
            field = self._meant(f"{word} {brackets[2]}") if word in WORDS else brackets[2]
        command, left_over = first_command(field)
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
            left_over = 0 if "\n" in command else first_command(field.partition("\n")[0]).left_over
        return Reading(self._end(command), "action", said[: label.start()], left_over)

    def _call(self, said: str) -> Reading | None:
        """Return the command of the first tool call or tag, unless it stands in a block."""
        if "<" not in said and "[TOOL" not in said:
            return None
        around = list(islice(blocks(said), MOST_TRIED))
        calls = [each for each in calls_in(said) if not any(block.start < each.start < block.end for block in around)]
        values = [(self._of_value(value), each) for each in calls for value in each.values]
        found = [(content, each) for content, each in values if content]
        if not found:
            return None
        content, call = found[0]
        block = next(blocks(content), None)
        command, left_over = first_command(block.content if block is not None and block.start == 0 else content)
        if not command:
            return None
        around_it = said[: call.start] + said[call.end :]
        return Reading(self._meant(command), "tool call" if call.tool else "tag", around_it, left_over + len(found) - 1)

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

    def _files(self, said: str) -> Reading | None:
        command = files_in(said)
        return None if command is None else Reading(command, "edit", "")

    def _fence(self, said: str) -> Reading | None:
        """Return the first command of the first block that holds one."""
        found: Reading | None = None
        for block in islice(blocks(said), MOST_TRIED):
            command, left_over = first_command(self._structured(block.content))
            word = first_word(command)
            other = not self._edits or block.name.lower() in SHELL_NAMES  # a block of code is no command
            if word in WORDS or word in self._more or (not left_over and PROGRAM.fullmatch(word) and other):
                if found is not None:
                    found = found._replace(left_over=found.left_over + 1 + left_over)
                else:
                    found = Reading(self._end(command), "fence", said[: block.start] + said[block.end :], left_over)
        return found

    def _json(self, said: str) -> Reading | None:
        """Return the command of the first object or list that names one, or of a call in Python's form."""
        for each in json_values(said):
            command = None if each.broken else self._of_value(each.value)
            if command and (said[each.start] == "{" or first_word(command) in WORDS):
                line, left_over = first_command(command)
                return Reading(self._meant(line), "json", said[: each.start] + said[each.end :], left_over)
        command = next((found for each in python_calls(said) if (found := self._of_value(each))), None)
        return Reading(self._meant(first_command(command).line), "tool call", "") if command else None

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
            command, left_over = first_command(line)
            word = first_word(command)
            if word not in WORDS or not (length or "<<" in command or parses(command)) or is_prose(line):
                continue
            further += first is not None
            if first is None or (first_word(first.command or "") in ENDS and word not in ENDS):
                first = Reading(command, "line", said[: found.start()] + said[end + 1 :], left_over)
        return None if first is None else first._replace(left_over=first.left_over + further)

    def _box(self, said: str) -> Reading | None:
        found = {command for each in _BOX.finditer(said) if (command := within(each[1]))}
        return Reading(found.pop(), "boxed", said) if len(found) == 1 else None

    def _sentence(self, said: str) -> Reading | None:
        """Return the command that a sentence says is done, with a name, an option or a quotation."""
        found = [each for each in _SENTENCE.finditer(said) if parses(each[1]) and not is_prose(each[1])]
        if len(found) != 1 or not re.search(r"\A(?:ls|pwd)\Z| \S*[./\\'\"\d-]", found[0][1]):
            return None
        line = said[: found[0].start()].rpartition("\n")[2][-200:]
        unsaid = line.strip("*_#> ").lower().startswith(("thought", "observation")) or is_against(
            _SENTENCE_ENDS.split(line)[-1]
        )
        return None if unsaid else Reading(tidy(found[0][1]), "sentence", said)

    def _quotation(self, said: str) -> Reading | None:
        """Return the first words in backquotes that are a command; one that ends the work only if that is meant."""
        end: str | None = None
        for quoted in islice(QUOTED.finditer(said), MOST_TRIED):
            line, left_over = first_command(unquoted(quoted))
            words = line.split()
            if not words or words[0] not in WORDS or not (len(words) > 1 or words[0] in ("ls", "cd", "exit", "pwd")):
                continue
            if words[0] not in ENDS:
                return Reading(line, "quotation", said, left_over)
            if end is None and not _is_put_off(said, quoted.start(), quoted.end()):
                end = line
        return None if end is None else Reading(end, "quotation", said)


def stated(said: str) -> str:
    """Return a text without lists and examples that are introduced, and what is observed; not where it holds a file."""
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
