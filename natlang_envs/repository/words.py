"""The words that questions, files and paths are made of."""

from __future__ import annotations

import re
from functools import lru_cache
from itertools import chain

WORD = re.compile(r"[^\W_]+")
_ENDING = re.compile(r"(?<=\w{3})(?:ing|ed|es|e|s)$")  # crude, and the same for questions and files
_HUMP = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")  # where the words of camelCase meet
_SHORTENED = re.compile(r"(?<=\w)['\u2019](s|t|d|m|ll|re|ve)\b", re.IGNORECASE)
_KEPT = 500_000  # words whose pieces are remembered
_COMMON = frozenset(
    WORD.findall(
        "a an and are as at be been by can did do does for from get has have how i if in is it its long many may more "
        "most much must my no not of on or somebody someone than that the their there this to was were what when where "
        "which who whom whose why will with you your "
        # What questions about code ask with: the file in question does a thing, and does not say that it does.
        "calculate calculated compute computed define defined done happen happens implement implemented made"
    )
)


def words_of(text: str) -> list[str]:
    """Return the words of a text in lower case and without their endings."""
    return [stem(word) for word in WORD.findall(text.lower())]


@lru_cache(maxsize=100_000)
def stem(word: str) -> str:
    """Return a word without an ending such as that of a plural."""
    return _ENDING.sub("", word) if word[-1:] in "gdse" else word


def question_words(question: str) -> tuple[str, ...]:
    """Return the distinct words of a question that say something, sorted; all of them where none does."""
    distinct = set(WORD.findall(question.lower()))
    return tuple(sorted({stem(word) for word in distinct - _COMMON or distinct}))


def content_words(text: str) -> dict[str, str]:
    """Return the words of a text that say something and have two letters or more, by their stems, in its order."""
    found: dict[str, str] = {}
    for word in WORD.findall(_SHORTENED.sub("", text.lower())):
        if word not in _COMMON and len(word) > 1:
            found.setdefault(stem(word), word)
    return found


def forms_of(word: str) -> tuple[str, ...]:
    """Return the words that `stem` makes the same of, as far as they are in use."""
    return (word, *(word + ending for ending in ("s", "e", "es", "ed", "ing")))


def telling_words(question: str) -> tuple[str, ...]:
    """Return the distinct words of a question that say something, in its order, and pieces of camelCase."""
    words = WORD.findall(_SHORTENED.sub("", question))
    found = [piece for word in words for piece in (word, *_HUMP.split(word)) if piece.lower() not in _COMMON]
    return tuple(dict.fromkeys(stem(word.lower()) for word in found))


class _Pieces(dict[str, tuple[str, ...]]):
    def __missing__(self, word: str) -> tuple[str, ...]:
        found = (stem(word.lower()),)
        if not word.islower() and len(pieces := _HUMP.split(word)) > 1:
            found += (*(stem(piece.lower()) for piece in pieces),)
        if len(self) < _KEPT:
            self[word] = found
        return found


_pieces = _Pieces()


def pieces_of(text: str) -> list[str]:
    """Return the words of a text as `words_of` does, and after each word in camelCase its pieces."""
    return list(chain.from_iterable(map(_pieces.__getitem__, WORD.findall(text))))
