"""The rules of AutoExplore-Search for one episode."""

from __future__ import annotations

from typing import Any

from natlang_envs.autoexplore.episode import FileEpisode
from natlang_envs.autoexplore.searching.causes import worded
from natlang_envs.autoexplore.searching.listing import SEE_RESULT, Order, SearchMove, SearchView, Words, search_view_of
from natlang_envs.autoexplore.tasks import ExploreTask
from natlang_envs.errors import UsageError
from natlang_envs.repository.texts import observation
from natlang_envs.repository.tree import open_repository
from natlang_envs.why import Why


class SearchEpisode(FileEpisode):
    """What was searched for and read; `words` are what is searched for now."""

    __slots__ = ("view", "words")

    def __init__(self, task: ExploreTask, order: Order, budget: int) -> None:
        self.view: SearchView = search_view_of(open_repository(task.folder), task.question, order, budget)
        super().__init__(task, self.view.navigation)
        self.words: Words = ()
        self.moves, self.commands = self.view.moves((), ())

    def _do(self, move: SearchMove) -> str:
        feedback = self._search(move.word) if move.kind == "search" else self._read(move.path)
        self.moves, self.commands = self.view.moves(self.words, self.shown)
        return feedback

    def _search(self, word: str) -> str:
        kept = self.words if word and self.view.order == "ranked" else ()
        self.words = (*kept, word) if word else ()
        return self.view.describe(self.words)

    def _worded(self, command: str) -> Why:
        return worded(self.commands, self.words, self.view.order, command)

    def observe(self, steps_left: int, feedback: str) -> str:
        listed = self.view.describe(self.words)
        place = f"# Hits\n{SEE_RESULT if feedback == listed else listed}"
        return observation(self.task, place, steps_left, feedback)

    def state(self) -> tuple[Any, ...]:
        return (self.words, self.shown)

    def set_state(self, state: tuple[Any, ...]) -> None:
        """Return to a state.

        Raises:
            UsageError: The repository has no such file.
        """
        words, shown = state
        for path in shown:
            if self.view.index.repository.kind(path) != "file":
                raise UsageError(f"{path!a} is no file of this repository")
        self.words, self.shown = tuple(words), tuple(shown)
        self.moves, self.commands = self.view.moves(self.words, self.shown)
