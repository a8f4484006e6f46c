"""What a rota must keep for each person. A breach names the rule and the first shift or week that breaks it."""

from collections import defaultdict
from collections.abc import Sequence
from datetime import date, timedelta
from itertools import pairwise
from typing import NamedTuple

from swaps.clock import HOUR, show_length, week_of
from swaps.shifts import Shift, close_then_open, longest_run, rest_between

MOST_A_DAY = 10 * HOUR
MOST_A_WEEK = 46 * HOUR
LEAST_REST = 11 * HOUR
SHORTEST = 4 * HOUR
MOST_DAYS_IN_A_ROW = 6
# Two weekends in every six are free.
WEEKENDS = 6
FREE_WEEKENDS = 2
SATURDAY = 5


class Breach(NamedTuple):
    """A rule that a rota does not keep."""

    rule: str
    where: str


def breaches(shifts: Sequence[Shift]) -> list[Breach]:
    """Return what one person's shifts break; in the order of the handbook.

    Raises:
        ValueError: They are of several people.
    """
    people = sorted({shift.employee for shift in shifts})
    if len(people) > 1:
        raise ValueError(f"shifts of {', '.join(people)}")
    ordered = sorted(shifts, key=lambda shift: (shift.begins, shift.ends))
    found = []
    if (days := longest_run(ordered)) > MOST_DAYS_IN_A_ROW:
        found.append(Breach("days in a row", f"{days} days"))
    found.extend(_lengths(ordered))
    found.extend(_weeks(ordered))
    for one, other in pairwise(ordered):
        if (rest := rest_between(one, other)) < LEAST_REST:
            between = "overlap" if rest < 0 else show_length(rest)
            found.append(Breach("rest", f"{between} before {other}"))
        if close_then_open(one, other):
            found.append(Breach("close then open", str(other)))
    return found


def _lengths(shifts: Sequence[Shift]) -> list[Breach]:
    found = []
    by_day: dict[date, int] = defaultdict(int)
    for shift in shifts:
        by_day[shift.day] += shift.minutes
        if shift.minutes < SHORTEST:
            found.append(Breach("shortest shift", str(shift)))
    found.extend(
        Breach("hours a day", f"{show_length(minutes)} on {day}")
        for day, minutes in by_day.items()
        if minutes > MOST_A_DAY
    )
    return found


def _weeks(shifts: Sequence[Shift]) -> list[Breach]:
    weeks: dict[date, int] = defaultdict(int)
    for shift in shifts:
        weeks[week_of(shift.day)] += shift.minutes
    return [
        Breach("hours a week", f"{show_length(minutes)} from {monday}")
        for monday, minutes in sorted(weeks.items())
        if minutes > MOST_A_WEEK
    ]


def free_weekends(shifts: Sequence[Shift], first: date) -> int:
    """Count the free weekends among the six that follow a day; a weekend is free if both its days are.

    A shift of Friday that ends after midnight spoils the Saturday.
    """
    busy = {shift.day for shift in shifts} | {
        shift.day + timedelta(days=1) for shift in shifts if shift.end > 24 * HOUR
    }
    saturday = first + timedelta(days=(SATURDAY - first.weekday()) % 7)
    weekends = [saturday + timedelta(weeks=number) for number in range(WEEKENDS)]
    return sum(day not in busy and day + timedelta(days=1) not in busy for day in weekends)


def contract_difference(shifts: Sequence[Shift], contract_hours: float, weeks: int) -> int:
    """Return the minutes that a rota has above the contract, or below it."""
    return sum(shift.minutes for shift in shifts) - round(contract_hours * HOUR) * weeks


def enough_weekends(shifts: Sequence[Shift], first: date) -> bool:
    """Tell whether two weekends of the six are free."""
    return free_weekends(shifts, first) >= FREE_WEEKENDS
