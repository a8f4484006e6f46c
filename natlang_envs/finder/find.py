"""Answers a question with the files of a repository that fit it best, and with the lines that matched."""

from __future__ import annotations

import re
from collections import defaultdict
from typing import Literal, NamedTuple

from natlang_envs.errors import UsageError, one_of
from natlang_envs.finder.documents import Kind, kind_of, read_text
from natlang_envs.finder.engines import Broken, Scores
from natlang_envs.finder.index import FileIndex
from natlang_envs.repository.words import pieces_of, telling_words

TOP = 3
CODE_BESIDE = 3  # source files that are shown after the best, where these are tests, pages or settings
LONGEST_QUESTION = 10_000  # characters
_PATH_WEIGHT, _NO_SOURCE = 0.25, 0.9  # chosen on the training repositories
_LINES, _LINE = 2, 160  # shown of a file, and characters of one
_DEFINES = re.compile(
    r"\s*(export |pub |public |private |static |async |abstract |default )*(def|class|func?|function|fn|type|"
    r"struct|interface|enum|trait|impl|module|const|#+|sub|macro_rules!|#define)\s"
)
_IMPORTS = re.compile(r"\s*(import|from|use|using|#include|require|const .*require)\b")
_DEFINED, _IMPORTED = 1.2, 0.6  # lines that define and lines that only import, beside others
_WEAK = 0.25  # a best file with less of the question's words, weighed by rarity, fits badly


class Line(NamedTuple):
    """A line of a file: its number, from 1, and its text, cut to 160 characters."""

    number: int
    text: str


class Found(NamedTuple):
    """A file that may answer a question.

    Attributes:
        path: Below the repository's folder.
        score: From 0 to 2.25, comparable among the answers to one question only.
        kind: `"code"`, `"docs"` or `"other"`.
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


def find(index: FileIndex, question: str, top: int = TOP, kind: Literal["code", "docs", "all"] = "all") -> list[Found]:
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
    one_of("kind", kind, ("code", "docs", "all"))
    if top < 1:
        raise UsageError(f"top must be at least 1, not {top}")
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
        if kind_of(path) != "code":
            total[path] *= _NO_SOURCE
    return dict(sorted(total.items(), key=lambda each: (-each[1], each[0])))


def _look_at(index: FileIndex, path: str, score: float, rarity: dict[str, float]) -> Found:
    """Read a file again for its best lines."""
    text = read_text(index.repository, path).splitlines()
    seen = set(pieces_of(path))
    worth: list[tuple[float, int]] = []
    for number, line in enumerate(text):
        lower = line.lower()
        if any(word in lower for word in rarity):
            here = rarity.keys() & set(pieces_of(line[:2_000]))
            seen |= here
            value = sum(rarity[word] + 0.01 for word in here) * (_DEFINED if _DEFINES.match(line) else 1.0)
            # Of two lines with the same words, the shorter one says more with them.
            worth.append(
                (value * (_IMPORTED if _IMPORTS.match(line) else 1.0) - min(len(line), 1_000) / 10_000, -number)
            )
    best = sorted(-number for value, number in sorted(worth, reverse=True)[:_LINES] if value > 0)
    total = sum(rarity.values()) or 1.0
    cover = sum(value for word, value in rarity.items() if word in seen) / total
    return Found(path, score, kind_of(path), cover, tuple(Line(each + 1, _cut(text[each])) for each in best))


def _cut(line: str) -> str:
    shown = " ".join(line.split())
    return shown if len(shown) <= _LINE else f"{shown[:_LINE]}…"
