"""The rules of AutoExplore for one episode."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from natlang_envs.autoexplore.tasks import ExploreTask
from natlang_envs.env import Outcome
from natlang_envs.errors import UsageError
from natlang_envs.repository.navigation import Navigation, navigation_of
from natlang_envs.repository.texts import LAST_STEP, LEFT, RIGHT, WRONG, observation, task_text, unknown_command
from natlang_envs.repository.tree import Repository, open_repository

STEP_REWARD = -1.0
GOAL_REWARD = 15.0
HORIZON = 15  # steps of an episode, unless the environment is made with others


def named(path: str, targets: Collection[str]) -> Outcome:
    right = path in targets
    answer = (RIGHT if right else WRONG).format(path)
    return Outcome(answer, GOAL_REWARD if right else -GOAL_REWARD, terminated=True, success=right)


def left() -> Outcome:
    return Outcome(LEFT, -GOAL_REWARD, terminated=True)


def stepped(feedback: str, last: bool, over: str = LAST_STEP) -> Outcome:
    """Return the outcome of a step that ended nothing; `last` says that the horizon is reached, and `over` tells it."""
    if last:
        return Outcome(f"{feedback}\n{over}", -GOAL_REWARD, terminated=True)
    return Outcome(feedback, STEP_REWARD)


class ExploreEpisode:
    """Where the player is, and what was read.

    `cat` shows at most `budget` characters of a file; without `repository`, the task's folder is opened.
    """

    __slots__ = ("goal", "navigation", "place", "shown", "task")

    def __init__(self, task: ExploreTask, budget: int, repository: Repository | None = None) -> None:
        self.goal = task
        self.task = task_text(task.question)
        self.navigation: Navigation = navigation_of(repository or open_repository(task.folder), budget)
        self.place = self.navigation.place(("", 0))
        self.shown: tuple[str, ...] = ()  # a file stands there each time that it was shown

    @property
    def commands(self) -> tuple[str, ...]:
        return self.place.commands

    @property
    def files_read(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(self.shown))

    def act(self, command: str, last: bool) -> Outcome:
        move = self.place.moves.get(command)
        feedback = unknown_command(command)
        if move is not None:
            if move.kind == "id":
                return named(move.path, self.goal.targets)
            if move.kind == "exit":
                return left()
            feedback = move.feedback
            if move.kind == "go":
                self.place = self.navigation.place((move.path, move.page))
            else:
                feedback = self.navigation.text(move.path, self.shown.count(move.path))
                self.shown = (*self.shown, move.path)
        return stepped(feedback, last)

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
            self.place = self.navigation.place((folder, page))
        except KeyError:
            raise UsageError(f"page {page} of the folder {folder!a} is not in this repository") from None
        self.shown = tuple(shown)
