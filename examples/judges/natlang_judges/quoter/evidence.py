"""What the quoter sees: passages of a file and words of a passage, as numbers."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import NamedTuple

import torch
from torch import Tensor

from natlang_envs.repository.hits import asked_words, general_rarity, matches
from natlang_envs.repository.words import content_words, stem

PASSAGE = 30  # features of a passage, or of reading on
WORD = 157  # features of a word, or of `done`
MOST_PICKS = 6
_NUMBERED = re.compile(r"^(\d+): (.*)$")
_KINDS = (
    re.compile(r"\bhow (many|much|long|often|large|big|high|far|old)\b", re.IGNORECASE),
    re.compile(r"\bwh(ich|at)\b", re.IGNORECASE),
    re.compile(r"\b(who|whose|whom)\b", re.IGNORECASE),
    re.compile(r"\b(where|which file|what file|folder|directory|path)\b", re.IGNORECASE),
    re.compile(r"\b(when|since|date|year|version|release)\b", re.IGNORECASE),
    re.compile(
        r"\b(option|argument|parameter|setting|flag|command|function|method|class|exception|error)\b", re.IGNORECASE
    ),
    re.compile(r"^(do|does|did|is|are|can|will|may|must|should|has|have)\b", re.IGNORECASE),
    re.compile(r"\bwhy\b|\bhow (do|does|can|is)\b", re.IGNORECASE),
)
_SMALL = frozenset("a an the of to in on for and or is are be as at by it its this that with from".split())  # noqa: SIM905


class QuestionWords(NamedTuple):
    """A question: its words with their rarity, and which kinds of question it is."""

    words: tuple[tuple[str, float], ...]
    kinds: tuple[float, ...]


@lru_cache(maxsize=4_096)
def asked(question: str) -> QuestionWords:
    words = tuple((stem(word), general_rarity(word)) for word in asked_words(question))
    return QuestionWords(words, tuple(float(bool(each.search(question))) for each in _KINDS))


def numbered_lines(shown: str) -> dict[int, str]:
    """Return the lines of a file by their numbers, from what `cat` showed."""
    return {int(match[1]): match[2] for line in shown.split("\n") if (match := _NUMBERED.match(line))}


def without_numbers(shown: str) -> str:
    return "\n".join(match[2] if (match := _NUMBERED.match(line)) else line for line in shown.split("\n"))


def passages_of(lines: dict[int, str], starts: Sequence[int]) -> list[str]:
    """Return the text of each passage, by the numbers of their first lines."""
    ends = [*starts[1:], max(lines, default=0) + 1]
    return ["\n".join(lines.get(at, "") for at in range(start, end)) for start, end in zip(starts, ends, strict=True)]


def passage_features(question: str, texts: Sequence[str], more: bool) -> Tensor:
    """Return the features of each passage of a part, and of reading on where `more` parts are unread."""
    words, kinds = asked(question)
    total = sum(rarity for _, rarity in words) or 1.0
    here = [frozenset(at for at, (word, _) in enumerate(words) if _has(text, word)) for text in texts]

    def share(found: Iterable[int]) -> float:
        return sum(words[at][1] for at in found) / total

    def around(at: int, far: int) -> frozenset[int]:
        return frozenset[int]().union(*here[max(0, at - far) : at + far + 1])

    best = max(map(share, here), default=0.0)
    rows: list[list[float]] = []
    for at, text in enumerate(texts):
        pieces = pieces_of_text(text)
        shapes = [max((float(shape(each)[number]) for each in pieces), default=0.0) for number in range(SHAPES)]
        new = [each for each in pieces if not any(_has(each, word) for word, _ in words)]
        own, start = share(here[at]), text.lstrip()
        row = [own, share(around(at, 1)), share(around(at, 3)), own / best if best else 0.0, float(own == best > 0)]
        row += [share(here[at - 1]) if at else 0.0, share(here[at + 1]) if at + 1 < len(texts) else 0.0]
        row += [
            min(len(pieces), 30) / 30,
            min(len(new), 20) / 20,
            at / max(1, len(texts) - 1),
            own * kinds[0] * shapes[0],
        ]
        row += [own * max(kinds[3], kinds[5]) * max(shapes[2:9]), float(start.startswith(("#", "=", "-", "*")))]
        row += [float(start.startswith(("def ", "class ", "import ", "from "))), float(":" in text), *shapes]
        rows.append([*row, *[0.0] * (PASSAGE - 1 - len(row)), 0.0])
    if more:
        rows.append([0.0, 0.0, 0.0, best, *[0.0] * (PASSAGE - 5), 1.0])
    return torch.tensor(rows, dtype=torch.float32).reshape(-1, PASSAGE)


def word_features(question: str, text: str, words: Sequence[str], picked: Sequence[str]) -> Tensor:
    """Return the features of each word that can be picked, and of `done` where one is picked."""
    known, kinds = asked(question)
    pieces = pieces_of_text(text)
    met = [at for at, piece in enumerate(pieces) if any(_has(piece, word) for word, _ in known)]
    last = picked[-1] if picked else ""
    rows = [_word_row(each, text, pieces, met, kinds, known, last) for each in words]
    if picked:
        state = [float(len(picked) == each) for each in range(1, MOST_PICKS)]
        crossed = [own * kind for own in shape(last) for kind in (1.0, *kinds)]
        rows.append([1.0, *state, *[0.0] * (WORD - 1 - len(state) - len(crossed)), *crossed])
    return torch.tensor(rows, dtype=torch.float32).reshape(-1, WORD)


def pieces_of_text(text: str) -> list[str]:
    found = (each.strip(".,:;!?()[]{}<>\"'`*=|") for each in re.split(r"[\s/=|]+", text))
    return [each for each in found if each]


def _word_row(
    word: str,
    text: str,
    pieces: Sequence[str],
    met: Sequence[int],
    kinds: Sequence[float],
    known: Sequence[tuple[str, float]],
    last: str,
) -> list[float]:
    at = next((number for number, piece in enumerate(pieces) if word in piece), 0)
    ways = [at - each for each in met]
    away = min(map(abs, ways), default=9)
    follows = bool(last) and f"{last} {word}" in " ".join(pieces)
    quoted = any(f"{mark}{word}" in text for mark in "`\"'")
    said = any(_has(word, each) for each, _ in known)
    rare = min(general_rarity(word) / 8, 1.0) if content_words(word) else 0.0
    own = [float(quoted), float(said), float(word.lower() in _SMALL), rare, min(len(word), 20) / 20, follows]
    own += [float(away == each) for each in (0, 1, 2, 3)] + [float(away > 5), float(1 in ways), float(-1 in ways)]
    own += [at / max(1, len(pieces)), float(at == len(pieces) - 1), float(at == 0), float(shape(word) == shape(last))]
    own += [float(bool(re.search(rf"[:=]\s*[`\"']*{re.escape(word)}", text))), float(word in ("yes", "no")) * kinds[6]]
    own += [float(bool(last)), float(bool(last)) * float(not follows)]
    own += [rare * each for each in kinds] + [float(quoted) * each for each in kinds]
    crossed = [each * kind for each in shape(word) for kind in (1.0, *kinds)]
    return [0.0, *own, *[0.0] * (WORD - 1 - len(own) - len(crossed)), *crossed]


SHAPES = 12


@lru_cache(maxsize=100_000)
def shape(word: str) -> tuple[bool, ...]:
    """Return what a word looks like: a number, a year, an option, a file, a name in code, and so on."""
    digits = any(map(str.isdigit, word))
    inner = word[1:]
    return (
        word[:1].isdigit() and not any(map(str.isalpha, inner)),
        bool(re.fullmatch(r"(19|20)\d\d", word)),
        word.startswith("-") and not digits,
        bool(re.fullmatch(r"[\w.-]+\.[a-z]{1,5}", word)) and not digits,
        "_" in inner,
        word.isupper() and len(word) > 1,
        word[:1].isupper() and any(map(str.isupper, inner)) and not word.isupper(),
        "." in inner and not digits,
        digits and any(map(str.isalpha, word)),
        bool(re.fullmatch(r"v?\d+(\.\d+)+\w*", word)),
        word[:1].isupper() and inner.islower(),
        word.isalpha() and word.islower(),
    )


def _has(text: str, word: str) -> bool:
    return any(matches(word, each) for each in content_words(text))
