"""Features of entries and of read texts for a question, and the small networks that weigh them.

Seen are the listings, the children of a folder that was entered, and the text that `cat` has shown; nothing else.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from natlang_envs.autoexplore.baselines import words_of
from reference_agent.search.encoder import Encoder, Vectors, windows
from reference_agent.search.lexical import Rarity, name_words, share
from reference_agent.search.listing_judge import ListingJudge, entry_words
from reference_agent.search.listings import Example, entry_text

Row = Vectors
ENTRY_FEATURES = 23
_BESIDE = 10  # entries to each side that are read with a folder that was entered
TEXT_FEATURES = 23
_DOCUMENT = (".md", ".rst", ".txt")
_SETTINGS = (".toml", ".cfg", ".ini", ".yml", ".yaml", ".json", ".in")


def _kinds(path: str) -> list[float]:
    """Return what kind of thing a path is."""
    name = path.rstrip("/").rpartition("/")[2].lower()
    folder = path.endswith("/")
    return [
        float(folder),
        float(name.startswith(".")),
        float("test" in path.lower()),
        float(not folder and name.endswith(_DOCUMENT)),
        float(not folder and name.endswith(".py")),
        float(not folder and name.endswith(_SETTINGS)),
        float(name.startswith(("__init__", "index", "readme"))),
        float(name.startswith(("license", "change", "history", "authors", "copying"))),
    ]


def _headings(text: str) -> list[str]:
    """Return the lines that name something: definitions, headings, directives."""
    return [
        line for line in text.splitlines() if line.lstrip().startswith(("def ", "class ", "#", ".. ", "[", "async"))
    ]


class Usual:
    """How often an entry of some name leads to an answer, over the training repositories.

    Args:
        counts: By name and repository, how often it led on and how often it was listed.
    """

    def __init__(self, counts: dict[str, dict[str, list[float]]]) -> None:
        self.counts = counts

    @classmethod
    def of(cls, found: Iterable[Example]) -> Usual:
        """Count the entries of listings."""
        counts: dict[str, dict[str, list[float]]] = {}
        for each in found:
            for index, entry in enumerate(each.entries):
                cell = counts.setdefault(cls.name(entry), {}).setdefault(each.question.repository, [0.0, 0.0])
                cell[0] += index in each.right
                cell[1] += 3 / len(each.entries)
        return cls({name: held for name, held in counts.items() if len(held) > 1})

    @staticmethod
    def name(entry: str) -> str:
        """Return the name that is counted: without its folder, in lower case, and whether it is at the top."""
        depth = "top " if "/" not in entry.rstrip("/") else ""
        return depth + entry[entry.rstrip("/").rfind("/") + 1 :].lower()

    def rates(self, entry: str, without: str) -> tuple[float, float]:
        """Return the logarithm of how much oftener than usual the name led on, and whether it was met at all."""
        held = [pair for name, pair in self.counts.get(self.name(entry), {}).items() if name != without]
        right, listed = sum(pair[0] for pair in held), sum(pair[1] for pair in held)
        return float(np.log((right + 1) / (listed + 1))), float(bool(held))


class Asked:
    """A question with all that was computed for it; one for a question and a repository.

    Args:
        question: The question.
        judges: The judges of listings; their mean counts.
        reader: The pretrained encoder.
        rarity: How rare words are.
        usual: How often entries of a name lead to an answer.
        without: The repository whose own counts are left out there, in training.
    """

    def __init__(
        self,
        question: str,
        judges: Sequence[ListingJudge],
        reader: Encoder,
        rarity: Rarity,
        usual: Usual,
        without: str = "",
    ) -> None:
        self.question = question
        self._judges, self._reader = judges, reader
        self._usual, self._without = usual, without
        self._weights = rarity.weights(question)
        self._vector = reader.vectors([question])[0]
        self._plain: dict[str, float] = {}  # ratings of entries while no folder beside them was entered
        self._entries: dict[tuple[str, bool], Row] = {}
        self._texts: dict[str, Row] = {}

    def entry_rows(self, entries: Sequence[str], children: dict[str, tuple[str, ...]]) -> Row:
        """Return the features [N, ENTRY_FEATURES] of a listing's entries; `children` are those of entered folders."""
        self._rate_plainly(entries)
        for each in entries:
            if (each, each in children) not in self._entries:
                self._entries[each, each in children] = self._row(each, entries, children.get(each, ()))
        return np.stack([self._entries[each, each in children] for each in entries])

    def _rate_plainly(self, entries: Sequence[str]) -> None:
        """Rate the entries of a listing that were not rated yet, without children."""
        new = [each for each in entries if each not in self._plain]
        if new:
            self._plain |= dict(zip(new, self._rate(new), strict=True))

    def _rate(self, entries: Sequence[str], told: str = "", children: Sequence[str] = ()) -> list[float]:
        """Return the judges' ratings of entries that are listed together; one of them may tell its children."""
        folder = entries[0].rstrip("/").rpartition("/")[0]
        words = [entry_words(each, children if each == told else ()) for each in entries]
        rated = [judge.rate(self.question, folder, words) for judge in self._judges]
        return np.mean(rated, axis=0).tolist()

    def _row(self, entry: str, entries: Sequence[str], inside: tuple[str, ...]) -> Row:
        fit = knowing = self._plain[entry]
        below = [0.0, 0.0, 0.0]
        if inside:
            place = entries.index(entry)
            beside = list(entries[max(place - _BESIDE, 0) : place + _BESIDE + 1])
            knowing = self._rate(beside, entry, inside)[beside.index(entry)]
            self._rate_plainly(inside)
            ratings = np.array([self._plain[each] for each in inside])
            shares = max(share(self._weights, name_words(each.rstrip("/").rpartition("/")[2])) for each in inside)
            below = [float(ratings.max()) / 10, float(np.log(np.exp(ratings).sum())) / 10, shares]
        name = entry.rstrip("/").rpartition("/")[2]
        depth = entry.rstrip("/").count("/")
        row = [
            fit / 5,
            knowing / 5,
            float(bool(inside)),
            float(self.likeness([entry])[0]),
            share(self._weights, name_words(name)),
            *below,
            float(depth == 0),
            float(depth == 1),
            *_kinds(entry),
            *self._usual.rates(entry, self._without),
            float(np.log1p(sum(each.endswith("/") for each in inside))),
            float(np.log1p(sum(not each.endswith("/") for each in inside))),
            max((self._usual.rates(each, self._without)[0] for each in inside), default=0.0),
        ]
        return np.array(row, np.float32)

    def likeness(self, entries: Sequence[str]) -> Row:
        """Return how near the names of entries are to the question in the pretrained encoder's eyes, from -1 to 1."""
        return self._reader.vectors([entry_text(each) for each in entries]) @ self._vector

    def text_row(self, path: str, text: str) -> Row:
        """Return the features [TEXT_FEATURES] of a file that was read."""
        found = self._texts.get(path)
        if found is None:
            found = self._texts[path] = self._read(path, text)
        return found

    def _read(self, path: str, text: str) -> Row:
        shown = text.partition("\n")[2]
        pieces = windows(shown)
        fits = self._reader.vectors(pieces) @ self._vector if pieces else np.zeros(1, np.float32)
        near, first = np.sort(fits)[::-1], float(fits[0])
        words = [set(words_of(each)) for each in pieces]
        whole = set[str]().union(*words)
        row = [
            near[0],
            near[1] if len(near) > 1 else near[0],
            near.mean(),
            first,
            share(self._weights, whole),
            max((share(self._weights, each) for each in words), default=0.0),
            share(self._weights, whole | name_words(path)),
            share(self._weights, name_words(path)),
            float(self.likeness([path])[0]),
            float(not pieces),
            float(len(shown) >= 2_000),
            share(self._weights, words_of("\n".join(_headings(shown)))),
            share(self._weights, words_of(shown[:300])),
            max((float(one) + share(self._weights, each) for one, each in zip(fits, words, strict=False)), default=0.0),
            float(np.log1p(len(shown))) / 8,
            *_kinds(path),
        ]
        return np.array(row, np.float32)


class Network:
    """A network with one hidden layer and one output, in numpy.

    Args:
        weights: The arrays `in`, `hidden`, `out`; `mean` and `scale` of the features.
    """

    def __init__(self, weights: dict[str, Any]) -> None:
        self.weights = weights

    def __call__(self, rows: Row) -> Row:
        """Return the outputs [N] for features [N, F]."""
        held = self.weights
        hidden = np.tanh(((rows - held["mean"]) / held["scale"]) @ held["in"] + held["hidden"])
        return hidden @ held["out"]
