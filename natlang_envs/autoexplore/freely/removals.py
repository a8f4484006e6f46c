"""Lists what can be taken out of a Python source: statements, guards, branches, and whole bodies of functions."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from itertools import accumulate
from typing import cast

from natlang_envs.repository.mutations import Edit

BODY = "body"
OPERATORS = ("statement", "guard", "branch", BODY)
_LEAVES = (ast.Return, ast.Raise, ast.Continue, ast.Break)
_SIMPLE = (ast.Assign, ast.AugAssign, ast.Expr, ast.Raise, ast.Continue, ast.Break, ast.Delete)
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
_SHORTEST_BODY = 2  # statements: shorter ones say too little about what is missing


def removals(source: str) -> list[Edit]:
    """Return every removal inside the functions of a source, by position; the rest of the text is kept.

    A *statement* goes alone; a *guard* is a condition with what leaves the block if it holds; a *branch* is the `else`
    or `elif` of a condition, or the condition before what then always happens. A *body* gives way to
    `raise NotImplementedError`, its docstring stays.
    """
    lines = source.splitlines(keepends=True)
    starts = [0, *accumulate(map(len, lines))]
    found: list[Edit] = []
    for function in ast.walk(ast.parse(source)):
        if isinstance(function, _FUNCTIONS):
            found += (_edit(lines, starts, *each) for each in _of_function(function, lines))
    return sorted({each for each in found if _compiles(source, each)})


_Removal = tuple[int, int, list[str], str]  # the first line, the last line, the lines in their place, the operator


def _of_function(function: ast.FunctionDef | ast.AsyncFunctionDef, lines: list[str]) -> Iterator[_Removal]:
    body = function.body[1:] if ast.get_docstring(function, clean=False) is not None else function.body
    if len(body) >= _SHORTEST_BODY:
        indent = " " * body[0].col_offset
        yield body[0].lineno, _last(body), [f"{indent}raise NotImplementedError\n"], BODY
    waiting: list[ast.AST] = [function]
    while waiting:
        node = waiting.pop()
        for name in ("body", "orelse", "finalbody"):
            block = cast("list[ast.stmt]", getattr(node, name, None) or [])
            for statement in block:
                if not isinstance(statement, (*_FUNCTIONS, ast.ClassDef)):
                    yield from _of_statement(statement, block, lines)
                    waiting.append(statement)


def _of_statement(statement: ast.stmt, block: list[ast.stmt], lines: list[str]) -> Iterator[_Removal]:
    alone = len(block) == 1
    first, last = statement.lineno, _last([statement])
    instead = [f"{' ' * statement.col_offset}pass\n"] if alone else []
    is_text = isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)
    if isinstance(statement, _SIMPLE) and not is_text:
        yield first, last, instead, "statement"
    if not isinstance(statement, ast.If) or lines[first - 1].lstrip().startswith("elif"):
        return
    if statement.orelse:
        yield _last(statement.body) + 1, last, [], "branch"
    elif isinstance(statement.body[-1], _LEAVES):
        yield first, last, instead, "guard"
    else:
        inside = lines[statement.body[0].lineno - 1 : last]
        step = statement.body[0].col_offset - statement.col_offset
        if step > 0 and all(not each.strip() or each.startswith(" " * step) for each in inside):
            yield first, last, [each[step:] if each.strip() else each for each in inside], "branch"


def _last(block: list[ast.stmt]) -> int:
    return max(each.end_lineno or each.lineno for each in block)


def _edit(lines: list[str], starts: list[int], first: int, last: int, instead: list[str], operator: str) -> Edit:
    return Edit(first, starts[first - 1], starts[last], "".join(instead), operator)


def _compiles(source: str, edit: Edit) -> bool:
    """Return whether what is left is a source; statements that share a line are not taken apart."""
    try:
        compile(source[: edit.start] + edit.new + source[edit.end :], "<source>", "exec", dont_inherit=True)
    except (SyntaxError, ValueError):
        return False
    return True
