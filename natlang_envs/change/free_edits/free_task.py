"""What every task of free edits has: files that count, a check that the player may ask for, a verdict on changes."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar, Literal, NamedTuple

from natlang_envs.sandbox import AutoExploreSandbox, ChangedFile, CommandResult


class ChangeVerdict(NamedTuple):
    """Whether changes solve a task."""

    kind: Literal["solved", "unsolved"]
    words: str  # the reason, in a sentence


@dataclass(frozen=True, eq=False)
class FreeTask(ABC):
    """A task."""

    id: str
    kind: str  # what was done to the code, or is asked of the data
    issue: str  # what is asked, in words

    about: ClassVar[str]  # `code` or `data`

    @abstractmethod
    def folder(self) -> Path:
        """Return the folder that the player works over."""

    @abstractmethod
    def before(self) -> Mapping[str, str]:
        """Return the files that may differ at the end, as they are at the start; one that is not there is empty."""

    @abstractmethod
    def check(self, sandbox: AutoExploreSandbox) -> CommandResult:
        """Answer the command `test`."""

    @abstractmethod
    def score(self, kept: Mapping[str, str]) -> ChangeVerdict:
        """Judge the changed files that `counted` returned, in a fresh run."""

    @abstractmethod
    def solution(self) -> Mapping[str, str]:
        """Return changed files that solve the task (privileged knowledge)."""

    def counted(self, changed: tuple[ChangedFile, ...]) -> dict[str, str]:
        """Return the texts of changed files that count; all others are as they were when the score is taken."""
        before = self.before()
        kept: dict[str, str] = {}
        for each in changed:
            if each.path in before and each.after is not None and not each.link:
                with suppress(UnicodeDecodeError):
                    kept[each.path] = each.after.decode()
        return {path: text for path, text in kept.items() if text != before[path]}
