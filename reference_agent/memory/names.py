"""A memory of names: which part of which file of a known repository speaks of the words of a question.

What is learned is how often each word was asked about each part of a file. Questions made from the files and questions
of training are counted alike; the words of a path count once for each of its parts. A question recalls the parts whose
words are its own, weighted as BM25 weights them, once for parts and once for whole files.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError
from safetensors.numpy import load, save

from natlang_envs.errors import UsageError
from natlang_envs.files import write_whole
from natlang_envs.repository.words import pieces_of

LAST_PART = 12  # what lies further on in a file is counted there: 15 steps do not lead to it
MOST = 255  # a count takes eight bits
SATURATION, LENGTH, OF_FILES = 2.0, 0.75, 0.5  # BM25's k1 and b; what a file's own score adds to its best part's
_PRIOR, _MOST_TOLD = 3.0, 3.0  # files that a name is taken to have beyond its own; the most that a name tells
_WIDE = 0x2E80  # scripts from here on have no spaces between words
_KIND = "names"
Places = NDArray[np.int64]


class Recalled(NamedTuple):
    """A file that a question brings to mind, the part that speaks most of its words, and how much."""

    path: str
    part: int
    belief: float


class Known(NamedTuple):
    """A repository as it is remembered: every file, and of those that can be read the number of parts, else 0."""

    name: str
    files: tuple[str, ...]
    parts: tuple[int, ...]


def words_asked(text: str) -> list[str]:
    """Return the different words of a question as the memory counts them, those without spaces as pairs of letters."""
    found: list[str] = []
    for word in pieces_of(text):
        if word.isascii() or max(map(ord, word)) < _WIDE or len(word) < 3:
            found.append(word)
        else:
            found += (word[at : at + 2] for at in range(len(word) - 1))
    return list(dict.fromkeys(found))


class _Table:
    """BM25 of words over documents, from counts."""

    def __init__(self, words: Places, documents: Places, counts: NDArray[np.float64], vocabulary: int, of: int) -> None:
        lengths = np.bincount(documents, counts, of)
        holding = np.bincount(words, minlength=vocabulary)
        rare = np.log(1 + (of - holding + 0.5) / (holding + 0.5))
        scaled = 1 - LENGTH + LENGTH * lengths[documents] / max(lengths.mean(), 1e-9)
        self._weights = rare[words] * counts * (SATURATION + 1) / (counts + SATURATION * scaled)
        self._documents = documents
        self._begin = np.searchsorted(words, np.arange(vocabulary + 1))
        self._of = of

    def scores(self, words: Iterable[int]) -> NDArray[np.float64]:
        scores = np.zeros(self._of)
        for word in words:
            place = slice(self._begin[word], self._begin[word + 1])
            scores[self._documents[place]] += self._weights[place]
        return scores


class _Recall:
    """What is needed to ask about one repository."""

    def __init__(self, memory: NameMemory, first: int, known: Known) -> None:
        sizes = np.array(known.parts)
        self.file_of = np.repeat(np.arange(len(sizes)), sizes)  # of each place of this repository
        self.part_of = np.concatenate([np.arange(1, size + 1) for size in sizes] or [np.zeros(0, int)])
        self.readable = np.flatnonzero(sizes)
        places = memory.places.astype(np.int64) - first
        own = np.flatnonzero((places >= 0) & (places < len(self.file_of)))
        places, words = places[own], memory.word_of[own]
        counts = memory.counts[own].astype(float)
        self.parts = _Table(words, places, counts, len(memory.words), len(self.file_of))
        pairs, back = np.unique(words * len(sizes) + self.file_of[places], return_inverse=True)
        whole = np.bincount(back, counts).astype(float)
        self.files = _Table(pairs // len(sizes), pairs % len(sizes), whole, len(memory.words), len(sizes))


class NameMemory:
    """What is remembered of repositories; made by `remember`, read by `read`."""

    def __init__(
        self,
        known: Sequence[Known],  # whose parts are numbered one after another
        words: Sequence[str],  # sorted
        begins: Places,  # where the counts of each word begin [words + 1]
        places: NDArray[np.unsignedinteger],  # the numbers of the parts that each word was asked about
        counts: NDArray[np.uint8],  # how often, at most 255
        source: str,  # what was counted, in a word or two
    ) -> None:
        self.known, self.words, self.source = tuple(known), tuple(words), source
        self.begins, self.places, self.counts = begins, places, counts
        self.word_of = np.repeat(np.arange(len(words)), np.diff(begins))
        self._recalls: dict[int, _Recall] = {}
        self._asked_with: dict[str, Places] = {}

    @cached_property
    def number_of(self) -> Mapping[str, int]:
        return {word: number for number, word in enumerate(self.words)}

    def rarity(self, word: str) -> float:
        """Return how much a word tells: the logarithm of how few of all parts were asked about with it."""
        number = self.number_of.get(word)
        held = 0 if number is None else int(self.begins[number + 1] - self.begins[number])
        return float(np.log1p(sum(sum(each.parts) for each in self.known) / (1 + held)))

    @cached_property
    def _readable(self) -> tuple[Places, Mapping[str, Places]]:
        """The file of each part, and the files of each word of a path; files without text are left out."""
        file_of: list[int] = []
        named: dict[str, list[int]] = {}
        number = 0
        for known in self.known:
            for path, parts in zip(known.files, known.parts, strict=True):
                if parts:
                    file_of += [number] * parts
                    for word in words_asked(path):
                        named.setdefault(word, []).append(number)
                    number += 1
        return np.array(file_of, np.int64), {word: np.array(each, np.int64) for word, each in named.items()}

    def _asked(self, word: str) -> Places:
        if word not in self._asked_with:
            number = self.number_of.get(word)
            places = self.places[self.begins[number] : self.begins[number + 1]] if number is not None else []
            self._asked_with[word] = np.unique(self._readable[0][places])
        return self._asked_with[word]

    def told(self, name: str, word: str) -> float:
        """Return what a word of a path tells: how much likelier such files are asked about with another word.

        It is a logarithm from 0 to 3, and 0 where fewer than two files have that name.
        """
        file_of, named = self._readable
        files, asked = named.get(name, ()), self._asked(word)
        if len(files) < 2 or not len(asked):
            return 0.0
        share = len(asked) / (int(file_of[-1]) + 1)
        both = len(np.intersect1d(files, asked, assume_unique=True))
        return min(max(float(np.log((both + _PRIOR * share) / ((len(files) + _PRIOR) * share))), 0.0), _MOST_TOLD)

    def recall(self, repository: int, question: str, most: int | None = None) -> list[Recalled]:
        """Return the files of a repository that a question brings to mind, best first; equal ones in their order."""
        if repository not in self._recalls:
            first = sum(sum(each.parts) for each in self.known[:repository])
            self._recalls[repository] = _Recall(self, first, self.known[repository])
        recall, known = self._recalls[repository], self.known[repository]
        words = [self.number_of[word] for word in words_asked(question) if word in self.number_of]
        parts = recall.parts.scores(words)
        best = np.zeros(len(known.files))
        np.maximum.at(best, recall.file_of, parts)
        beliefs = best + OF_FILES * recall.files.scores(words)
        order = recall.readable[np.argsort(-beliefs[recall.readable], kind="stable")][:most]
        found: list[Recalled] = []
        for file in order.tolist():
            low, high = np.searchsorted(recall.file_of, [file, file + 1])
            part = int(recall.part_of[low + int(parts[low:high].argmax())])
            found.append(Recalled(known.files[file], part, round(float(beliefs[file]), 4)))
        return found

    def write(self, path: Path) -> int:
        """Write the memory into a file, the same bytes for the same memory; return how many."""
        about = {"kind": _KIND, "source": self.source, "known": [each._asdict() for each in self.known]}
        content = save(
            {
                "about": _packed(json.dumps(about, ensure_ascii=False)),
                "words": _packed("\n".join(self.words)),
                "begins": self.begins.astype(np.uint32),
                "places": self.places,
                "counts": self.counts,
            }
        )
        write_whole(path, content)
        return len(content)

    @classmethod
    def read(cls, path: Path) -> NameMemory:
        return cls.of(path.read_bytes() if path.is_file() else b"", path)

    @classmethod
    def of(cls, content: bytes, path: Path) -> NameMemory:
        """Return the memory of a file's content; `path` is named where it is none."""
        try:
            found = load(content)
            about = json.loads(_unpacked(found["about"]))
            known = [Known(each["name"], tuple(each["files"]), tuple(each["parts"])) for each in about["known"]]
            words = _unpacked(found["words"]).split("\n")
            begins = found["begins"].astype(np.int64)
            whole = len(begins) == len(words) + 1 and begins[-1] == len(found["places"]) == len(found["counts"])
            fits = found["places"].max(initial=0) < sum(sum(each.parts) for each in known)
            if about["kind"] == _KIND and whole and fits:
                return cls(known, words, begins, found["places"], found["counts"], str(about["source"]))
        except (SafetensorError, KeyError, TypeError, ValueError, zlib.error):
            pass
        raise UsageError(f"{path} holds no memory of names: name a file of `reflect-rl remember`")


def is_memory(path: Path) -> bool:
    try:
        return bool(NameMemory.read(path).known)
    except UsageError:
        return False


def _packed(text: str) -> NDArray[np.uint8]:
    return np.frombuffer(zlib.compress(text.encode("utf-8", "surrogatepass"), 9), np.uint8)


def _unpacked(content: NDArray[np.uint8]) -> str:
    return zlib.decompress(content.tobytes()).decode("utf-8", "surrogatepass")
