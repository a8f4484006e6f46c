"""What AutoExplore's kinds of environments share: a question, and an episode that answers commands."""

from __future__ import annotations

from abc import abstractmethod
from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeVar

from natlang_envs.autoexplore.episode import GOAL_REWARD
from natlang_envs.autoexplore.tasks import FAMILY, ExploreTask, ExploreTasks, kinds_of_task
from natlang_envs.env import NatLangEnv, Outcome
from natlang_envs.repository.navigation import Navigation
from natlang_envs.repository.texts import EXIT, MAX_COMMANDS, check_budget, max_observation
from natlang_envs.repository.tree import Repository
from natlang_envs.tasks import Tasks
from natlang_envs.why import Feedback, Why

if TYPE_CHECKING:
    from natlang_envs.autoexplore.answering.episode import AnswerEpisode
    from natlang_envs.autoexplore.episode import ExploreEpisode
    from natlang_envs.autoexplore.searching.episode import SearchEpisode


class AskedTask(Protocol):
    @property
    def question(self) -> str: ...


class Asked(Protocol):
    task: str

    @property
    def goal(self) -> AskedTask: ...

    @property
    def commands(self) -> tuple[str, ...]: ...

    def act(self, command: str, last: bool) -> Outcome:
        """Apply a command; `last` says that the horizon is reached with it."""
        ...

    def observe(self, steps_left: int, feedback: str) -> str:
        """Return the observation after a command that showed `feedback`, `""` at the start."""
        ...

    def state(self) -> tuple[Any, ...]: ...

    def set_state(self, state: tuple[Any, ...]) -> None: ...


T = TypeVar("T", bound=Tasks)
E = TypeVar("E", bound=Asked)
F = TypeVar("F", bound="ExploreEpisode | SearchEpisode | AnswerEpisode")


class AskingEnv(NatLangEnv, Generic[T, E]):
    """An environment that asks something of a repository; a subclass makes its episodes."""

    family = FAMILY
    reward_scale = GOAL_REWARD
    _episode: E

    def __init__(
        self,
        tasks: T,
        horizon: int,
        file_budget: int,
        render_mode: str | None,
        longest_list: int = 0,
        explain: bool = False,
        feedback: Feedback = "plain",
    ) -> None:
        self._budget = check_budget(file_budget)
        self._tasks = tasks
        super().__init__(
            tasks=tasks,
            horizon=horizon,
            render_mode=render_mode,
            max_observation=max_observation(file_budget) + longest_list,
            max_commands=MAX_COMMANDS,
            fallback_commands=(EXIT,),
            explain=explain,
            feedback=feedback,
        )

    @classmethod
    def task_kinds(cls, task_id: str, **arguments: Any) -> dict[str, str]:
        """Return the repository of a labelled task and the depth of its target; nothing of any other task."""
        return kinds_of_task(task_id)

    @property
    def task(self) -> str:
        """What is asked."""
        return self._episode.task

    @property
    def question(self) -> str:
        return self._episode.goal.question

    def _act(self, command: str) -> Outcome:
        return self._episode.act(command, last=self.steps_left == 0)

    def _observe(self, outcome: Outcome) -> str:
        return self._episode.observe(self.steps_left, outcome.feedback)

    def _admissible_commands(self) -> tuple[str, ...]:
        return self._episode.commands

    def _get_state(self) -> tuple[Any, ...]:
        return self._episode.state()

    def _set_state(self, state: tuple[Any, ...]) -> None:
        self._episode.set_state(state)


class FileQuestionEnv(AskingEnv[ExploreTasks, F]):
    """An environment that asks the questions of AutoExplore."""

    @abstractmethod
    def _episode_of(self, task: ExploreTask) -> F:
        """Return a new episode of a task."""

    def _begin(self, task_id: str) -> str:
        self._episode = self._episode_of(self._tasks.load(task_id))
        return self._episode.observe(self.horizon, "")

    @property
    def navigation(self) -> Navigation:
        """The places of the current task's repository, and the texts that `cat` shows (privileged knowledge)."""
        return self._episode.navigation

    @property
    def repository(self) -> Repository:
        """The repository of the current task (privileged knowledge)."""
        return self.navigation.repository

    @property
    def goal(self) -> ExploreTask:
        """The current task with its targets (privileged knowledge)."""
        return self._episode.goal

    def _explain(self, command: str, outcome: Outcome) -> Why | None:
        return self._episode.why(command, outcome)

    def safe_commands(self) -> tuple[str, ...]:
        """Return the commands that do not lose at once: no `exit`, no `id` or answer that is wrong (privileged)."""
        return self._episode.safe_commands()
