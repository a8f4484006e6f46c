"""Answers a question with the files of a repository that fit it best, and with the lines that matched."""

from __future__ import annotations

import re
from collections import defaultdict
from math import fsum
from typing import Literal, NamedTuple

from natlang_envs.errors import UsageError, check_count, require_choice
from natlang_envs.finder.documents import Kind, kind_of, read_text
from natlang_envs.finder.engines import Broken, Scores
from natlang_envs.finder.index import FileIndex
from natlang_envs.repository.words import pieces_of, telling_words

TOP = 3
CODE_BESIDE = 3  # source files that are shown after the best, where these are tests, pages or settings
LONGEST_QUESTION = 10_000  # characters
# Chosen on the training repositories, as are the weights below.
_PATH_WEIGHT = 0.25
_WEIGHTS: dict[Kind, float] = {"code": 1.0, "docs": 0.9, "tests": 0.8, "other": 0.95}
_LINES, _LINE = 2, 160  # shown of a file, and characters of one
_AROUND, _NEAR = 3, 0.4  # lines before and after a line whose words count for it too, and how much beside its own
_AGAIN = 0.5  # what a second line's words count that the first has too
_IMPORTS = re.compile(r"\s*(import|from|use|using|#include|require|const .*require)\b")
_IMPORTED = 0.6  # lines that only import, beside others
_WEAK = 0.25  # a best file with less of the question's words, weighed by rarity, fits badly


class Line(NamedTuple):
    """A line of a file: its number, from 1, and its text, cut to 160 characters."""

    number: int
    text: str


class FoundFile(NamedTuple):
    """A file that may answer a question.

    Attributes:
        path: Below the repository's folder.
        score: From 0 to 2.25, comparable among the answers to one question only.
        kind: `"code"`, `"docs"`, `"tests"`, or `"other"`: settings and data.
        cover: The share of the question's words, weighed by rarity, that stand in the file or its path.
        lines: The lines with most of the question's words, in the order of the file.
    """

    path: str
    score: float
    kind: Kind
    cover: float
    lines: tuple[Line, ...]

    @property
    def fits(self) -> bool:
        """Whether it has so many of the question's words that it is worth a look."""
        return self.cover >= _WEAK


def find(
    index: FileIndex, question: str, top: int = TOP, kind: Literal["code", "docs", "all"] = "all"
) -> list[FoundFile]:
    """Return the files that fit a question best, best first.

    Args:
        index: Of the repository that is asked.
        question: In any language; its words are looked for.
        top: How many files. After them come up to three source files that are not among them.
        kind: Only source files, only documentation, or all.

    Returns:
        At most `top + 3` files; none where no file has a word of the question.

    Raises:
        UsageError: The question has no word, or is too long, or an argument is none of those named.
    """
    require_choice("kind", kind, ("code", "docs", "all"))
    check_count("top", top)
    if len(question) > LONGEST_QUESTION:
        raise UsageError(f"the question has {len(question):,} characters: ask in at most {LONGEST_QUESTION:,}")
    words = telling_words(question)
    if not words:
        raise UsageError("the question has no word to look for, only common ones: ask with words that a file may hold")
    try:
        ranked = rank(index, words)
    except Broken:
        index.make_anew()
        ranked = rank(index, words)
    rarity = {word: index.engine.rarity(word) for word in words}
    of_kind = [path for path in ranked if kind in ("all", kind_of(path))]
    best = of_kind[:top]
    best += [path for path in of_kind[top:] if kind_of(path) == "code"][: CODE_BESIDE if kind == "all" else 0]
    return [_look_at(index, path, ranked[path], rarity) for path in best]


def rank(index: FileIndex, words: tuple[str, ...]) -> dict[str, float]:
    """Return the files that have one of some words, best first, and their scores; ties in the order of paths."""
    scores: Scores = index.engine.scores(words)
    total: dict[str, float] = defaultdict(float)
    for found, weight in ((scores.files, 1.0), (scores.chunks, 1.0), (scores.paths, _PATH_WEIGHT)):
        best = max(found.values(), default=0.0)
        for path, score in found.items():
            total[path] += weight * score / best if best > 0 else 0.0
    for path in total:
        total[path] *= _WEIGHTS[kind_of(path)]
    return dict(sorted(total.items(), key=lambda each: (-each[1], each[0])))


def _look_at(index: FileIndex, path: str, score: float, rarity: dict[str, float]) -> FoundFile:
    text = read_text(index.repository, path).splitlines()
    words = {number: here for number, line in enumerate(text) if (here := _words_in(line, rarity))}
    known = frozenset[str]()  # what the line before has

    def value(number: int) -> tuple[float, int]:
        around = range(number - _AROUND, number + _AROUND + 1)
        here, near = words[number], frozenset[str]().union(*(words.get(each, ()) for each in around))
        worth = fsum((rarity[word] + 0.01) * (_AGAIN if word in known else 1.0) for word in here)
        worth += _NEAR * fsum(rarity[word] for word in near - here)
        worth *= _IMPORTED if _IMPORTS.match(text[number]) else 1.0
        # Of two lines with the same words, the shorter one says more with them.
        return worth - min(len(text[number]), 1_000) / 10_000, -number

    best: list[int] = []
    for _ in range(min(_LINES, len(words))):
        best.append(max(words.keys() - set(best), key=value))
        known = words[best[-1]]
    seen = frozenset(pieces_of(path)).union(*words.values())
    cover = sum(value for word, value in rarity.items() if word in seen) / (sum(rarity.values()) or 1.0)
    return FoundFile(
        path, score, kind_of(path), cover, tuple(Line(each + 1, _cut(text[each])) for each in sorted(best))
    )


def _words_in(line: str, rarity: dict[str, float]) -> frozenset[str]:
    lower = line.lower()
    if not any(word in lower for word in rarity):  # quicker than taking the line to pieces
        return frozenset()
    return frozenset(rarity.keys() & set(pieces_of(line[:2_000])))


def _cut(line: str) -> str:
    shown = " ".join(line.split())
    return shown if len(shown) <= _LINE else f"{shown[:_LINE]}…"
