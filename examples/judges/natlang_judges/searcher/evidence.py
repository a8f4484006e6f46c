"""What the lists and texts of a game show of each file, as numbers; nothing else is used."""

from __future__ import annotations

import gzip
import json
import math
import re
from collections.abc import Mapping, Sequence
from functools import cache, lru_cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from natlang_envs.repository.hits import ASKED, asked_words, general_rarity, matches, read_counts, read_list
from natlang_envs.repository.words import content_words, stem

TEXT, KINDS = 8, 9  # numbers of a text and of a path
_PART = re.compile(r"\[characters [\d,]+ to [\d,]+ of a file of ([\d,]+) bytes; .*\]$")
_SATURATION = 3  # matching lines at which a further one counts half
_OPENING = 400  # characters of a text that count as its beginning
_HISTORY = ("license", "change", "history", "authors", "release", "whatsnew")
_SETTINGS = (".toml", ".cfg", ".ini", ".yml", ".yaml", ".json", ".in")

Array = NDArray[np.floating]


class SearchEvidence(NamedTuple):
    """What is known of a question.

    `numbers` has arrays of words: `asked` (1 for each word), `weights` (rarity in general), `idf` (rarity in this
    repository, from the word's list); of words and files: `hits` (listed, lines, rank, share of the most lines, code),
    `lines` (the words in the line that is shown); of files: `paths` and `texts` (the words in them), `text` and `kinds`
    (other features of both). `size` is the logarithm of the number of all files.
    """

    words: tuple[str, ...]  # that may be searched for
    files: tuple[str, ...]  # that some list has
    numbers: dict[str, Array]


def gather(question: str, lists: Mapping[str, str], texts: Mapping[str, str]) -> SearchEvidence:
    """Return what is known from the answers to `search`, by word, and the first answers to `cat`, by path."""
    words = asked_words(question)
    stems = tuple(map(stem, words))
    weights = rarities(question)
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
            lines[number, at] = words_in(stems, file.first)
    read = [text_numbers(stems, tuple(weights.tolist()), texts.get(path, "")) for path in files]
    numbers: dict[str, Array] = {
        "asked": (np.arange(ASKED) < len(words)).astype(np.float32),
        "weights": weights,
        "idf": idf,
        "hits": hits,
        "lines": lines,
        "paths": np.array([words_in(stems, path) for path in files], np.float32).reshape(-1, ASKED),
        "texts": np.array([bits for bits, _ in read], np.float32).reshape(-1, ASKED),
        "text": np.array([others for _, others in read], np.float32).reshape(-1, TEXT),
        "kinds": np.array([kinds_of(path) for path in files], np.float32).reshape(-1, KINDS),
        "size": np.array(size, np.float32),
    }
    return SearchEvidence(words, files, {name: array.astype(np.float16) for name, array in numbers.items()})


def padded(rows: Sequence[Mapping[str, NDArray[Any]]], **fills: int) -> dict[str, Tensor]:
    """Stack the arrays of each name, padded to the largest with 0 or the number in `fills`."""
    stacked: dict[str, Tensor] = {}
    for name, first in rows[0].items():
        shape = map(int, np.max([row[name].shape for row in rows], 0, initial=1))
        into = np.full((len(rows), *shape), fills.get(name, 0), first.dtype)
        for at, row in enumerate(rows):
            into[(at, *map(slice, row[name].shape))] = row[name]
        found = torch.from_numpy(into)
        stacked[name] = found.float() if found.is_floating_point() else found
    return stacked


def rarities(question: str) -> Array:
    """Return how rare each word of a question is in general, padded to `ASKED`."""
    found = [general_rarity(word) for word in asked_words(question)]
    return np.array(found + [0.0] * (ASKED - len(found)), np.float32)


@lru_cache(maxsize=50_000)
def words_in(stems: tuple[str, ...], text: str) -> Array:
    """Return 1 for each stem that a text has, padded to `ASKED`."""
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
    """Return 1 for each stem that a text has, and the text's other features.

    These are the weighted shares of the stems in its opening, on one line, on three lines, by how often they occur, and
    by how densely; the share of neighbouring stems that stand close together; its size; and whether it is whole.
    """
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
    others = (
        bits[:opening].max(0) @ share, (bits @ share).max(), (near @ share).max(),
        (often / (often + _SATURATION)) @ share, (often / (often + 0.02 * len(lines) + 1)) @ share,
        (near[:, 1:] * near[:, :-1]).max(0).sum() / max(1, len(stems) - 1),
        math.log1p(size) / 12, _PART.search(text) is None,
    )  # fmt: skip
    return bits.max(0), np.array(others, np.float32)


def kinds_of(path: str) -> tuple[float, ...]:
    low = path.lower()
    name = low.rpartition("/")[2]
    return (
        "test" in low, name.endswith((".md", ".rst", ".txt")), name.endswith(".py"), name.endswith(_SETTINGS),
        name.startswith(("__init__", "index", "readme")), any(word in low for word in _HISTORY), low.startswith("doc"),
        "example" in low, min(low.count("/"), 4) / 4,
    )  # fmt: skip


@cache
def _hints() -> dict[str, frozenset[str]]:
    """Return the words that a word of a path hints at: `yml` hints at `workflow`, `cli` at `command`.

    In the training repositories, the first 2,500 characters of files with such a path have them 2.2 times as often as
    those of other files of the same repository.
    """
    text = gzip.decompress(Path(__file__).with_name("hints.json.gz").read_bytes()).decode("utf-8")
    return {word: frozenset(hints.split()) for word, hints in json.loads(text).items()}


def hinted(stems: tuple[str, ...], path: str) -> list[bool]:
    """Return whether some word of a path hints at each stem, padded to `ASKED`."""
    hints = [_hints().get(word, frozenset()) for word in content_words(path)]
    return [any(word in each for each in hints) for word in stems] + [False] * (ASKED - len(stems))
