"""AutoExplore-ChangeFree as a Gymnasium environment."""

from __future__ import annotations

from typing import Any

from natlang_envs.autoexplore.episode import GOAL_REWARD
from natlang_envs.change.free_edits.causes import why
from natlang_envs.change.free_edits.free_task import ChangeVerdict, FreeTask
from natlang_envs.change.free_edits.patching import WORD, applied, commands
from natlang_envs.change.free_edits.pinned_pytest import lab
from natlang_envs.change.free_edits.sandbox_tests import LIMITS
from natlang_envs.change.free_edits.task_sampling import FreeTasks, checked, scored
from natlang_envs.copilot.copilot import FINAL, AutoExploreCopilot, TaskCommand, Turn, command_line_of, describe
from natlang_envs.copilot.shell import Shell
from natlang_envs.env import NatLangEnv, Outcome
from natlang_envs.repository.texts import EXIT, MAX_COMMANDS, UP
from natlang_envs.sandbox import CommandResult, SandboxState
from natlang_envs.tasks import Split
from natlang_envs.why import Feedback, Why

HORIZON = 40
TEST = "test"
COMMANDS = {
    TEST: "checks what you have so far, as the task says, on a copy.",
    WORD: '["PATH", START, END, "TEXT"] puts TEXT in the place of these characters of a file.',
}
_MOST_SHOWN = 1 << 18  # characters of an observation
_CHARACTERS = 6_000  # of what a command printed
_UNREPEATABLE = "The changes do not fit into the {horizon} steps that an entry has: so much is not scored."


