"""One shift of one person, and what lies between two."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import date, timedelta

from swaps.clock import DAY, HOUR, Moment, show_time

# Where a close is never followed by an open.
EARLY_AND_LATE = frozenset({"C04", "C09"})
CLOSES_FROM = 20 * HOUR
OPENS_BEFORE = 7 * HOUR


@dataclass(frozen=True)
class Shift:
    """A shift by the clock on the wall; `end` is above 24:00 when it ends after midnight.

    Raises:
        ValueError: It ends before it begins.
    """

    employee: str
    site: str
    day: date
    start: int
    end: int
    keeper: bool = False

    def __post_init__(self) -> None:
        """Refuse a shift of nothing."""
        if not 0 <= self.start < self.end:
            raise ValueError(f"{self.employee}: {show_time(self.start)} to {show_time(self.end)}")

    @property
    def minutes(self) -> int:
        """How long it is."""
        return self.end - self.start

    @property
    def begins(self) -> Moment:
        """Its first moment."""
        return Moment(self.day, self.start)

    @property
    def ends(self) -> Moment:
        """The moment after its last."""
        return Moment(self.day, 0).plus(self.end)

    @property
    def is_close(self) -> bool:
        """Whether it is one that closes the café."""
        return self.end >= CLOSES_FROM

    @property
    def is_open(self) -> bool:
        """Whether it is one that opens the café."""
        return self.start < OPENS_BEFORE

    def given_to(self, employee: str) -> "Shift":
        """Return the same shift for somebody else."""
        return Shift(employee, self.site, self.day, self.start, self.end, self.keeper)

    def __str__(self) -> str:
        """Return it as the app shows it."""
        key = " (keys)" if self.keeper else ""
        return f"{self.day:%a %d %b} {show_time(self.start)}-{show_time(self.end % DAY)} {self.site}{key}"


def rest_between(one: Shift, other: Shift) -> int:
    """Return the minutes between two shifts, whichever is first; below zero if they overlap."""
    first, second = sorted((one, other), key=lambda shift: (shift.begins, shift.ends))
    return second.begins.minus(first.ends)


def close_then_open(one: Shift, other: Shift) -> bool:
    """Tell whether one shift closes and the other opens the day after, at a café with early and late hours."""
    if not {one.site, other.site} & EARLY_AND_LATE:
        return False
    return one.is_close and other.is_open and other.day - one.day == timedelta(days=1)


def longest_run(shifts: Iterable[Shift]) -> int:
    """Return the most days in a row on which somebody works."""
    days = sorted({shift.day for shift in shifts})
    longest = current = 0
    before = None
    for day in days:
        current = current + 1 if before is not None and day - before == timedelta(days=1) else 1
        longest = max(longest, current)
        before = day
    return longest
