"""What the words of a path hint at: the words that files with such a path have more often than others of a repository.

`hints.json` was counted in the training repositories, by `count_hints`: `yml` hints at `workflow`, `cli` at `command`.
"""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Iterable
from functools import cache
from math import exp
from pathlib import Path

from natlang_envs.repository.hits import general_rarity
from natlang_envs.repository.tree import Repository
from natlang_envs.repository.words import content_words

_HEAD = 2_500  # characters of a file that are counted
_FEWEST = 4  # files that have a word in their path, in two repositories or more
_TIMES = exp(0.8)  # as often as in all files, with two files added to both counts
_KNOWN = general_rarity("")  # the rarity of a word that is in few of the training repositories' files


@cache
def _table() -> dict[str, frozenset[str]]:
    text = Path(__file__).with_name("hints.json").read_text("utf-8")
    return {word: frozenset(hinted.split()) for word, hinted in json.loads(text).items()}


def hinted(stems: tuple[str, ...], path: str) -> list[bool]:
    """Return which words the words of a path hint at."""
    found = [_table()[word] for word in content_words(path) if word in _table()]
    return [any(word in each for each in found) for word in stems]


def count_hints(repositories: Iterable[Repository]) -> dict[str, str]:
    """Return the words that each word of paths hints at, from the files of repositories."""
    files, places = Counter[str](), Counter[str]()
    seen, expected = (defaultdict[str, Counter[str]](Counter) for _ in range(2))
    for repository in repositories:
        every, here, count = Counter[str](), Counter[str](), 0
        for path in repository.files:
            content = repository.part(path, 0, 4 * _HEAD)
            if b"\0" in content:
                continue
            words = set(content_words(content.decode("utf-8", "replace")[:_HEAD]))
            every.update(words)
            count += 1
            here.update(content_words(path).keys())
            for word in content_words(path):
                seen[word].update(words)
        places.update(here.keys())
        files += here
        for word, times in here.items():
            for other, among in every.items():
                expected[word][other] += times * among / count  # type: ignore[assignment]
    often = [word for word in sorted(files) if files[word] >= _FEWEST and places[word] >= 2]
    return {word: " ".join(sorted(_told(seen[word], expected[word]))) for word in often}


def _told(seen: Counter[str], expected: Counter[str]) -> Iterable[str]:
    for other, times in seen.items():
        if general_rarity(other) < _KNOWN and times + 2 >= _TIMES * (expected[other] + 2):
            yield other
