"""What a player of AutoExplore-Search sees and may do: the list of a search, and the commands beside it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from functools import cache, lru_cache
from typing import Literal, NamedTuple

from natlang_envs.autoexplore.baselines import bm25_of
from natlang_envs.autoexplore.searching.line_index import HITS, Hits, LineIndex, line_index_of
from natlang_envs.repository.hits import asked_words, describe_hits, matches
from natlang_envs.repository.navigation import Navigation, navigation_of
from natlang_envs.repository.texts import EXIT, MAX_COMMANDS
from natlang_envs.repository.tree import Repository
from natlang_envs.repository.words import content_words, stem

Order = Literal["lines", "ranked"]
ORDERS: tuple[Order, ...] = ("lines", "ranked")
AGAIN = "search again"
SEE_RESULT = "(the last result)"
NEAR = 6  # words that are offered of the text that was shown last
_SHORTEST = 3  # letters of such a word
_KEPT = 1_000  # of the states of a question whose commands are remembered
_MAX_WORDS = 1_000  # characters of the words of one search
MAX_LIST = 2_000 + _MAX_WORDS + HITS * (4 * 4_096 + 200)  # characters of a list

Words = tuple[str, ...]  # what is searched for now: one word, or with order="ranked" those since `search again`
Text = tuple[str, int]  # a file and how often it was shown before: what is read of it


class SearchMove(NamedTuple):
    """The effect of a command: searches, shows or names a file, or leaves."""

    kind: Literal["search", "cat", "id", "exit"]
    path: str = ""
    word: str = ""  # "" for `search again`


class SearchView:
    """The lists, texts and commands of one question, made when they are first seen and shared in the process.

    `order` sorts the files of a list, see `AutoExploreSearchEnv`; `cat` shows at most `budget` characters of a file.
    """

    def __init__(self, repository: Repository, question: str, order: Order, budget: int) -> None:
        self.index: LineIndex = line_index_of(repository)
        self.navigation: Navigation = navigation_of(repository, budget)
        self.question = question
        self.order: Order = order
        self.asked = asked_words(question)
        self._hits = cache(self._search)
        self.describe = cache(self._describe)
        self.near_text = cache(self._near_text)
        self.moves = lru_cache(maxsize=_KEPT)(self._moves)

    def __reduce__(self) -> tuple[Callable[..., SearchView], tuple[Repository, str, Order, int]]:
        """Pickle as the question: the view is made again, or shared, where it is loaded."""
        return search_view_of, (self.index.repository, self.question, self.order, self.navigation.budget)

    def hits(self, words: Words) -> Hits:
        """Return what a search for some words finds, in whatever order they were searched for."""
        return self._hits(tuple(sorted(words)))

    def _search(self, words: Words) -> Hits:
        if not words:
            return Hits(0, 0, ())
        if self.order == "lines":
            return self.index.search(words[0])
        ranked = [each for each in bm25_of(self.index.repository).rank_words(map(stem, words)) if each.score > 0]
        best = tuple(self.index.look(each.path, words) for each in ranked[:HITS])
        return Hits(sum(self.index.search(word).lines for word in words), len(ranked), best)

    def _describe(self, words: Words) -> str:
        lines, files, best = self.hits(words)
        return describe_hits(words, lines, files, len(self.index.files), best)

    def near(self, shown: tuple[str, ...]) -> Words:
        """Return the words that are offered beside those of the question, after some files were shown."""
        return self.near_text((shown[-1], shown.count(shown[-1]) - 1)) if shown else ()

    def _near_text(self, text: Text) -> Words:
        """Return the words that are offered after a text was shown."""
        return near_words(self.navigation.text(*text), self.question, self.index)

    def _moves(self, words: Words, shown: tuple[str, ...]) -> tuple[dict[str, SearchMove], tuple[str, ...]]:
        """Return the listed commands, in order, with what each does, and alone."""
        offered = (*self.asked, *self.near(shown))
        moves = {f"search {word}": SearchMove("search", word=word) for word in offered if word not in words}
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
        return moves, tuple(moves)


@lru_cache(maxsize=4_096)
def search_view_of(repository: Repository, question: str, order: Order, budget: int) -> SearchView:
    return SearchView(repository, question, order, budget)


def near_words(text: str, question: str, index: LineIndex) -> tuple[str, ...]:
    """Return words that stand in a text on the same lines as words of the question, best first, at most six.

    The best are rare in the repository and stand beside rare words of the question.
    """
    asked = [stem(word) for word in asked_words(question)]
    forms: dict[str, str] = {}
    beside: dict[str, float] = defaultdict(float)
    for line in text.split("\n"):
        lower = line.lower()
        if not any(word in lower for word in asked):  # most lines, which need not be taken apart
            continue
        here = content_words(line)
        weight = sum(index.rarity(word) for word in asked if any(matches(word, each) for each in here))
        for word in here if weight else ():
            beside[word] += weight
            forms.setdefault(word, here[word])
    new = [word for word in beside if len(word) >= _SHORTEST and not word.isdigit() and word not in asked]
    best = sorted(new, key=lambda word: (-beside[word] * index.rarity(word), word))[:NEAR]
    return tuple(forms[word] for word in best)
