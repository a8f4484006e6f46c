"""An agent of the suite as the driver of a copilot: it plays AutoExplore over a question without a known answer."""

from __future__ import annotations

import numpy as np

from natlang_envs.autoexplore.env import AutoExploreEnv
from natlang_envs.autoexplore.episode import ExploreEpisode
from natlang_envs.autoexplore.tasks import ExploreTask, ExploreTasks, own_task
from natlang_envs.copilot.copilot import AutoExploreCopilot
from natlang_envs.env import strip_unless_listed
from natlang_envs.errors import UsageError
from natlang_envs.evaluation.agents import Agent, AgentInput, decide, is_privileged
from natlang_envs.prompt import PathStep
from natlang_envs.repository.tree import Repository


class OpenQuestionEnv(AutoExploreEnv):
    """A question whose answer nobody has told: what agents see of it is what AutoExplore shows.

    No `id` is right here, so rewards mean nothing.
    """

    def __init__(self, repository: Repository, question: str, horizon: int) -> None:
        super().__init__(horizon=horizon)
        self._index = repository
        self.tasks = self._tasks = ExploreTasks([own_task(repository.path, question, ())])

    def _episode_of(self, task: ExploreTask) -> ExploreEpisode:
        return ExploreEpisode(task, self._budget, self._index)

    def oracle(self) -> list[str]:
        """Refuse: there is no plan to what is not known."""
        raise UsageError("agent 'oracle' has to be told the answer, which is not known here: choose another agent")


class AgentDriver:
    """An agent that chooses among listed commands; it names a file, or leaves."""

    def __init__(self, name: str, agent: Agent, seed: int = 0) -> None:
        self._name = name
        self._agent = agent
        self._seed = seed
        self._env: OpenQuestionEnv | None = None
        self._rng = np.random.default_rng(seed)
        self._path: tuple[PathStep, ...] = ()
        self._observation = ""
        self._commands: tuple[str, ...] = ()
        self.tokens = 0

    def reply(self, copilot: AutoExploreCopilot) -> str:
        env = self._env
        if env is None:
            if not copilot.shown.choices:
                raise UsageError(f"agent {self._name!r} chooses among listed commands: use --mode identify")
            env = self._env = OpenQuestionEnv(copilot.sandbox.repository, copilot.question, copilot.steps)
            self._observation, info = env.reset(seed=self._seed)
            self._commands = info["admissible_commands"]
        shown = env if is_privileged(self._agent) else None
        view = AgentInput(env.task, self._path, self._observation, self._commands, self._rng, shown)
        decision = decide(self._agent, [view])[0]
        command = strip_unless_listed(decision.action, self._commands)
        self.tokens += decision.tokens
        listed = command in self._commands
        self._observation, _, _, _, info = env.step(command)
        self._commands = info["admissible_commands"]
        self._path = (*self._path, PathStep(command, info["feedback"]))
        said = f"<think>{decision.reflection}</think>\n" if decision.reflection else ""
        if listed:
            return said + command
        # It must not move the sandbox, or the agent would lose its way: so it is quoted such that no command is in it.
        return said + f"Not listed: {command!a}".replace("`", "'")
