"""What every kind of free task has: files that count, a check that the player may ask for, a verdict on changes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, NamedTuple, Protocol

from natlang_envs.sandbox import AutoExploreSandbox, ChangedFile, CommandResult

Kind = Literal["solved", "unsolved"]


class Verdict(NamedTuple):
    """What changes are worth.

    Attributes:
        kind: `solved` or `unsolved`.
        words: Why, in a sentence.
    """

    kind: Kind
    words: str


class Rules(Protocol):
    """The rules of one task."""

    def before(self) -> Mapping[str, str]:
        """Return the files that may differ at the end, as they are at the start; one that is not there is empty."""
        ...

    def check(self, sandbox: AutoExploreSandbox) -> CommandResult:
        """Answer the command `test`."""
        ...

    def score(self, kept: Mapping[str, str]) -> Verdict:
        """Return what changed files are worth, which `counted` returned, in a fresh run.

        Raises:
            UsageError: The lab or the task's repository is not here, or nothing isolates on this machine.
        """
        ...

    def solution(self) -> Mapping[str, str]:
        """Return changed files that solve the task (privileged knowledge)."""
        ...


def counted(rules: Rules, changed: tuple[ChangedFile, ...]) -> dict[str, str]:
    """Return of changed files the texts of those that count; all others are as they were when the score is taken."""
    before = rules.before()
    kept: dict[str, str] = {}
    for each in changed:
        if each.path in before and each.after is not None and not each.link:
            try:
                kept[each.path] = each.after.decode()
            except UnicodeDecodeError:
                continue
    return {path: text for path, text in kept.items() if text != before[path]}
