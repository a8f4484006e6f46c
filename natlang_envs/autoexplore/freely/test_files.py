"""Files of tests as text: without some of their tests, and disguised for a run that scores.

Disguised, every test has a random name, and beside some stand *canaries*: copies with one more line, which fails. What
makes failing tests pass, without knowing them one by one, makes a canary pass too, and so tells on itself.
"""

from __future__ import annotations

import ast
import secrets
from collections.abc import Collection, Iterator, Mapping
from typing import NamedTuple

_ODD = ("skip", "xfail", "skipif")
_EVERY = 6  # tests for one canary, and at least one a file
_BITS = 48


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
        """Its last line."""
        return self.node.end_lineno or self.node.lineno


class Disguised(NamedTuple):
    """A file of tests with random names: what each test is called in truth, and which are canaries."""

    text: str
    names: Mapping[str, str]
    canaries: frozenset[str]


def functions(text: str) -> list[TestFunction]:
    """Return the tests of a file, in order."""
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


def disguised(text: str) -> Disguised:
    """Return a file of tests with random names and canaries."""
    lines = text.splitlines(keepends=True)
    found = functions(text)
    fit = [each for each in found if _may_be_canary(each)]
    drawn = secrets.SystemRandom().sample(fit, min(len(fit), 1 + len(found) // _EVERY))
    names: dict[str, str] = {}
    canaries: set[str] = set()
    for each in reversed(found):
        prefix = each.name[: len(each.name) - len(each.node.name)]
        new, canary = (f"test_{secrets.token_hex(8)}" for _ in range(2))
        names[prefix + new] = each.name
        copies = [_renamed(lines, each, new)]
        if each in drawn:
            canaries.add(prefix + canary)
            copies.append([*_renamed(lines, each, canary), *_failing(lines, each)])
        if secrets.randbits(1):
            copies.reverse()
        lines[each.first - 1 : each.last] = [line for copy in copies for line in copy]
    return Disguised("".join(lines), names, frozenset(canaries))


def _may_be_canary(test: TestFunction) -> bool:
    """Return whether a line at a test's end is reached where the test passes."""
    marks = " ".join(map(ast.unparse, test.node.decorator_list))
    leaves = any(isinstance(each, ast.Return) for each in ast.walk(test.node))
    return not leaves and not any(odd in marks for odd in _ODD)


def _renamed(lines: list[str], test: TestFunction, name: str) -> list[str]:
    copy = lines[test.first - 1 : test.last]
    place = test.node.lineno - test.first
    copy[place] = copy[place].replace(f"def {test.node.name}", f"def {name}", 1)
    copy[-1] = copy[-1].rstrip("\r\n") + "\n"
    return copy


def _failing(lines: list[str], test: TestFunction) -> list[str]:
    indent = " " * test.node.body[0].col_offset
    return [f"{indent}assert {secrets.randbits(_BITS)} == {secrets.randbits(_BITS)}\n"]
