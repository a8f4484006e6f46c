"""The tables of the live boards: an agent's last three rounds together, and what it loses against the public tasks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import date
from itertools import groupby
from pathlib import Path
from statistics import fmean

from leaderboard.rounds import OPEN_FOR, ROUNDS_FILE, Commitment, commitments, read_rounds
from leaderboard.schema import today
from leaderboard.standings.rows import Row, Table
from leaderboard.standings.tables import removed_entries
from natlang_envs.evaluation.live import live_boards
from natlang_envs.evaluation.statistics import Interval, difference_interval, over_rounds, paired_p

ROUNDS = 3  # that a rank is the mean of
_TIED = 0.05


@dataclass(frozen=True)
class LiveRow:
    """An agent on a live board: its last closed rounds, at most three.

    Attributes:
        tied: Whether a paired test on the rounds that both played cannot tell it from the ranked row above.
        rounds: For each month the row of its entry, oldest first; None for a commitment without an entry, a round that
            counts as lost.
        interval: The 95% interval of the success rate, over tasks and rounds.
        static: Its row on the board whose tasks are public, if it has one and played it with the same weights.
        gap: The success rate less that of `static`; a negative one is what the agent owes to known tasks.
        reason: Why it has no rank, or an empty string.
    """

    rank: int | None
    tied: bool
    name: str
    rounds: tuple[tuple[str, Row | None], ...]
    success_rate: float
    interval: Interval
    static: Row | None
    gap: float | None
    gap_interval: Interval | None
    reason: str

    @property
    def outcomes(self) -> dict[str, list[bool]]:
        """Whether each episode of the rounds that it played was a success, by month and task."""
        return {
            f"{month} {task}": found
            for month, row in self.rounds
            if row is not None
            for task, found in row.entry.by_task.items()
        }


@dataclass(frozen=True)
class LiveTable:
    """The rows of a live board, ranked ones first, each best first.

    `months` are its closed rounds, oldest first; `running` are open ones with the number of agents committed to each.
    """

    board: str
    months: tuple[str, ...]
    running: tuple[tuple[str, int], ...]
    rows: tuple[LiveRow, ...]


def live_tables(tables: Sequence[Table], submissions: Path, day: date | None = None) -> list[LiveTable]:
    """Return the tables of the live boards with commitments; `day` decides which rounds are closed."""
    beside, day = submissions.parent, day or today()
    begun = read_rounds(beside / ROUNDS_FILE)
    removed = removed_entries(submissions)
    rows = {row.path: row for table in tables for row in table.entries}
    missing = {path for table in tables for path, _ in table.missing}
    found: list[LiveTable] = []
    for board in live_boards():
        made = [each for each in commitments(beside, board) if each.round.month in begun]
        made = [each for each in made if _path(each) not in removed | missing]
        closed = [each for each in made if day > each.round.opens + OPEN_FOR]
        running = [each.round.month for each in made if each not in closed]
        by_name = groupby(sorted(closed, key=lambda each: (each.name, each.protocol)), key=lambda each: each.name)
        live = [_row(name, [*those][-ROUNDS:], rows) for name, those in by_name]
        live.sort(key=lambda row: (bool(row.reason), -row.success_rate, row.name))
        if made:
            months = tuple(sorted({each.round.month for each in closed}))
            waiting = tuple((month, running.count(month)) for month in sorted(set(running)))
            found.append(LiveTable(board, months, waiting, tuple(_ranked(live))))
    return found


def _path(made: Commitment) -> str:
    return f"{made.protocol}/{made.name}"


def _row(name: str, made: list[Commitment], rows: dict[str, Row]) -> LiveRow:
    rounds = tuple((each.round.month, rows.get(_path(each))) for each in made)
    played = [row for _, row in rounds if row is not None]
    size = max((len(row.entry.protocol.episodes) for row in played), default=1)
    groups = [[[False]] * size if row is None else list(row.entry.by_task.values()) for _, row in rounds]
    rate = fmean(row.entry.result.success_rate if row is not None else 0.0 for _, row in rounds)
    interval = over_rounds(groups)
    static = rows.get(f"{made[-1].round.board}/{name}")
    if static is not None and played and static.entry.submission.checkpoint != played[-1].entry.submission.checkpoint:
        static = None
    reasons = [f"{row.entry.protocol.name}: {row.reason}" for row in played if row.reason]
    if not played:
        reasons.append("no entry came for what it was committed to")
    gap = gap_interval = None
    if static is not None and played:
        score = static.entry.score
        gap = rate - score.success_rate
        gap_interval = difference_interval(rate, interval, score.success_rate, score.interval)
    return LiveRow(None, False, name, rounds, rate, interval, static, gap, gap_interval, "; ".join(reasons))


def _ranked(rows: list[LiveRow]) -> list[LiveRow]:
    found: list[LiveRow] = []
    for position, row in enumerate(rows, 1):
        above = found[-1] if found else None
        if row.reason:
            found.append(row)
            continue
        rank, tied = position, False
        if above is not None and above.rank is not None:
            if above.success_rate == row.success_rate:
                rank = above.rank
            tied = _are_tied(above, row)
        found.append(replace(row, rank=rank, tied=tied))
    return found


def _are_tied(one: LiveRow, other: LiveRow) -> bool:
    """Return whether the rounds that both played do not tell two rows apart; without any, their intervals decide."""
    ours, theirs = one.outcomes, other.outcomes
    both = ours.keys() & theirs.keys()
    if not both:
        return other.interval.high >= one.interval.low
    return paired_p({task: ours[task] for task in both}, {task: theirs[task] for task in both}) >= _TIED
