"""AutoExplore as a Gymnasium environment."""

from __future__ import annotations

from collections.abc import Sequence

from natlang_envs.autoexplore.asking import FileQuestionEnv
from natlang_envs.autoexplore.dataset.labels import Wording
from natlang_envs.autoexplore.episode import HORIZON, ExploreEpisode
from natlang_envs.autoexplore.tasks import ExploreSplit, ExploreTask, make_tasks
from natlang_envs.repository.texts import FILE_BUDGET
from natlang_envs.why import Feedback


class AutoExploreEnv(FileQuestionEnv[ExploreEpisode]):
    r"""Find the file of a repository that answers a question, by walking through its folders.

    ## Description
    The file identification task of the Reflect-RL paper (section 5, appendix B), over labelled repositories, embedded
    ones, or a folder of your own. Commands read; nothing is written.

    ## Observation Space
    `UnicodeText`, with headings: the task, the current folder, its folders and files, the steps left, and the last
    result. `cat` shows the first `file_budget` characters of a file and says if there are more. Each repetition shows
    the next part, after the last part the first again, and costs a step. Bytes that are not UTF-8 appear as `\xNN`. A
    binary file is only named as one.

    ## Action Space
    `CommandText`, at most 40 commands, in this order: `cd FOLDER` for each folder, `cd ..`, `cat FILE` and `id FILE`
    for each file, `next page`, `previous page`, `exit`. Only commands that lead somewhere are listed; `exit` always is.
    Names are sorted by code points, with odd characters as `\xNN`. A longer folder has pages: turning one is a step,
    and `cd` opens the first. `.git`, symbolic links, devices and unreadable files are not listed.

    ## Rewards
    - -1 a step, also for unknown text, which does nothing.
    - The last step pays +15 instead for `id` of a file that answers the question. It pays -15 for any other `id`, for
      `exit`, and when the steps run out.

    ## Starting State
    The top folder, and a task sampled from the split. Its id is `repository/number`, and the number depends on the
    question alone. In your own folder it is `own/number`, and the number depends on the question and the targets.

    ## Episode End
    Termination after `id`, `exit` or `horizon` steps; never truncation.

    ## Information
    As of every `NatLangEnv`.

    ## Arguments
    - `depth`: 1 for targets in the top folder or one folder below, 2 for two folders below, None for any. The ids set
      it.
    - `wording`: `"natural"` (default) asks as a user of the repository would; `"hard"` shares few words with the
      evidence. A label of your own without a natural wording is asked in the hard one.
    - `split`: `"train"`, `"validation"`, `"test"` or `"all"`, by repository. The labelled dataset also has
      `"test_seen"` (held-out files of train's repositories) and `"known"` (held-out questions about their other files);
      `"all"` accepts `"known"` but does not sample it. An agent that knows its repositories uses `"known_validation"`
      (150 questions of train), `"known_train"` (the rest of train) and `"known_test"` (`test_seen` and `known`).
    - `dataset`: `"labelled"`, the repositories that `natlang data fetch` brings, or the name of one; `"embedded"`,
      small ones in the package. By default a named split is labelled; `"all"` samples embedded repositories and accepts
      the id of any task.
    - `repository`: a folder of your own, indexed once per process. Give `question` and `target`, the path of the file
      that answers it or a list of paths; or as `dataset` a file of labels, such as `natlang data label` writes.
    - `horizon` (15), `explain`, `feedback`, `render_mode` (`"ansi"` or None): as of every `NatLangEnv`.
    - `file_budget` (2,000): the characters that one `cat` shows.

    ## Version History
    - v0: initial version.
    """

    def __init__(
        self,
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
        tasks = make_tasks(depth, split, dataset, repository, question, target, wording)
        super().__init__(tasks, horizon, file_budget, render_mode, explain=explain, feedback=feedback)

    @property
    def files_read(self) -> tuple[str, ...]:
        """The files that `cat` has shown in this episode, in order."""
        return self._episode.files_read

    def _episode_of(self, task: ExploreTask) -> ExploreEpisode:
        return ExploreEpisode(task, self._budget)

    def oracle(self) -> list[str]:
        """Return the fewest commands to the `id` of the nearest target, by search; `cat` is not needed for it."""
        return [] if self._ended else self._episode.plan()

    def demonstration(self) -> list[str]:
        """Return the oracle's plan with `cat` before `id`, so that evidence is read, where it is not yet and fits."""
        return [] if self._ended else self._episode.demonstration(self.steps_left)

    def route(self, path: str) -> list[str]:
        """Return the fewest commands from here to the `id` of any file (privileged knowledge)."""
        return self._episode.navigation.route(self._episode.place.key, (path,))
