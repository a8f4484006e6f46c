"""Breaks: 20 paid minutes for each six hours; under-18s have 30 after four and a half."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import date

from swaps.clock import HOUR

BREAK = 20
EACH = 6 * HOUR
YOUNG_BREAK = 30
YOUNG_AFTER = 4 * HOUR + 30
ADULT = 18
RAISED_FROM = 3


@dataclass(frozen=True)
class Missed:
    """A break that was not taken, or not wholly."""

    employee: str
    site: str
    day: date
    minutes: int


def age_on(born: date, day: date) -> int:
    """Return somebody's age; born on 29 February, they are a year older on 1 March."""
    return day.year - born.year - ((day.month, day.day) < (born.month, born.day))


def due_minutes(minutes: int, age: int) -> int:
    """Return the break that a shift has, in minutes."""
    if age < ADULT:
        return YOUNG_BREAK if minutes > YOUNG_AFTER else 0
    return minutes // EACH * BREAK


def missed(
    employee: str, site: str, day: date, minutes: int, age: int, taken: Iterable[tuple[int, int]]
) -> Missed | None:
    """Return what is added to pay.

    Args:
        employee: Who worked.
        site: Where.
        day: When.
        minutes: Length of the shift.
        age: In years, on that day.
        taken: Beginning and end of each break; one begins when they sit down. Less than five minutes is none.
    """
    rested = sum(end - start for start, end in taken if end - start >= 5)
    owed = due_minutes(minutes, age) - rested
    return Missed(employee, site, day, owed) if owed > 0 else None


def raised(found: Iterable[Missed], year: int, month: int) -> list[str]:
    """Return the cafés with three missed breaks and more in a month, the worst first."""
    counts = Counter(each.site for each in found if (each.day.year, each.day.month) == (year, month))
    return [
        site for site, count in sorted(counts.items(), key=lambda item: (-item[1], item[0])) if count >= RAISED_FROM
    ]
