"""The rules of AutoExplore-Answer for one episode, around those of AutoExplore or of AutoExplore-Search."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, Final, Literal, NamedTuple

from natlang_envs.autoexplore.answering.keys import AnswerKey
from natlang_envs.autoexplore.answering.passages import Passage, lines_shown, numbered_text, passages, picks_of
from natlang_envs.autoexplore.answering.score import (
    MOST_CITATIONS,
    MOST_WORDS,
    AnswerScore,
    Citation,
    file_lines,
    score_answer,
)
from natlang_envs.autoexplore.dataset.labels import Label
from natlang_envs.autoexplore.episode import GOAL_REWARD, LOST, ExploreEpisode, stepped
from natlang_envs.autoexplore.searching.episode import SearchEpisode
from natlang_envs.env import Outcome
from natlang_envs.errors import UsageError
from natlang_envs.repository.texts import EXIT, LAST_STEP, unknown_command
from natlang_envs.why import Why, misspelt

Form = Literal["text", "listed"]
FORMS: tuple[Form, ...] = ("text", "listed")
BACK, DONE = "back", "done"
LONGEST = 20  # steps of an episode, unless the environment is made with others
TASKS: Final[dict[Form, str]] = {
    "text": f"Answer this question in at most {MOST_WORDS} words by `answer TEXT`, after `cite PATH:LINE` for at most "
    f"{MOST_CITATIONS} lines that `cat` has shown and that prove it: ",
    "listed": "Answer this question by `quote` of lines of a file that prove it, `pick` of the words of the answer in "
    "their order, and `done`: ",
}
_LEFT = "You left without an answer. The search is over."
_CITED = re.compile(r"(.+):([1-9]\d{0,8})")
_STEPS = "\n# Steps left\n"


class Opened(NamedTuple):
    """The file that is open in the listed form: the command that reads on, its part, and the passage quoted last."""

    command: str
    path: str
    part: int
    line: int = 0


class AnswerEpisode:
    """Where the player is, what was read and cited, and the words picked.

    Attributes:
        inner: The episode of the walk or the search; its `id` names nothing here.
        score: What the answer was worth, once it is given.
    """

    def __init__(self, inner: ExploreEpisode | SearchEpisode, label: Label, key: AnswerKey, form: Form) -> None:
        self.inner, self.label, self.key, self.form = inner, label, key, form
        self.goal, self.navigation = inner.goal, inner.navigation
        self.task = inner.task = TASKS[form] + inner.goal.question
        self.citations: tuple[Citation, ...] = ()
        self.picks: tuple[str, ...] = ()
        self.opened: Opened | None = None
        self.score: AnswerScore | None = None

    @property
    def commands(self) -> tuple[str, ...]:
        opened, ends = self.opened, [DONE] * bool(self.picks)
        if opened is None:
            found = (each for each in self.inner.commands if not each.startswith("id ") and each != EXIT)
            return (*found, *ends, EXIT)
        if opened.line:
            words = (each for each in picks_of(self._quoted(opened)) if each not in self.picks)
            return (*(f"pick {each}" for each in words), *ends, BACK, EXIT)
        full = len(self.citations) == MOST_CITATIONS  # then only what is cited can be quoted
        lines = (each.line for each in passages(self.navigation, opened.path, opened.part))
        quotes = (f"quote {line}" for line in lines if not full or (opened.path, line) in self.citations)
        reads_on = [opened.command] if self.navigation.parts(opened.path) > 1 else []
        return (*quotes, *reads_on, *ends, BACK, EXIT)

    def _quoted(self, opened: Opened) -> Passage:
        found = passages(self.navigation, opened.path, opened.part)
        return next(each for each in found if each.line == opened.line)

    def act(self, command: str, last: bool) -> Outcome:
        if command == EXIT:
            return Outcome(_LEFT, -GOAL_REWARD, terminated=True)
        verb, _, rest = command.partition(" ")
        if self.form == "text" and verb == "answer" and rest.strip():
            return self._end(rest)
        if command not in self.commands:
            cited = self.form == "text" and verb == "cite" and bool(rest.strip())
            return stepped(self._cite(rest.strip()) if cited else unknown_command(command), last, LAST_STEP)
        if command == DONE:
            return self._end(" ".join(self.picks))
        if command == BACK:
            return stepped(self._back(), last)
        if verb == "pick" and self.opened:
            self.picks = (*self.picks, rest)
            return stepped(f"The answer so far: {' '.join(self.picks)}", last)
        if verb == "quote" and self.opened:
            self.opened = self.opened._replace(line=int(rest))
            self.citations = tuple(dict.fromkeys((*self.citations, Citation(self.opened.path, self.opened.line))))
            return stepped(f"You quote line {rest}:\n{self._quoted(self.opened).text}", last)
        return self._walk(command, last)

    def _walk(self, command: str, last: bool) -> Outcome:
        before = len(self.inner.shown)
        outcome = self.inner.act(command, last)
        if len(self.inner.shown) == before:
            return outcome
        path, navigation = self.inner.shown[-1], self.navigation
        number = self.inner.shown.count(path) - 1
        if self.form == "listed":
            self.opened = Opened(command, path, number % navigation.parts(path))
        plain = navigation.text(path, number)
        return outcome._replace(feedback=numbered_text(navigation, path, number) + outcome.feedback[len(plain) :])

    def _back(self) -> str:
        assert self.opened is not None
        if self.opened.line:
            self.opened = self.opened._replace(line=0)
            return f"You see the passages of {self.opened.path} again."
        path, self.opened = self.opened.path, None
        return f"You closed {path}."

    def _cite(self, given: str) -> str:
        match = _CITED.fullmatch(given)
        if match is None:
            return "A citation is `cite PATH:LINE`, with the whole path: nothing was done."
        cited = Citation(match[1], int(match[2]))
        if cited in self.citations:
            return f"{given!a} is cited already: nothing was done."
        if len(self.citations) >= MOST_CITATIONS:
            return f"{MOST_CITATIONS} lines are cited already: nothing was done."
        if not self.has_shown(cited):
            return f"`cat` has not shown {given!a:.200}: nothing was done."
        self.citations = (*self.citations, cited)
        return f"Cited, {len(self.citations)} of at most {MOST_CITATIONS}."

    def has_shown(self, cited: Citation) -> bool:
        navigation, path = self.navigation, cited.path
        parts = {number % navigation.parts(path) for number in range(self.inner.shown.count(path))}
        return any(line.number == cited.line for part in parts for line in lines_shown(navigation, path, part))

    def _end(self, text: str) -> Outcome:
        self.score = self.scored(text, self.citations)
        right = self.score.success
        return Outcome(verdict(self.score), GOAL_REWARD if right else -GOAL_REWARD, terminated=True, success=right)

    def scored(self, text: str, citations: Sequence[Citation]) -> AnswerScore:
        return score_answer(self.label, text, citations, self.key, self.lines)

    def lines(self, path: str) -> Sequence[str]:
        return file_lines(self.navigation.repository, path)

    def observe(self, steps_left: int, feedback: str) -> str:
        head, steps, tail = self.inner.observe(steps_left, feedback).partition(_STEPS)
        cited = "\n".join(f"{path}:{line}" for path, line in self.citations)
        further = {"Cited": cited, "Answer so far": " ".join(self.picks)}
        return head + "".join(f"\n# {name}\n{text}" for name, text in further.items() if text) + steps + tail

    def why(self, command: str, outcome: Outcome) -> Why | None:
        """Return why a command did nothing, or ended the episode without success."""
        verb = command.partition(" ")[0]
        if not outcome.feedback.startswith(unknown_command(command)):
            if self.form == "text" and verb == "cite" and "nothing was done" in outcome.feedback:
                return Why("not offered", "At most three lines can be cited, each once, and after `cat` has shown it.")
            if not outcome.terminated or outcome.success:
                return None
            if command == EXIT:
                return LOST["exit"]
            return Why("wrong answer", "The answer is not right, or no citation supports it.") if self.score else None
        if verb in ("id", "answer", "cite", "quote", "pick", "done"):
            ends = "an answer ends the search: answer TEXT" if self.form == "text" else "done gives the words picked"
            return Why("not offered", f"This cannot be done here; {ends}.")
        if self.opened:
            meant = misspelt(command, self.commands) or ""
            return Why(
                "spelling" if meant else "not offered", "Only what is listed can be done in an open file.", meant
            )
        return self.inner.why(command, outcome)

    def safe_commands(self) -> tuple[str, ...]:
        right = self.scored(" ".join(self.picks), self.citations).success
        return tuple(each for each in self.commands if each != EXIT and (right or each != DONE))

    def state(self) -> tuple[Any, ...]:
        opened = None if self.opened is None else tuple(self.opened)
        return (self.inner.state(), tuple(map(tuple, self.citations)), self.picks, opened)

    def set_state(self, state: tuple[Any, ...]) -> None:
        inner, citations, picks, opened = state
        self.inner.set_state(tuple(inner))
        self.citations = tuple(Citation(*each) for each in citations)
        self.picks, self.opened = tuple(picks), None if opened is None else Opened(*opened)
        if self.opened and self.navigation.repository.kind(self.opened.path) != "file":
            raise UsageError(f"{self.opened.path!a} is no file of this repository")


def verdict(score: AnswerScore) -> str:
    cited = "a citation supports it" if score.cited else "no citation supports it"
    if score.success:
        return "The answer is right, and a citation supports it."
    problem = f"; {score.problem}" if score.problem else ""
    return f"The answer says {score.recall:.0%} of what was asked{problem}; {cited}. The search is over."
