"""Times of the day in minutes, and moments of the rota's clock."""

import re
from datetime import date, timedelta
from typing import NamedTuple

HOUR = 60
DAY = 24 * HOUR
# A shift may run past midnight, but not past six in the morning.
LATEST = 30 * HOUR
_TIME = re.compile(r"(\d{1,2})[:.]?(\d{2})")


class Moment(NamedTuple):
    """A minute of a day; moments compare like time."""

    day: date
    minute: int

    def plus(self, minutes: int) -> "Moment":
        """Return the moment so many minutes later, or earlier if they are below zero."""
        days, minute = divmod(self.minute + minutes, DAY)
        return Moment(self.day + timedelta(days=days), minute)

    def minus(self, other: "Moment") -> int:
        """Return the minutes since another moment."""
        return (self.day - other.day).days * DAY + self.minute - other.minute


def parse_time(text: str) -> int:
    """Read a time such as `06:30`, `6.30`, `0630` or, for a shift that ends after midnight, `26:30`.

    Raises:
        ValueError: There is no such time.
    """
    found = _TIME.fullmatch(text.strip())
    if not found:
        raise ValueError(f"{text!r} is no time")
    hours, minutes = (int(group) for group in found.groups())
    if minutes >= HOUR or hours * HOUR + minutes > LATEST:
        raise ValueError(f"{text!r} is no time")
    return hours * HOUR + minutes


def show_time(minute: int) -> str:
    """Return a time as the rota prints it."""
    return f"{minute // HOUR:02}:{minute % HOUR:02}"


def show_length(minutes: int) -> str:
    """Return a length such as `7 h 45`, `8 h`, `20 min`."""
    hours, rest = divmod(minutes, HOUR)
    if not hours:
        return f"{rest} min"
    return f"{hours} h {rest:02}" if rest else f"{hours} h"


def week_of(day: date) -> date:
    """Return the Monday of a day's week."""
    return day - timedelta(days=day.weekday())
