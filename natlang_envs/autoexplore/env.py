"""AutoExplore as a Gymnasium environment."""

from __future__ import annotations

from collections.abc import Sequence

from natlang_envs.autoexplore.asking import AskingEnv
from natlang_envs.autoexplore.causes import why
from natlang_envs.autoexplore.dataset.labels import Wording
from natlang_envs.autoexplore.episode import HORIZON, Episode
from natlang_envs.autoexplore.tasks import ExploreSplit, ExploreTask, ExploreTasks, make_tasks
from natlang_envs.env import Outcome
from natlang_envs.repository.navigation import Navigation
from natlang_envs.repository.texts import FILE_BUDGET
from natlang_envs.repository.tree import Repository
from natlang_envs.why import Feedback, Why


class AutoExploreEnv(AskingEnv[ExploreTasks, Episode]):
    r"""Find the file of a repository that answers a question, by walking through its folders.

    ## Description
    The file identification of section 5 and appendix B of the Reflect-RL paper, over labelled or embedded repositories
    or over any folder of the user's own. Nothing is ever written: the commands only go, read, name and leave.

    ## Observation Space
    `UnicodeText`: the task, the current folder, the folders and files in it (of a long folder, one page), the steps
    left and what the last command showed, each below a heading. `cat` shows the first `file_budget` characters of a
    file and says so when there are more. The same command, given again, shows the next part, and after the last one
    the first again; each is a step. Bytes that are no UTF-8 are shown as `\xNN`, binary files are named as such.

    ## Action Space
    `CommandText`, in this order: `cd FOLDER` for each folder here, `cd ..`, then `cat FILE` and `id FILE` for each file
    here, `next page`, `previous page`, `exit`; each only where it leads somewhere, and `exit` always. Names are sorted
    by code points, folders before files; odd characters in them are shown as `\xNN`. There are never more than 40:
    a longer folder has pages, turning one is a step, and `cd` opens the first page. `.git`, symbolic links, devices and
    unreadable files are not listed.

    ## Rewards
    - -1 for each step, also for any other text, which does nothing;
    - in its place, for the last step, +15 for `id` of a file that answers the question, and -15 for `id` of any other
      file, for `exit`, and for a last step within the horizon that is none of these.

    ## Starting State
    The top folder, and a task drawn from the split: `repository/number`, the number of a label depending on its
    question alone; for your own folder `own/` and a number that depends on the question and the targets alone.

    ## Episode End
    Termination: a file was named, the player left, or `horizon` steps were taken (the steps left stand in the
    observation). There is no truncation.

    ## Information
    `admissible_commands`, `success`, `task_id`, `task`, `feedback`: see `NatLangEnv`.

    ## Arguments
    - `depth`: 1 for targets in the top folder or one below, 2 for targets two folders below, None for any. The
      registered ids set it.
    - `wording`: of the labels' questions. `"natural"`, as a user of the repository would ask, is the default; a label
      of your own without one is asked in the hard wording. `"hard"` shares few words with the evidence.
    - `split`: `"train"`, `"validation"`, `"test"` or `"all"`, by repository; of the labelled dataset also
      `"test_seen"`, held-out files of the repositories in train, and `"known"`, held-out questions about the others
      (which `"all"` accepts and does not draw). `"known_train"`, `"known_validation"` and `"known_test"` are for an
      agent that knows its repositories: the questions of train without 150, those, and test_seen with known.
    - `dataset`: `"labelled"`, real repositories that `natlang data fetch` brings; the name of one of them;
      `"embedded"`, small ones in the package. Without it a named split is of the labelled dataset, and `"all"` draws
      from the embedded repositories, which need no download, and accepts any task's id.
    - `repository`, `question`, `target`: a folder of your own, what is asked, and the path of the file that answers it
      (or a list of paths, any of which is right). The folder is indexed once per process. Or `repository` and, as
      `dataset`, a file of labels about it, such as `natlang data label` writes.
    - `explain`: True for `info["why"]`, why a command did nothing, or lost; `feedback`: `"explained"` says it to the
      player, too.
    - `horizon`: 15 steps.
    - `file_budget`: 2,000 characters, the length of what one `cat` shows.
    - `render_mode`: `"ansi"` or None.

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
    def repository(self) -> Repository:
        """The repository of the current task (privileged knowledge)."""
        return self.navigation.repository

    @property
    def navigation(self) -> Navigation:
        """The places of that repository, and the texts that `cat` shows (privileged knowledge)."""
        return self._episode.navigation

    @property
    def goal(self) -> ExploreTask:
        """The current task with its targets (privileged knowledge)."""
        return self._episode.goal

    @property
    def files_read(self) -> tuple[str, ...]:
        """The files that `cat` has shown in this episode, in order."""
        return self._episode.files_read

    def _begin(self, task_id: str) -> str:
        self._episode = Episode(self._tasks.load(task_id), self._budget)
        return self._episode.observe(self.horizon, "")

    def _explain(self, command: str, outcome: Outcome) -> Why | None:
        return why(self._episode.place, command, outcome)

    def _admissible_commands(self) -> tuple[str, ...]:
        return self._episode.place.commands

    def safe_commands(self) -> tuple[str, ...]:
        """Return the commands that do not lose at once: no `exit`, no `id` of a wrong file (privileged knowledge)."""
        targets = self._episode.goal.targets
        moves = self._episode.place.moves.items()
        return tuple(
            command for command, move in moves if move.kind != "exit" and (move.kind != "id" or move.path in targets)
        )

    def oracle(self) -> list[str]:
        """Return the fewest commands to the `id` of the nearest target, by search; `cat` is not needed for it."""
        return [] if self._ended else self._episode.plan()

    def demonstration(self) -> list[str]:
        """Return the oracle's plan with `cat` before `id`, so that evidence is read, where it is not yet and fits."""
        return [] if self._ended else self._episode.demonstration(self.steps_left)

    def route(self, path: str) -> list[str]:
        """Return the fewest commands from here to the `id` of any file (privileged knowledge)."""
        return self._episode.navigation.route(self._episode.place.key, (path,))
