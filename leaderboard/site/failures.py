"""Why an entry's episodes fail, and why its commands do, as its page shows it."""

from __future__ import annotations

from typing import NamedTuple

from leaderboard.result import Result
from natlang_envs.evaluation.causes import reason_in_words
from natlang_envs.why import CAUSES


class Failure(NamedTuple):
    """One line: what went wrong, how often, and the share among all that failed."""

    name: str
    words: str
    times: int
    share: float


def failures(result: Result) -> dict[str, list[Failure]]:
    """Return the tables of a page by what failed, the most frequent first; none where nothing failed or was counted."""
    counted = {"episodes": result.failed_episodes, "commands": result.failed_commands}
    return {what: _lines(counts, what == "episodes") for what, counts in counted.items() if counts}


def _lines(counts: dict[str, int], episodes: bool) -> list[Failure]:
    total = sum(counts.values())
    return [
        Failure(name, reason_in_words(name) if episodes else CAUSES[name], count, count / total)
        for name, count in sorted(counts.items(), key=lambda each: (-each[1], each[0]))
    ]
