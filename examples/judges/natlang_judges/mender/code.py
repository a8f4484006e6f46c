"""How usual an edit makes its line, as features: from the lines of its file that were read."""

from __future__ import annotations

import keyword
import math
import re
import zlib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property, lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from natlang_envs.errors import UsageError
from natlang_envs.repository.mutations import edits
from natlang_envs.repository.walk import shared
from natlang_envs.repository.words import pieces_of

BUCKETS, NUMBERS = 4096, 45  # hashed contexts; other features of an edit
SIGNS = (1.0,) * 6 + (-1.0,) * 8 + (1.0,) * 8  # of the contexts of an edit, of what it replaces, of what it makes
_TOKEN = re.compile(r"\w+|\"[^\"]*\"|'[^']*'|[<>=!*/+\-%|&^]=|\*\*|//|->|\S")
_CALLED = ("self", "cls", "len", "range", "min", "max", "any", "all", "sum", "int", "str")
_KEPT = frozenset(keyword.kwlist).union("012", _CALLED)
_START = re.compile(r"\s*(async def|def|class|@)")
_EDGE = ("^", "^", "^")

Tokens = tuple[str, ...]


class EditFeatures(NamedTuple):
    ids: NDArray[np.int64]  # of the hashed contexts; a row an edit
    numbers: NDArray[np.float32]  # the other features


@lru_cache(maxsize=100_000)
def _tokens(line: str) -> Tokens:
    return tuple(_TOKEN.findall(line))


@lru_cache(maxsize=100_000)
def pieces(text: str) -> frozenset[str]:
    """Return the words of a text, and the pieces of its names."""
    return frozenset(pieces_of(text))


@lru_cache(maxsize=100_000)
def _kind(token: str) -> str:
    if token in _KEPT or not (token[0].isalnum() or token[0] in "_\"'"):
        return token
    if token[0] in "\"'":
        return "'"
    return "#" if token[0].isdigit() else "C" if token.isupper() else "K" if token[0].isupper() else "v"


@lru_cache(maxsize=1_000_000)
def _bucket(name: str) -> int:
    return zlib.crc32(name.encode()) % BUCKETS


class KnownCode:
    """The lines of a file that were read, by their numbers."""

    def __init__(self, lines: Mapping[int, str]) -> None:
        self.lines = lines
        self.text = "\n".join(f"{number} {line}" for number, line in lines.items())

    @cached_property
    def counts(self) -> Counter[Tokens]:
        """How often runs of one to three tokens occur in the lines."""
        return Counter(window for line in self.lines.values() for window in _windows(_tokens(line)))

    def edited(self) -> dict[int, list[str]]:
        """Return the texts of each line after its edits, of the lines from the first to one that was not read."""
        every = range(1, len(self.lines) + 1)
        count = next((number for number in every if number not in self.lines), len(self.lines) + 1)
        return _edited(tuple(self.lines[number] for number in range(1, count)))

    def features(self, number: int, after: Sequence[str]) -> EditFeatures:
        """Return the features of the edits that leave a line as each text of `after`."""
        line = _Line(self, number)
        rows = [line.of_edit(_tokens(each)) for each in after]
        ids = [[_bucket(name) for name in names] for names, _ in rows]
        numbers = np.array([others for _, others in rows], np.float32)
        return EditFeatures(np.array(ids, np.int64).reshape(-1, len(SIGNS)), numbers.reshape(-1, NUMBERS))


