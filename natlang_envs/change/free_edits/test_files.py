"""Files of tests as text, without some of their tests."""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterable, Iterator
from typing import NamedTuple


class TestFunction(NamedTuple):
    """A test in a file.

    Attributes:
        name: Its name behind that of its class, as in ids of pytest.
        node: Its definition.
        alone: Whether nothing else is in its class.
    """

    __test__ = False

    name: str
    node: ast.FunctionDef
    alone: bool

    @property
    def first(self) -> int:
        """Its first line, of a decorator where there is one."""
        return min([self.node.lineno, *(each.lineno for each in self.node.decorator_list)])

    @property
    def last(self) -> int:
        return self.node.end_lineno or self.node.lineno


def functions(text: str) -> list[TestFunction]:
    return list(_in(ast.parse(text).body, ""))


def _in(body: list[ast.stmt], prefix: str) -> Iterator[TestFunction]:
    for each in body:
        if isinstance(each, ast.FunctionDef) and each.name.startswith("test"):
            yield TestFunction(prefix + each.name, each, alone=bool(prefix) and len(body) == 1)
        elif isinstance(each, ast.ClassDef) and each.name.startswith("Test"):
            yield from _in(each.body, f"{prefix}{each.name}::")


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
    for each in reversed(functions(text)):
        if each.name in names and not each.alone:
            start = each.first - 1
            while start and not lines[start - 1].strip():
                start -= 1
            del lines[start : each.last]
    return "".join(lines)
