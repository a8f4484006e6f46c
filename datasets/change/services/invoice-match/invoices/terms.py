"""Payment terms as they stand in the register of suppliers, and the days on which they end."""

import re
from collections.abc import Collection
from dataclasses import dataclass
from datetime import date, timedelta

from invoices.reading import Invoice, half_up

SATURDAY = 5
THURSDAY = 3
DAY = timedelta(days=1)
_DAYS = re.compile(r"(\d+) days( end of month)?(?:, (\d+(?:\.\d)?)% within (\d+))?")
_HALVES = re.compile(r"(\d+)% at shipment, (\d+)% (\d+) days after arrival")


@dataclass(frozen=True)
class Terms:
    """When an invoice is due; tenths of a percent off for who pays early; a share at shipment."""

    days: int
    end_of_month: bool = False
    early_tenths: int = 0
    early_days: int = 0
    first_share: int = 0


def parse_terms(text: str) -> Terms:
    """Read terms such as `30 days`, `30 days end of month, 1.5% within 10`, or green coffee's two parts.

    Raises:
        ValueError: They are none of these, the parts are not the whole, or early is not earlier.
    """
    if found := _HALVES.fullmatch(text):
        first, second, days = (int(group) for group in found.groups())
        if first + second != 100:
            raise ValueError(f"{text}: {first + second}% in all")
        return Terms(days, first_share=first)
    if not (found := _DAYS.fullmatch(text)):
        raise ValueError(f"no terms: {text!r}")
    days, end, percent, early = found.groups()
    whole, _, tenth = (percent or "0").partition(".")
    tenths = int(whole) * 10 + int(tenth or 0)
    if early is not None and int(early) >= int(days):
        raise ValueError(f"{text}: early is not earlier")
    return Terms(int(days), end is not None, tenths, int(early or 0))


def working_day(day: date, holidays: Collection[date] = ()) -> date:
    """Return a day, or the next on which banks work."""
    while day.weekday() >= SATURDAY or day in holidays:
        day += DAY
    return day


def month_end(day: date) -> date:
    """Return the last day of a day's month."""
    return date(day.year + day.month // 12, day.month % 12 + 1, 1) - DAY


def due(terms: Terms, invoiced: date, holidays: Collection[date] = ()) -> date:
    """Return the day on which an invoice is due: counted from its date, or from the end of that month."""
    start = month_end(invoiced) if terms.end_of_month else invoiced
    return working_day(start + timedelta(days=terms.days), holidays)


def instalments(
    terms: Terms, invoice: Invoice, arrived: date | None = None, holidays: Collection[date] = ()
) -> list[tuple[date, int]]:
    """Return days and amounts to pay; what waits for an arrival that nobody has booked is left out.

    The first half is rounded down to the penny, so that the second carries the odd one.
    """
    if not terms.first_share:
        return [(due(terms, invoice.day, holidays), invoice.gross)]
    first = invoice.gross * terms.first_share // 100
    parts = [(working_day(invoice.day, holidays), first)]
    if arrived is not None:
        parts.append((working_day(arrived + timedelta(days=terms.days), holidays), invoice.gross - first))
    return parts


def early_discount(terms: Terms, invoice: Invoice, paid: date) -> int:
    """Return the pence to take off when an invoice is paid on a day; the last day of the time counts."""
    if not terms.early_tenths or invoice.is_credit or paid - invoice.day > timedelta(days=terms.early_days):
        return 0
    return half_up(invoice.gross * terms.early_tenths, 1000)


def run_day(day: date) -> date:
    """Return the Thursday on or after a day."""
    return day + timedelta(days=(THURSDAY - day.weekday()) % 7)
