"""AutoExplore-Change as a Gymnasium environment."""

from __future__ import annotations

from collections import deque
from pathlib import PurePosixPath
from typing import Any, Literal

from natlang_envs.autoexplore.asking import AskingEnv
from natlang_envs.change.listed_edits.causes import why
from natlang_envs.change.listed_edits.episode import HORIZON, MAX_NAME, NAMES, ChangeEpisode
from natlang_envs.change.listed_edits.tasks import FAMILY, ChangeTask, ChangeTasks, kinds_of_task, make_tasks
from natlang_envs.change.listed_edits.views import EDITS, PAGE_LINES, WIDTH, EditSite, Key
from natlang_envs.env import Outcome
from natlang_envs.errors import check_flag, require_choice
from natlang_envs.repository.texts import FILE_BUDGET, SUBMIT, UP
from natlang_envs.tasks import Split
from natlang_envs.why import Feedback, Why

Start = Literal["repository", "file", "line"]
STARTS: tuple[Start, ...] = ("repository", "file", "line")
# Characters that an observation has more than one of AutoExplore: lines, edits, and the names of tests.
_MORE = 2 * (PAGE_LINES + EDITS + 4) * (WIDTH + 40) + NAMES * (MAX_NAME + 10)


class AutoExploreChangeEnv(AskingEnv[ChangeTasks, ChangeEpisode]):
    """Mend tested code that is broken in one place, by one listed edit; tests judge it.

    ## Description
    One place of a Python repository was changed, so that tests fail. An issue reports what one test sees, but not where
    to look. The player walks through folders, opens sources and lines, chooses a listed edit, may run the tests three
    times, and submits. One rule lists the edits of every source; one of them restores the original. The results of all
    edits are recorded, so nothing is executed.

    ## Observation Space
    `UnicodeText`, with headings: the task, the view (a page of a folder, of a source, or of the edits of a line), the
    current edit, the test runs and steps left, and the last result. A source includes the edit and has pages of 40
    numbered lines, fewer where more than 24 can be edited. A line appears with five lines above and below, and as it
    would read after each edit, 30 a page. `cat` shows a file as in AutoExplore.

    ## Action Space
    `CommandText`, at most 40 commands:
    - in a folder: `cd FOLDER`, `cd ..`, `open FILE` for a source that can be edited, `cat FILE` for other files, `next
      page`, `previous page`;
    - in a source: `line N` for each line that can be edited, `page N` (for some pages of a long source), `cd .` back to
      the folder;
    - in a line: `edit N K`, `next page`, `previous page`, `open FILE` back to the source;
    - everywhere: `undo` and `submit` after an edit, `test` while runs are left, `exit`.

    An edit replaces the one before. Hidden and compiled files, links, and unprintable names are not listed.

    ## Tests
    `test` names at most 20 failing tests, among the one in the issue and all that passed before. The other tests that
    failed before stay hidden, and judge the repair, too. Edits of the broken file were run. After an edit of another
    file a test fails if it fails without the edit, or with it in the unbroken repository; so an edit elsewhere is no
    repair. Real runs agreed in all of 450 sampled states.

    ## Rewards
    - -1 a step, also for unknown text, which does nothing.
    - The last step pays +15 instead for `submit` if all tests pass. It pays -15 for `submit` if one fails, for `exit`,
      and when the steps run out.
    - With `partial=True`, `submit` with failing tests pays -15 plus 30 times a share: of the tests that failed before,
      those that pass now, less those that passed before and fail now. It never pays less than -15.

    ## Starting State
    The top folder, the first page of the broken source, or the broken line; and a task sampled from the split. Its id
    is `repository/` and 16 hex digits of the repository and the change.

    ## Episode End
    Termination after `submit`, `exit` or `horizon` steps; never truncation.

    ## Information
    As of every `NatLangEnv`.

    ## Arguments
    - `start`: `"repository"`, `"file"` or `"line"`. The ids set it.
    - `partial`: whether a wrong repair earns a share.
    - `split`: `"train"`, `"validation"`, `"test"` or `"all"`, by repository.
    - `dataset`: `"embedded"`, code of our own in the package, which no model has memorised; `"public"`, published code,
      which `natlang data fetch` brings. By default a named split has both; `"all"` samples embedded code and accepts
      the id of any task.
    - `repository`: a folder of your own, with a file of tasks by `natlang data mutate` as `dataset`.
    - `horizon` (30), `explain`, `feedback`, `render_mode` (`"ansi"` or None): as of every `NatLangEnv`.
    - `file_budget` (2,000): the characters that one `cat` shows.

    ## Version History
    - v0: initial version.
    """

    family = FAMILY

    def __init__(
        self,
        start: Start = "repository",
        partial: bool = False,
        split: Split = "all",
        dataset: str | None = None,
        repository: str | None = None,
        horizon: int = HORIZON,
        file_budget: int = FILE_BUDGET,
        render_mode: str | None = None,
        explain: bool = False,
        feedback: Feedback = "plain",
    ) -> None:
        require_choice("start", start, STARTS)
        check_flag("partial", partial)
        self.start: Start = start
        self._partial = partial
        tasks = make_tasks(split, dataset, repository)
        super().__init__(tasks, horizon, file_budget, render_mode, _MORE, explain, feedback)

    @classmethod
    def task_kinds(cls, task_id: str, **arguments: Any) -> dict[str, str]:
        """Return whose code a task is of, its repository and its operator; nothing of a user's own task."""
        return kinds_of_task(task_id)

    @property
    def change_task(self) -> ChangeTask:
        """The current task with what each edit makes fail (privileged knowledge)."""
        return self._episode.goal

    @property
    def edit(self) -> EditSite | None:
        return self._episode.edit

    def _begin(self, task_id: str) -> str:
        task = self._tasks.load(task_id, self._budget)
        starts: dict[Start, Key] = {
            "repository": ("folder", "", 0, 0),
            "file": ("file", task.file, 0, 0),
            "line": ("line", task.file, task.line, 0),
        }
        self._episode = ChangeEpisode(task, starts[self.start], self._partial)
        return self._episode.observe(self.horizon, "")

    def _explain(self, command: str, outcome: Outcome) -> Why | None:
        return why(self._episode, command, outcome)

    def safe_commands(self) -> tuple[str, ...]:
        """Return the commands that do not lose at once: no `exit`, no `submit` while a test fails (privileged)."""
        effects, wrong = self._episode.effects, bool(self.change_task.fails(self._episode.edit))
        losing = ("exit", "submit") if wrong else ("exit",)
        return tuple(command for command, effect in effects.items() if effect.kind not in losing)

    def oracle(self) -> list[str]:
        """Return the fewest commands to a submitted edit with which all tests pass."""
        if self._ended:
            return []
        task, key = self.change_task, self._episode.view.key
        if not task.fails(self._episode.edit):
            return [SUBMIT]
        if key not in task.plans:
            task.plans[key] = self.way_to(*(EditSite(task.file, number) for number in task.right()))
        return [*task.plans[key], SUBMIT]

    def way_to(self, *edits: EditSite) -> list[str]:
        """Return the fewest commands from here to one of some edits (privileged knowledge).

        A breadth-first search over views, without those that cannot matter: other sources and lines, and folders off
        the path, but for one step in and out, which can be the shortest way back to the first page.
        """
        task, start = self.change_task, self._episode.view.key
        paths = {each.path for each in edits}
        wanted = {(each.path, task.source(each.path).edits[each.number].line) for each in edits}
        relevant = {
            each.as_posix() for path in map(PurePosixPath, (start[1], *paths)) for each in (path, *path.parents)
        }

        def matters(key: Key, goal: Key, command: str) -> bool:
            kind, path, line, _ = goal
            if kind == "line":
                return (path, line) in wanted
            if kind == "file":
                return path in paths or key[1] == path
            return key[0] != "folder" or (key[1] or ".") in relevant or command == UP

        ways: dict[Key, list[str]] = {start: []}
        queue = deque([start])
        while queue:
            key = queue.popleft()
            for command, effect in task.view(key).effects.items():
                if effect.kind == "edit" and EditSite(key[1], effect.number) in edits:
                    return [*ways[key], command]
                if effect.kind == "go" and effect.key not in ways and matters(key, effect.key, command):
                    ways[effect.key] = [*ways[key], command]
                    queue.append(effect.key)
        raise KeyError(f"no way from {start} to {sorted(edits)}")
