"""Ranks the files of an index for a question, and estimates the chance that the right one is among the first three.

A file's score is a sum of weighted features. `tools/dataset/fit_finder.py` fits the weights by a softmax regression on
the training questions of the labelled dataset, and on further questions about the same repositories. The chance is a
logistic regression on these questions, and on some about other repositories, which no file answers.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from functools import cache
from math import exp, log
from pathlib import Path
from typing import NamedTuple

import numpy as np

from natlang_envs.finder.documents import folded, kind_of
from natlang_envs.finder.postings import Numbers, Postings, TermHits
from natlang_envs.repository.words import WORD, pieces_of, stem, telling_words

FIRST = 3  # files that the chance is about
_CANDIDATES = 60  # files whose stretches are looked at
_IN_PATH = 3  # how often a word of the path counts as a word of the file
WEIGHTS = {
    # BM25 of the file and of its best 40 lines: as it is, by what it could be at most, and beside the best file's
    "file": 0.2233, "lines_share": 2.633, "lines_beside": 1.86,
    # the share of the question's words, by rarity: in the best 20 lines, in the file, and with words that mean the same
    "words_near": 3.834, "words": -1.445, "words_alike": 0.4701,
    # words of the path, of the file's name, of defined names, and words that mean the same
    "path": 0.2841, "base": 0.5172, "defined": 0.2852, "alike": 0.1776,
    # defined names: one that is all of the question, one in it, another spelling, several words, one plain word
    "asked_for": 6.0, "named": 0.7565, "respelled": 0.5465, "joined": 0.7103, "plain": 0.03175,
    "code": -0.4589, "docs": -1.695, "tests": -1.887, "depth": -0.1471, "length": -0.426,
    # kinds of files by kinds of questions
    "where_code": 2.442, "where_tests": 1.233, "which_code": 0.7872, "how_code": 0.3933, "how_to_docs": 1.903,
    "how_to_code": 0.8315, "fact_code": -0.843, "fact_docs": -0.5148,
}  # fmt: skip
_SHARE, _MET, _NEITHER = 1.295, 1.265, -1.153  # of the calibration

_NAME = re.compile(r"-{0,2}[\w$][\w$.:-]*[\w$]|\w")
_LOOKS_LIKE_A_NAME = re.compile(r"[a-z][A-Z]|\w_\w|^_\w|\w-\w|^--|[A-Z]{2}|\d")
_FORMS = {
    "where": re.compile(r"where|which (file|module|source|class|function|code)|how (is|are|does|do the)"),
    "which": re.compile(r"(which|what) (file|module|source|class|function|code|part|script|method)\b"),
    "how": re.compile(r"(and )?how (is|are|does|do|can|was|were)\b(?! i\b| you\b)"),
    "how_to": re.compile(r".*(\bhow (do|can|should) i\b|\bi\b)", re.DOTALL),
    "fact": re.compile(r"how (many|much|long|often|large|big|far|old)|when|who|which|(is|are|does|can|may) "),
}


class Ranking(NamedTuple):
    """Files that have something of a question."""

    shares: dict[str, float]  # the share of the softmax of each file, best first; ties in the order of paths
    met: dict[str, float]  # of each file, the share of the question's words, by rarity, that stand in it or in its path
    rarity: dict[str, float]  # how rare each word of the question is


def chance_of(share: float, met: float) -> float:
    """Return the calibrated chance that the right file is among some.

    `share` is theirs of the softmax; `met` is the most that one of them meets of the question's words.
    """
    share = min(max(share, 0.01), 0.995)
    return 1 / (1 + exp(-(_SHARE * log(share / (1 - share)) * met + _MET * met + _NEITHER)))


class Candidates(NamedTuple):
    """The files that have a word of a question, or one that means the same, or define a name that stands in it."""

    paths: list[str]
    features: dict[str, Numbers]  # by name, a value for each path
    rarity: dict[str, float]  # how rare each word of the question is


def rank(postings: Postings, question: str) -> Ranking:
    paths, features, rarity = candidates(postings, question)
    if not paths:
        return Ranking({}, {}, rarity)
    scores = sum((WEIGHTS[name] * values for name, values in features.items()), np.zeros(len(paths)))
    shares = np.exp(scores - scores.max())
    shares /= shares.sum()
    # Rounded, so that sums in another order on another machine leave the order of equal files as it is.
    order = sorted(zip(np.round(-scores, 9).tolist(), paths, shares.tolist(), strict=True))
    met = dict(zip(paths, features["words"].tolist(), strict=True))
    return Ranking({path: share for _, path, share in order}, met, rarity)


def candidates(postings: Postings, question: str) -> Candidates:
    """Return the files that may answer a question, with their features."""
    words = telling_words(question)
    rows = [_Word(postings, word) for word in words]
    rarity = {row.word: row.rarity for row in rows}
    names = _names(postings, question, frozenset(words))
    whole = _sum(postings, (row.whole for row in rows))
    path = _sum(postings, (row.path for row in rows))
    defined = _sum(postings, (row.defined for row in rows))
    alike = _sum(postings, (row.alike for row in rows))
    first = _beside(whole) + 0.4 * (_beside(path) + _beside(defined)) + 0.3 * _beside(alike) + names["joined"]
    first += 3 * (names["named"] + names["respelled"])
    files = np.argsort(-first, kind="stable")[:_CANDIDATES]
    files = files[first[files] > 0]
    if not files.size:
        return Candidates([], {}, rarity)
    paths = [postings.paths[int(file)] for file in files]
    most = sum(rarity.values()) or 1.0
    near = _Stretches(postings, files, rows)
    has = [(row.counts > 0) | (row.path > 0) for row in rows]
    features = {
        **{name: values[files] for name, values in names.items()},
        "file": whole[files],
        "lines_share": near.lines / most,
        "lines_beside": _beside(near.lines),
        "words_near": near.near / most,
        "words": _sum(postings, (row.rarity * each for row, each in zip(rows, has, strict=True)))[files] / most,
        "words_alike": near.alike / most,
        "path": path[files],
        "defined": defined[files] / most,
        "alike": alike[files],
        **_of_paths(paths, question, frozenset(words)),
        "length": np.log1p(postings.words_in[files]),
    }
    return Candidates(paths, features, rarity)


def _sum(postings: Postings, rows: Iterable[Numbers]) -> Numbers:
    return sum(rows, np.zeros(len(postings.paths)))


def _beside(values: Numbers) -> Numbers:
    return values / max(values.max(initial=0.0), 1e-9)


class _Word:
    """A word of the question, in all files: its counts, and what it adds to their scores."""

    def __init__(self, postings: Postings, word: str) -> None:
        size = len(postings.paths)
        self.word = word
        self.hits = postings.hits(word)
        self.definitions = postings.hits(f":{word}")
        self.others = [(postings.hits(other), likeness) for other, likeness in words_alike().get(word, {}).items()]
        self.counts = _per_file(self.hits, size)
        in_path = _per_file(postings.hits(f"/{word}"), size) > 0
        in_names = _per_file(self.definitions, size)
        self.rarity = _rarity(self.counts)
        length = postings.words_in / max(1.0, postings.words_in.mean()) if size else postings.words_in
        self.whole = self.rarity * _saturated(self.counts + _IN_PATH * in_path, length, 1.0, 0.6)
        self.path = in_path * min(_rarity(in_path), self.rarity + 1.5)
        self.defined = 2 * in_names / (in_names + 1) * min(_rarity(in_names), self.rarity + 1)
        alike = np.zeros(size)
        for (hits, likeness), other in zip(self.others, words_alike().get(word, {}), strict=True):
            counts, named = _per_file(hits, size), _per_file(postings.hits(f":{other}"), size)
            value = _saturated(counts, length, 1.0, 0.6) + named / (named + 1)
            value += 0.5 * (_per_file(postings.hits(f"/{other}"), size) > 0)
            alike = np.maximum(alike, likeness * min(self.rarity, _rarity(counts)) * value)
        # What a word that means the same adds to the word itself.
        plain = self.rarity * _saturated(self.counts, length, 1.0, 0.6)
        self.alike = np.maximum(0, alike - 0.7 * plain)


def _per_file(hits: TermHits, size: int) -> Numbers:
    return np.bincount(hits.files, hits.counts, minlength=size)


def _rarity(counts: Numbers) -> float:
    found = np.count_nonzero(counts)
    return float(np.log1p((counts.size - found + 0.5) / (found + 0.5)))


def _saturated(counts: Numbers, length: Numbers, k: float, b: float) -> Numbers:
    """Return BM25's weight of a word that stands so often in texts of these lengths, beside the mean length."""
    return counts * (k + 1) / (counts + k * (1 - b + b * length))


