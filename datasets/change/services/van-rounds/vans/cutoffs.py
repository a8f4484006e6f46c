"""Which order still makes which van."""

from collections.abc import Collection
from datetime import date, datetime, time, timedelta

CAFE_CUTOFF = time(13, 0)
WHOLESALE_CUTOFF = time(12, 0)
THURSDAY, FRIDAY, SATURDAY, SUNDAY = 3, 4, 5, 6
DAY = timedelta(days=1)


def cafe_cutoff(van_day: date) -> datetime:
    """Return until when a café may order for a van day: 13:00 the day before, for Monday on Friday."""
    before = van_day - DAY
    while before.weekday() in (SATURDAY, SUNDAY):
        before -= DAY
    return datetime.combine(before, CAFE_CUTOFF)


def wholesale_cutoff(van_day: date) -> datetime:
    """Return until when a customer may order: Thursday noon of the week before."""
    monday = van_day - timedelta(days=van_day.weekday())
    return datetime.combine(monday - timedelta(days=7 - THURSDAY), WHOLESALE_CUTOFF)


def next_van(
    ordered: datetime, van_weekdays: Collection[int], wholesale: bool = False, shut: Collection[date] = ()
) -> date:
    """Return the day of the first van that an order still makes.

    Args:
        ordered: When it was ordered; at the cut-off itself is in time.
        van_weekdays: On which weekdays a van calls there, Monday is 0.
        wholesale: Whether the customer's rule holds, or the cafés'.
        shut: Days on which nobody is there, such as a school's holidays.

    Raises:
        ValueError: No van calls there.
    """
    if not van_weekdays:
        raise ValueError("no van calls there")
    day = ordered.date() + DAY
    while True:
        cutoff = wholesale_cutoff(day) if wholesale else cafe_cutoff(day)
        if day.weekday() in van_weekdays and day not in shut and ordered <= cutoff:
            return day
        day += DAY


def charge_for_change(asked: datetime, cutoff: datetime, leaves: datetime) -> str:
    """Return what becomes of a change: made until the cut-off, then a question until an hour before the van leaves."""
    if asked <= cutoff:
        return "yes"
    return "ask Ellie Marsh" if leaves - asked >= timedelta(hours=1) else "no"
