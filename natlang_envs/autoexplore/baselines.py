"""Baselines: BM25 over all contents, which no player can read, and a depth-first search that reads as it goes."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable
from functools import lru_cache
from itertools import islice
from typing import NamedTuple, Protocol, runtime_checkable

from natlang_envs.errors import UsageError
from natlang_envs.evaluation.agents import AgentInput, Decision
from natlang_envs.repository.texts import EXIT, NEXT, PREVIOUS, UP, read_question, steps_left
from natlang_envs.repository.tree import Repository
from natlang_envs.repository.walk import PagePosition, Walk
from natlang_envs.repository.words import question_words, words_of

LARGEST = 1 << 20  # bytes of a file that are looked at
_SATURATION, _LENGTH = 1.5, 0.75  # BM25's k1 and b
ENOUGH = 0.6  # the share of a question's words at which the depth-first search stops looking
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


class BestFile(NamedTuple):
    """A file that was read: where it is listed, and the share of the question's words in it."""

    place: PagePosition
    name: str
    share: float


class DepthFirstSearch:
    """Reads the files of a folder, page by page, then those of its folders; knows only what a player is shown.

    It names a file as soon as it holds enough of the question's words, or else, when the steps run out or everything is
    read, the best one.
    """

    def __init__(self, question: str) -> None:
        self._wanted = frozenset(question_words(question))
        self._walk = Walk()
        self._entered: set[tuple[str, ...]] = set()
        self._read: set[tuple[tuple[str, ...], str]] = set()
        self._best: BestFile | None = None
        self._decided = False

    @property
    def files_read(self) -> int:
        return len(self._read)

    def saw(self, command: str, feedback: str) -> None:
        self._walk.follow(command)
        here = self._walk.here
        verb, _, name = command.partition(" ")
        if command == PREVIOUS:
            self._decided = True  # the search itself never turns back
        elif verb == "cd" and command != UP:
            self._decided |= here.folder in self._entered  # nor enters a folder twice
            self._entered.add(here.folder)
        elif verb == "cat":
            self._read.add((here.folder, name))
            share = len(self._wanted.intersection(words_of(feedback))) / len(self._wanted)
            if self._best is None or share > self._best.share:
                self._best = BestFile(here, name, share)

    def choose(self, commands: tuple[str, ...], steps_left: int) -> str:
        walk, best = self._walk, self._best
        if best is not None:
            steps = walk.steps(walk.here, best.place) + 1
            if self._decided or best.share >= ENOUGH or steps >= steps_left - 1:
                return self._towards(best, commands)
        for command in commands:
            if command.startswith("cat ") and (walk.here.folder, command[4:]) not in self._read:
                return command
        for command in commands:
            if command.startswith("cd ") and command != UP and (*walk.here.folder, command[3:]) not in self._entered:
                return command
        for command in (NEXT, UP):
            if command in commands:
                return command
        return EXIT if best is None else self._towards(best, commands)

    def _towards(self, file: BestFile, commands: tuple[str, ...]) -> str:
        command = self._walk.towards(file.place, f"id {file.name}")
        return command if command in commands else EXIT


class DepthFirstAgent:
    """Searches depth first, from nothing but what it is shown: see `DepthFirstSearch`.

    It takes the question from the task's words, and begins anew at each step from the path, so that it can be evaluated
    in any order.
    """

    def __call__(self, view: AgentInput) -> Decision:
        search = DepthFirstSearch(read_question(view.task))
        for step in view.path:
            search.saw(step.action, step.feedback)
        command = search.choose(view.admissible_commands, steps_left(view.observation, "depth-first"))
        said = f"Read {search.files_read} files." if command.startswith("id ") else None
        return Decision(command, reflection=said)