class _Line:
    """A line with what is around it."""

    def __init__(self, code: KnownCode, number: int) -> None:
        self.before = _tokens(code.lines[number])
        self._counts, self._own = code.counts, Counter(_windows(self.before))
        span = around(code.lines, number)
        above, below = range(span.start, number), range(number + 1, span.stop)
        self._uses = [Counter(token for at in part for token in _tokens(code.lines[at])) for part in (above, below)]
        near = (code.lines[at].strip() for part in (above, below) for at in part)
        self._words = _pieces_of(line for line in near if not line.endswith((":", ")", "]")))

    def of_edit(self, after: Tokens) -> tuple[list[str], list[float]]:
        """Return the contexts of an edit, and its other features."""
        before = self.before
        start = shared(before, after)
        tail = shared(before[start:][::-1], after[start:][::-1])
        end = len(before) - tail
        left, right = (*_EDGE, *before[:start])[-3:], (*before[end:], *_EDGE)[:3]
        old, new = before[start:end], after[start : len(after) - tail]
        rest = (*before[:start], *before[end:])
        others = _pieces_of(name for name in rest if name[0].isalnum())
        swap = len(old) > 1 and sorted(old) == sorted(new)
        l1, l2, r1, r2 = (_kind(each) for each in (left[-1], left[-2], right[0], right[1]))
        change = ">".join("~".join(map(_kind, side))[:20] for side in (old, new))
        first = before[0] if before else "^"
        contexts = [
            f"a{change}", f"b{change} {l1}", f"c{change} {r1}", f"d{change} {first}",
            f"e{'swap' if swap else change} {left[-1]}", f"f{change} {right[0]}",
        ]  # fmt: skip
        sides: list[list[float]] = []
        for side in (old, new):
            raw, kind = "~".join(side[:3]), "~".join(map(_kind, side[:3]))
            contexts += [
                f"g{raw}", f"h{l1} {raw}", f"i{raw} {r1}", f"j{l1} {kind} {r1}", f"k{l2} {l1} {kind}",
                f"l{kind} {r1} {r2}", f"m{left[-1]} {raw}", f"n{raw} {right[0]}",
            ]  # fmt: skip
            sides.append(self._of_side(left, side, right, rest, others))
        less, more = "".join(old), "".join(new)
        digits = less.isdecimal() and more.isdecimal()
        numbers = [*(b - a for a, b in zip(*sides, strict=True)), *sides[0], *sides[1], float(swap)]
        numbers += [float(len(new) - len(old)), math.log1p(len(before)) / 3, start / max(1, len(before))]
        return contexts, [*numbers, float(more) - float(less) if digits else 0.0, float(bool(self._uses[0]))]

    def _of_side(self, left: Tokens, side: Tokens, right: Tokens, rest: Tokens, others: set[str]) -> list[float]:
        whole = (*left[1:], *side, *right[:2])
        pairs = [self._seen(whole[at : at + 2]) for at in range(1, len(whole) - 2)]
        triples = [self._seen(whole[at : at + 3]) for at in range(len(whole) - 2)]
        names = [each for each in side if each[0].isalnum() or each[0] == "_"]
        of, (above, below) = _pieces_of(names), self._uses
        uses = [(above.get(each, 0), below.get(each, 0)) for each in names]
        return [
            _mean(pairs), _mean(triples), min(pairs, default=0.0), _mean([self._seen((each,)) for each in names]),
            *(_mean([math.log1p(use[at]) for use in uses]) for at in (0, 1)), any(use[0] == 0 for use in uses),
            any(sum(use) == 1 for use in uses), any(sum(use) == 0 for use in uses), len(of & others) / max(1, len(of)),
            any(each in rest for each in names), bool(side) and left[-1] == "=" and left[-2] == side[0],
            bool(of) and of <= self._words,
        ]  # fmt: skip

    def _seen(self, window: Tokens) -> float:
        count = self._counts.get(window, 0)  # a missing key of a Counter is slow
        return math.log1p(count - self._own.get(window, 0)) if count else 0.0


@lru_cache(maxsize=4_096)
def _edited(lines: Tokens) -> dict[int, list[str]]:
    known = list(lines)
    while known:
        text = "\n".join(known) + "\n"
        try:
            listed = edits(text)
        except UsageError:  # the end is missing: leave out the last function, class or decorator
            while known and not _START.match(known.pop()):
                pass
            continue
        found: dict[int, list[str]] = {}
        for edit in listed:
            begins, line = text.rfind("\n", 0, edit.start) + 1, known[edit.line - 1]
            after = line[: edit.start - begins] + edit.new + line[edit.end - begins :]
            found.setdefault(edit.line, []).append(after.strip())
        return found
    return {}


def around(lines: Mapping[int, str], number: int) -> range:
    """Return the known lines of the function that holds a line."""
    first = number
    while first - 1 in lines and not re.match(r"\s*(async )?def\b", lines[first]):
        first -= 1
    depth, last = _indent(lines[first]), number
    while last + 1 in lines and (not lines[last + 1].strip() or _indent(lines[last + 1]) > depth):
        last += 1
    return range(first, last + 1)


def _pieces_of(texts: Iterable[str]) -> set[str]:
    return set[str]().union(*map(pieces, texts))


def _mean(values: Sequence[float]) -> float:
    return sum(values) / max(1, len(values))


def _windows(tokens: Tokens) -> Iterator[Tokens]:
    whole = ("^", *tokens, "^")
    return (whole[at : at + size] for size in (1, 2, 3) for at in range(len(whole) - size + 1))


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())
