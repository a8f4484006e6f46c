"""Sentences of a repository's files that may become questions: docstrings, comments, pages and lists of changes.

Each sentence keeps the span of the file that it was read from, so that a trainer can take it out of the text.
"""

from __future__ import annotations

import ast
import io
import re
import tokenize
import warnings
from bisect import bisect_right
from collections.abc import Callable, Iterator
from pathlib import PurePosixPath
from typing import Literal, NamedTuple

Source = Literal["docstring", "comment", "test", "page", "changes", "settings"]
SHORTEST, LONGEST = 5, 40  # words of a sentence

_CODE = {".c", ".cc", ".cpp", ".cs", ".go", ".h", ".hpp", ".java", ".js", ".pyx", ".rs", ".ts"}
_SETTINGS = {".cfg", ".conf", ".ini", ".sh", ".toml", ".yaml", ".yml"}
_PAGES = {".md", ".rst", ".txt"}
_CHANGES = re.compile(
    r"(^|[/_.-])(changes?|changelog|history|news|releases?|release[-_]notes|whats[-_]?new)([/_.-]|$)", re.I
)
_TESTS = re.compile(r"(^|/)(tests?|testing)/|(^|/)test_|_tests?\.|(^|/)conftest\.")
_UNREAD = re.compile(r"(^|/)(licen[sc]e|copying|notice|authors|contributors|credits|requirements|thanks)[^/]*$", re.I)

_HASH_BLOCK = re.compile(r"(?:^[ \t]*#(?!!).*(?:\n|\Z))+", re.M)
_SLASH_BLOCK = re.compile(r"(?:^[ \t]*//.*(?:\n|\Z))+|/\*(?:[^*]|\*(?!/))*\*/", re.M)
_MARGIN = re.compile(r"[ \t]*(?:#+:?|//+!?|/\*+!?|\*(?!\*)/?)?[ \t]*")
_MARK = re.compile(r"(?:[-*+•‣]|\(?\d{1,2}[.)]|#\.)[ \t]+(?=\S)")  # of an item of a list
_RULE = re.compile(r"[^\w\s]{2,}(?:\s+[^\w\s]{2,})*|[=\-~^*#.]")
_DIRECTIVE = re.compile(r"\.\. +([\w:+-]+?)::")
_PROSE_DIRECTIVES = {"note", "warning", "tip", "hint", "important", "caution", "attention", "change", "topic"}
_SECTION = re.compile(
    r"(?:args|arguments|attributes|examples?|keyword arguments|methods|notes?|other parameters|parameters|"
    r"params|raises|"
    r"references|returns?|see also|todo|usage|warns|yields?|inputs?|outputs?|shape|kwargs|fields|options)\s*:?:?$",
    re.I,
)
_FIELD = re.compile(r"[:@]\w[^:]*:|[@\\]\w+|:\w|\$|>>>|\.\.\.|[|+]|<[/!\w]|!!!|\[\^?[^\]]*\]:|\{[%{]|%%|\?\?\?|///")
_STOP = re.compile(r"(?<=[.!?])[\"')\]*`_]*\s+(?=[A-Z0-9\"'(`\[*:_])|(?<=[.!?])\s*$|\s--\s")
_SHORT = re.compile(r"(?:\b(?:e\.g|i\.e|etc|vs|cf|resp|approx|Mr|Dr|Fig|Eq|No|al|St|a\.k\.a|incl|ca|[A-Z])\.)$")

_ROLE = re.compile(r":[\w:+.-]+:`!?~?([^`<]+?)(?:\s*<[^`>]*>)?`")
_LINK = re.compile(r"`([^`<]+?)\s*<[^`>]*>`_{0,2}|!?\[([^\]]+)\]\([^)]*\)|\[([^\]]+)\]\[[^\]]*\]")
_LITERAL = re.compile(r"`+([^`]+)`+_{0,2}|\*\*([^*]+)\*\*|(?<![\w*])\*([^*\s][^*]*)\*(?![\w*])|(?<!\w)_([^_]+)_(?!\w)")
_NOTE = re.compile(
    r"\s*\[[#*\w-]{1,12}\]_|\s*\|[^|]*\||\s*\([^()]*\)|\s*\((?:closes|fixes|issue|see)?\s*#?\d+\)|#\d+", re.I
)


