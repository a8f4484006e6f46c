"""Answers a question with the files of a repository that fit it best, and with the lines that matched."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache
from math import fsum
from typing import Literal, NamedTuple

from natlang_envs.errors import UsageError, check_count, require_choice
from natlang_envs.finder.definitions import KEYWORD
from natlang_envs.finder.documents import Kind, kind_of, read_text
from natlang_envs.finder.index import FileIndex
from natlang_envs.finder.postings import Broken
from natlang_envs.finder.ranking import FIRST, chance_of, rank
from natlang_envs.repository.words import pieces_of, telling_words

TOP = 3
CODE_BESIDE = 3  # source files that are shown after the best, where these are tests, pages or settings
LONGEST_QUESTION = 10_000  # characters
UNSURE = 0.5  # chances below it are said to be unsure
_LINES, _LINE = 2, 160  # shown of a file, and characters of one
_AROUND, _NEAR = 3, 0.4  # lines before and after a line whose words count for it too, and how much beside its own
_AGAIN = 0.5  # what a second line's words count that the first has too
_IMPORTS = re.compile(r"\s*(import|from|use|using|#include|require|const .*require)\b")
_IMPORTED = 0.6  # lines that only import, beside others
_DEFINED = 1.3  # lines that define something
_COMPARED = 12  # files at the top of the ranking that are compared with each other
_COPIED, _FEWEST = 0.8, 8  # a file with so much of the lines of another is its copy, if that has so many lines


class Line(NamedTuple):
    """A line of a file: its number, from 1, and its text, cut to 160 characters."""

    number: int
    text: str


class FoundFile(NamedTuple):
    """A file that may answer a question.

    Attributes:
        path: Below the repository's folder.
        share: Its part, from 0 to 1, of what speaks for any file; comparable among the answers to one question only.
        kind: `"code"`, `"docs"`, `"tests"`, or `"other"`: settings and data.
        lines: The lines with most of the question's words, in the order of the file.
    """

    path: str
    share: float
    kind: Kind
    lines: tuple[Line, ...]


class Answer(NamedTuple):
    """What is found for a question.

    Attributes:
        files: Best first; none where no file has a word of the question.
        chance: Of the right file to be among the first three, from 0 to 1, calibrated on questions about repositories
            that the ranking was not fitted to; 0 where there is no file.
    """

    files: tuple[FoundFile, ...]
    chance: float

    @property
    def sure(self) -> bool:
        """Whether the right file is more likely among the first three than not."""
        return self.chance >= UNSURE


def find(index: FileIndex, question: str, top: int = TOP, kind: Literal["code", "docs", "all"] = "all") -> Answer:
    """Return the files that fit a question best, best first, and the chance that the right one is among three.

    A file that copies another takes no place of its own.

    Args:
        index: Of the repository that is asked.
        question: In any language; its words are looked for.
        top: How many files. After them come up to three source files that are not among them.
        kind: Only source files, only documentation, or all. The chance is that of the right file if it is of this kind.

    Returns:
        At most `top + 3` files.

    Raises:
        UsageError: The question has no word, or is too long, or an argument is none of those named.

    Example:
        >>> find(FileIndex(open_repository("shop")), "How high is the tax?").files[0].path
        'tax.py'
    """
    require_choice("kind", kind, ("code", "docs", "all"))
    check_count("top", top)
    if len(question) > LONGEST_QUESTION:
        raise UsageError(f"the question has {len(question):,} characters: ask in at most {LONGEST_QUESTION:,}")
    if not telling_words(question):
        raise UsageError("the question has no word to look for, only common ones: ask with words that a file may hold")
    try:
        ranking = rank(index.postings, question)
    except Broken:
        index.make_anew()
        ranking = rank(index.postings, question)
    of_kind = {path: share for path, share in ranking.shares.items() if kind in ("all", kind_of(path))}

    @cache
    def lines_of(path: str) -> list[str]:
        return read_text(index.repository, path).splitlines()

    distinct = _without_copies(lines_of, of_kind)
    if not distinct:
        return Answer((), 0.0)
    best = list(distinct)[:top]
    best += [path for path in list(distinct)[top:] if kind_of(path) == "code"][: CODE_BESIDE if kind == "all" else 0]
    first = list(distinct)[:FIRST]
    share = sum(distinct[path] for path in first) / sum(distinct.values())
    chance = chance_of(share, max(ranking.met[path] for path in first))
    found = (_look_at(path, lines_of(path), distinct[path], ranking.rarity) for path in best)
    return Answer(tuple(found), chance)


def _without_copies(lines_of: Callable[[str], list[str]], shares: dict[str, float]) -> dict[str, float]:
    """Return the files without copies of each other; of copies the shortest stays, with the share of all."""
    kept: list[tuple[str, frozenset[str], float]] = []
    for path in list(shares)[:_COMPARED]:
        lines = frozenset(line.strip() for line in lines_of(path) if line.strip())
        for number, (other, theirs, share) in enumerate(kept):
            if _same(lines, theirs):
                shorter = min((len(theirs), len(other), other), (len(lines), len(path), path))
                original = (other, theirs) if shorter[2] == other else (path, lines)
                kept[number] = (*original, share + shares[path])
                break
        else:
            kept.append((path, lines, shares[path]))
    return {path: share for path, _, share in kept} | dict(list(shares.items())[_COMPARED:])


def _same(one: frozenset[str], other: frozenset[str]) -> bool:
    smaller = min(len(one), len(other))
    return one == other or (smaller >= _FEWEST and len(one & other) >= _COPIED * smaller)


def _look_at(path: str, text: list[str], share: float, rarity: dict[str, float]) -> FoundFile:
    words = {number: here for number, line in enumerate(text) if (here := _words_in(line, rarity))}
    known = frozenset[str]()  # what the line before has

    def value(number: int) -> tuple[float, int]:
        around = range(number - _AROUND, number + _AROUND + 1)
        here, near = words[number], frozenset[str]().union(*(words.get(each, ()) for each in around))
        worth = fsum((rarity[word] + 0.01) * (_AGAIN if word in known else 1.0) for word in here)
        worth += _NEAR * fsum(rarity[word] for word in near - here)
        worth *= _IMPORTED if _IMPORTS.match(text[number]) else _DEFINED if KEYWORD.match(text[number]) else 1.0
        # Of two lines with the same words, the shorter one says more with them.
        return worth - min(len(text[number]), 1_000) / 10_000, -number

    best: list[int] = []
    for _ in range(min(_LINES, len(words))):
        best.append(max(words.keys() - set(best), key=value))
        known = words[best[-1]]
    return FoundFile(path, share, kind_of(path), tuple(Line(each + 1, _cut(text[each])) for each in sorted(best)))


def _words_in(line: str, rarity: dict[str, float]) -> frozenset[str]:
    lower = line.lower()
    if not any(word in lower for word in rarity):  # quicker than taking the line to pieces
        return frozenset()
    return frozenset(rarity.keys() & set(pieces_of(line[:2_000])))


def _cut(line: str) -> str:
    shown = " ".join(line.split())
    return shown if len(shown) <= _LINE else f"{shown[:_LINE]}…"
