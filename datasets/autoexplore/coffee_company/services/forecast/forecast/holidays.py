"""Closures and days that are not ordinary. The list ends on 31 December 2026; extend it by 1 December."""

from datetime import date

LAST_DAY_KNOWN = date(2026, 12, 31)

# Weekdays on which a café is shut, Monday is 0.
SHUT_WEEKDAYS: dict[str, frozenset[int]] = {
    "C02": frozenset({6}),
    "C05": frozenset({6}),
    "C08": frozenset({6}),
    "C10": frozenset({1, 2}),
}

# The Infirmary never closes.
ALWAYS_OPEN = frozenset({"C09"})
SHUT_DATES = frozenset({(1, 1), (12, 25), (12, 26)})

SUNDAY = 6
# Cafés keep Sunday hours on these days, so those shut on Sundays stay shut.
PUBLIC_HOLIDAYS = frozenset(
    date(2026, month, day) for month, day in ((4, 3), (4, 6), (5, 4), (5, 25), (8, 31), (12, 28))
)

# Days on which everything sells more or less than the weekday says.
FACTORS: dict[date, tuple[float, str]] = {
    date(2025, 12, 20): (1.22, "Saturday before Christmas"),
    date(2025, 12, 24): (0.78, "shops close at noon"),
    date(2025, 12, 31): (0.85, "quiet afternoon"),
    date(2026, 4, 3): (0.90, "Good Friday"),
    date(2026, 4, 6): (1.05, "Easter Monday, people walk"),
    date(2026, 5, 4): (1.08, "first bank holiday in May"),
    date(2026, 5, 25): (1.10, "last bank holiday in May"),
    date(2026, 8, 31): (1.12, "August bank holiday"),
    date(2026, 12, 19): (1.22, "Saturday before Christmas"),
    date(2026, 12, 24): (0.78, "shops close at noon"),
    date(2026, 12, 28): (0.95, "bank holiday in place of Boxing Day"),
    date(2026, 12, 31): (0.85, "quiet afternoon"),
}


class UnknownYear(ValueError):
    """The list of special days does not reach that far."""


def closed(cafe: str, day: date) -> bool:
    """Tell whether a café is shut on a day.

    Raises:
        UnknownYear: Beyond the end of the list, because a missing holiday is not seen in the figures.
    """
    if day > LAST_DAY_KNOWN:
        raise UnknownYear(f"{day}: the special days are known until {LAST_DAY_KNOWN}")
    if cafe in ALWAYS_OPEN:
        return False
    return (
        (day.month, day.day) in SHUT_DATES
        or day.weekday() in SHUT_WEEKDAYS.get(cafe, frozenset())
        or (day in PUBLIC_HOLIDAYS and SUNDAY in SHUT_WEEKDAYS.get(cafe, frozenset()))
    )


def factor(day: date) -> float:
    """Return what to multiply an ordinary weekday's figure with."""
    return FACTORS.get(day, (1.0, ""))[0]
