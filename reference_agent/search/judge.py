"""Features of entries and of read texts for a question, and the small networks that weigh them.

A judge sees an entry's path, the children of a folder that was entered, and the text that `cat` has shown; nothing else.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from natlang_envs.autoexplore.baselines import words_of
from reference_agent.search.encoder import Encoder, windows
from reference_agent.search.lexical import Rarity, name_words, share
from reference_agent.search.listings import entry_text
from reference_agent.search.names import NameJudge

Row = npt.NDArray[np.float32]
ENTRY_FEATURES = 18
TEXT_FEATURES = 20
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


class Asked:
    """A question with all that was computed for it; one for a question and a repository.

    Args:
        question: The question.
        names: The judge of names.
        reader: The encoder of texts; the pretrained one.
        rarity: How rare words are.
    """

    def __init__(self, question: str, names: NameJudge, reader: Encoder, rarity: Rarity) -> None:
        self.question = question
        self._names, self._reader = names, reader
        self._weights = rarity.weights(question)
        self._vector = reader.vectors([question])[0]
        self._entries: dict[tuple[str, bool], Row] = {}
        self._texts: dict[str, Row] = {}

    def entry_rows(self, entries: Sequence[str], children: dict[str, tuple[str, ...]]) -> Row:
        """Return the features [N, ENTRY_FEATURES] of a listing's entries; `children` are those of entered folders."""
        new = [each for each in entries if (each, each in children) not in self._entries]
        if new:
            self._rate(new, {each: children[each] for each in new if each in children})
        return np.stack([self._entries[each, each in children] for each in entries])

    def _rate(self, entries: list[str], children: dict[str, tuple[str, ...]]) -> None:
        plain = [entry_text(each) for each in entries]
        fits = self._names.rate(self.question, plain)
        told = self._names.rate(self.question, [entry_text(each, children.get(each, ())) for each in entries])
        near = self._reader.vectors(plain) @ self._vector
        for entry, fit, knowing, similar in zip(entries, fits, told, near, strict=True):
            inside = children.get(entry, ())
            below = [0.0, 0.0, 0.0]
            if inside:
                ratings = self._names.rate(self.question, [entry_text(each) for each in inside])
                shares = max(share(self._weights, name_words(each.rstrip("/").rpartition("/")[2])) for each in inside)
                below = [float(ratings.max()) / 10, float(np.log(np.exp(ratings).sum())) / 10, shares]
            name = entry.rstrip("/").rpartition("/")[2]
            depth = entry.rstrip("/").count("/")
            row = [
                fit / 5,
                knowing / 5,
                float(bool(inside)),
                similar,
                share(self._weights, name_words(name)),
                *below,
                float(depth == 0),
                float(depth == 1),
                *_kinds(entry),
            ]
            self._entries[entry, entry in children] = np.array(row, np.float32)

    def text_row(self, path: str, text: str) -> Row:
        """Return the features [TEXT_FEATURES] of a file that was read."""
        found = self._texts.get(path)
        if found is None:
            found = self._texts[path] = self._read(path, text)
        return found

    def _read(self, path: str, text: str) -> Row:
        shown = text.partition("\n")[2]
        pieces = windows(shown)
        near = np.sort(self._reader.vectors(pieces) @ self._vector)[::-1] if pieces else np.zeros(1, np.float32)
        first = float(self._reader.vectors(pieces[:1])[0] @ self._vector) if pieces else 0.0
        words = [set(words_of(each)) for each in pieces]
        whole = set[str]().union(*words)
        fit = float(self._names.rate(self.question, [entry_text(path)])[0])
        row = [
            near[0],
            near[1] if len(near) > 1 else near[0],
            near.mean(),
            first,
            share(self._weights, whole),
            max((share(self._weights, each) for each in words), default=0.0),
            share(self._weights, whole | name_words(path)),
            share(self._weights, name_words(path)),
            fit / 5,
            float(self._reader.vectors([entry_text(path)])[0] @ self._vector),
            float(not pieces),
            float(len(shown) >= 2_000),
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
