"""How usual an edit makes a line, in numbers: from the text of its file as far as it was read."""

from __future__ import annotations

import keyword
import math
import re
import zlib
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property, lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from natlang_envs.errors import UsageError
from natlang_envs.repository.mutations import edits
from natlang_envs.repository.words import pieces_of

BUCKETS, IDS, NUMBERS = 4096, 22, 45  # of hashed contexts; contexts of an edit; its other numbers
_TOKEN = re.compile(r"\w+|\"[^\"]*\"|'[^']*'|[<>=!*/+\-%|&^]=|\*\*|//|->|\S")
_KEPT = frozenset(keyword.kwlist) | {
    *"012",
    "self",
    "cls",
    "len",
    "range",
    "min",
    "max",
    "any",
    "all",
    "sum",
    "int",
    "str",
}
_START = re.compile(r"\s*(async def|def|class|@)")
_EDGE = ("^", "^", "^")

Tokens = tuple[str, ...]


class Features(NamedTuple):
    """Hashed contexts, positive of what an edit makes and negative of what it replaces, and the other numbers."""

    ids: NDArray[np.int64]
    signs: NDArray[np.float32]
    numbers: NDArray[np.float32]


@lru_cache(maxsize=100_000)
def tokens_of(line: str) -> Tokens:
    """Return the tokens of a line of Python."""
    return tuple(_TOKEN.findall(line))


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