class _Stretches:
    """What the best stretches of some files have of the question: 20 lines, or 40 that begin at each of these.

    Stretches of all files stand in one row, with an empty one after each file, so that no 40 lines are of two files.
    """

    def __init__(self, postings: Postings, files: Numbers, rows: Sequence[_Word]) -> None:
        counts = postings.stretches_of[files] + 1
        self._starts = np.cumsum(counts) - counts
        self._place = np.full(len(postings.paths), -1)
        self._place[files] = np.arange(files.size)
        self._first = postings.first
        self._size = int(counts.sum())
        self._owners = np.repeat(np.arange(files.size), counts)
        lengths = np.zeros(self._size)
        for start, file in zip(self._starts, files, strict=True):
            count = postings.stretches_of[file]
            lengths[start : start + count] = postings.lengths[postings.first[file] :][:count]
        length = _pairs(lengths) / max(1.0, 2 * postings.lengths[postings.file_of >= 0].mean())
        lines, near, alike = np.zeros(self._size), np.zeros(self._size), np.zeros(self._size)
        for row in rows:
            here = self._counts(row.hits)
            both = _pairs(here)
            in_path = (row.path > 0)[files][self._owners]
            lines += row.rarity * _saturated(both + in_path, length, 1.2, 0.5)
            near += row.rarity * (here > 0)
            likeness = (both > 0) * 1.0
            for hits, other in row.others:
                likeness = np.maximum(likeness, other * (_pairs(self._counts(hits)) > 0))
            alike += row.rarity * likeness
        self.lines, self.near, self.alike = self._best(lines), self._best(near), self._best(alike)

    def _counts(self, hits: TermHits) -> Numbers:
        place = self._place[hits.files]
        chosen = place >= 0
        found = np.zeros(self._size)
        files = hits.files[chosen]
        found[self._starts[place[chosen]] + hits.stretches[chosen] - self._first[files]] = hits.counts[chosen]
        return found

    def _best(self, values: Numbers) -> Numbers:
        return np.maximum.reduceat(values, self._starts)


