"""Pools files that may answer a question beside its targets, for a reader to judge.

The question alone is a poor key: it was reworded to share no words with its evidence. So five rankings are merged: of
files by the question, and of passages by the answer, by the evidence, by question and answer, and by all three. A file
in which the evidence stands almost verbatim comes first.
"""

from __future__ import annotations

import json
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from functools import lru_cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from natlang_envs.autoexplore.baselines import LARGEST, bm25_of, question_words, words_of
from natlang_envs.autoexplore.dataset.labels import Label
from natlang_envs.autoexplore.dataset.repositories import repository_folder
from natlang_envs.autoexplore.repository.tree import Repository, open_repository
from natlang_envs.files import write_whole

POOLED = 8  # candidates a label
_PASSAGE, _STRIDE = 500, 250  # characters
_FUSION = 10  # reciprocal rank fusion's constant: small, since the first ranks matter most
_DEEP = 40  # ranks of each ranking that count
_SATURATION, _LENGTH = 1.2, 0.5
_SHORTEST_SPAN = 20  # characters without spaces and marks from which standing elsewhere means something
_FEW = 8  # files: what stands in more says little
_LEAST, _WEAK = 4, 0.4  # candidates that are kept whatever their strength, and the strength the others need
_STRONG = 0.85  # of the best target passage's score, from which a passage elsewhere is worth reading
_MARKS = re.compile(r"[^\w]+")


@dataclass(frozen=True)
class Candidate:
    """A file that may answer.

    Attributes:
        path: The file.
        passages: The two that fit question and answer best.
        verbatim: Whether a span of evidence stands there almost verbatim.
        strength: Its best passage's score over that of the best target.
        judged: The reason for which an earlier reading said that it does not answer; empty where none did.
    """

    path: str
    passages: tuple[str, ...]
    verbatim: bool
    strength: float
    judged: str


class Passages:
    """An index of all passages of a repository."""

    def __init__(self, repository: Repository) -> None:
        self.paths: list[str] = []
        self.texts: list[str] = []
        self.squeezed: dict[str, str] = {}
        found: dict[str, list[tuple[int, int]]] = defaultdict(list)
        lengths: list[int] = []
        for path in repository.files:
            content = repository.part(path, 0, LARGEST)
            if b"\0" in content:
                continue
            text = content.decode("utf-8", "ignore").replace("\r\n", "\n")
            self.squeezed[path] = squeeze(text)
            for start in range(0, max(1, len(text) - _STRIDE), _STRIDE):
                passage = text[start : start + _PASSAGE]
                counts = Counter(words_of(passage))
                for word, count in counts.items():
                    found[word].append((len(self.paths), count))
                lengths.append(counts.total())
                self.paths.append(path)
                self.texts.append(passage)
        norm = np.array(lengths, dtype=np.float32)
        self._norm = 1 - _LENGTH + _LENGTH * norm / (norm.mean() or 1.0)
        self._found = {word: np.array(pairs, dtype=np.int32) for word, pairs in found.items()}

    def scores(self, text: str) -> NDArray[np.float32]:
        """Return the BM25 score of every passage."""
        total = np.zeros(len(self.paths), dtype=np.float32)
        for word in question_words(text):
            if (pairs := self._found.get(word)) is not None:
                where, times = pairs[:, 0], pairs[:, 1]
                weight = np.log(1 + (len(self.paths) - len(pairs) + 0.5) / (len(pairs) + 0.5))
                total[where] += weight * times * (_SATURATION + 1) / (times + _SATURATION * self._norm[where])
        return total

    def best(self, text: str) -> dict[str, float]:
        """Return the score of the best passage of each of the best files, best first."""
        scores = self.scores(text)
        best: dict[str, float] = {}
        for at in np.argsort(-scores, kind="stable")[: 20 * _DEEP]:
            best.setdefault(self.paths[at], float(scores[at]))
        return best

    def holding(self, span: str) -> tuple[str, ...]:
        """Return the files that hold a squeezed span; none where so many do that it is no more than a phrase."""
        found = tuple(path for path, text in self.squeezed.items() if span in text)
        return found if len(found) <= _FEW else ()

    def of_file(self, path: str, text: str, most: int = 2) -> tuple[str, ...]:
        """Return the passages of a file that fit a text best, without overlap."""
        scores = self.scores(text)
        mine = [at for at, each in enumerate(self.paths) if each == path]
        chosen: list[int] = []
        for at in sorted(mine, key=lambda at: -scores[at]):
            if all(abs(at - other) > 1 for other in chosen):
                chosen.append(at)
            if len(chosen) == most:
                break
        return tuple(self.texts[at] for at in chosen)


def squeeze(text: str) -> str:
    """Return a text without spaces and marks, in lower case: a quotation set otherwise is still found."""
    return _MARKS.sub("", text.lower())


@lru_cache(maxsize=2)
def passages_of(name: str) -> Passages:
    """Return the index of a repository of the dataset."""
    return Passages(open_repository(repository_folder(name)))


def candidates(label: Label) -> list[Candidate]:
    """Return the files that a reader should judge, best first."""
    index = passages_of(label.repository)
    evidence = " ".join(each.text for each in label.evidence)
    everything = f"{label.question} {label.answer} {evidence}"
    whole = index.best(everything)
    spans = {span for each in label.evidence if len(span := squeeze(each.text)) >= _SHORTEST_SPAN}
    verbatim = [path for span in spans for path in index.holding(span)]
    by_question = [
        each.path for each in bm25_of(open_repository(repository_folder(label.repository))).rank(label.question)
    ]
    answer = list(index.best(f"{label.question} {label.answer}"))
    merged: dict[str, float] = defaultdict(float)
    for ranking in (by_question, answer, list(index.best(evidence)), list(whole), list(index.best(label.answer))):
        for rank, path in enumerate(ranking[:_DEEP]):
            merged[path] += 1 / (_FUSION + rank)
    for path in verbatim:
        merged[path] += 1
    target = max((whole.get(path, 0.0) for path in label.targets), default=0.0) or 1.0
    judged = {each.path: each.why for each in label.bm25 if not each.answers}
    doubtful = {*verbatim, *list(whole)[:5], *answer[:3]}
    chosen = [
        path
        for path in sorted(merged, key=lambda path: (-merged[path], path))
        if path not in label.targets and (path not in judged or path in doubtful)
    ][:POOLED]
    chosen = [
        path
        for at, path in enumerate(chosen)
        if at < _LEAST or path in verbatim or whole.get(path, 0.0) >= _WEAK * target
    ]
    wanted = f"{label.question} {label.answer}"
    return [
        Candidate(
            path,
            index.of_file(path, wanted),
            path in verbatim,
            round(whole.get(path, 0.0) / target, 2),
            judged.get(path, ""),
        )
        for path in chosen
    ]


def pool(labels: Iterable[Label], every: bool) -> Iterator[dict[str, object]]:
    """Yield one object a label; without `every`, only for labels that have a strong candidate."""
    for label in labels:
        found = candidates(label)
        if every or any(each.verbatim or each.strength >= _STRONG for each in found):
            yield {
                "id": label.id,
                "repository": label.repository,
                "question": label.question,
                "answer": label.answer,
                "targets": list(label.targets),
                "evidence": [each._asdict() for each in label.evidence],
                "candidates": [asdict(each) for each in found],
            }


def write_pool(path: Path, pooled: Iterable[dict[str, object]]) -> int:
    """Write the pool, one object a line, and return how many there are."""
    lines = [f"{json.dumps(each, ensure_ascii=False)}\n" for each in pooled]
    write_whole(path, "".join(lines).encode())
    return len(lines)
