"""AutoExplore with a search command, as a Gymnasium environment."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from natlang_envs.autoexplore.asking import FileQuestionEnv
from natlang_envs.autoexplore.dataset.labels import Wording
from natlang_envs.autoexplore.episode import HORIZON
from natlang_envs.autoexplore.searching.episode import SearchEpisode
from natlang_envs.autoexplore.searching.listing import MAX_LIST, ORDERS, Order
from natlang_envs.autoexplore.searching.plan import ranked_plan, shortest_plan
from natlang_envs.autoexplore.tasks import ExploreSplit, ExploreTask, make_tasks
from natlang_envs.errors import require_choice
from natlang_envs.repository.texts import EXIT, FILE_BUDGET
from natlang_envs.why import Feedback


class AutoExploreSearchEnv(FileQuestionEnv[SearchEpisode]):
    """Find the file of a repository that answers a question, by searching for words in all its files.

    ## Description
    The questions, repositories, rewards and splits of AutoExplore, with a search command. The paper's players walk
    through folders instead, so results of the two do not compare.

    ## Observation Space
    `UnicodeText`, with headings: the task, the list of the last search, the steps left, and the last result. A list
    says how many lines match in how many files. For at most ten files it shows the path, the number of matching lines,
    and the first of them, cut to 100 characters. `cat` shows a file as in AutoExplore.

    ## Action Space
    `CommandText`, at most 40 commands, in this order:
    - `search WORD` for at most ten words of the question that carry meaning, in its order;
    - `search WORD` for at most six words of the text that `cat` showed last. They share a line with a word of the
      question; words that are rare in the repository, and stand beside rare ones, come first;
    - `cat PATH` and `id PATH` for each file of the list;
    - `id PATH` for files that were read and are not in the list, the last read first, while there is room;
    - `exit`.

    A word that was searched for is not offered again. A search ignores case and finds lines with a word that contains
    the stem of WORD; a stem of fewer than four letters must be the word's own stem. A stem lacks the ending s, e, es,
    ed or ing. The path counts as a line of its file. The first MB of each file is searched, of a binary file the path.

    ## Rewards, Starting State, Episode End, Information
    As of `AutoExploreEnv`. The list is empty at the start.

    ## Arguments
    - `order`: of the files in a list. `"lines"` (the benchmark) puts files with most matching lines first, as `grep -c`
      and `sort` would, ties by path; each search stands alone. `"ranked"` sorts by BM25 of all words searched for since
      the further command `search again`.
    - All other arguments are those of `AutoExploreEnv`.

    ## Version History
    - v0: initial version.
    """

    every_task_can_be_won = False

    def __init__(
        self,
        order: Order = "lines",
        depth: int | None = None,
        split: ExploreSplit = "all",
        dataset: str | None = None,
        repository: str | None = None,
        question: str | None = None,
        target: str | Sequence[str] | None = None,
        horizon: int = HORIZON,
        file_budget: int = FILE_BUDGET,
        render_mode: str | None = None,
        wording: Wording = "natural",
        explain: bool = False,
        feedback: Feedback = "plain",
    ) -> None:
        require_choice("order", order, ORDERS)
        self._order: Order = order
        tasks = make_tasks(depth, split, dataset, repository, question, target, wording)
        super().__init__(tasks, horizon, file_budget, render_mode, MAX_LIST, explain, feedback)

    def _episode_of(self, task: ExploreTask) -> SearchEpisode:
        return SearchEpisode(task, self._order, self._budget)

    def oracle(self) -> list[str]:
        """Return the fewest commands to the `id` of a target; `exit` alone where no way is short enough.

        Raises:
            NotImplementedError: With `order="ranked"` no plan is known to be the shortest.
        """
        if self._order != "lines":
            raise NotImplementedError('with order="ranked" no plan is known to be the shortest: use reference()')
        return self.reference()

    def reference(self) -> list[str]:
        """Return the oracle's plan, or with `order="ranked"` a short one; `exit` alone where none is found."""
        return [] if self._ended else self._plan(self._episode.goal.targets) or [EXIT]

    def route(self, path: str) -> list[str]:
        """Return few commands from here to the `id` of any file, none where there is no way (privileged knowledge)."""
        return self._plan({path})

    def _plan(self, targets: Collection[str]) -> list[str]:
        episode = self._episode
        find = shortest_plan if self._order == "lines" else ranked_plan
        return find(episode.view, episode.words, episode.shown, targets, self.steps_left) or []
