"""AutoExplore-Answer as a Gymnasium environment."""

from __future__ import annotations

from natlang_envs.autoexplore.answering.causes import why
from natlang_envs.autoexplore.answering.episode import FORMS, LONGEST, AnswerEpisode, Form
from natlang_envs.autoexplore.answering.keys import AnswerKey
from natlang_envs.autoexplore.answering.passages import longest_numbered
from natlang_envs.autoexplore.answering.plan import answer_plan, way_to_cite
from natlang_envs.autoexplore.answering.score import AnswerScore, Citation
from natlang_envs.autoexplore.answering.tasks import AnswerTasks
from natlang_envs.autoexplore.asking import AskingEnv
from natlang_envs.autoexplore.dataset.labels import Label, Wording
from natlang_envs.autoexplore.episode import ExploreEpisode
from natlang_envs.autoexplore.searching.episode import SearchEpisode
from natlang_envs.autoexplore.searching.listing import MAX_LIST
from natlang_envs.autoexplore.tasks import ExploreSplit, ExploreTask, ExploreTasks
from natlang_envs.copilot.shell import Shell
from natlang_envs.env import Outcome
from natlang_envs.errors import check_flag, require_choice
from natlang_envs.repository.texts import EXIT, FILE_BUDGET
from natlang_envs.repository.tree import Repository
from natlang_envs.why import Feedback, Why

_CITED = 20_000  # characters of the citations and the answer so far


class AutoExploreAnswerEnv(AskingEnv[ExploreTasks, AnswerEpisode]):
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
        self._form: Form = form
        self._search = search
        self._asked = AnswerTasks(depth, split, dataset, repository, keys, wording, form)
        longest = longest_numbered(file_budget) + _CITED + MAX_LIST * search
        super().__init__(self._asked.tasks, horizon, file_budget, render_mode, longest, explain, feedback)

    @property
    def repository(self) -> Repository:
        """The repository of the current task (privileged knowledge)."""
        return self._episode.inner.navigation.repository

    @property
    def label(self) -> Label:
        """The label of the current question, with its answer (privileged knowledge)."""
        return self._episode.label

    @property
    def key(self) -> AnswerKey:
        """The key of the current question (privileged knowledge)."""
        return self._episode.key

    @property
    def goal(self) -> ExploreTask:
        """The current task with its targets (privileged knowledge)."""
        return self._episode.goal

    @property
    def score(self) -> AnswerScore | None:
        """What the answer was worth, once it is given."""
        return self._episode.score

    def _begin(self, task_id: str) -> str:
        task = self._tasks.load(task_id)
        inner = SearchEpisode(task, "lines", self._budget) if self._search else ExploreEpisode(task, self._budget)
        self._episode = AnswerEpisode(inner, *self._asked.answered(task), self._form)
        return self._episode.observe(self.horizon, "")

    def _explain(self, command: str, outcome: Outcome) -> Why | None:
        return why(self._episode, command, outcome)

    def _admissible_commands(self) -> tuple[str, ...]:
        return self._episode.commands

    def safe_commands(self) -> tuple[str, ...]:
        """Return the commands that do not lose at once: no `exit`, no `done` (privileged knowledge)."""
        right = self._episode.scored(" ".join(self._episode.picks), self._episode.citations).success
        return tuple(each for each in self._episode.commands if each != EXIT and (right or each != "done"))

    def reference(self) -> list[str]:
        """Return a short way to the label's own answer; `exit` alone where none is found."""
        return [] if self._ended else answer_plan(self._episode, self.steps_left) or [EXIT]

    def way_to_cite(self, path: str, line: int) -> list[str]:
        """Return commands that cite a line of any file; none where there is no way (privileged knowledge)."""
        way = way_to_cite(self._episode, Citation(path, line), self.steps_left)
        return way if len(way) < self.steps_left else []

    @property
    def citations(self) -> tuple[Citation, ...]:
        """The lines cited so far."""
        return self._episode.citations

    @property
    def picks(self) -> tuple[str, ...]:
        """The words picked so far, in the listed form."""
        return self._episode.picks

    @property
    def free_commands(self) -> Shell | None:
        """The grammar of `cite` and `answer`, which are not listed; None in the listed form."""
        return Shell("answer", ("cite",)) if self._form == "text" else None
