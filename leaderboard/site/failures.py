"""Why an entry's episodes fail, and why its commands do, as its page shows it."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from leaderboard.result import Result
from natlang_envs.evaluation.causes import reason_in_words
from natlang_envs.evaluation.model_requests import report_answers
from natlang_envs.trajectory import parse_line, stream_lines
from natlang_envs.why import CAUSES


class Failure(NamedTuple):
    name: str
    words: str
    times: int
    share: float


def failures(result: Result) -> dict[str, list[Failure]]:
    """Return the tables of a page by what failed, the most frequent first; none where nothing failed or was counted."""
    counted = {"episodes": result.failed_episodes, "commands": result.failed_commands}
    return {what: _lines(counts, what == "episodes") for what, counts in counted.items() if counts}


def answers_told(answers: dict[str, int] | None, recording: Path) -> str:
    """Return how a model's answers were read and what lost its episodes, in words; empty where none was asked."""
    if answers is None:
        return ""
    return "; ".join(report_answers(answers, map(parse_line, stream_lines(recording))).lines)


def _lines(counts: dict[str, int], episodes: bool) -> list[Failure]:
    total = sum(counts.values())
    return [
        Failure(name, reason_in_words(name) if episodes else CAUSES[name], count, count / total)
        for name, count in sorted(counts.items(), key=lambda each: (-each[1], each[0]))
    ]
