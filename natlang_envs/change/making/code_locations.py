"""Where an edit lies: the statement that a test must reach to notice it, and the function whose code it changes."""

from __future__ import annotations
import __future__

import ast
from collections.abc import Iterator
from functools import cache
from typing import NamedTuple

from natlang_envs.repository.mutations import arguments_of

_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)


class FunctionChange(NamedTuple):
    """A function's new source: its name and first line, the first line of the source, and the compiler's flags."""

    name: str
    line: int
    first: int
    source: str
    flags: int


class CodeLocations:
    """The statements and functions of a source, by line."""

    def __init__(self, source: str) -> None:
        tree = ast.parse(source)
        self._statements = [node for node in ast.walk(tree) if isinstance(node, ast.stmt)]
        self._functions = list(_outermost(tree, ""))
        future = (node for node in tree.body if isinstance(node, ast.ImportFrom) and node.module == "__future__")
        names = [alias.name for node in future for alias in node.names]
        self.statement = cache(self._statement)
        self._flags = sum(getattr(__future__, name).compiler_flag for name in names)

    def _statement(self, line: int) -> range:
        """Return the lines that belong together with a line: of a statement that holds others, those before them."""
        around = [node for node in self._statements if node.lineno <= line <= _end(node)]
        if not around:
            return range(line, line + 1)
        innermost = max(around, key=lambda node: (node.lineno, -_end(node)))
        inside = (each for each in ast.walk(innermost) if isinstance(each, ast.stmt) and each is not innermost)
        first = min((each.lineno for each in inside), default=0)
        return range(innermost.lineno, first if line < first else _end(innermost) + 1)

    def statement_bits(self, line: int) -> int:
        """Return the lines of the statement of a line, as the bits of a number."""
        return sum(1 << each for each in self.statement(line))

    def _around(self, line: int) -> tuple[str, ast.FunctionDef | ast.AsyncFunctionDef] | None:
        """Return the outermost function whose body has a line, with its name behind that of its class."""
        return next(((name, node) for name, node in self._functions if _has(node, line)), None)

    def first_line(self, line: int) -> int | None:
        """Return the first line of the outermost function whose body has a line; None outside of functions."""
        found = self._around(line)
        return _first(found[1]) if found else None

    def function_name(self, line: int) -> str:
        """Return the name of that function with its class; empty outside of functions."""
        return (self._around(line) or ("",))[0]

    def change(self, line: int, edited: str) -> FunctionChange:
        """Return the outermost function whose body has a line, cut out with the head of its class.

        `edited` is the source after edits, which keep to their lines.
        """
        found = self._around(line)
        assert found is not None
        name, node = found
        line = first = _first(node)
        text = edited.split("\n")[line - 1 : _end(node)]
        if text[0][:1].isspace():
            owner = name.split(".")[-2] if "." in name else ""
            text, first = [f"class {owner}:" if owner else "if 1:", *text], line - 1
        return FunctionChange(node.name, line, first, "\n".join(text), self._flags)


def _outermost(node: ast.AST, prefix: str) -> Iterator[tuple[str, ast.FunctionDef | ast.AsyncFunctionDef]]:
    for child in ast.iter_child_nodes(node):
        if isinstance(child, _FUNCTIONS):
            yield prefix + child.name, child
        else:
            yield from _outermost(child, f"{prefix}{child.name}." if isinstance(child, ast.ClassDef) else prefix)


def _has(node: ast.FunctionDef | ast.AsyncFunctionDef, line: int) -> bool:
    """Tell whether a line is of a function's body, and of nothing that is evaluated where the function is defined."""
    signature = [*node.args.defaults, *node.args.kw_defaults, node.returns]
    signature += [each.annotation for each in arguments_of(node)]
    last = max([node.lineno, *(each.end_lineno or 0 for each in signature if each is not None)])
    return last < line <= _end(node)


def _first(node: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    return min([node.lineno, *(each.lineno for each in node.decorator_list)])


def _end(node: ast.stmt) -> int:
    return node.end_lineno or node.lineno