def _pairs(values: Numbers) -> Numbers:
    """Return the sum of each value and the next one."""
    return values + np.append(values[1:], 0.0)


def _names(postings: Postings, question: str, words: frozenset[str]) -> dict[str, Numbers]:
    """Return for each file how the names that it defines stand in the question; a name of few files counts more."""
    size = len(postings.paths)
    found = {name: np.zeros(size) for name in ("asked_for", "named", "respelled", "joined", "plain")}

    def count(kind: str, term: str) -> Numbers:
        files = np.unique(postings.hits(term).files)
        found[kind][files] = np.maximum(found[kind][files], 1 / max(1, files.size) ** 0.5)
        return files

    for name in _names_in(question):
        files = count("named", f"={name}")
        if words <= {*pieces_of(name)}:
            found["asked_for"][files] = 1.0
        count("respelled", f"~{folded(name)}")
    raw = [word.lower() for word in WORD.findall(question)]
    for length in (2, 3, 4):
        for start in range(len(raw) - length + 1):
            count("joined", f"~{''.join(raw[start : start + length])}")
    for word in dict.fromkeys(raw):
        files = np.unique(postings.hits(f"={word}").files)
        found["plain"][files] += np.log1p((size - files.size + 0.5) / (files.size + 0.5)) / max(1, files.size) ** 0.5
    return found


def _names_in(question: str) -> list[str]:
    """Return what looks like a name in code, the parts of dotted ones too; and a question that is a single word."""
    found: dict[str, None] = {}
    for each in _NAME.findall(question):
        parts = re.split(r"\.|::", each)
        for name in (each, *parts):
            if name and (len(parts) > 1 or _LOOKS_LIKE_A_NAME.search(name)):
                found[name] = None
    bare = question.strip().strip("`'\"()")
    if bare and not re.search(r"\s", bare):
        found[bare] = None
    return list(found)


def _of_paths(paths: Sequence[str], question: str, words: frozenset[str]) -> dict[str, Numbers]:
    """Return what paths say of their files, and how their kinds suit the form of a question."""
    asked = {form: rule.match(question.strip().lower()) is not None for form, rule in _FORMS.items()}
    kinds = [kind_of(path) for path in paths]
    of = {kind: np.array([each == kind for each in kinds], float) for kind in ("code", "docs", "tests")}
    bases = [frozenset(pieces_of(path.rsplit("/", 1)[-1].split(".")[0])) for path in paths]
    pairs = (name.rpartition("_") for name in WEIGHTS)
    return {
        **of,
        **{f"{form}_{kind}": asked[form] * of[kind] for form, _, kind in pairs if form in asked},
        "base": np.array([len(base & words) / max(1, len(base)) for base in bases]),
        "depth": np.array([path.count("/") for path in paths], float),
    }


@cache
def words_alike() -> dict[str, dict[str, float]]:
    """Return for each word those that mean the same in code, and how much: more beside the first word of a group."""
    found: dict[str, dict[str, float]] = {}
    for line in (Path(__file__).parent / "alike.txt").read_text(encoding="utf-8").splitlines():
        if line.startswith("#"):
            continue
        words = line.split()
        # The stems of "compress" and "compressed" differ.
        words += [f"{word}ed" for word in words if word.endswith("ss")]
        group = list(dict.fromkeys(stem(word) for word in words))
        for word in group:
            for other in group:
                if word != other:
                    likeness = 1.0 if group[0] in (word, other) else 0.6
                    found.setdefault(word, {})[other] = max(likeness, found.get(word, {}).get(other, 0.0))
    return found
