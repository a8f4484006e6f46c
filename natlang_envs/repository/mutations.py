"""Lists every single-place edit of a Python source, found by the positions of its syntax tree; the text is kept.

The list is closed under inversion: from an edited source, the edit that restores the original is listed too, and
nothing tells it from the others. So whether and what a place offers may depend only on what no edit changes:

- An edit stays on one line and replaces an operator, a number, a name or the order of neighbours by another of the
  same set, never by something of another kind.
- The limit of `PER_LINE` is kept with weights that count places, not their present content.

What lies inside f-strings is left alone: Python 3.11 does not know its position.
"""

from __future__ import annotations

import ast
import re
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from itertools import accumulate, pairwise
from typing import NamedTuple

from natlang_envs.errors import UsageError

PER_LINE = 40
PER_NAME = 6  # at most so many other names in place of one

# The order in which operators are given room on a line that holds too many places.
OPERATORS = (
    "compare", "bool", "invert", "arithmetic", "call", "loop", "swap", "default", "constant",
    "field", "global", "variable",
)  # fmt: skip
_NAMES = ("field", "global", "variable")  # share what the others leave

_COMPARE: dict[type[ast.cmpop], str] = {
    ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">=", ast.Eq: "==", ast.NotEq: "!=", ast.Is: "is",
    ast.IsNot: "is not", ast.In: "in", ast.NotIn: "not in",
}  # fmt: skip
_ARITHMETIC: dict[type[ast.operator], str] = {
    ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/", ast.FloorDiv: "//", ast.Mod: "%",
}  # fmt: skip
_ORDERED = ("<", "<=", ">", ">=")
_OTHERS: dict[str, tuple[str, ...]] = {
    **{each: tuple(other for other in _ORDERED if other != each) for each in _ORDERED},
    "==": ("!=",), "!=": ("==",), "is": ("is not",), "is not": ("is",), "in": ("not in",), "not in": ("in",),
    "and": ("or",), "or": ("and",), "+": ("-",), "-": ("+",),
    "*": ("/", "//"), "/": ("*",), "//": ("*", "%"), "%": ("//",), "break": ("continue",), "continue": ("break",),
}  # fmt: skip
_PAIRS = (
    ("min", "max"), ("any", "all"), ("startswith", "endswith"), ("lower", "upper"), ("floor", "ceil"),
    ("lstrip", "rstrip"), ("ljust", "rjust"), ("removeprefix", "removesuffix"), ("partition", "rpartition"),
)  # fmt: skip
_CALLS = {name: other for pair in _PAIRS for name, other in (pair, pair[::-1])}
_ORDER_MATTERS = (ast.Sub, ast.Div, ast.FloorDiv, ast.Mod)
_ATOMS = (ast.Name, ast.Constant, ast.Attribute, ast.Call, ast.Subscript)
_LOOSE = (ast.BoolOp, ast.IfExp, ast.Lambda, ast.NamedExpr)  # bind less than `not`
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
_COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)


class Edit(NamedTuple):
    """A replacement of a piece of source text."""

    line: int  # from 1
    start: int  # where the piece begins, in characters from the beginning of the source
    end: int  # where it ends
    new: str  # what stands there afterwards
    operator: str  # the kind of edit, one of `OPERATORS`


class _Place(NamedTuple):
    operator: str
    weight: int  # of the place, whatever it holds now
    start: int
    end: int
    others: tuple[str, ...]


def apply(source: str, edit: Edit) -> str:
    return source[: edit.start] + edit.new + source[edit.end :]


def restoring(edited: str, original: str) -> Edit | None:
    return next((each for each in edits(edited) if apply(edited, each) == original), None)


def edits(source: str) -> list[Edit]:
    """Return every single-place edit of a source, by position, at most `PER_LINE` a line."""
    if "\r" in source.replace("\r\n", ""):
        raise UsageError("a source with carriage returns inside its lines cannot be edited: write \\n or \\r\\n")
    try:
        finder = _Finder(source)
    except SyntaxError as error:
        raise UsageError(f"not Python of this version: line {error.lineno}: {error.msg}") from None
    found = {edit for line, places in finder.places.items() for edit in _of_line(line, places)}
    return sorted(edit for edit in found if edit.new != source[edit.start : edit.end])


