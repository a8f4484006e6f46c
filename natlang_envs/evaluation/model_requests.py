"""What an episode asked of a model: the requests, kept in a file beside the run, their bill, and how answers were read.

A line is a request, written when its answer comes. A player that is asked for the same step again takes the answer from
there: so an episode goes on inside itself, with the same recording and the same bill.
"""

from __future__ import annotations

import json
import os
import shutil
import threading
from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from natlang_envs.errors import UsageError
from natlang_envs.evaluation.chat_response import Bill, Problem
from natlang_envs.files import json_line
from natlang_envs.trajectory import Trajectory

REQUESTS_FOLDER = "requests"
# Why an answer gives no command; each is played as itself in brackets, which no environment understands.
UNREAD = {
    "no command": "named none of the actions",
    "ambiguous": "named several of the actions, and none of them as its choice",
    "unfinished": "was cut at its limit of tokens",
}
_MANY = 0.1  # of the answers
_ADDING = threading.Lock()  # one for all, so that what an agent is given can be pickled
ENDED = {"context": "its prompt is too long for the model", "refused": "the provider refuses its prompt"}


class Budget:
    """What a run may cost, and what it has cost so far; for several threads.

    Args:
        tokens: The most tokens, or None.
        cost: The most dollars, or None.
        prices: Dollars for a million tokens read, and written.
    """

    def __init__(
        self, tokens: int | None = None, cost: float | None = None, prices: tuple[float, float] = (0, 0)
    ) -> None:
        self._tokens, self._cost, self._prices = tokens, cost, prices
        self.bill = Bill()

    def add(self, bill: Bill) -> None:
        with _ADDING:
            self.bill = self.bill.plus(bill)

    def check(self) -> None:
        """Raise `UsageError` where all is spent; what is in flight then still comes, and is kept."""
        bill, more = self.bill, "what is played is kept: allow more and add --resume"
        if self._tokens is not None and bill.tokens >= self._tokens:
            raise UsageError(f"{bill.tokens:,} tokens of at most {self._tokens:,} are spent; {more}")
        if self._cost is not None and (cost := bill.cost(*self._prices)) >= self._cost:
            raise UsageError(f"${cost:.2f} of at most ${self._cost:.2f} are spent; {more}")
        if bill.uncounted and (self._tokens, self._cost) != (None, None):
            raise UsageError(f"the endpoint does not count its tokens, so no limit of them can be kept; {more}")


class Requests:
    """The requests of one episode.

    Args:
        path: The file that keeps them; what it holds is taken in. None keeps nothing.
        budget: Of the run.

    Attributes:
        bill: What they took.
        answers: How often answers were read in each form, or not read, by problem; requests that failed are `failed`.
        ended: Why nothing more is asked in this episode: `context`, `refused`, or None.
    """

    def __init__(self, path: Path | None = None, budget: Budget | None = None) -> None:
        self._path, self._budget = path, budget or Budget()
        self._answered: dict[int, dict[str, Any]] = {}
        self._bills: dict[int, Bill] = {}
        self.bill = Bill()
        self.answers: Counter[str] = Counter()
        self.ended: str | None = None
        if path is not None and path.exists():
            whole, _, cut = path.read_bytes().rpartition(b"\n")  # a kill may have cut the last line
            if cut:
                os.truncate(path, len(whole) + bool(whole))
            try:
                for line in whole.splitlines():
                    self._take(json.loads(line))
            except (ValueError, TypeError, KeyError, RecursionError) as error:
                raise UsageError(f"{path} holds no requests ({error}): delete it to begin the episode anew") from None

    @classmethod
    def beside(cls, out: Path | None, position: int, budget: Budget | None = None) -> Requests:
        here = out is not None and out.exists()  # a worker may be on another machine
        return cls(out / REQUESTS_FOLDER / f"{position}.jsonl" if out is not None and here else None, budget)

    @property
    def remedy(self) -> str:
        return "; what came is kept: add --resume to go on" if self._path is not None else ""

    def answered(self, step: int) -> Mapping[str, Any] | None:
        return self._answered.get(step)

    def tokens(self, step: int) -> int:
        return self._bills.get(step, Bill()).tokens

    def check(self) -> None:
        self._budget.check()

    def read(self, step: int, form: str) -> None:
        self.answers[form] += 1
        self._answered[step]["form"] = form
        self.ended = form if form in ENDED else None

    def fail(self, step: int, problem: Problem) -> None:
        self.keep(step, problem.bill, failed=problem.why)

    def keep(self, step: int, bill: Bill, **facts: Any) -> Mapping[str, Any]:
        line = {"step": step, "bill": bill, **facts}
        self._take(line)
        self._budget.add(bill)
        if self._path is not None:
            self._path.parent.mkdir(exist_ok=True)
            with self._path.open("ab") as file:
                file.write(json_line(line))
        return line

    def _take(self, line: dict[str, Any]) -> None:
        step, bill = line["step"], Bill(*line["bill"])
        self.bill = self.bill.plus(bill)
        self._bills[step] = self._bills.get(step, Bill()).plus(bill)
        if "failed" in line:
            self.answers["failed"] += 1
        else:
            self._answered[step] = line


