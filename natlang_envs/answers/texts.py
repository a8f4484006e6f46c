"""The parts of an answer: blocks, tags, JSON and boxes, and the fields that labels begin.

`parts_of` replaces each block, tag, value and box by a mark; `fields_of` splits the text with its marks into lines.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterator
from functools import lru_cache
from itertools import islice
from typing import Literal, NamedTuple

from natlang_envs.answers.calls import as_list, calls_in, is_call, json_values, python_calls

Kind = Literal["intent", "thought", "shown", "other", "weak", "prose"]

_LONGEST_INTRODUCTION = 300  # characters
MOST_TRIED = 500  # blocks, lines and quotations of one answer that are tried
_FENCE_LINE = re.compile(r"^[ \t>]*+(```++|~~~++)[ \t]*+([^\n`]*+)$", re.MULTILINE)
_DOCUMENT = re.compile(r"<<-?[ \t]*['\"\\]?(\w+)['\"]?[^\n]*\n|^(?:<{7} SEARCH|\*\*\* Begin Patch)$", re.MULTILINE)
_NEGATIVE_TAG = re.compile(
    r"<(observations?|result|environment|examples?|context|prompt|history|options|choices|actions|available_actions|instructions?|question|input"
    r"|user|system|memory|task|plan|note|critique|feedback|state|format)>",
    re.DOTALL | re.IGNORECASE,
)
_BOX = re.compile(r"(?<!\$)\$*+\\(?:boxed|fbox)\s*(\{(?:[^{}]|\{[^{}]*\}){0,500}\})\$*")
_MARK = re.compile("\ue000(\\d+)\ue001")
_HEAD = re.compile(
    r"[\s>*_#\"'`{\[<(\u2022-]*+([A-Za-z](?:[^\n:\uff1a=\]]|\[\d+\]){0,80}?)[*_\"'`\s]*"
    r"(?::|\uff1a|=|->|=>|>>?|\s[-\u2013\u2014](?=\s))"
)
_BRACKETED = re.compile(r"[\s>*_#-]*+(?:\[([A-Za-z][\w ]{0,40})\]|\(([A-Za-z][\w ]{0,40})\))[*_]*\s*:?")
_ALONE = re.compile(r"[\s>*_#\"'`\[<(-]*+([A-Za-z][A-Za-z ]{0,40}?)[\s*_#\"'`\])>]*")
_NUMBER = re.compile(r"[\s_#(\[]*(\d{1,3})(?:\s*(?:/|of)\s*\d+)?[)\]]*\Z")
_CLAUSE_ENDS = re.compile(r"[.!?,;]\s+")


def _words(text: str) -> set[str]:
    return set(text.split())


_NOUNS = _words("final action move command cmd choice choose answer decision selection act step pick option label")
_AROUND = _words(
    "my the your our next final best chosen selected recommended optimal suggested proposed current immediate so thus "
    "therefore is to take taken now here s i choose pick select will do be this correct right single one it we of for "
    "step and d ll m say heres would should sure ok okay then hence input that follows"
)
_KINDS: dict[Kind, set[str]] = {
    "thought": _words("thought thoughts think thinking reasoning reason analysis rationale reflection"),
    "shown": _words("observation obs observations environment env feedback user human system result state"),
    "weak": _words("output response assistant ai bot reply"),
}
_FORMAT = re.compile(
    r"\b(?:examples?|e\.g|i\.e|such as|format(?:ted)?|template|syntax|placeholder|instruct\w*|prompt|must be"
    r"|looks? like|like this|as follows|of the form|(?:respond|answer|reply|output)s? (?:with|in))\b",
    re.IGNORECASE,
)
_FORM_IS = re.compile(r"\b(?:format|template|example|syntax|form)\b\W*(?:is|are|would be)?\W*\Z", re.IGNORECASE)
_CONDITION = re.compile(
    r"n['\u2019]t\b|\b(?:if|when|unless|not|never|whether|could|might|may|once|until)\b", re.IGNORECASE
)
_PAST = re.compile(
    r"\b(?:previous(?:ly)?|last|earlier|before|tried|wrong|avoid\w*|not|never|could|might)\b|n't\b", re.IGNORECASE
)
_SHOWN_LINE = re.compile(r"[\s*_#>]*(?:observation|obs|result|feedback|environment|user)\b", re.IGNORECASE)
_EXAMPLE = re.compile(
    rf"{_FORMAT.pattern}|\b(?:available|possible|admissible|listed|options|choices|actions|commands|previous(?:ly)?|earlier"
    r"|history|so far|before|tried|avoid\w*|not|n't|never|either|could|might|may|considered|alternatives?|last|task)\b",
    re.IGNORECASE,
)
_INLINE = re.compile(
    r"(?<![ \t])[ \t]++(?=[*_#]*(?:(?:Final|Next|My) )?(?:Action|Answer|Command|Decision|Choice|Observation|Thought)"
    r"(?: \d+)?[*_]*[^\S\n]*:)"
)
_SENTENCE_END = re.compile(r"(?<!e\.g)(?<!i\.e)[.!?);\u2026][*_\"']*\Z")
_THOUGHT_LINE = re.compile(r"[\s*_#>]*thought\b", re.IGNORECASE)


class Block(NamedTuple):
    """A fenced block: where it begins and ends in the text, what is in it, and what stands after its first fence."""

    start: int
    end: int
    content: str
    name: str = ""


def blocks(text: str) -> Iterator[Block]:
    """Yield the fenced blocks; each ends at the next line that holds the same fence alone, the last at the end."""
    lines = list(islice(_FENCE_LINE.finditer(text), 4 * MOST_TRIED))
    closing: defaultdict[str, list[int]] = defaultdict(list)  # the numbers of the lines that may close a block
    starts: defaultdict[str, list[int]] = defaultdict(list)  # where they begin
    for number, line in enumerate(lines):
        if not line[2].strip():
            closing[line[1]].append(number)
            starts[line[1]].append(line.start())
    number = 0
    unclosed: re.Match[str] | None = None
    while number < len(lines):
        opening = lines[number]
        same = closing[opening[1]]
        at = bisect_right(same, number)
        number += 1
        if at < len(same):
            at = _after_documents(text, opening.end() + 1, starts[opening[1]], at)
            end = lines[same[at]]
            content = text[opening.end() + 1 : end.start()].removesuffix("\n")
            yield Block(opening.start(), end.end(), content, opening[2].strip())
            number = same[at] + 1
        elif unclosed is None:
            unclosed = opening
    if unclosed is not None:
        yield Block(unclosed.start(), len(text), text[unclosed.end() + 1 :], unclosed[2].strip())


def _after_documents(text: str, begin: int, ends: list[int], at: int) -> int:
    """Return which fence closes a block: not one within a here-document or an edit that begins in the block."""
    opened = _DOCUMENT.search(text, begin, ends[at])
    if opened is None:
        return at
    closing = opened[1] or (">>>>>>> REPLACE" if "SEARCH" in opened[0] else "*** End Patch")
    found = text.find(f"\n{closing}\n", opened.end() - 1)
    return at if found < 0 else min(max(at, bisect_right(ends, found)), len(ends) - 1)


class AnswerPart(NamedTuple):
    """A part that stands for itself, with the text and the name of a block, or the values of anything else."""

    form: str
    values: tuple[object, ...]
    start: int
    end: int


@lru_cache(maxsize=8)  # the listed commands and the copilot's are looked for in the same text
def parts_of(text: str) -> tuple[str, list[AnswerPart]]:
    """Return a text with marks, and the parts that they stand for; places are those in the text as it was."""
    text = text.replace("\ue000", " ").replace("\ue001", " ")
    fenced = islice(blocks(text), MOST_TRIED)
    found = [AnswerPart("fence", (each.content, each.name), each.start, each.end) for each in fenced]
    for each in islice(_NEGATIVE_TAG.finditer(text), MOST_TRIED // 10) if "</" in text else ():
        end = text.find(f"</{each[1]}>", each.end())
        form = "shown" if each[1].lower() in _KINDS["shown"] else ""
        found += [AnswerPart(form, (), each.start(), end + len(each[1]) + 3)] if end >= 0 else []
    if "<" in text or "[TOOL" in text:
        calls = calls_in(text)
        found += [AnswerPart("tool call" if each.tool else "tag", each.values, each.start, each.end) for each in calls]
    boxes = islice(_BOX.finditer(text), MOST_TRIED) if "box" in text else ()
    found += [AnswerPart("boxed", (each[1],), each.start(), each.end()) for each in boxes]
    for each in json_values(text):
        value: object = each.value
        many = as_list(value) or [value]
        if many and all(isinstance(item, dict) for item in many):
            form = "tool call" if all(map(is_call, many)) else "json"
            found.append(AnswerPart(form, tuple(many), each.start, each.end))
    if called := tuple(python_calls(text)):
        found.append(AnswerPart("tool call" if is_call(called[0]) else "json", called, 0, len(text)))
    parts: list[AnswerPart] = []
    pieces: list[str] = []
    at = 0
    for each in sorted(found, key=lambda part: (part.start, -part.end)):
        if each.start >= at:
            pieces += [text[at : each.start], f"\ue000{len(parts)}\ue001"]
            parts.append(each)
            at = each.end
    return "".join([*pieces, text[at:]]), parts


def marks_in(line: str) -> list[tuple[int, int]]:
    """Return the numbers of the parts in a line, and where their marks begin."""
    return [(int(each[1]), each.start()) for each in _MARK.finditer(line)]


class Field(NamedTuple):
    """A line of a text, and what it or the label before it says that it is."""

    kind: Kind
    text: str  # what stands after its label, or the whole line
    raw: str = ""  # the whole line
    labelled: bool = False
    number: str = ""  # the number of the label
    final: bool = False  # whether the label says that it is the last word


def fields_of(text: str) -> list[Field]:
    """Return the lines of a text with marks, blank ones too, each with what it is."""
    fields: list[Field] = []
    kind: Kind = "prose"
    held = formal = False  # until a blank line: a list, or an example of the form, which has labels of its own
    for line in (part for whole in text.split("\n") for part in (_fields_in(whole) if ":" in whole else (whole,))):
        if not line.strip():
            if held and fields[-1].raw.rstrip("*_ ")[-1:] not in (":", "\uff1a"):
                kind, held, formal = "prose", False, False
            continue
        head = None if formal else _head(line)
        introduces = _FORM_IS.search(line[-_LONGEST_INTRODUCTION:]) is not None
        if head is None:
            fields.append(Field(kind, line, line))
            introduces = introduces or (line.rstrip("*_ ")[-1:] in (":", "\uff1a") and is_example(line))
        else:
            fields.append(head._replace(raw=line))
            kind, held = "prose" if head.kind in ("intent", "other", "weak") else head.kind, False
            introduces = introduces or (head.kind == "other" and not head.text.strip())
        if introduces and not held and kind in ("prose", "thought"):
            formal = _FORMAT.search(line) is not None or _PAST.search(line) is not None
            kind, held = "other", True
    return fields


def _fields_in(line: str) -> list[str]:
    """Return a line in the parts that labels within it begin; only what stands before its last colon can be a label."""
    end = line.rfind(":") + 1
    return (_INLINE.sub(_broken, line[:end]) + line[end:]).split("\n")


def _broken(space: re.Match[str]) -> str:
    """Return a line break before a label within a line, or the space as it is where nothing new begins there."""
    line = space.string[max(0, space.start() - 500) : space.start()]
    if line.count('"') % 2 or line.count("`") % 2 or _SHOWN_LINE.match(line):
        return space[0]
    label = space.string[space.end() : space.end() + 20].lstrip("*_#")
    begins = label.startswith(("Observation", "Thought")) or _SENTENCE_END.search(line)
    in_thought = _THOUGHT_LINE.match(line) and not _FORMAT.search(line) and not _PAST.search(line)
    return "\n" if begins or in_thought else space[0]


def _head(line: str) -> Field | None:
    """Return the field that a line begins, if it begins with a label."""
    alone = _ALONE.fullmatch(line) if len(line) < 60 else None
    if alone is not None:
        words = set(alone[1].lower().split())
        marked = line.strip()[0] in "#*_<["
        is_head = words <= _AROUND | _NOUNS and words & _NOUNS and (marked or len(words) < 3)
        return Field("intent", "", labelled=True, final="final" in words) if is_head else None
    found = _BRACKETED.match(line) or _HEAD.match(line, 0, 200)
    if found is None:
        return None
    *clauses, label = _CLAUSE_ENDS.split(next(filter(None, found.groups())).strip())
    number = _NUMBER.search(label)
    words = set(re.findall("[a-z]+", label[: number.start() if number else None].lower()))
    colon, rest = found[0][-1] in ":\uff1a", line[found.end() :].lstrip(": ").strip()
    if (words & _NOUNS or ("i" in words and len(words) > 1)) and words <= _AROUND | _NOUNS:
        is_other = clauses and (_CONDITION.search(clauses[-1]) or _FORMAT.search(found[0]))
        number = number[1] if number else ""
        return Field("other" if is_other else "intent", rest, "", True, number, "final" in words)
    if not words or clauses or len(words) > 3 or max(map(len, words)) < 3:
        return None
    for kind, names in _KINDS.items():
        if words & names and words <= names | _AROUND and (colon or found[0][-1] in "])"):
            return Field(kind, rest, labelled=True)
    return Field("other", rest, labelled=True) if colon and not words <= _AROUND else None


def is_example(text: str) -> bool:
    """Return whether what introduces a command says that it is one of several, or of a form, or of another time."""
    return _EXAMPLE.search(text[-_LONGEST_INTRODUCTION:]) is not None
