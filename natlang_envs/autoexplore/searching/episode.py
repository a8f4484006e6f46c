"""The rules of AutoExplore-Search for one episode."""

from __future__ import annotations

from typing import Any

from natlang_envs.autoexplore.episode import left, named, stepped
from natlang_envs.autoexplore.searching.listing import SEE_RESULT, Order, SearchMove, SearchView, Words, search_view_of
from natlang_envs.autoexplore.tasks import ExploreTask
from natlang_envs.env import Outcome
from natlang_envs.errors import UsageError
from natlang_envs.repository.navigation import Navigation
from natlang_envs.repository.texts import observation, task_text, unknown_command
from natlang_envs.repository.tree import open_repository


class SearchEpisode:
    """What was searched for and read.

    Attributes:
        words: What is searched for now.
        moves: The listed commands, and what each does; `commands` are the commands alone.
        shown: The files that were shown, each time that one was.
    """

    __slots__ = ("commands", "goal", "moves", "shown", "task", "view", "words")

    def __init__(self, task: ExploreTask, order: Order, budget: int) -> None:
        self.goal = task
        self.task = task_text(task.question)
        self.view: SearchView = search_view_of(open_repository(task.folder), task.question, order, budget)
        self.words: Words = ()
        self.shown: tuple[str, ...] = ()
        self.moves: dict[str, SearchMove]
        self.commands: tuple[str, ...]
        self.moves, self.commands = self.view.moves((), ())

    @property
    def navigation(self) -> Navigation:
        return self.view.navigation

    def act(self, command: str, last: bool) -> Outcome:
        move = self.moves.get(command)
        feedback = unknown_command(command)
        if move is not None:
            if move.kind == "id":
                return named(move.value, self.goal.targets)
            if move.kind == "exit":
                return left()
            feedback = self._search(move.value) if move.kind == "search" else self._read(move.value)
            self.moves, self.commands = self.view.moves(self.words, self.shown)
        return stepped(feedback, last)

    def _search(self, word: str) -> str:
        kept = self.words if word and self.view.order == "ranked" else ()
        self.words = (*kept, word) if word else ()
        return self.view.describe(self.words)

    def _read(self, path: str) -> str:
        text = self.view.navigation.text(path, self.shown.count(path))
        self.shown = (*self.shown, path)
        return text

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