_QUOTES = str.maketrans({0x2019: "'", 0x201C: '"', 0x201D: '"'})  # to those of a typewriter


class Sentence(NamedTuple):
    """A sentence of a file.

    Attributes:
        path: The file.
        source: What it is a sentence of.
        start: Where it begins, in characters of the file read as UTF-8.
        end: Where it ends.
        text: It in one line, without markup and without its full stop.
        first: Whether it opens its docstring, comment or paragraph.
    """

    path: str
    source: Source
    start: int
    end: int
    text: str
    first: bool


def sources_in(path: str) -> tuple[Source, ...]:
    """Return what the sentences of a file are sentences of, by its name; nothing for a file without any."""
    suffix = PurePosixPath(path).suffix.lower()
    if _UNREAD.search(path):
        return ()
    if suffix in _PAGES or (not suffix and _CHANGES.search(path)):
        return ("changes" if _CHANGES.search(path) else "page",)
    if suffix == ".py":
        return ("test",) if _TESTS.search(path) else ("docstring", "comment")
    if suffix in _CODE:
        return ("test" if _TESTS.search(path) else "comment",)
    return ("settings",) if suffix in _SETTINGS else ()


def sentences_of(path: str, text: str) -> Iterator[Sentence]:
    """Yield the sentences of a file that are prose, in their order, however good they are as questions."""
    for source in sources_in(path)[:1]:
        if path.lower().endswith(".py"):
            yield from _of_python(path, text, test=source == "test")
        elif source in ("page", "changes"):
            yield from _of_region(path, source, text, 0, len(text), 0)
        else:
            yield from _of_comments(path, source, text, _HASH_BLOCK if source == "settings" else _SLASH_BLOCK)


def _of_python(path: str, text: str, test: bool) -> Iterator[Sentence]:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return
    lines = text.split("\n")
    starts = [0]
    for line in lines:
        starts.append(starts[-1] + len(line) + 1)

    def at(line: int, column: int) -> int:
        return starts[line - 1] + len(lines[line - 1].encode()[:column].decode("utf-8", "ignore"))

    for node in ast.walk(tree):
        if not isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            continue
        first = node.body[0] if node.body else None
        if not (isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant)):
            continue
        value = first.value
        if not isinstance(value.value, str) or value.end_lineno is None or value.end_col_offset is None:
            continue
        start, end = at(value.lineno, value.col_offset), at(value.end_lineno, value.end_col_offset)
        quoted = re.match(r"[rRuU]?(\"\"\"|'''|\"|')", text[start:end])
        if quoted:
            inner = start + quoted.end(), end - len(quoted[1])
            yield from _of_region(path, "test" if test else "docstring", text, *inner, value.col_offset, docstring=True)
    yield from _of_hash_comments(path, "test" if test else "comment", text, starts)


def _of_hash_comments(path: str, source: Source, text: str, starts: list[int]) -> Iterator[Sentence]:
    """Yield the sentences of Python comments that have lines to themselves; a string may hold what looks like one."""
    block: list[int] = []  # the numbers of lines
    try:
        tokens = list(tokenize.generate_tokens(io.StringIO(text).readline))
    except (tokenize.TokenError, SyntaxError, ValueError):
        return
    alone = [
        token.start[0]
        for token in tokens
        if token.type == tokenize.COMMENT and not token.line[: token.start[1]].strip()
    ]
    for number in [*alone, 0]:
        if block and number != block[-1] + 1:
            yield from _of_region(path, source, text, starts[block[0] - 1], starts[block[-1]] - 1, 0, comment=True)
            block = []
        block.append(number)


def _of_comments(path: str, source: Source, text: str, blocks: re.Pattern[str]) -> Iterator[Sentence]:
    for found in blocks.finditer(text):
        yield from _of_region(path, source, text, found.start(), found.end(), 0, comment=True)


class _Line(NamedTuple):
    start: int  # of what is behind the margin
    end: int
    indent: int
    text: str


def _lines(text: str, start: int, end: int, column: int, comment: bool) -> Iterator[_Line]:
    place = start
    for number, raw in enumerate(text[start:end].split("\n")):
        margin = _MARGIN.match(raw) if comment else None
        skipped = margin.end() if margin else len(raw) - len(raw.lstrip())
        body = raw[skipped:].rstrip()
        if comment and body.endswith("*/"):
            body = body[:-2].rstrip()
        indent = column if number == 0 and column else len(raw[:skipped].expandtabs())
        yield _Line(place + skipped, place + skipped + len(body), indent, body)
        place += len(raw) + 1


