"""What we owe, by how late it is, and how fast we pay."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import date

from invoices.reading import half_up

BANDS = (0, 30, 60)  # not due, up to 30 days late, up to 60, and later
REPORTED_AFTER = 60


@dataclass(frozen=True)
class Owed:
    """An unpaid invoice."""

    supplier: str
    due: date
    pence: int


def band(due: date, today: date) -> int:
    """Return the place of an invoice's band; one that is due today is not late."""
    late = (today - due).days
    return sum(late > days for days in BANDS)


def ageing(owed: Iterable[Owed], today: date) -> dict[str, list[int]]:
    """Return what each supplier is owed in each band."""
    table: dict[str, list[int]] = {}
    for each in owed:
        row = table.setdefault(each.supplier, [0] * (len(BANDS) + 1))
        row[band(each.due, today)] += each.pence
    return table


def to_report(owed: Iterable[Owed], today: date) -> list[str]:
    """Return the suppliers that the law makes us name: something is more than 60 days late."""
    return sorted({each.supplier for each in owed if (today - each.due).days > REPORTED_AFTER and each.pence > 0})


def days_to_pay(paid: Sequence[tuple[date, date, int]]) -> int:
    """Return the mean days from invoice to payment, weighted by amount, in whole days half up; 0 without payments."""
    whole = sum(pence for _, _, pence in paid)
    if not whole:
        return 0
    return half_up(sum((last - first).days * pence for first, last, pence in paid), whole)
