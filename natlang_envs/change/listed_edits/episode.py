"""The rules of AutoExplore-Change for one episode."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from natlang_envs.autoexplore.episode import GOAL_REWARD, stepped
from natlang_envs.change.listed_edits.tasks import ChangeTask
from natlang_envs.change.listed_edits.views import ChangeView, EditSite, Key
from natlang_envs.env import Outcome
from natlang_envs.errors import UsageError
from natlang_envs.repository.texts import observation, unknown_command

HORIZON = 30
TESTS = 3  # runs of the tests
NAMES = 20  # failing tests that a run names
MAX_NAME = 200  # characters of a test's name

_TASK = "Mend what this issue reports by one edit, and submit it; tests that you do not see judge it, too: {}"
_NOTHING = "(none)"
_LEFT = "You left without a repair. The work is over."
_LAST_STEP = "That was the last step. The work is over."
_RIGHT = "All tests pass. The work is over."
_WRONG = "Tests fail: {} of those that failed before pass, {} of those that passed fail. The work is over."


def submitted(broken: int, failing: int, partial: bool) -> Outcome:
    """Return the end by `submit`: `broken` are the tests that failed before, `failing` those that fail now."""
    repaired, spoiled = (broken & ~failing).bit_count(), (failing & ~broken).bit_count()
    if not failing:
        return Outcome(_RIGHT, GOAL_REWARD, terminated=True, success=True)
    share = max(0.0, (repaired - spoiled) / broken.bit_count()) if partial else 0.0
    return Outcome(_WRONG.format(repaired, spoiled), GOAL_REWARD * (2 * share - 1), terminated=True)


def ran(tests: Sequence[str], visible: int, failing: int, left: int) -> str:
    """Return the answer to `test`, which names failing tests among those that are visible."""
    count = visible.bit_count()
    runs = "1 run is" if left == 1 else f"{left or 'no'} runs are"
    failed = [name for bit, name in enumerate(tests) if failing & visible & 1 << bit]
    if not failed:
        return f"All {count} tests pass that you may see; {runs} left."
    shown = [name if len(name) <= MAX_NAME else f"{name[:MAX_NAME]}…" for name in failed[:NAMES]]
    more = [f"and {len(failed) - NAMES} more"] if len(failed) > NAMES else []
    return "\n".join([f"{len(failed)} of {count} tests fail that you may see; {runs} left:", *shown, *more])


class ChangeEpisode:
    """The view that is open, `start` at first, the edit that is made, and the runs of the tests that are left.

    `partial`: a wrong repair is paid for what it repairs.
    """

    __slots__ = ("_partial", "_shown", "commands", "edit", "effects", "goal", "task", "tests_left", "view")

    def __init__(self, goal: ChangeTask, start: Key, partial: bool) -> None:
        self.goal = goal
        self.task = _TASK.format(goal.question)
        self._partial = partial
        self.edit: EditSite | None = None
        self.tests_left = TESTS
        self._shown: tuple[str, ...] = ()
        self._go(start)

    def _go(self, key: Key) -> None:
        self.view: ChangeView = self.goal.view(key)
        self._list()

    def _list(self) -> None:
        self.commands, self.effects = self.view.listed(self.edit is not None, self.tests_left > 0)

    def act(self, command: str, last: bool) -> Outcome:
        """Apply a command; `last` says that the horizon is reached with it."""
        effect = self.effects.get(command)
        if effect is None:
            return stepped(unknown_command(command), last, _LAST_STEP)
        feedback = effect.feedback
        match effect.kind:
            case "go":
                self._go(effect.key)
            case "cat":
                path = effect.key[1]
                feedback = self.goal.repository.read(path, self._shown.count(path))
                self._shown = (*self._shown, path)
            case "edit":
                self.edit = EditSite(effect.key[1], effect.number)
                self._list()
            case "undo":
                self.edit = None
                feedback = "Nothing is edited now."
                self._list()
            case "test":
                self.tests_left -= 1
                failing = self.goal.fails(self.edit)
                feedback = ran(self.goal.repository.tests, self.goal.visible, failing, self.tests_left)
                self._list()
            case "submit":
                return submitted(self.goal.broken, self.goal.fails(self.edit), self._partial)
            case "exit":
                return Outcome(_LEFT, -GOAL_REWARD, terminated=True)
        return stepped(feedback, last, _LAST_STEP)

    def observe(self, steps_left: int, feedback: str) -> str:
        """Return the observation after a command that showed `feedback`, `""` at the start."""
        place, edit = self.view.text, _NOTHING
        if self.edit is not None:
            path = self.edit.path
            line, text, preview = self.goal.source(path).edited(self.edit.number)
            edit = f"line {line} of {path}:\n{preview}"
            if line in self.view.lines and self.view.key[1] == path:
                place = self.view.text_with(line, text)
        place = f"{place}\n# Edit\n{edit}\n# Test runs left\n{self.tests_left}"
        return observation(self.task, place, steps_left, feedback)

    def state(self) -> tuple[Any, ...]:
        """Return the view, the edit, the runs of tests that are left, and the files shown, each time that one was."""
        return (self.view.key, self.edit, self.tests_left, self._shown)

    def set_state(self, state: tuple[Any, ...]) -> None:
        key, edit, self.tests_left, shown = state
        kind, path, line, page = key
        try:
            self.edit = None if edit is None else EditSite(*edit)
            if self.edit is not None:
                self.goal.source(self.edit.path).edited(self.edit.number)
            self._go((kind, path, line, page))
        except (KeyError, IndexError):
            raise UsageError(f"page {page} of {path!a}, or what is edited, is not in this repository") from None
        for each in shown:
            if not self.goal.repository.is_file(each):
                raise UsageError(f"{each!a} is no file of this repository")
        self._shown = tuple(shown)
