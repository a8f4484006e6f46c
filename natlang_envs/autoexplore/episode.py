"""The rules of AutoExplore for one episode."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any, Final

from natlang_envs.autoexplore.causes import unknown_or_lost, worded
from natlang_envs.autoexplore.tasks import ExploreTask
from natlang_envs.env import Outcome
from natlang_envs.errors import UsageError
from natlang_envs.repository.navigation import FolderPage, Key, Navigation, PageMove, navigation_of
from natlang_envs.repository.texts import LAST_STEP, LEFT, RIGHT, WRONG, observation, task_text, unknown_command
from natlang_envs.repository.tree import Repository, open_repository
from natlang_envs.why import Why

STEP_REWARD = -1.0
GOAL_REWARD = 15.0
HORIZON = 15  # steps of an episode, unless the environment is made with others

LOST: Final = {
    "id": Why("wrong answer", "This file does not answer the question."),
    "exit": Why("left", "The search ended without an answer."),
}


def stepped(feedback: str, last: bool, over: str = LAST_STEP) -> Outcome:
    """Return the outcome of a step that ended nothing; `last` says that the horizon is reached, and `over` tells it."""
    if last:
        return Outcome(f"{feedback}\n{over}", -GOAL_REWARD, terminated=True)
    return Outcome(feedback, STEP_REWARD)


class FileEpisode(ABC):
    """What was read on the way to a file that answers.

    Attributes:
        moves: The listed commands, and what each does; `commands` are the commands alone.
        shown: The files that were shown, each time that one was.
    """

    __slots__ = ("commands", "goal", "moves", "navigation", "shown", "task")
    moves: Mapping[str, Any]  # each with a `kind`; `cat` and `id` with the `path` of a file
    commands: tuple[str, ...]

    def __init__(self, task: ExploreTask, navigation: Navigation) -> None:
        self.goal = task
        self.task = task_text(task.question)
        self.navigation = navigation
        self.shown: tuple[str, ...] = ()

    def act(self, command: str, last: bool) -> Outcome:
        """Apply a command; `last` says that the horizon is reached with it."""
        move = self.moves.get(command)
        if move is None:
            return stepped(unknown_command(command), last)
        if move.kind == "exit":
            return Outcome(LEFT, -GOAL_REWARD, terminated=True)
        if move.kind == "id":
            right = move.path in self.goal.targets
            answer = (RIGHT if right else WRONG).format(move.path)
            return Outcome(answer, GOAL_REWARD if right else -GOAL_REWARD, terminated=True, success=right)
        return stepped(self._do(move), last)

    @abstractmethod
    def _do(self, move: Any) -> str:
        """Apply a move that ends nothing, and return its feedback."""

    def _read(self, path: str) -> str:
        before = self.shown.count(path)
        self.shown = (*self.shown, path)
        return self.navigation.text(path, before)

    @abstractmethod
    def _worded(self, command: str) -> Why:
        """Return why a command is not understood."""

    def why(self, command: str, outcome: Outcome) -> Why | None:
        """Return why a command did nothing, or ended the search without success."""
        return unknown_or_lost(command, outcome, self.moves, self._worded, LOST)

    def safe_commands(self) -> tuple[str, ...]:
        targets, moves = self.goal.targets, self.moves.items()
        return tuple(
            command for command, move in moves if move.kind != "exit" and (move.kind != "id" or move.path in targets)
        )


class ExploreEpisode(FileEpisode):
    """Where the player is, and what was read.

    `cat` shows at most `budget` characters of a file; without `repository`, the task's folder is opened.
    """

    __slots__ = ("place",)
    place: FolderPage

    def __init__(self, task: ExploreTask, budget: int, repository: Repository | None = None) -> None:
        super().__init__(task, navigation_of(repository or open_repository(task.folder), budget))
        self._enter(("", 0))

    def _enter(self, key: Key) -> None:
        self.place = self.navigation.place(key)
        self.moves, self.commands = self.place.moves, self.place.commands

    @property
    def files_read(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(self.shown))

    def _do(self, move: PageMove) -> str:
        if move.kind == "cat":
            return self._read(move.path)
        self._enter((move.path, move.page))
        return move.feedback

    def _worded(self, command: str) -> Why:
        return worded(self.place, command)

    def observe(self, steps_left: int, feedback: str) -> str:
        return observation(self.task, self.place.text, steps_left, feedback)

    def plan(self) -> list[str]:
        return self.navigation.route(self.place.key, self.goal.targets)

    def demonstration(self, steps_left: int) -> list[str]:
        """Return `plan` with `cat` before `id`, unless the file was read before or no step is left for it."""
        *way, name = self.plan()
        place = self.place
        for command in way:
            move = place.moves[command]
            place = self.navigation.place((move.path, move.page))
        if place.moves[name].path in self.shown or len(way) + 2 > steps_left:
            return [*way, name]
        return [*way, f"cat {name.removeprefix('id ')}", name]

    def state(self) -> tuple[Any, ...]:
        """Return the folder, the page, and the files shown, each time that one was."""
        return (*self.place.key, self.shown)

    def set_state(self, state: tuple[Any, ...]) -> None:
        folder, page, shown = state
        try:
            self._enter((folder, page))
        except KeyError:
            raise UsageError(f"page {page} of the folder {folder!a} is not in this repository") from None
        self.shown = tuple(shown)
