"""Card tips of a month, which come with the wages, and those who leave."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import date, timedelta

from tips.clocking import monday, sunday
from tips.money import parts

PAY_DAY = 27
BASIC_RATE = 20  # percent
TABLE = ((0, 0), (1048, 20), (4189, 40))  # from so many pounds a month, percent


@dataclass(frozen=True)
class Leaver:
    """Somebody who leaves, and the last day of work."""

    person: str
    last: date

    @property
    def cash_until(self) -> date:
        """The last Sunday that counts for cash."""
        return sunday(self.last)


def weeks_of(year: int, month: int) -> list[date]:
    """Return the Mondays of the weeks that belong to a month: those whose Sunday lies in it."""
    week = monday(date(year, month, 1))
    found = []
    while sunday(week).month == month:
        found.append(week)
        week += timedelta(days=7)
    return found


def pay_day(year: int, month: int) -> date:
    """Return the day of the wages: the 27th, or the Friday before if that is on a weekend."""
    day = date(year, month, PAY_DAY)
    return day - timedelta(days=max(0, day.weekday() - 4))


def tax(pence: int, wages: int) -> int:
    """Return the tax on card tips that come on top of wages, both in pence, by the table and rounded down.

    Tips carry no National Insurance.
    """
    return _tax(wages + pence) - _tax(wages)


def _tax(pence: int) -> int:
    """Return the tax on a month's pay."""
    found = 0
    for place, (pounds, percent) in enumerate(TABLE):
        start = pounds * 100
        until = TABLE[place + 1][0] * 100 if place + 1 < len(TABLE) else pence
        if pence > start:
            found += (min(pence, until) - start) * percent // 100
    return found


def card_month(weeks: Mapping[date, int], minutes: Mapping[date, Mapping[str, int]]) -> dict[str, int]:
    """Share the card tips of each week by its minutes, and return everyone's sum."""
    total: dict[str, int] = {}
    for week, pence in weeks.items():
        for person, share in parts(pence, minutes[week]).items():
            total[person] = total.get(person, 0) + share
    return dict(sorted(total.items()))


def paid_cash(leaver: Leaver, weeks: Iterable[date]) -> list[date]:
    """Return the weeks of which a leaver has cash."""
    return [week for week in weeks if sunday(week) <= leaver.cash_until]


def last_pay(leaver: Leaver) -> date:
    """Return the day of the last pay: of the month in which somebody leaves, or of the next from the 16th."""
    year, month = leaver.last.year, leaver.last.month
    if leaver.last.day > 15:
        year, month = (year + 1, 1) if month == 12 else (year, month + 1)
    return pay_day(year, month)


def payslip(person: str, tips: int, wages: int) -> list[str]:
    """Return the lines of the payslip that speak of tips."""
    held = tax(tips, wages)
    return [
        f"{person}: card tips {tips / 100:.2f}",
        f"tax {held / 100:.2f}",
        f"net {(tips - held) / 100:.2f}",
    ]
