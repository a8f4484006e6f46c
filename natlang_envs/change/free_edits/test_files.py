"""Files of tests as text, without some of their tests."""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterable, Iterator


def functions_in(text: str) -> list[tuple[str, range, bool]]:
    """Return the tests of a file, in order.

    Each has its name behind that of its class, as in ids of pytest; its lines, with decorators; and whether nothing
    else is in its class.
    """
    return list(_tests(ast.parse(text).body, ""))


def _tests(body: list[ast.stmt], prefix: str) -> Iterator[tuple[str, range, bool]]:
    for node in body:
        if isinstance(node, ast.FunctionDef) and node.name.startswith("test"):
            first = min([node.lineno, *(each.lineno for each in node.decorator_list)])
            lines = range(first, (node.end_lineno or node.lineno) + 1)
            yield prefix + node.name, lines, bool(prefix) and len(body) == 1
        elif isinstance(node, ast.ClassDef) and node.name.startswith("Test"):
            yield from _tests(node.body, f"{prefix}{node.name}::")


def function_of(test: str) -> tuple[str, str]:
    """Return the file and the function of a test's id, without its parameters."""
    file, _, name = test.partition("::")
    return file, name.partition("[")[0]


def by_file(functions: Iterable[tuple[str, str]]) -> dict[str, set[str]]:
    found: dict[str, set[str]] = {}
    for file, name in functions:
        found.setdefault(file, set()).add(name)
    return found


def without(text: str, names: Collection[str]) -> str:
    """Return a file without some of its tests; one that is alone in its class stays."""
    lines = text.splitlines(keepends=True)
    for name, numbers, alone in reversed(functions_in(text)):
        if name in names and not alone:
            start = numbers[0] - 1
            while start and not lines[start - 1].strip():
                start -= 1
            del lines[start : numbers[-1]]
    return "".join(lines)