def _of_region(
    path: str,
    source: Source,
    text: str,
    start: int,
    end: int,
    column: int,
    docstring: bool = False,
    comment: bool = False,
) -> Iterator[Sentence]:
    markdown = path.endswith(".md")
    paragraphs: list[list[_Line]] = [[]]
    fenced, dead, deeper = False, False, -1  # in a fenced block; till the next blank line; all that is deeper than this
    for line in _lines(text, start, end, column, comment):
        if line.text.startswith(("```", "~~~")) and not re.search(r"```.+```", line.text):
            fenced = not fenced
            paragraphs.append([])
            continue
        if fenced:
            continue
        if not line.text:
            dead = False
            paragraphs.append([])
            continue
        if deeper >= 0:
            if line.indent > deeper:
                continue
            deeper = -1
        last = paragraphs[-1]
        directive = _DIRECTIVE.match(line.text)
        if directive or line.text.startswith(".. "):
            if not directive or directive[1] not in _PROSE_DIRECTIVES:
                deeper = line.indent
            paragraphs.append([])
            continue
        if docstring and _SECTION.fullmatch(line.text):
            break
        if _RULE.fullmatch(line.text):
            if len(last) == 1:
                last.clear()  # it was a heading
            paragraphs.append([])
            continue
        if (markdown and line.text.startswith("#")) or _FIELD.match(line.text):
            paragraphs.append([])
            dead = True
        if dead:
            continue
        mark = _MARK.match(line.text)
        if mark:
            paragraphs.append([line._replace(start=line.start + mark.end(), text=line.text[mark.end() :])])
        elif last and line.indent >= last[0].indent + 4 and len(last) == 1 and not docstring:
            paragraphs.append([line])  # what a term means, below the term
        elif markdown and not last and line.indent >= 4:
            dead = True
        else:
            last.append(line)
        if line.text.endswith("::"):
            deeper = paragraphs[-1][0].indent
            paragraphs.append([])
    for paragraph in paragraphs:
        yield from _of_paragraph(path, source, paragraph)


def _of_paragraph(path: str, source: Source, lines: list[_Line]) -> Iterator[Sentence]:
    joined = " ".join(line.text for line in lines)
    if len(joined) < 20:
        return
    begins, total = [], 0
    for line in lines:
        begins.append(total)
        total += len(line.text) + 1

    def place(at: int) -> int:
        number = bisect_right(begins, at) - 1
        return lines[number].start + min(at - begins[number], len(lines[number].text))

    begin, first = 0, True
    for stop in _STOP.finditer(joined):
        if stop.start() <= begin or (_SHORT.search(joined[: stop.start()]) and stop.end() < len(joined)):
            continue
        yield from _sentence(path, source, joined, begin, stop.start(), place, first)
        begin, first = stop.end(), False
    if begin < len(joined):
        yield from _sentence(path, source, joined, begin, len(joined), place, first)


def _sentence(
    path: str, source: Source, joined: str, begin: int, end: int, place: Callable[[int], int], first: bool
) -> Iterator[Sentence]:
    raw = joined[begin:end].rstrip()
    if "  " in raw and source not in ("comment", "docstring"):
        return  # a table
    ended = raw.endswith((".", "!", "?"))
    if not ended and (source == "page" or (not first and source != "changes")):
        return  # a heading, or a fragment
    text = plain(raw)
    if SHORTEST <= len(text.split()) <= LONGEST:
        yield Sentence(path, source, place(begin), place(begin + len(raw) - 1) + 1, text, first)


def plain(raw: str) -> str:
    """Return a sentence in one line without markup, remarks in brackets and the full stop."""
    text = _ROLE.sub(lambda role: role[1].rpartition(".")[2], raw)
    for pattern in (_LINK, _LITERAL, _LITERAL):
        text = pattern.sub(lambda found: next(each for each in found.groups() if each), text)
    text = _NOTE.sub("", text)
    text = text.translate(_QUOTES).replace("—", ", ")
    text = re.sub(r"\s--\s", ", ", text)
    text = " ".join(text.split())
    text = re.sub(r"\s+([,.;:])", r"\1", text)
    return text.strip(" \"'*").rstrip(".!:;,").strip()
