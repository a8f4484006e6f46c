"""BM25: retrieval over all contents, which no player can read."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable
from functools import lru_cache
from itertools import islice
from typing import NamedTuple, Protocol, runtime_checkable

from natlang_envs.errors import UsageError
from natlang_envs.evaluation.agents import AgentInput, Decision
from natlang_envs.repository.texts import EXIT
from natlang_envs.repository.tree import Repository
from natlang_envs.repository.words import question_words, words_of

LARGEST = 1 << 20  # bytes of a file that are looked at
_SATURATION, _LENGTH = 1.5, 0.75  # BM25's k1 and b
_TRIED = 20  # files that are named if there is a way to them
_OPENING = 5  # lines with something on them, at the top of a file, whose words count twice: they say what it is about


class Ranked(NamedTuple):
    """A file and how well it fits a question."""

    path: str
    score: float


class Bm25:
    """The word counts of every file of a repository, which all have to be read for it."""

    def __init__(self, repository: Repository) -> None:
        self._counts: dict[str, Counter[str]] = {}
        for path in repository.files:
            content = repository.part(path, 0, LARGEST)
            text = "" if b"\0" in content else content.decode("utf-8", "ignore")
            lines = (line for line in text[: 1 << 14].splitlines() if line.strip())
            self._counts[path] = Counter(words_of(text))
            self._counts[path].update(words_of("\n".join(islice(lines, _OPENING))))
        self._lengths = {path: counts.total() for path, counts in self._counts.items()}
        self._found_in = Counter(word for counts in self._counts.values() for word in counts)

    @property
    def files_read(self) -> int:
        return len(self._counts)

    def rank(self, question: str) -> list[Ranked]:
        """Return every file with its score for a question, best first, ties in the order of paths."""
        return self.rank_words(question_words(question))

    def rank_words(self, words: Iterable[str]) -> list[Ranked]:
        """Return every file with its score for some words, best first, ties in the order of paths."""
        mean = sum(self._lengths.values()) / len(self._lengths) or 1.0
        total = len(self._counts)
        scores = dict.fromkeys(self._counts, 0.0)
        for word in sorted(words):
            found = self._found_in[word]
            weight = math.log(1 + (total - found + 0.5) / (found + 0.5))
            for path, counts in self._counts.items():
                times = counts[word]
                if times:
                    norm = 1 - _LENGTH + _LENGTH * self._lengths[path] / mean
                    scores[path] += weight * times * (_SATURATION + 1) / (times + _SATURATION * norm)
        ranked = (Ranked(path, score) for path, score in scores.items())
        return sorted(ranked, key=lambda each: (-each.score, each.path))


@lru_cache(maxsize=16)
def bm25_of(repository: Repository) -> Bm25:
    return Bm25(repository)


@runtime_checkable
class Routed(Protocol):
    """An environment that knows the way to every file."""

    @property
    def repository(self) -> Repository: ...

    @property
    def question(self) -> str: ...

    def route(self, path: str) -> list[str]:
        """Return the fewest commands to the `id` of a file; none where there is no way."""
        ...


class Bm25Agent:
    """Names the file that BM25 ranks first for the question.

    Privileged: it reads every file of the repository beforehand, which no player can, and is told the way to the file.
    What it says before its first step tells how many files that were.
    """

    privileged = True

    def __call__(self, view: AgentInput) -> Decision:
        env = view.env
        if not isinstance(env, Routed):
            raise UsageError("agent 'bm25' names a file for a question: give it AutoExplore, or labels")
        index = bm25_of(env.repository)
        for best in index.rank(env.question)[:_TRIED]:
            way = env.route(best.path)
            if way:
                said = f"Of {index.files_read} files read, {best.path} fits best (score {best.score:.2f})."
                return Decision(way[0], reflection=None if view.path else said)
        return Decision(EXIT)
