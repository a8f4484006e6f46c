"""Words that a question shares with names and texts, rare words counting more."""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Iterable
from functools import lru_cache
from pathlib import Path

from natlang_envs.autoexplore.baselines import question_words, words_of
from reference_agent.search.encoder import spoken

_KEPT = 20_000  # words whose frequency is kept; any other is as rare as one that was met once


@lru_cache(maxsize=200_000)
def name_words(path: str) -> frozenset[str]:
    """Return the words of a path, with compounds taken apart."""
    return frozenset(words_of(spoken(path)))


class Rarity:
    """How rare words are in the files of the training repositories.

    Args:
        files: How many files were counted.
        counts: In how many of them each word occurs.
    """

    def __init__(self, files: int, counts: dict[str, int]) -> None:
        self.files = files
        self.counts = counts

    @classmethod
    def of(cls, texts: Iterable[str]) -> Rarity:
        """Count the words of shown texts."""
        counts: Counter[str] = Counter()
        files = 0
        for text in texts:
            files += 1
            counts.update(set(words_of(text)))
        return cls(files, {word: count for word, count in counts.most_common(_KEPT) if count > 1})

    def weight(self, word: str) -> float:
        """Return the inverse document frequency of a word."""
        return math.log(1 + self.files / (0.5 + self.counts.get(word, 1)))

    def weights(self, question: str) -> dict[str, float]:
        """Return a question's words that say something, with shares that add up to 1."""
        found = {word: self.weight(word) for word in question_words(question)}
        whole = sum(found.values()) or 1.0
        return {word: weight / whole for word, weight in found.items()}

    def write(self, file: Path) -> None:
        """Write the counts."""
        file.write_text(json.dumps({"files": self.files, "counts": self.counts}, ensure_ascii=False), encoding="utf-8")

    @classmethod
    def read(cls, file: Path) -> Rarity:
        """Read what `write` has written."""
        held = json.loads(file.read_text(encoding="utf-8"))
        return cls(held["files"], held["counts"])


def share(weights: dict[str, float], words: Iterable[str]) -> float:
    """Return the share of a question that stands in `words`."""
    found = words if isinstance(words, (set, frozenset)) else set(words)
    return sum(weight for word, weight in weights.items() if word in found)