class Code:
    """What is known of a file: the text of some of its lines, by their numbers."""

    def __init__(self, lines: Mapping[int, str]) -> None:
        self.lines = lines
        self.text = "\n".join(f"{number} {line}" for number, line in lines.items())

    @cached_property
    def counts(self) -> Counter[Tokens]:
        """How often runs of one to three tokens stand in the lines."""
        found: Counter[Tokens] = Counter()
        for line in self.lines.values():
            found.update(_windows(tokens_of(line)))
        return found

    def with_line(self, number: int, text: str) -> Code:
        """Return the same with another text of a line."""
        made = Code({**self.lines, number: text})
        made.counts = self.counts.copy()
        made.counts.subtract(_windows(tokens_of(self.lines[number])))
        made.counts.update(_windows(tokens_of(text)))
        return made

    def edited(self) -> dict[int, list[str]]:
        """Return what each line would read after each edit that can be foreseen."""
        every = range(1, len(self.lines) + 1)
        count = next((number for number in every if number not in self.lines), len(self.lines) + 1)
        return _edited(tuple(self.lines[number] for number in range(1, count)))

    def features(self, number: int, after: Sequence[str]) -> Features:
        """Return the numbers of a line's edits."""
        before = tokens_of(self.lines[number])
        own = Counter(_windows(before))
        span = around(self.lines, number)
        near = [self.lines[each] for each in span if each != number]
        above = Counter(token for each in span if each < number for token in tokens_of(self.lines[each]))
        below = Counter(token for each in span if each > number for token in tokens_of(self.lines[each]))
        words = {word for line in near if not line.strip().endswith((":", ")", "]")) for word in pieces_of(line)}
        rows = [self._of_edit(before, tokens_of(each), own, (above, below), words) for each in after]
        ids = np.zeros((len(rows), IDS), np.int64)
        signs, numbers = np.zeros((len(rows), IDS), np.float32), np.zeros((len(rows), NUMBERS), np.float32)
        for at, (hashed, told) in enumerate(rows):
            for place, (name, sign) in enumerate(hashed):
                ids[at, place], signs[at, place] = _bucket(name), sign
            numbers[at] = told
        return Features(ids, signs, numbers)

    def _of_edit(
        self,
        before: Tokens,
        after: Tokens,
        own: Counter[Tokens],
        uses: tuple[Counter[str], Counter[str]],
        words: set[str],
    ) -> tuple[list[tuple[str, float]], list[float]]:
        start = next(
            (n for n, (a, b) in enumerate(zip(before, after, strict=False)) if a != b), min(len(before), len(after))
        )
        tail = 0
        while tail < min(len(before), len(after)) - start and before[-1 - tail] == after[-1 - tail]:
            tail += 1
        left, right = (*_EDGE, *before[:start])[-3:], (*before[len(before) - tail :], *_EDGE)[:3]
        old, new = before[start : len(before) - tail], after[start : len(after) - tail]
        rest = [*before[:start], *before[len(before) - tail :]]
        first = before[0] if before else "^"
        swap = len(old) > 1 and sorted(old) == sorted(new)
        kinds = "~".join(map(_kind, old)), "~".join(map(_kind, new))
        change = f"{kinds[0][:20]}>{kinds[1][:20]}"
        hashed = [(f"a{change}", 1.0), (f"b{change} {_kind(left[-1])}", 1.0), (f"c{change} {_kind(right[0])}", 1.0)]
        hashed += [
            (f"d{change} {first}", 1.0),
            (f"e{'swap' if swap else change} {left[-1]}", 1.0),
            (f"f{change} {right[0]}", 1.0),
        ]
        told: list[list[float]] = []
        for side, sign in ((old, -1.0), (new, 1.0)):
            raw, kind = "~".join(side[:3]), "~".join(map(_kind, side[:3]))
            l1, l2, r1, r2 = _kind(left[-1]), _kind(left[-2]), _kind(right[0]), _kind(right[1])
            hashed += [
                (f"g{raw}", sign), (f"h{l1} {raw}", sign), (f"i{raw} {r1}", sign), (f"j{l1} {kind} {r1}", sign),
                (f"k{l2} {l1} {kind}", sign), (f"l{kind} {r1} {r2}", sign), (f"m{left[-1]} {raw}", sign),
                (f"n{raw} {right[0]}", sign),
            ]  # fmt: skip
            told.append(self._of_side(left, side, right, rest, own, uses, words))
        numbers = [*(b - a for a, b in zip(*told, strict=True)), *told[0], *told[1]]
        sizes = [float(swap), float(len(new) - len(old)), math.log1p(len(before)) / 3, start / max(1, len(before))]
        less, more = "".join(old), "".join(new)
        digit = [float(more) - float(less)] if less.isdecimal() and more.isdecimal() else [0.0]
        return hashed, [*numbers, *sizes, *digit, float(bool(uses[0]))]

    def _of_side(
        self,
        left: Tokens,
        side: Tokens,
        right: Tokens,
        rest: list[str],
        own: Counter[Tokens],
        uses: tuple[Counter[str], Counter[str]],
        words: set[str],
    ) -> list[float]:
        whole = (*left[1:], *side, *right[:2])
        pairs, triples = [], []
        for at in range(len(whole) - 1):
            if 1 <= at <= len(whole) - 3:
                pairs.append(self._seen(whole[at : at + 2], own))
            if at + 3 <= len(whole):
                triples.append(self._seen(whole[at : at + 3], own))
        names = [each for each in side if each[0].isalnum() or each[0] == "_"]
        of = {piece for name in names for piece in pieces_of(name.replace("_", " "))}
        others = {piece for name in rest if name[0].isalnum() for piece in pieces_of(name.replace("_", " "))}
        return [
            sum(pairs) / max(1, len(pairs)),
            sum(triples) / max(1, len(triples)),
            min(pairs, default=0.0),
            sum(self._seen((each,), own) for each in names) / max(1, len(names)),
            *(sum(math.log1p(part[each]) for each in names) / max(1, len(names)) for part in uses),
            any(not uses[0][each] for each in names),
            any(uses[0][each] + uses[1][each] == 1 for each in names),
            any(uses[0][each] + uses[1][each] == 0 for each in names),
            len(of & others) / max(1, len(of)),
            any(each in rest for each in names),
            bool(side) and left[-1] == "=" and left[-2] == side[0],
            bool(of) and of <= words,
        ]

    def _seen(self, window: Tokens, own: Counter[Tokens]) -> float:
        return math.log1p(max(0, self.counts[window] - own[window]))


@lru_cache(maxsize=4_096)
def _edited(lines: Tokens) -> dict[int, list[str]]:
    known = list(lines)
    while known:
        text = "\n".join(known) + "\n"
        try:
            listed = edits(text)
        except UsageError:  # the end is missing: leave out the last thing that begins
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


def _windows(tokens: Tokens) -> Iterator[Tokens]:
    whole = ("^", *tokens, "^")
    for size in (1, 2, 3):
        for at in range(len(whole) - size + 1):
            yield whole[at : at + size]


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())
