"""What lists and texts say for each file of a question, as numbers; made from what a player is shown, nothing else."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from natlang_envs.repository.hits import ASKED, asked_words, general_rarity, matches, read_counts, read_list
from natlang_envs.repository.words import content_words, stem

TEXT, KINDS = 8, 9  # numbers of a text and of a path
FILES = {"hits": 1, "lines": 1, "paths": 0, "texts": 0, "text": 0, "kinds": 0}  # the axis of the files in each array
_PART = re.compile(r"\[characters [\d,]+ to [\d,]+ of a file of ([\d,]+) bytes; .*\]$")
_SATURATION = 3  # matching lines at which a further one counts half
_OPENING = 400  # characters of a text that count as its beginning
_HISTORY = ("license", "change", "history", "authors", "release", "whatsnew")
_SETTINGS = (".toml", ".cfg", ".ini", ".yml", ".yaml", ".json", ".in")

Array = NDArray[np.float32]


class Evidence(NamedTuple):
    """What is known of a question.

    Attributes:
        words: The words to search for.
        files: The files that some list has.
        numbers: Of words (`asked`, `weights`: general rarity, `idf`: rarity here, by its list), of words and files
            (`hits`: listed, lines, rank, share of the most lines, code; `lines`: the words in the line shown), of files
            (`paths` and `texts`: the words in them, `text` and `kinds`: what else they tell), and `size`: how many.
    """

    words: tuple[str, ...]
    files: tuple[str, ...]
    numbers: dict[str, Array]


def gather(question: str, lists: Mapping[str, str], texts: Mapping[str, str]) -> Evidence:
    """Return what is known from what each search showed, by its word, and what `cat` showed first, by path."""
    words = asked_words(question)
    stems = tuple(map(stem, words))
    weights = np.zeros(ASKED, np.float32)
    weights[: len(words)] = [general_rarity(word) for word in words]
    rows = {word: read_list(shown) for word, shown in lists.items() if word in words}
    files = tuple(dict.fromkeys(path for listed in rows.values() for path in listed))
    idf, hits = np.zeros(ASKED, np.float32), np.zeros((ASKED, len(files), 5), np.float32)
    lines, size = np.zeros((ASKED, len(files), ASKED), np.float32), 0.0
    for number, word in enumerate(words):
        if word not in rows:
            continue
        found, every = read_counts(lists[word])
        idf[number], size = math.log((every + 1) / (found + 1)), math.log(every + 1)
        most = max((file.lines for file in rows[word].values()), default=1)
        for path, file in rows[word].items():
            code = file.first.startswith(("def ", "class ", "async def "))
            at, saturated = files.index(path), file.lines / (file.lines + _SATURATION)
            hits[number, at] = (1, saturated, 1 / (1 + file.rank), file.lines / most, code)
            lines[number, at] = found_words(stems, file.first)
    read = [text_numbers(stems, tuple(weights.tolist()), texts.get(path, "")) for path in files]
    numbers = {
        "asked": (np.arange(ASKED) < len(words)).astype(np.float32),
        "weights": weights,
        "idf": idf,
        "hits": hits,
        "lines": lines,
        "paths": np.array([found_words(stems, path) for path in files], np.float32).reshape(-1, ASKED),
        "texts": np.array([bits for bits, _ in read], np.float32).reshape(-1, ASKED),
        "text": np.array([told for _, told in read], np.float32).reshape(-1, TEXT),
        "kinds": np.array([kinds_of(path) for path in files], np.float32).reshape(-1, KINDS),
        "size": np.array(size, np.float32),
    }
    return Evidence(words, files, numbers)


@lru_cache(maxsize=50_000)
def found_words(stems: tuple[str, ...], text: str) -> Array:
    """Return which words are in a text."""
    here = content_words(text)
    bits = [any(matches(word, each) for each in here) for word in stems]
    return np.array(bits + [False] * (ASKED - len(bits)), np.float32)


@lru_cache(maxsize=4_096)
def _lines(text: str) -> tuple[list[frozenset[str]], set[str], float, int]:
    """Return the words of each line that `cat` showed, all of them, the file's size, and the lines of its opening."""
    shown, part = text.partition("\n")[2], _PART.search(text)
    lines = [frozenset(content_words(line)) for line in _PART.sub("", shown).split("\n")]
    size = float(part[1].replace(",", "")) if part else float(len(shown))
    return lines, set().union(*lines), size, shown[:_OPENING].count("\n") + 1


@lru_cache(maxsize=20_000)
def text_numbers(stems: tuple[str, ...], weights: tuple[float, ...], text: str) -> tuple[Array, Array]:
    """Return which words are in a text, and their share in its opening, on one line, on three, how often, and so on."""
    if not text:
        return np.zeros(ASKED, np.float32), np.zeros(TEXT, np.float32)
    lines, every, size, opening = _lines(text)
    bits = np.zeros((len(lines), ASKED), np.float32)
    for number, word in enumerate(stems):
        forms = {each for each in every if matches(word, each)}
        if forms:
            bits[:, number] = [not forms.isdisjoint(line) for line in lines]
    share = np.array(weights, np.float32) / (sum(weights) or 1.0)
    near = np.maximum(bits, np.maximum(np.roll(bits, 1, 0), np.roll(bits, -1, 0)))
    often = bits.sum(0)
    told = (
        bits[:opening].max(0) @ share,
        (bits @ share).max(),
        (near @ share).max(),
        (often / (often + _SATURATION)) @ share,
        (often / (often + 0.02 * len(lines) + 1)) @ share,
        (near[:, 1:] * near[:, :-1]).max(0).sum() / max(1, len(stems) - 1),
        math.log1p(size) / 12,
        _PART.search(text) is None,
    )
    return bits.max(0), np.array(told, np.float32)


def kinds_of(path: str) -> tuple[float, ...]:
    """Return what a path tells of a file's kind."""
    low = path.lower()
    name = low.rpartition("/")[2]
    return (
        "test" in low,
        name.endswith((".md", ".rst", ".txt")),
        name.endswith(".py"),
        name.endswith(_SETTINGS),
        name.startswith(("__init__", "index", "readme")),
        any(word in low for word in _HISTORY),
        low.startswith("doc"),
        "example" in low,
        min(low.count("/"), 4) / 4,
    )
