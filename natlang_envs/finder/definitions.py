"""The names that a file defines: functions, classes, constants, options of a command line, keys of settings, headings.

Python is read by `ast`, other languages by rules for a line.
"""

from __future__ import annotations

import ast
import re
import warnings
from collections.abc import Iterator
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
    """Return the line (from 0) and the name of each definition of a file, each name once."""
    suffix = PurePosixPath(path).suffix.lower()
    found: dict[str, int] = {}
    for line, name in _of_python(text, lines) if suffix == ".py" else _by_rules(suffix, lines):
        if len(found) == _MOST:
            break
        found.setdefault(name, line)
    return [(line, name) for name, line in found.items()]


def _of_python(text: str, lines: list[str]) -> Iterator[tuple[int, str]]:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of invalid escapes in somebody else's code
            tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        yield from _by_rules(".pyi", lines)
        return
    todo: list[ast.AST] = list(reversed(tree.body))
    inside: set[ast.AST] = set()  # statements of functions: what they assign is no constant
    while todo:
        node = todo.pop()
        body: list[ast.AST] = []
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            yield node.lineno - 1, node.name
            for each in node.decorator_list:
                yield from _options(each)
            body = [*node.body]
            if not isinstance(node, ast.ClassDef):
                inside.update(body)
        elif isinstance(node, ast.Assign | ast.AnnAssign):
            if node not in inside:
                for target in node.targets if isinstance(node, ast.Assign) else [node.target]:
                    for each in target.elts if isinstance(target, ast.Tuple) else [target]:
                        if isinstance(each, ast.Name):
                            yield node.lineno - 1, each.id
            if node.value is not None:
                yield from _options(node.value)
        elif isinstance(node, ast.Expr):
            yield from _options(node.value)
        elif isinstance(node, ast.If | ast.Try | ast.With | ast.For | ast.While):
            body = [*node.body, *getattr(node, "orelse", ()), *getattr(node, "finalbody", ())]
            body += [each for handler in getattr(node, "handlers", ()) for each in handler.body]
            if node in inside:
                inside.update(body)
        todo.extend(reversed(body))


def _options(node: ast.AST) -> Iterator[tuple[int, str]]:
    """Yield the options of a command line that a call such as `add_argument` or `click.option` makes."""
    if not isinstance(node, ast.Call):
        return
    for each in node.args:
        if isinstance(each, ast.Constant) and isinstance(each.value, str) and re.match(r"--\w[\w-]*", each.value):
            for name in re.findall(r"--\w[\w-]*", each.value):
                yield each.lineno - 1, name


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
