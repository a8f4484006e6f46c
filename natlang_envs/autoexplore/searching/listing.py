"""What a player of AutoExplore-Search sees and may do: the list of a search, and the commands beside it."""

from __future__ import annotations

from functools import lru_cache
from typing import Literal, NamedTuple

from natlang_envs.autoexplore.baselines import bm25_of
from natlang_envs.autoexplore.searching.line_index import HITS, Hits, LineIndex, line_index_of
from natlang_envs.autoexplore.searching.offers import near_words
from natlang_envs.repository.hits import asked_words, describe_hits
from natlang_envs.repository.navigation import Navigation, navigation_of
from natlang_envs.repository.texts import EXIT, MAX_COMMANDS
from natlang_envs.repository.tree import Repository
from natlang_envs.repository.words import stem

Order = Literal["lines", "ranked"]
ORDERS: tuple[Order, ...] = ("lines", "ranked")
AGAIN = "search again"
SEE_RESULT = "(the last result)"
_KEPT = 1_000  # of the states of a question whose commands are remembered
_MAX_WORDS = 1_000  # characters of the words of one search
MAX_LIST = 2_000 + _MAX_WORDS + HITS * (4 * 4_096 + 200)  # characters of a list

Words = tuple[str, ...]  # what is searched for now: one word, or with order="ranked" those since `search again`
Text = tuple[str, int]  # a file and how often it was shown before: what is read of it


class SearchMove(NamedTuple):
    """The effect of a command: searches, shows or names a file, or leaves."""

    kind: Literal["search", "cat", "id", "exit"]
    value: str = ""  # a word ("" for `search again`), or a path


class SearchView:
    """The lists, texts and commands of one question, made when they are first seen and shared in the process.

    Args:
        repository: Where the question is asked.
        question: One line.
        order: How the files of a list are sorted, see `AutoExploreSearchEnv`.
        budget: The largest number of characters of a file that `cat` shows.
    """

    def __init__(self, repository: Repository, question: str, order: Order, budget: int) -> None:
        self.index: LineIndex = line_index_of(repository)
        self.navigation: Navigation = navigation_of(repository, budget)
        self.question = question
        self.order: Order = order
        self.asked = asked_words(question)
        self._hits: dict[Words, Hits] = {}
        self._lists: dict[Words, str] = {}
        self._near: dict[Text, Words] = {}
        self._moves: dict[tuple[Words, tuple[str, ...]], tuple[dict[str, SearchMove], tuple[str, ...]]] = {}

    def hits(self, words: Words) -> Hits:
        """Return what a search for some words finds, in whatever order they were searched for."""
        found = self._hits.get(words)
        if found is None:
            ordered = tuple(sorted(words))
            if ordered not in self._hits:
                self._hits[ordered] = self._search(ordered)
            found = self._hits[words] = self._hits[ordered]
        return found

    def _search(self, words: Words) -> Hits:
        if not words:
            return Hits(0, 0, ())
        if self.order == "lines":
            return self.index.search(words[0])
        ranked = [each for each in bm25_of(self.index.repository).rank_words(map(stem, words)) if each.score > 0]
        best = tuple(self.index.look(each.path, words) for each in ranked[:HITS])
        return Hits(sum(self.index.search(word).lines for word in words), len(ranked), best)

    def describe(self, words: Words) -> str:
        found = self._lists.get(words)
        if found is None:
            lines, files, best = self.hits(words)
            found = self._lists[words] = describe_hits(words, lines, files, len(self.index.files), best)
        return found

    def near(self, shown: tuple[str, ...]) -> Words:
        """Return the words that are offered beside those of the question, after some files were shown."""
        return self.near_text((shown[-1], shown.count(shown[-1]) - 1)) if shown else ()

    def near_text(self, text: Text) -> Words:
        """Return the words that are offered after a text was shown."""
        found = self._near.get(text)
        if found is None:
            found = self._near[text] = near_words(self.navigation.text(*text), self.question, self.index)
        return found

    def parts(self, path: str) -> int:
        """Return how many different texts `cat` shows of a file, by and by."""
        return self.navigation.parts(path)

    def moves(self, words: Words, shown: tuple[str, ...]) -> tuple[dict[str, SearchMove], tuple[str, ...]]:
        """Return the listed commands, in order, with what each does, and alone."""
        found = self._moves.get((words, shown))
        if found is None:
            moves = self._make_moves(words, shown)
            if len(self._moves) >= _KEPT:
                self._moves.clear()
            found = self._moves[words, shown] = moves, tuple(moves)
        return found

    def _make_moves(self, words: Words, shown: tuple[str, ...]) -> dict[str, SearchMove]:
        offered = (*self.asked, *self.near(shown))
        moves = {f"search {word}": SearchMove("search", word) for word in offered if word not in words}
        if words and self.order == "ranked":
            moves[AGAIN] = SearchMove("search")
        listed = [hit.path for hit in self.hits(words).best]
        for path in listed:
            moves[f"cat {path}"] = SearchMove("cat", path)
            moves[f"id {path}"] = SearchMove("id", path)
        read = [path for path in dict.fromkeys(reversed(shown)) if path not in listed]
        for path in read[: MAX_COMMANDS - 1 - len(moves)]:
            moves[f"id {path}"] = SearchMove("id", path)
        moves[EXIT] = SearchMove("exit")
        return moves


@lru_cache(maxsize=4_096)
def search_view_of(repository: Repository, question: str, order: Order, budget: int) -> SearchView:
    return SearchView(repository, question, order, budget)
