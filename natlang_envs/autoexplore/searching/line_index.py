"""The lines of a repository by their words, as `grep -i` finds them; made once per process for each repository."""

from __future__ import annotations

import math
from array import array
from collections import Counter
from collections.abc import Callable
from functools import cache, lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from natlang_envs.repository.hits import SHORT, Hit, matches
from natlang_envs.repository.tree import Repository
from natlang_envs.repository.words import WORD, forms_of, stem

HITS = 10  # files of a list
LARGEST = 1 << 20  # bytes of a file that are looked at
_LINE = 100  # characters of a line that are shown


class Hits(NamedTuple):
    """What a search found: the files with most matching lines first, ties in the order of paths, at most ten."""

    lines: int  # how many lines match in all files
    files: int  # how many files have one
    best: tuple[Hit, ...]  # the first ten


class LineIndex:
    """The lines of every file of a repository by their words; all files are read for it."""

    def __init__(self, repository: Repository) -> None:
        self.repository = repository
        self.files = repository.files
        postings: dict[str, array[int]] = {}
        in_files: Counter[str] = Counter()
        self._first_line: list[int] = []  # of each file, counted through the repository
        owners = array("i")
        number = 0
        for file, path in enumerate(self.files):
            self._first_line.append(number)
            here: set[str] = set()
            for line in self._lines(path):
                words = set(WORD.findall(line.lower()))
                here |= words
                for word in words:
                    found = postings.get(word)
                    if found is None:
                        found = postings[word] = array("i")
                    found.append(number)
                owners.append(file)
                number += 1
            in_files.update({stem(word) for word in here})
        self._postings = postings
        self._in_files = in_files
        self._owners: NDArray[np.int32] = np.array(owners, np.int32)
        self._vocabulary = "\n" + "\n".join(postings) + "\n"
        self._paths = [path.lower() for path in self.files]
        self.search = cache(self._search)

    def rarity(self, word: str) -> float:
        """Return how rare a stem is: the logarithm of the number of files by those that have it."""
        return math.log((len(self.files) + 1) / (self._in_files[word] + 0.5))

    def __reduce__(self) -> tuple[Callable[..., LineIndex], tuple[Repository]]:
        """Pickle as the repository: it is indexed again, or its index is shared, where it is loaded."""
        return line_index_of, (self.repository,)

    def _search(self, asked: str) -> Hits:
        """Return the files with a word that contains the stem of this one, or has it, if it is below four letters."""
        word = stem(asked)
        lines = [np.frombuffer(self._postings[each], np.int32) for each in self._words_with(word)]
        numbers = np.unique(np.concatenate(lines)) if lines else np.zeros(0, np.int32)
        owners, first, counts = np.unique(self._owners[numbers], return_index=True, return_counts=True)
        found = {
            int(file): [int(count), int(numbers[start])]
            for file, start, count in zip(owners, first, counts, strict=True)
        }
        for file, path in enumerate(self._paths):
            if word in path and (len(word) >= SHORT or any(matches(word, each) for each in WORD.findall(path))):
                found.setdefault(file, [0, -1])[0] += 1
        best = sorted(found, key=lambda file: (-found[file][0], self.files[file]))[:HITS]
        hits = (Hit(self.files[file], found[file][0], self._line(file, found[file][1])) for file in best)
        return Hits(len(numbers), len(found), tuple(hits))

    def look(self, path: str, words: tuple[str, ...]) -> Hit:
        """Return a file with the lines that one of some words matches, and the first of those with most of them."""
        stems = [stem(word) for word in words]
        best, most, count = "", 0, 0
        for line in self._lines(path):
            found = WORD.findall(line.lower())
            here = sum(any(matches(word, each) for each in found) for word in stems)
            count += here > 0
            if here > most:
                best, most = line, here
        return Hit(path, count, _cut(best))

    def _words_with(self, word: str) -> list[str]:
        if len(word) < SHORT:
            return [each for each in forms_of(word) if each in self._postings]
        found: list[str] = []
        at = self._vocabulary.find(word)
        while at >= 0:
            end = self._vocabulary.index("\n", at)
            found.append(self._vocabulary[self._vocabulary.rindex("\n", 0, at) + 1 : end])
            at = self._vocabulary.find(word, end)
        return found

    def _line(self, file: int, number: int) -> str:
        if number < 0:
            return ""
        return _cut(self._lines(self.files[file])[number - self._first_line[file]])

    @lru_cache(maxsize=256)  # noqa: B019 - an index lives as long as its process
    def _lines(self, path: str) -> list[str]:
        content = self.repository.part(path, 0, LARGEST)
        return [] if b"\0" in content else content.decode("utf-8", "backslashreplace").split("\n")


def _cut(line: str) -> str:
    shown = " ".join(line.split())
    return shown if len(shown) <= _LINE else f"{shown[:_LINE]}…"


@lru_cache(maxsize=32)
def line_index_of(repository: Repository) -> LineIndex:
    """Return the index of a repository, shared by all environments of the process."""
    return LineIndex(repository)