class AnswerReport(NamedTuple):
    read: dict[str, int]  # the number of answers read in each form
    unread: dict[str, int]  # the number of answers not read, by problem
    losses: Counter[str]  # the number of lost episodes by cause: `unreadable`, `context` or `refused`
    lost: int  # the number of lost episodes
    example: str  # an answer that was not read

    @property
    def lines(self) -> list[str]:
        read, unread = (f"{sum(each.values()):,} ({_counts(each)})" for each in (self.read, self.unread))
        lines = [f"read {read}" + f", not read {unread}" * bool(self.unread)]
        if self.losses:
            parts = (f"{count / self.lost:.0%} of losses {name}" for name, count in self.losses.most_common())
            lines.append("; ".join(parts))
        return lines

    @property
    def warning(self) -> str:
        """A line where many answers were not read, with an example; else empty."""
        unread, read = (sum(each.values()) for each in (self.unread, self.read))
        share = unread / max(unread + read, 1)
        return f"{share:.0%} of the answers were not read, such as: {self.example}" if share > _MANY else ""


def report_answers(answers: Mapping[str, int], episodes: Iterable[Trajectory]) -> AnswerReport:
    """Return how answers were read, by what a run counted and by its episodes."""
    known = {**UNREAD, **ENDED, "failed": ""}
    lost = [each for each in episodes if not each.success]
    marks = {f"[{name}]": name for name in UNREAD}
    pairs = ((action, words) for each in lost for action, words in zip(each.actions, each.reflections, strict=False))
    example = next((words.partition("] ")[2] for action, words in pairs if action in marks and words), "")
    return AnswerReport(
        {name: count for name, count in answers.items() if name not in known},
        {name: count for name, count in answers.items() if name in UNREAD},
        Counter(why for each in lost if (why := lost_by(each))),
        len(lost),
        " ".join(example.split())[:120],
    )


def lost_by(episode: Trajectory) -> str:
    """Return what lost an episode: `context`, `refused`, `unreadable` (its last answer, or half of all), or nothing."""
    last = episode.actions[-1].strip("[]") if episode.actions and episode.actions[-1].startswith("[") else ""
    unread = sum(action.startswith("[") and action[1:-1] in UNREAD for action in episode.actions)
    if episode.success or last in ENDED:
        return "" if episode.success else last
    return "unreadable" if last in UNREAD or 2 * unread >= len(episode.actions) > 0 else ""


def _counts(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{name} {count:,}" for name, count in sorted(counts.items(), key=lambda each: -each[1]))


def unfinished(out: Path) -> list[Path]:
    return sorted((out / REQUESTS_FOLDER).glob("*.jsonl"))


def forget(out: Path, position: int | None = None) -> None:
    if position is None:
        shutil.rmtree(out / REQUESTS_FOLDER, ignore_errors=True)
    else:
        (out / REQUESTS_FOLDER / f"{position}.jsonl").unlink(missing_ok=True)
