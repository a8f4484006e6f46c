"""AutoExplore-Answer as a Gymnasium environment."""

from __future__ import annotations

from pathlib import Path

from natlang_envs.autoexplore.answering.episode import FORMS, LONGEST, AnswerEpisode, Form
from natlang_envs.autoexplore.answering.keys import embedded_answers, read_keys, shipped_keys
from natlang_envs.autoexplore.answering.passages import longest_numbered
from natlang_envs.autoexplore.answering.plan import answer_plan
from natlang_envs.autoexplore.asking import FileQuestionEnv
from natlang_envs.autoexplore.dataset.labels import Wording
from natlang_envs.autoexplore.dataset.own_labels import read_own_labels
from natlang_envs.autoexplore.episode import ExploreEpisode
from natlang_envs.autoexplore.searching.episode import SearchEpisode
from natlang_envs.autoexplore.searching.listing import MAX_LIST
from natlang_envs.autoexplore.tasks import ExploreSplit, ExploreTask, make_tasks
from natlang_envs.copilot.shell import Shell
from natlang_envs.errors import UsageError, check_flag, require_choice
from natlang_envs.repository.texts import EXIT, FILE_BUDGET
from natlang_envs.repository.tree import open_repository
from natlang_envs.why import Feedback

_CITED = 20_000  # characters of the citations and the answer so far


class AutoExploreAnswerEnv(FileQuestionEnv[AnswerEpisode]):
    """Answer a question about a repository in words, and cite the lines that prove it.

    ## Description
    AutoExplore, or AutoExplore-Search, that ends with an answer in place of a file's name. A key scores it: what has to
    be said, in any of its wordings, and what contradicts it. No model judges.

    ## Observation Space
    `UnicodeText`: that of AutoExplore or AutoExplore-Search, with line numbers in what `cat` shows, the lines cited,
    and in the listed form the answer so far.

    ## Action Space
    `CommandText`. At most 40 commands are listed: those of AutoExplore or AutoExplore-Search without `id`.

    - `form="text"` understands two further commands: `cite PATH:LINE`, for at most three lines that `cat` has shown,
      and `answer TEXT`, in at most 40 words, which ends the episode.
    - `form="listed"` lists all commands. `cat` opens a file: `quote LINE` cites a passage of the part that is shown
      (each line that is not empty; several lines where there are more than 34), `cat` shows the next part, `back`
      closes it. After `quote`: `pick WORD` for each word of the passage (at most 34; numbers and names first),
      `pick yes`, `pick no`, and `back` to the passages. `done` gives the words picked as the answer.

    ## Rewards
    - -1 a step, also for unknown text, which does nothing.
    - The last step pays +15 instead for a right answer that a citation supports. It pays -15 for any other answer, for
      `exit`, and when the steps run out. See `natlang_envs.autoexplore.score_answer` for the rule.

    ## Starting State
    As of AutoExplore, with the questions that have keys.

    ## Episode End
    Termination after an answer, `exit` or `horizon` steps; never truncation.

    ## Information
    As of every `NatLangEnv`.

    ## Arguments
    - `form`: `"text"` (default) or `"listed"`, which has the questions whose answers stand in quotable lines.
    - `search`: True searches as AutoExplore-Search does, in place of walking through folders.
    - `depth`, `wording`, `split`, `dataset`, `file_budget`, `explain`, `feedback`, `render_mode`: as of
      `AutoExploreEnv`.
    - `repository`: a folder of your own, with a file of labels as `dataset` and their keys as `keys`.
    - `horizon` (20).

    ## Version History
    - v0: initial version.
    """

    every_task_can_be_won = False

    def __init__(
        self,
        form: Form = "text",
        search: bool = False,
        depth: int | None = None,
        split: ExploreSplit = "all",
        dataset: str | None = None,
        repository: str | None = None,
        keys: str | None = None,
        horizon: int = LONGEST,
        file_budget: int = FILE_BUDGET,
        render_mode: str | None = None,
        wording: Wording = "natural",
        explain: bool = False,
        feedback: Feedback = "plain",
    ) -> None:
        require_choice("form", form, FORMS)
        check_flag("search", search)
        if (repository is None) != (keys is None):
            raise UsageError("a folder of your own needs repository, labels as dataset, and keys: give all or none")
        if repository is not None and dataset is None:
            raise UsageError("a folder of your own needs labels: give their file as dataset")
        self._form: Form = form
        self._search = search
        self._keys = {**shipped_keys(), **{name: each.key for name, each in embedded_answers().items()}}
        if keys is not None and repository is not None and dataset is not None:
            own = read_own_labels(Path(dataset), open_repository(Path(repository)))
            self._keys = read_keys(Path(keys), [each.id for each in own])
        fitting = {
            name for name, key in self._keys.items() if wording in key.wordings and (form == "text" or key.listed)
        }
        tasks = make_tasks(depth, split, dataset, repository, None, None, wording, fitting)
        longest = longest_numbered(file_budget) + _CITED + MAX_LIST * search
        super().__init__(tasks, horizon, file_budget, render_mode, longest, explain, feedback)

    @property
    def episode(self) -> AnswerEpisode:
        """The current episode, with its label and key, what was cited and picked, and the score (privileged)."""
        return self._episode

    def _episode_of(self, task: ExploreTask) -> AnswerEpisode:
        inner = SearchEpisode(task, "lines", self._budget) if self._search else ExploreEpisode(task, self._budget)
        label, key = embedded_answers()[task.id] if task.label is None else (task.label, self._keys[task.id])
        return AnswerEpisode(inner, label, key, self._form)

    def reference(self) -> list[str]:
        """Return a short way to the label's own answer; `exit` alone where none is found."""
        return [] if self._ended else answer_plan(self._episode, self.steps_left) or [EXIT]

    @property
    def free_commands(self) -> Shell | None:
        """The grammar of `cite` and `answer`, which are not listed; None in the listed form."""
        return Shell("answer", ("cite",)) if self._form == "text" else None
