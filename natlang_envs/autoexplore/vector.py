"""AutoExplore, many episodes at a time."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np
from gymnasium.vector import AutoresetMode
from numpy.typing import NDArray

from natlang_envs.autoexplore.env import check_budget
from natlang_envs.autoexplore.episode import Episode
from natlang_envs.autoexplore.repository.texts import EXIT, FILE_BUDGET, max_observation
from natlang_envs.autoexplore.tasks import ExploreSplit, make_tasks
from natlang_envs.vector import Indices, NatLangVectorEnv, Outcomes, object_array

_NOWHERE = (EXIT,)  # the commands of an episode that has not begun


class AutoExploreVectorEnv(NatLangVectorEnv):
    """The vector form of `AutoExploreEnv`; the arguments are the same, and `num_envs` and `autoreset_mode`.

    An episode is a position in an atlas that all share, so memory hardly grows with their number.
    """

    metadata: ClassVar[dict[str, Any]] = {"render_modes": []}  # pyright: ignore[reportIncompatibleVariableOverride]

    def __init__(
        self,
        num_envs: int = 1,
        depth: int | None = None,
        split: ExploreSplit = "all",
        dataset: str | None = None,
        repository: str | None = None,
        question: str | None = None,
        target: str | Sequence[str] | None = None,
        horizon: int = 15,
        file_budget: int = FILE_BUDGET,
        render_mode: str | None = None,
        autoreset_mode: str | AutoresetMode = AutoresetMode.NEXT_STEP,
    ) -> None:
        self._budget = check_budget(file_budget)
        self._tasks = make_tasks(depth, split, dataset, repository, question, target)
        super().__init__(
            num_envs,
            tasks=self._tasks,
            horizon=horizon,
            render_mode=render_mode,
            max_observation=max_observation(file_budget),
            fallback_commands=(EXIT,),
            autoreset_mode=autoreset_mode,
        )
        self._episodes: list[Episode | None] = [None] * num_envs

    def _begin(self, indices: list[int], task_ids: list[str]) -> list[str]:
        observations: list[str] = []
        for index, task_id in zip(indices, task_ids, strict=True):
            episode = self._episodes[index] = Episode(self._tasks.load(task_id), self._budget)
            observations.append(episode.observe(self.horizon, ""))
        return observations

    def _at(self, indices: Indices) -> list[Episode]:
        """Return the episodes `indices`, which have begun."""
        where: list[int] = indices.tolist()
        return [episode for index in where if (episode := self._episodes[index]) is not None]

    def _act(self, indices: Indices, commands: Sequence[str]) -> Outcomes:
        last = (self._steps[indices] + 1 >= self.horizon).tolist()
        outcomes = list(map(Episode.act, self._at(indices), commands, last))
        return Outcomes(
            feedback=object_array([each.feedback for each in outcomes]),
            rewards=np.array([each.reward for each in outcomes], dtype=np.float64),
            terminated=np.array([each.terminated for each in outcomes], dtype=np.bool_),
            success=np.array([each.success for each in outcomes], dtype=np.bool_),
        )

    def _observe(self, indices: Indices, outcomes: Outcomes) -> list[str]:
        left = (self.horizon - self._steps[indices]).tolist()
        return list(map(Episode.observe, self._at(indices), left, outcomes.feedback))

    def _admissible_commands(self) -> NDArray[np.object_]:
        return object_array([_NOWHERE if each is None else each.place.commands for each in self._episodes])

    @property
    def _task_texts(self) -> NDArray[np.object_]:
        return object_array(["" if each is None else each.task for each in self._episodes])
