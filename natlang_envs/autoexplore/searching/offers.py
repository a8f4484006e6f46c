"""The words that a player is offered to search for beside those of the question: what stands beside them in a text."""

from __future__ import annotations

from collections import defaultdict

from natlang_envs.autoexplore.searching.line_index import LineIndex
from natlang_envs.repository.hits import asked_words, matches
from natlang_envs.repository.words import content_words, stem

NEAR = 6  # words of the text that was shown last
_SHORTEST = 3  # letters of a word of a text


def near_words(text: str, question: str, index: LineIndex) -> tuple[str, ...]:
    """Return words that stand in a text on the same lines as words of the question, best first, at most six.

    The best are rare in the repository and stand beside rare words of the question.
    """
    asked = [stem(word) for word in asked_words(question)]
    forms: dict[str, str] = {}
    beside: dict[str, float] = defaultdict(float)
    for line in text.split("\n"):
        lower = line.lower()
        if not any(word in lower for word in asked):  # most lines, which need not be taken apart
            continue
        here = content_words(line)
        weight = sum(index.rarity(word) for word in asked if any(matches(word, each) for each in here))
        for word in here if weight else ():
            beside[word] += weight
            forms.setdefault(word, here[word])
    new = [word for word in beside if len(word) >= _SHORTEST and not word.isdigit() and word not in asked]
    best = sorted(new, key=lambda word: (-beside[word] * index.rarity(word), word))[:NEAR]
    return tuple(forms[word] for word in best)
