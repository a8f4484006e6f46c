"""Reads the table that a manager types, and knows when it has to be up.

    C03 2026-03-30
    E061* | 06:30-14:30 | - | 06:30-14:30 | 12-20 | - | - | 08:00-16:00
    E064  | - | 07:00-13:00 | ...

One line a person and a week of seven days from Monday; a star behind the number means that they hold the keys.
"""

from collections.abc import Sequence
from datetime import date, timedelta

from swaps.clock import HOUR, Moment, parse_time, show_time
from swaps.shifts import Shift

UP_AT = 17 * HOUR
FRIDAY = 4
NOTICE = timedelta(days=21)
LONGER_NOTICE = timedelta(days=28)
# Rotas whose first day is this or later have the longer notice.
LONGER_FROM = date(2026, 3, 2)
FREE = frozenset({"", "-", "off"})


class BadRota(ValueError):
    """A table that cannot be read; the message names line and day."""


def _span(text: str) -> tuple[int, int]:
    first, dash, last = text.partition("-")
    if not dash:
        raise ValueError(f"{text!r} has no end")
    start, end = (parse_time(part if len(part.strip()) > 2 else f"{part.strip()}:00") for part in (first, last))
    # 22:00-02:00 ends on the next day.
    return start, end if end > start else end + 24 * HOUR


def read_week(text: str) -> list[Shift]:
    """Read one week of one café.

    Raises:
        BadRota: The first day is no Monday, a person stands twice, or a field is no span of time.
    """
    head, *lines = [line for line in text.splitlines() if line.strip()]
    try:
        site, monday = head.split()[0], date.fromisoformat(head.split()[1])
    except (IndexError, ValueError):
        raise BadRota(f"line 1: {head!r} has no café and day") from None
    if monday.weekday() != 0:
        raise BadRota(f"line 1: {monday} is a {monday:%A}")
    shifts: list[Shift] = []
    seen: set[str] = set()
    for row, line in enumerate(lines, start=2):
        name, *fields = (field.strip() for field in line.split("|"))
        employee = name.rstrip("*")
        if employee in seen:
            raise BadRota(f"line {row}: {employee} stands twice")
        seen.add(employee)
        if len(fields) != 7:
            raise BadRota(f"line {row}: {len(fields)} days")
        for number, field in enumerate(fields):
            if field.lower() in FREE:
                continue
            try:
                start, end = _span(field)
                shifts.append(Shift(employee, site, monday + timedelta(days=number), start, end, name.endswith("*")))
            except ValueError as error:
                raise BadRota(f"line {row}, day {number + 1}: {error}") from None
    return shifts


def up_by(first_day: date) -> Moment:
    """Return when a rota must be up: Friday 17:00, at least 21 days before its first day; 28 since March 2026."""
    notice = LONGER_NOTICE if first_day >= LONGER_FROM else NOTICE
    latest = first_day - notice
    friday = latest - timedelta(days=(latest.weekday() - FRIDAY) % 7)
    return Moment(friday, UP_AT)


def without_keys(shifts: Sequence[Shift], day: date, opens: int, closes: int) -> list[tuple[int, int]]:
    """Return the stretches of a day's opening hours in which nobody holds the keys."""
    held = sorted((shift.start, shift.end) for shift in shifts if shift.day == day and shift.keeper)
    gaps, reached = [], opens
    for start, end in held:
        if start > reached:
            gaps.append((reached, min(start, closes)))
        reached = max(reached, end)
        if reached >= closes:
            break
    if reached < closes:
        gaps.append((reached, closes))
    return [(start, end) for start, end in gaps if start < end]


def show_gaps(gaps: Sequence[tuple[int, int]]) -> str:
    """Return the gaps in words for the manager's mail."""
    if not gaps:
        return "keys all day"
    return "no keys " + ", ".join(f"{show_time(start)}-{show_time(end)}" for start, end in gaps)
