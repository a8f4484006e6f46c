"""The edits of a source: closed under inversion, few a line, alike on every Python."""

from __future__ import annotations

import ast
from collections import Counter
from functools import cache
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from natlang_envs import UsageError
from natlang_envs.change.repositories import data_folder
from natlang_envs.repository import mutations
from natlang_envs.repository.mutations import OPERATORS, PER_LINE, Edit, apply, edits, restoring
from tests.strategies import examples
from tests.support.slow import slow_unless

SERVICES = data_folder() / "services"
FILES = sorted(SERVICES.rglob("*.py"))
EXAMPLE = '''
RATE, LEAST = 20, 5


class Bill:
    net: int
    paid: int

    @property
    def open(self):
        return self.net - self.paid


def tax(net, percent=RATE, exact=True):
    """Return 3 < 4."""
    if not exact and net >= 10_000:
        net -= net % 100
    for part in range(1, 7):
        if part is None or part not in (net, percent):
            continue
        total = max(part * net // 100, LEAST)
    return f"{net + 1}", [share for share in (net, total) if share]
'''


def name(path: Path) -> str:
    return path.relative_to(SERVICES).as_posix()


@cache
def listed(path: Path) -> tuple[str, list[Edit]]:
    text = path.read_text(encoding="utf-8")
    return text, edits(text)


def changes(source: str) -> set[tuple[str, str, str]]:
    """Return operator, old text and new text of every edit."""
    return {(each.operator, source[each.start : each.end], each.new) for each in edits(source)}


@settings(max_examples=examples(150), deadline=None)
@given(st.data())
def test_from_an_edited_service_an_edit_restores_the_original(data: st.DataObject) -> None:
    text, found = listed(data.draw(st.sampled_from([path for path in FILES if listed(path)[1]])))
    edit = data.draw(st.sampled_from(found))
    edited = apply(text, edit)
    back = restoring(edited, text)
    assert back is not None, (edit, edited.splitlines()[edit.line - 1])
    assert (back.line, back.operator) == (edit.line, edit.operator)


@settings(max_examples=examples(40), deadline=None)
@given(st.data())
def test_after_several_edits_each_can_still_be_taken_back(data: st.DataObject) -> None:
    text = EXAMPLE
    for _ in range(4):
        edited = apply(text, data.draw(st.sampled_from(edits(text))))
        assert restoring(edited, text) is not None
        text = edited


@pytest.mark.parametrize("path", slow_unless(lambda number: number % 3 == 0, FILES), ids=name)
def test_a_services_edits_are_few_a_line_in_order_and_python(path: Path) -> None:
    text, found = listed(path)
    assert max(Counter(each.line for each in found).values(), default=0) <= PER_LINE
    assert found == sorted(set(found))
    assert {each.operator for each in found} <= set(OPERATORS)
    lines = text.count("\n")
    for each in found[:: max(1, len(found) // 25)]:
        edited = apply(text, each)
        ast.parse(edited)
        assert edited != text
        assert edited.count("\n") == lines
        assert text.count("\n", 0, each.start) + 1 == each.line


def test_every_operator_has_an_example() -> None:
    assert {operator for operator, *_ in changes(EXAMPLE)} == set(OPERATORS)


@pytest.mark.parametrize(
    ("source", "operator", "old", "new"),
    [
        ("x = a < b", "compare", "<", ">="),
        ("x = a is not b", "compare", "is not", "is"),
        ("x = a < b <= c", "compare", "<=", "<"),
        ("x = a and (b or c)", "bool", "or", "and"),
        ("if a:\n    pass", "invert", "a", "not a"),
        ("if a or b:\n    pass", "invert", "a or b", "not (a or b)"),
        ("if not (a or b):\n    pass", "invert", "not (a or b)", "a or b"),
        ("x = [a for a in b if not a]", "invert", "not a", "a"),
        ("x = (a + 1) * c", "arithmetic", "*", "//"),
        ("x -= 1", "arithmetic", "-", "+"),
        ("x = y - z", "swap", "y - z", "z - y"),
        ("f(a, k=b)", "swap", "a, k=b", "b, k=a"),
        ("return_ = a(), b", "swap", "a(), b", "b, a()"),
        ("x = 10_000", "constant", "10_000", "9_999"),
        ("x = False", "constant", "False", "True"),
        ("def f(a=7): pass", "default", "7", "8"),
        ("x = min(a, b)", "call", "min", "max"),
        ("x = a.lstrip()", "call", "lstrip", "rstrip"),
        ("for a in b:\n    break", "loop", "break", "continue"),
        ("A = 1\nB = 2\nx = A", "global", "A", "B"),
        ("class C:\n    a: int\n    b: int\nx = y.a", "field", "a", "b"),
        ("def f(a, b):\n    c = a", "variable", "a", "c"),
    ],
)
def test_an_edit(source: str, operator: str, old: str, new: str) -> None:
    assert (operator, old, new) in changes(source)


@pytest.mark.parametrize(
    "source",
    [
        "x = f'{a + 1} {b < 2}'",  # Python 3.11 does not know where it is
        '"""3 < 4 and 5"""',
        "def f(x: 'int | 1' = None) -> 2: ...",
        "x: list[1]",
        "@cache(7)\nclass C: ...",
        "x = 0x10, 1.5",
        "import a, b",
    ],
)
def test_what_is_left_alone(source: str) -> None:
    assert edits(source) == []


def test_a_number_does_not_lose_its_underscore() -> None:
    assert changes("x = 1_000") == {("constant", "1_000", "1_001")}
    assert changes("x = 0") == {("constant", "0", "1")}


def test_self_is_no_variable_and_inner_names_stay_inside() -> None:
    source = "def f(self, a):\n    g = [b for b in a]\n    return a\n"
    assert {new for operator, old, new in changes(source) if old == "a" and operator == "variable"} == {"g"}
    inner = {new for _, old, new in changes(source) if old == "b"}
    assert inner == {"a", "g"}


def test_a_crowded_line_has_no_more_than_forty_edits_and_can_be_restored() -> None:
    row = ", ".join(str(each) for each in range(30))
    source = f"def f(a, b, c, d, e, g, h):\n    return [a < b, c == d, {row}, e, g, h]\n"
    found = edits(source)
    assert 20 <= len(found) <= PER_LINE
    assert {each.operator for each in found} == {"compare", "variable"}  # the numbers would be sixty
    assert all(restoring(apply(source, each), source) for each in found)


def test_names_are_exchanged_with_the_nearest_in_a_ring() -> None:
    names = [f"v{number}" for number in range(20)]
    source = f"def f({', '.join(names)}):\n    return v0\n"
    reach = mutations.PER_NAME // 2
    assert {new for _, old, new in changes(source) if old == "v0"} == {
        names[way % 20] for way in range(-reach, reach + 1) if way
    }


def test_letters_beyond_ascii_and_carriage_returns_move_nothing() -> None:
    source = "é = 'ü'; x = 7\r\ny = 'ö' + f(8)\r\n"
    assert ("constant", "7", "8") in changes(source)
    assert ("constant", "8", "9") in changes(source)
    assert all(restoring(apply(source, each), source) for each in edits(source))


@pytest.mark.parametrize(
    ("source", "why"), [("x = (", "not Python of this version: line 1"), ("x = 1\ry = 2\n", "carriage")]
)
def test_what_cannot_be_edited_is_refused_in_one_line(source: str, why: str) -> None:
    with pytest.raises(UsageError, match=why) as caught:
        edits(source)
    assert "\n" not in str(caught.value)
