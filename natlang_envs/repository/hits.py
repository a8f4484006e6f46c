"""The list of a search in words, the words of a question that are searched for, and how rare they are.

The module imports no task and no label, so a player can be audited where it sees none of them.
"""

from __future__ import annotations

import gzip
import json
import math
import re
from collections.abc import Iterable
from functools import cache, lru_cache
from importlib import resources
from typing import NamedTuple

from natlang_envs.repository.words import content_words, stem

ASKED = 10  # words of a question that may be searched for
SHORT = 4  # letters below which only whole words match
NO_SEARCH = "(nothing is searched for)"
_HEAD = re.compile(r".*: [\d,]+ lines in ([\d,]+) of all ([\d,]+) files")
_ROW = re.compile(r"(.+?) \((\d[\d,]*) lines?\): (.*)")


class Hit(NamedTuple):
    """A file with matching lines."""

    path: str  # below the repository's folder
    lines: int  # how many lines match; the path counts as one
    first: str  # the first line that matches, cut to 100 characters; "" where only the path does


class ListedFile(NamedTuple):
    """A file of a list: where it stands, from 0, the number of lines that match, and the first of them."""

    rank: int
    lines: int
    first: str


def describe_hits(words: tuple[str, ...], lines: int, found: int, files: int, best: Iterable[Hit]) -> str:
    """Return a list in words: how many lines match in how many of all files, and the best of these."""
    if not words:
        return NO_SEARCH
    head = f"{', '.join(words)}: {lines:,} lines in {found:,} of all {files:,} files"
    counted = ((hit, "1 line" if hit.lines == 1 else f"{hit.lines:,} lines") for hit in best)
    rows = [f"{hit.path} ({count}): {hit.first or '(in its path)'}" for hit, count in counted]
    return "\n".join([head, *rows])


def read_list(feedback: str) -> dict[str, ListedFile]:
    """Return the files of a list, by their paths, from what a search showed."""
    rows = (_ROW.fullmatch(line) for line in feedback.split("\n")[1:])
    return {row[1]: ListedFile(at, int(row[2].replace(",", "")), row[3]) for at, row in enumerate(rows) if row}


def read_counts(feedback: str) -> tuple[int, int]:
    """Return how many files a search found, and how many there are, from what it showed; 0 and 0 from anything else."""
    head = _HEAD.match(feedback)
    return (int(head[1].replace(",", "")), int(head[2].replace(",", ""))) if head else (0, 0)


def matches(word: str, found: str) -> bool:
    """Return whether a search for a stem finds a word or stem: one that contains it, if it has four letters or more."""
    return word in found if len(word) >= SHORT else word in (found, stem(found))


@lru_cache(maxsize=4_096)
def asked_words(question: str) -> tuple[str, ...]:
    """Return the words of a question that say something, in its order, at most ten; no two have the same stem."""
    return tuple(content_words(question).values())[:ASKED]


def general_rarity(word: str) -> float:
    """Return how rare a word is in the training repositories: the logarithm of files by those that have its stem."""
    files, words = _known()
    return math.log((files + 1) / (words.get(stem(word), 0) + 1))


@cache
def _known() -> tuple[int, dict[str, int]]:
    """Return how many files the training repositories have, and in how many of them each frequent word is."""
    packed = resources.files("natlang_envs.repository").joinpath("frequent_words.json.gz").read_bytes()
    content = json.loads(gzip.decompress(packed))
    return content["files"], content["words"]
