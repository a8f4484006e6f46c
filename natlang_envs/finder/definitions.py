"""The names that a file defines: functions, classes, constants, options of a command line, keys of settings, headings.

They are found by rules for a line.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from operator import itemgetter
from pathlib import PurePosixPath

_LONGEST = 300  # characters of a line that the rules look at
_MOST = 5_000  # definitions of a file

_WORDS_BEFORE = (
    "export|default|public|private|protected|internal|static|final|abstract|async|pub(?:\\([^)]*\\))?|unsafe|extern|inline"
    "|virtual|override|sealed|open|data|local|declare|global|readonly"
)
KEYWORD = re.compile(
    rf"\s*(?:(?:{_WORDS_BEFORE})\s+)*"
    r"(?:function\*?|func|fn|def|defp|defmacro|defmodule|fun|sub|proc|class|interface|struct|enum|union|trait|type|module"
    r"|namespace|object|protocol|record|macro_rules!|const|let(?: mut)?|var|val|constexpr|#\s*define)\s+"
    r"(?:\([^)]*\)\s*)?([A-Za-z_$][\w$]*)"
)
# A function in the manner of C: types before the name, or the name at the beginning of the line.
_TYPED = re.compile(
    r"(?!\s*(?:return|else|throw|new|case|await|delete)\b)(?:\s*(?:[\w<>\[\],.*&:@?]+\s+)+[*&]*|)"
    r"([A-Za-z_]\w*(?:::~?\w+)?)\s*\([^;]*$"
)
# Each begins with the end of the line before, which `re` looks for much faster than for `^`.
_PYTHON = re.compile(
    r"\n(?:([ \t]*+)(?:async[ \t]+)?(def|class)[ \t]+(\w+)"
    r"|([A-Za-z_]\w*+)[ \t]*+(?::[^=\n]*+)?=(?!=)"  # a constant
    r"|(?: {4}|\t)([A-Za-z_]\w*+)(?:[ \t]*:[^=\n]*)? = )"  # an attribute of a class, or a variable
)
_OPTION = re.compile(r"(?P<call>\b(?:add_argument|add_option|[oO]ption)\()|[\"'](?P<option>--\w[\w/-]*)[\"']")
_NEAR = 200  # characters from the beginning of a call to an option that it makes
_METHOD = re.compile(r"\s*(?:(?:async|static|get|set)\s+)*\*?\s*([A-Za-z_$][\w$]*)\s*\([^)]*\)\s*\{")
_ASSIGNED = re.compile(
    r"\s*(?:[\w$]+\.)*([A-Za-z_$][\w$]*)\s*[=:]\s*(?:async\s+)?(?:function\b|class\b|\([^)]*\)\s*=>|[\w$]+\s*=>)"
)
_SHELL = re.compile(r"\s*(?:function\s+)?([\w-]+)\s*\(\)")
_KEY = re.compile(r"\s*(?:-\s+)?[\"']?([A-Za-z_][\w.-]*)[\"']?\s*[:=]")
_SECTION = re.compile(r"\s*\[+([^\]]+)\]+\s*$")
_HEADING = re.compile(r"(?:#{1,6}\s*|={2,6}\s+|<h[1-6][^>]*>)([^\s#=].*)")
_MARKS = "#=<-~^\"'*+`"  # what a heading or the line below it begins with
_UNDERLINE = re.compile(r"([=\-~^\"'*+#`])\1{2,}\s*$")
_NO_NAME = re.compile(
    r"(if|for|while|switch|catch|return|else|elif|do|with|new|throw|sizeof|assert|super|function|in)$"
)

_PAGE = re.compile(r"\.(mdx?|rst|txt|adoc|html?)|")
_RULES = (
    (re.compile(r"\.(c|cc|cpp|cxx|h|hh|hpp|hxx|java|cs|mm?|php|kt|scala|groovy|dart|cu|proto)"), (KEYWORD, _TYPED)),
    (re.compile(r"\.([cm]?[jt]sx?|vue|svelte)"), (KEYWORD, _METHOD, _ASSIGNED)),
    (re.compile(r"\.(sh|bash|zsh|fish)"), (_SHELL,)),
    (re.compile(r"\.(toml|ini|cfg|conf|ya?ml|json|properties|env|editorconfig)"), (_KEY, _SECTION)),
    (re.compile(r"\.(go|rs|rb|swift|lua|jl|exs?|pl|pm|r|zig|nim|sql|graphql|py[xi]|ml|fs)"), (KEYWORD,)),
)


def is_page(path: str) -> bool:
    """Return whether what a file defines are headings."""
    return _PAGE.fullmatch(PurePosixPath(path).suffix.lower()) is not None


def definitions(path: str, text: str, lines: list[str]) -> list[tuple[int, str]]:
    """Return the line (from 0) and the name of each definition of a file, each name once, in the order of lines."""
    suffix = PurePosixPath(path).suffix.lower()
    found: dict[str, int] = {}
    for line, name in _of_python(text) if suffix == ".py" else _by_rules(suffix, lines):
        if len(found) == _MOST:
            break
        found.setdefault(name, line)
    return sorted(((line, name) for name, line in found.items()), key=itemgetter(0))


def _of_python(text: str) -> Iterator[tuple[int, str]]:
    """Yield the definitions of a Python file, without `ast`, which would double the time of an index."""
    code = f"\n{_without_long_strings(text)}"
    line, counted, in_class = 0, 1, False
    for match in _PYTHON.finditer(code):
        indent, word, defined, constant, attribute = match.groups()
        if word and not indent:
            in_class = word == "class"
        if name := defined or constant or (attribute if in_class else None):
            begins = match.start() + 1
            line += code.count("\n", counted, begins)
            counted = begins
            yield line, name
    if "ption(" in code or "add_argument(" in code:
        yield from _options(code)


def _options(code: str) -> Iterator[tuple[int, str]]:
    """Yield the options of a command line that calls make."""
    line, counted, until = 0, 1, -1
    for match in _OPTION.finditer(code):
        if match["call"]:
            until = match.end() + _NEAR
        elif match.start() < until:
            line += code.count("\n", counted, match.start())
            counted = match.start()
            yield from ((line, name) for name in match["option"].split("/") if name.startswith("--"))


def _without_long_strings(text: str) -> str:
    """Return Python code without what its strings of several lines say, in as many lines."""
    parts: list[str] = []
    at = 0
    ends = {quote: text.find(quote) for quote in ('"""', "'''")}
    while found := [(start, quote) for quote, start in ends.items() if start >= 0]:
        start, quote = min(found)
        end = text.find(quote, start + 3)
        parts.append(text[at:start])
        if end < 0:
            return "".join(parts)
        at = end + 3
        parts.append(f'"{chr(10) * text.count(chr(10), start, at)}"')
        for each, earlier in ends.items():
            if 0 <= earlier < at:
                ends[each] = text.find(each, at)
    return "".join((*parts, text[at:]))


def _by_rules(suffix: str, lines: list[str]) -> Iterator[tuple[int, str]]:
    if _PAGE.fullmatch(suffix):
        yield from _headings(lines)
        return
    rules = next((rules for suffixes, rules in _RULES if suffixes.fullmatch(suffix)), ())
    if not rules:
        return
    for number, line in enumerate(lines):
        if 2 < len(line) <= _LONGEST:
            for rule in rules:
                if (match := rule.match(line)) and not _NO_NAME.match(match[1]):
                    yield number, match[1].rpartition("::")[2]
                    break


def _headings(lines: list[str]) -> Iterator[tuple[int, str]]:
    for number, line in enumerate(lines):
        if line[:1] not in _MARKS or not line or len(line) > _LONGEST:
            continue
        if match := _HEADING.match(line):
            yield number, match[1].rstrip("#= ")
        elif number and _UNDERLINE.match(line) and lines[number - 1].strip() and len(lines[number - 1]) <= _LONGEST:
            yield number - 1, lines[number - 1].strip()
