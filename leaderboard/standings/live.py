"""The tables of the live boards: an agent's last three rounds together, and what it loses against the public tasks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import date
from itertools import groupby, pairwise
from pathlib import Path
from statistics import fmean

from leaderboard.rounds import OPEN_FOR, ROUNDS_FILE, Commitment, commitments, read_rounds
from leaderboard.schema import today
from leaderboard.standings.rows import Row, Table
from leaderboard.standings.tables import TIED, removed_entries
from natlang_envs.evaluation.live import live_boards
from natlang_envs.evaluation.statistics import Interval, difference_interval, over_rounds, paired_p

ROUNDS = 3  # that a rank is the mean of


@dataclass(frozen=True)
class LiveRow:
    """An agent on a live board: its last closed rounds, at most three."""

    rank: int | None
    tied: bool  # whether a paired test on the rounds that both played cannot tell it from the ranked row above
    name: str
    # For each month the row of its entry, oldest first; None for a commitment without an entry, a round that counts as
    # lost.
    rounds: tuple[tuple[str, Row | None], ...]
    success_rate: float
    interval: Interval  # the 95% interval of the success rate, over tasks and rounds
    static: Row | None  # its row on the board whose tasks are public, if it has one and played it with the same weights
    gap: float | None  # the success rate less that of `static`; a negative one is what the agent owes to known tasks
    gap_interval: Interval | None
    reason: str  # why it has no rank, or an empty string

    @property
    def outcomes(self) -> dict[str, list[bool]]:
        """Whether each episode of the rounds that it played was a success, by month and task."""
        played = [(month, row) for month, row in self.rounds if row is not None]
        return {f"{month} {task}": found for month, row in played for task, found in row.entry.by_task.items()}


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
        live.sort(key=lambda row: (-row.success_rate, row.name))
        if made:
            months = tuple(sorted({each.round.month for each in closed}))
            waiting = tuple((month, running.count(month)) for month in sorted(set(running)))
            ranked = _ranked([row for row in live if not row.reason])
            found.append(LiveTable(board, months, waiting, (*ranked, *(row for row in live if row.reason))))
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
    rates = [row.success_rate for row in rows]
    tied = [False] * bool(rows) + [_are_tied(above, row) for above, row in pairwise(rows)]
    ranks = [rates.index(rate) + 1 for rate in rates]  # equal rates share one
    return [replace(row, rank=rank, tied=each) for row, rank, each in zip(rows, ranks, tied, strict=True)]


def _are_tied(one: LiveRow, other: LiveRow) -> bool:
    """Return whether the rounds that both played do not tell two rows apart; without any, their intervals decide."""
    ours, theirs = one.outcomes, other.outcomes
    both = ours.keys() & theirs.keys()
    if not both:
        return other.interval.high >= one.interval.low
    return paired_p({task: ours[task] for task in both}, {task: theirs[task] for task in both}) >= TIED