def _of_line(line: int, places: Sequence[_Place]) -> Iterator[Edit]:
    """Yield the edits of a line: whole operators while there is room, and of names the nearest."""
    room = PER_LINE
    for operator in OPERATORS:
        if operator in _NAMES:
            continue
        chosen = [each for each in places if each.operator == operator]
        weight = sum(each.weight for each in chosen)
        if weight <= room:
            room -= weight
            for each in chosen:
                yield from (Edit(line, each.start, each.end, new, operator) for new in each.others)
    named = [each for each in places if each.operator in _NAMES]
    for each in named:
        for new in _nearest(each.others, each.weight, min(PER_NAME, room // len(named))):
            yield Edit(line, each.start, each.end, new, each.operator)


def _nearest(names: Sequence[str], place: int, count: int) -> list[str]:
    """Return at most `count` others of a ring of names, the same number on either side, so that each is the other's."""
    if count >= len(names) - 1:
        return [name for number, name in enumerate(names) if number != place]
    return [names[(place + step) % len(names)] for way in range(1, count // 2 + 1) for step in (-way, way)]


class _Finder:
    def __init__(self, source: str) -> None:
        self.source = source
        self.places: dict[int, list[_Place]] = defaultdict(list)
        self._lines = source.split("\n")
        self._starts = [0, *accumulate(len(line) + 1 for line in self._lines)]
        tree = ast.parse(source)
        self._fields = _fields_of(tree)
        self._globals = tuple(name for name in _stored(tree.body) if name.isupper())
        self._visit_all(tree.body, ())

    def _offset(self, line: int, column: int) -> int:
        text = self._lines[line - 1]
        return self._starts[line - 1] + (column if text.isascii() else len(text.encode()[:column].decode()))

    def _span(self, node: ast.expr | ast.stmt) -> tuple[int, int]:
        assert node.end_lineno is not None
        assert node.end_col_offset is not None
        return self._offset(node.lineno, node.col_offset), self._offset(node.end_lineno, node.end_col_offset)

    def _text(self, node: ast.expr) -> str:
        return self.source[slice(*self._span(node))]

    def _add(self, operator: str, weight: int, start: int, end: int, others: Iterable[str]) -> None:
        if "\n" not in self.source[start:end]:
            place = _Place(operator, weight, start, end, tuple(others))
            self.places[bisect_right(self._starts, start)].append(place)

    def _token(self, operator: str, symbol: str, left: ast.expr, right: ast.expr, then: str = "") -> None:
        """Add the operator that stands between two operands, with brackets and blanks around it."""
        start, end = self._span(left)[1], self._span(right)[0]
        found = re.fullmatch(rf"[\s)\\]*?({re.escape(symbol)}){then}[\s(\\]*", self.source[start:end])
        if found and not (symbol == "%" and self.source[start - 1] in "\"'"):
            weight = 3 if symbol in _ORDERED else 2 if symbol in ("*", "/", "//", "%") else 1
            self._add(operator, weight, start + found.start(1), start + found.end(1), _OTHERS[symbol])

    def _swap(self, left: ast.expr, right: ast.expr, ordered: bool = True) -> None:
        """Add the exchange of two neighbours; it changes something only where they are `ordered`."""
        (start, until), (since, end) = self._span(left), self._span(right)
        exchanged = self.source[since:end] + self.source[until:since] + self.source[start:until]
        self._add("swap", 1, start, end, [exchanged] if ordered else [])

    def _swap_neighbours(self, values: Sequence[ast.expr]) -> None:
        if not any(isinstance(each, ast.Starred) for each in values):
            for one, other in pairwise(values):
                self._swap(one, other)

    def _invert(self, test: ast.expr, loose: bool = True) -> None:
        """Add the negation of a condition; one that binds less than `not` gets brackets, where it may be `loose`."""
        text, others = self._text(test), list[str]()
        inner = test.operand if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not) else test
        bare = self._text(inner)
        negated = f"not ({bare})" if isinstance(inner, _LOOSE) else f"not {bare}"
        twice = isinstance(inner, ast.UnaryOp) and isinstance(inner.op, ast.Not)
        if not twice and (loose or not isinstance(inner, _LOOSE)):
            others = [negated] if inner is test else [bare] if text == negated else []
        self._add("invert", 1, *self._span(test), others)

    def _number(self, node: ast.Constant, operator: str) -> None:
        value, text = node.value, self._text(node)
        if type(value) is bool:
            self._add(operator, 1, *self._span(node), [str(not value)])
        elif type(value) is int and text in (str(value), f"{value:_}"):
            style = "_" if "_" in text else ""
            others = [other for other in (value - 1, value + 1) if other >= 0 and not (style and other < 1000)]
            self._add(operator, 2, *self._span(node), (f"{other:{style}}" for other in others))

    def _name(self, operator: str, names: Sequence[str], name: str, end: int) -> None:
        """Add a name that ends at `end`; its weight is its place among the names."""
        if len(names) > 1 and self.source[end - len(name) : end] == name:
            self._add(operator, names.index(name), end - len(name), end, names)

    def _visit_all(self, nodes: Iterable[ast.AST | None], names: tuple[str, ...], operator: str = "constant") -> None:
        for node in nodes:
            if node is not None:
                self._visit(node, names, operator)

    def _visit(self, node: ast.AST, names: tuple[str, ...], operator: str = "constant") -> None:
        """Add the places of a node and of what it holds, where `names` are the variables it can see."""
        if isinstance(node, ast.JoinedStr):
            return
        if isinstance(node, _FUNCTIONS):
            arguments = node.args
            self._visit_all([*arguments.defaults, *arguments.kw_defaults], names, "default")
            body = [node.body] if isinstance(node, ast.Lambda) else node.body
            inner = [*names, *(each.arg for each in arguments_of(node)), *_stored(body)]
            self._visit_all(body, tuple(dict.fromkeys(name for name in inner if name not in ("self", "cls"))))
        elif isinstance(node, ast.ClassDef):
            self._visit_all(node.body, ())
        elif isinstance(node, ast.AnnAssign):
            self._visit_all([node.target, node.value], names)
        elif isinstance(node, _COMPREHENSIONS):
            outside = node.generators[0].iter
            self._visit(outside, names)
            inner = dict.fromkeys([*names, *_stored(each.target for each in node.generators)])
            held = [each for part in (node, *node.generators) for each in ast.iter_child_nodes(part)]
            left = (each for each in held if each is not outside and not isinstance(each, ast.comprehension))
            self._visit_all(left, tuple(inner))
            for test in (test for each in node.generators for test in each.ifs):
                self._invert(test)
        else:
            self._places_of(node, names, operator)
            self._visit_all(ast.iter_child_nodes(node), names, operator)

    def _places_of(self, node: ast.AST, names: tuple[str, ...], operator: str) -> None:
        match node:
            case ast.Compare(left, ops, comparators):
                for op, (one, other) in zip(ops, pairwise([left, *comparators]), strict=True):
                    self._token("compare", _COMPARE[type(op)], one, other)
            case ast.BoolOp(op, values):
                word = "and" if isinstance(op, ast.And) else "or"
                for one, other in pairwise(values):
                    self._token("bool", word, one, other)
                for each in values:
                    if not isinstance(each, _LOOSE):
                        self._invert(each, loose=False)
            case ast.BinOp(left, op, right) if type(op) in _ARITHMETIC:
                self._token("arithmetic", _ARITHMETIC[type(op)], left, right)
                if isinstance(left, _ATOMS) and isinstance(right, _ATOMS):
                    self._swap(left, right, isinstance(op, _ORDER_MATTERS))
            case ast.AugAssign(target, op, value) if type(op) in _ARITHMETIC:
                self._token("arithmetic", _ARITHMETIC[type(op)], target, value, "=")
            case ast.If(test) | ast.While(test) | ast.IfExp(test) | ast.Assert(test):
                self._invert(test)
            case ast.Call(func, args, keywords):
                name = func.attr if isinstance(func, ast.Attribute) else getattr(func, "id", "")
                if name in _CALLS and name not in names:
                    end = self._span(func)[1]
                    self._add("call", 1, end - len(name), end, [_CALLS[name]])
                if all(each.arg for each in keywords):
                    self._swap_neighbours([*args, *(each.value for each in keywords)])
            case ast.Tuple(elements, ast.Load()) if not all(isinstance(each, ast.Constant) for each in elements):
                self._swap_neighbours(elements)
            case ast.Break() | ast.Continue():
                word = "break" if isinstance(node, ast.Break) else "continue"
                self._add("loop", 1, *self._span(node), _OTHERS[word])
            case ast.Constant():
                self._number(node, operator)
            case ast.Name(name, ast.Load()):
                if name in names:
                    self._name("variable", names, name, self._span(node)[1])
                elif name in self._globals:
                    self._name("global", self._globals, name, self._span(node)[1])
            case ast.Attribute(_, name, ast.Load()) if name in self._fields:
                self._name("field", self._fields[name], name, self._span(node)[1])
            case _:
                pass


def arguments_of(node: ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda) -> list[ast.arg]:
    """Return all arguments of a function, those with stars last."""
    arguments = node.args
    starred = [each for each in (arguments.vararg, arguments.kwarg) if each is not None]
    return [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs, *starred]


def _stored(nodes: Iterable[ast.AST]) -> Iterator[str]:
    """Yield the names that are assigned to, in order, without those of inner scopes."""
    for node in nodes:
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.id
        if not isinstance(node, (*_FUNCTIONS, *_COMPREHENSIONS, ast.ClassDef)):
            yield from _stored(ast.iter_child_nodes(node))


def _fields_of(tree: ast.Module) -> dict[str, tuple[str, ...]]:
    """Return for each field, member or property of a class those of the same class; the first class with it counts."""
    found: dict[str, tuple[str, ...]] = {}
    for node in tree.body:
        if isinstance(node, ast.ClassDef):
            properties = (
                each.name
                for each in node.body
                if isinstance(each, ast.FunctionDef) and any(ast.unparse(d) == "property" for d in each.decorator_list)
            )
            names = dict.fromkeys([*_stored(node.body), *properties])
            group = tuple(name for name in names if name not in found)
            found.update(dict.fromkeys(group, group))
    return found