class AutoExploreChangeFreeEnv(NatLangEnv):
    """Mend tested code, or answer a question about tables with a program, by free editing in a sandbox.

    ## Description
    The whole of the paper's AutoExplore: find the right files, modify and execute them. Commands are the copilot's, and
    programs run in the sandbox. After the episode a fresh run scores what was written.

    ## Observation Space
    `UnicodeText`: the prompt of the copilot, with the task, the current folder, its folders and files, the commands so
    far, the last result, and the steps left.

    ## Action Space
    `CommandText` of up to 4,096 characters: any command of the copilot (`cd`, `ls`, `cat`, `grep`, `find`, `echo TEXT >
    FILE`, here-documents, `python`, `pip`, …), `test`, `patch` and `exit`. At most 40 are listed: `ls`, `exit`, and
    `cd` and `cat` for what is in the folder. The copilot finds the command in a longer answer.

    `test` runs the visible tests, or the program again, on a copy. `patch ["PATH", START, END, "TEXT"]` replaces
    characters START to END of a file that counts.

    ## Rewards
    The end pays +15 if the task is solved, else -15. Steps cost nothing, since an entry records the changes and not the
    steps.

    ## Starting State
    The top folder of a broken repository, or of the Coffee Company with a question about its tables. The task is
    sampled from the split. Most failing tests are hidden.

    ## Episode End
    Termination: `exit`, three answers in a row without a command, or `horizon` steps. There is no truncation. Then the
    changes are scored. Only changes of sources that are not tests count, and the files that a data task asks for.

    ## Information
    As of every `NatLangEnv`.

    ## Arguments
    - `split`: `"train"`, `"validation"`, `"test"` or `"all"`, by repository; for data tasks by question.
    - `horizon` (40), `explain`, `feedback`, `render_mode` (`"ansi"` or None): as of every `NatLangEnv`.

    It needs Linux with bubblewrap, and the lab (`natlang data fetch lab`). Without isolation it refuses to play, since
    programs could find the originals.

    ## Version History
    - v0: initial version.
    """

    family = "autoexplore-change-free"
    reward_scale = GOAL_REWARD

    def __init__(
        self,
        split: Split = "all",
        horizon: int = HORIZON,
        render_mode: str | None = None,
        explain: bool = False,
        feedback: Feedback = "plain",
    ) -> None:
        self._tasks = FreeTasks(split)
        super().__init__(
            tasks=self._tasks,
            horizon=horizon,
            render_mode=render_mode,
            max_observation=_MOST_SHOWN,
            max_commands=MAX_COMMANDS,
            fallback_commands=(EXIT,),
            explain=explain,
            feedback=feedback,
        )

    @classmethod
    def task_kinds(cls, task_id: str, **arguments: Any) -> dict[str, str]:
        """Return whether a task is about code or data, and what was done to the code or is asked of the data."""
        task = FreeTasks("all").load(task_id)
        return {"Task": task.about, "Kind": task.kind}

    @property
    def task(self) -> str:
        return self._task.issue

    def _begin(self, task_id: str) -> str:
        self._task: FreeTask = self._tasks.load(task_id)
        self._verdict: ChangeVerdict | None = None
        commands = {name: TaskCommand(about, getattr(self, f"_{name}")) for name, about in COMMANDS.items()}
        self._copilot = AutoExploreCopilot(
            self._task.issue, self._task.folder(), mode="change", steps=self.horizon, limits=LIMITS, commands=commands
        )
        self._copilot.sandbox.isolation()  # what is missing is reported here, not at the end
        lab()
        return self._copilot.prompt()[:_MOST_SHOWN]

    def _act(self, command: str) -> Outcome:
        turn = self._copilot.take(command)
        if self._copilot.ending is None:
            self._result = describe(turn.result, _CHARACTERS)
            return Outcome(self._result, 0.0)
        self._verdict = verdict = self._score()
        won = verdict.kind == "solved"
        return Outcome(verdict.words, GOAL_REWARD if won else -GOAL_REWARD, terminated=True, success=won)

    def _explain(self, command: str, outcome: Outcome) -> Why | None:
        ending = self._copilot.ending and self._copilot.ending.kind
        return why(self._copilot.turns[-1], ending, outcome.success, self._admissible_commands(), TEST)

    def _observe(self, outcome: Outcome) -> str:
        shown = self._copilot.prompt()
        if not outcome.terminated and outcome.feedback != self._result:
            head, steps, left = shown.rpartition("\n# Steps left\n")
            shown = f"{head.removesuffix(self._result)}{outcome.feedback}{steps}{left}"
        return (f"{shown}\n# Verdict\n{outcome.feedback}" if outcome.terminated else shown)[:_MOST_SHOWN]

    def _admissible_commands(self) -> tuple[str, ...]:
        here = self._copilot.sandbox.overlay.folder(self._copilot.sandbox.cwd)
        commands = [*(f"cd {name}" for name in here.folders), *([UP] if self._copilot.sandbox.cwd else ())]
        commands += [f"cat {name}" for name in here.files]
        return ("ls", *map(command_line_of, commands[: MAX_COMMANDS - 2]), EXIT)

    def _get_state(self) -> tuple[Any, ...]:
        turns = tuple((each.command, each.reasoning, tuple(each.result)) for each in self._copilot.turns)
        return (tuple(self._copilot.sandbox.snapshot()), turns, self._verdict and tuple(self._verdict))

    def _set_state(self, state: tuple[Any, ...]) -> None:
        files, turns, verdict = state
        self._copilot.sandbox.restore(SandboxState(*files))
        self._copilot.turns = [Turn(command, reasoning, CommandResult(*result)) for command, reasoning, result in turns]
        self._verdict = verdict and ChangeVerdict(*verdict)

    def _test(self, rest: str) -> CommandResult:
        if rest:
            return CommandResult("", f"{TEST}: takes no arguments\n", 2)
        return checked(self._task, self._copilot.sandbox.snapshot().changes)

    def _patch(self, rest: str) -> CommandResult:
        texts = {**self._task.before(), **self._kept()}
        return applied(texts, rest, self._copilot.sandbox.overlay.write)

    def _kept(self) -> dict[str, str]:
        return self._task.counted(self._copilot.sandbox.changed_files())

    def _score(self) -> ChangeVerdict:
        kept = self._kept()
        if len(commands(self._task.before(), kept)) >= self.horizon:
            return ChangeVerdict("unsolved", _UNREPEATABLE.format(horizon=self.horizon))
        return scored(self._task, tuple(sorted(kept.items())))

    @property
    def free_commands(self) -> Shell:
        """The copilot's grammar, with the commands of a task."""
        return Shell(FINAL["change"], COMMANDS)

    def recorded_actions(self) -> list[str]:
        """Return the patch, as commands, and `exit`: programs print other things each time."""
        kept = self._kept()
        found = commands(self._task.before(), kept)
        return [*(found if len(found) < self.horizon else []), EXIT]

    def reference(self) -> list[str]:
        """Return the patch that restores the original, or writes a program that answers, and `exit`."""
        if self._ended:
            return []
        before = {**self._task.before(), **self._kept()}
        return [*commands(before, self._task.solution()), EXIT]
