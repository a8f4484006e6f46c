"""Writes the issue of a task: the behaviour that the shown test asks for, and what it saw, without a place.

Every name of a function, method or file of the sources is left out, whichever of them is broken. So the gaps do not
show the place either.
"""

from __future__ import annotations

import ast
import hashlib
import re
from collections.abc import Mapping, Sequence
from pathlib import PurePosixPath

LONGEST = 240  # characters of what was seen
WINDOW = 80  # characters of a value
_GAP = "…"
_WORD = re.compile(r"[^\W\d]\w*")
_HIDDEN = re.compile(r"0x[0-9a-fA-F]{4,}|[^\s'\"]*/natlang-changing-[^\s'\"]*")


class HiddenNames:
    """The names that no issue of a repository contains."""

    def __init__(self, sources: Mapping[str, str]) -> None:
        nodes = (node for text in sources.values() for node in ast.walk(ast.parse(text)))
        names = {node.name for node in nodes if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))}
        names |= {PurePosixPath(file).stem for file in sources}
        self.names = frozenset(name.lower() for name in names)

    def names_in(self, text: str) -> list[str]:
        return [word for word in _WORD.findall(text) if word.lower() in self.names]

    def shown(self, tests: Sequence[str], failing: int) -> int:
        """Return the failing test that a task shows: one whose name needs few gaps; of those, the lowest digest."""
        numbers = [number for number in range(len(tests)) if failing >> number & 1]
        return min(numbers, key=lambda each: (self._lost(tests[each]), hashlib.sha256(tests[each].encode()).digest()))

    def issue(self, test: str, message: Sequence[str] | None) -> str:
        """Return the text of an issue, from the shown test, and the exception that it ends with and its message."""
        words, case = _sentence(test)
        sentence = self._without(words)
        if not _WORD.search(sentence):
            sentence = "A test fails that passed before"
        case = f" ({self._without(case)})" if case else ""
        seen = self._without(_HIDDEN.sub(_GAP, _seen(*message))) if message else "This no longer holds"
        if len(seen) > LONGEST:
            seen = seen[:LONGEST].rstrip() + _GAP
        return f"{sentence}{case}. {seen[:1].upper()}{seen[1:]}{'' if seen.endswith(_GAP) else '.'}"

    def _lost(self, test: str) -> int:
        words, _ = _sentence(test)
        lost = len(self.names_in(words))
        return lost if lost < len(_WORD.findall(words)) else 100 + lost  # nothing would be left

    def _without(self, text: str) -> str:
        whole = _WORD.sub(lambda word: _GAP if word[0].lower() in self.names else word[0], text)
        return re.sub(rf"{_GAP}(?:[\s._]*{_GAP})+", _GAP, whole)


def _sentence(test: str) -> tuple[str, str]:
    """Return a test's name as a sentence, and the case that it is about."""
    name, _, case = test.rpartition("::")[2].partition("[")
    words = name.removeprefix("test").strip("_").replace("_", " ")
    case = case.removesuffix("]").strip()
    return words[:1].upper() + words[1:], case if len(case) <= 60 and case.isprintable() else ""


def _seen(kind: str, text: str) -> str:
    """Return in a few words how a test ended."""
    lines = [" ".join(line.split()) for line in text.splitlines() if line.strip()] or [""]
    if missing := re.match(r"DID NOT RAISE (?:<class ')?([\w.]+)", lines[0]):
        return f"no {missing[1].rpartition('.')[2]} was raised"
    labels = dict(line.split(": ", 1) for line in lines if ": " in line)
    expected = labels.get("Expected regex", labels.get("Regex"))
    if expected is not None and (actual := labels.get("Actual message", labels.get("Input"))) is not None:
        return f"expected the message {expected}, got {actual}"
    asserted = next((line for line in lines if line.startswith("assert ")), None)
    if asserted is not None:
        return _compared(asserted.removeprefix("assert "))
    if kind in ("AssertionError", "Failed"):
        return f"it says: {lines[0]}" if lines[0] else "an assertion fails"
    return f"{kind}: {lines[0]}" if lines[0] else f"{kind} was raised"


def _compared(text: str) -> str:
    """Return what was expected and what came, for an assertion that compares; of large values, where they differ."""
    try:
        tree = ast.parse(text, mode="eval").body
    except (SyntaxError, ValueError, RecursionError):
        left, equal, right = text.partition(" == ") if text.count(" == ") == 1 else (text, "", "")
        return _expected("", left, right) if equal else f"this does not hold: {text}"
    if not (isinstance(tree, ast.Compare) and len(tree.ops) == 1 and isinstance(tree.ops[0], ast.Eq)):
        return f"this does not hold: {text}"
    left, right, where = tree.left, tree.comparators[0], ""
    while (inner := _first_difference(left, right)) is not None:
        left, right, name = inner
        where = name or where
    return _expected(where, *(ast.get_source_segment(text, each) or "" for each in (left, right)))


def _expected(where: str, got: str, expected: str) -> str:
    got, expected = _window(got, expected), _window(expected, got)
    return f"{where + ': ' if where else ''}expected {expected}, got {got}"


def _window(text: str, other: str) -> str:
    """Return what a long text has where it begins to differ from another."""
    if len(text) <= WINDOW:
        return text
    same = next((place for place, (one, two) in enumerate(zip(text, other, strict=False)) if one != two), len(other))
    start = max(0, min(same - WINDOW // 3, len(text) - WINDOW))
    return (_GAP if start else "") + text[start : start + WINDOW] + (_GAP if start + WINDOW < len(text) else "")


def _first_difference(left: ast.expr, right: ast.expr) -> tuple[ast.expr, ast.expr, str] | None:
    """Return the first parts in which two values of one form differ, and their name; None if there are none."""
    pairs: list[tuple[ast.expr, ast.expr, str]] = []
    match left, right:
        case (ast.List(one), ast.List(other)) | (ast.Tuple(one), ast.Tuple(other)) if len(one) == len(other):
            pairs = [(each, its, "") for each, its in zip(one, other, strict=True)]
        case ast.Dict(keys, one), ast.Dict(others, other) if [*map(_source, keys)] == [*map(_source, others)]:
            pairs = [(each, its, _source(key)) for key, each, its in zip(keys, one, other, strict=True)]
        case ast.Call(name, args, one), ast.Call(its_name, its_args, other) if (
            _source(name) == _source(its_name)
            and len(args) == len(its_args)
            and [each.arg for each in one] == [each.arg for each in other]
            and one
        ):
            pairs = [(each, its, "") for each, its in zip(args, its_args, strict=True)]
            pairs += [(each.value, its.value, str(each.arg)) for each, its in zip(one, other, strict=True)]
        case _:
            pass
    return next((each for each in pairs if ast.dump(each[0]) != ast.dump(each[1])), None)


def _source(node: ast.expr | None) -> str:
    return ast.unparse(node) if node else ""
