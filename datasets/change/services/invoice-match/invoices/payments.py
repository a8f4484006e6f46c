"""Thursday's payment run: what falls due before the next one, one transfer a supplier."""

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from datetime import date, timedelta

from invoices.reading import Invoice
from invoices.terms import THURSDAY, Terms, due, early_discount

WEEK = timedelta(days=7)
REFERENCE_LENGTH = 18
# Below this the bank's fee is larger than what is sent; it waits for the next invoice.
LEAST_TRANSFER = 100


@dataclass(frozen=True)
class Transfer:
    """One transfer."""

    supplier: str
    pence: int
    discount: int
    reference: str


def payable(invoice: Invoice, terms: Terms, run: date, holidays: Collection[date] = ()) -> bool:
    """Tell whether an invoice is paid in a run: it falls due before the next one, or early payment pays.

    Credits are always taken.
    """
    if invoice.is_credit or early_discount(terms, invoice, run) > early_discount(terms, invoice, run + WEEK):
        return True
    return due(terms, invoice.day, holidays) < run + WEEK


def reference(numbers: Iterable[str]) -> str:
    """Return what stands on the bank's line: as many numbers as fit whole, and `+` for the others."""
    names = list(numbers)
    text = " ".join(names)
    while len(text) > REFERENCE_LENGTH and len(names) > 1:
        names.pop()
        text = " ".join(names) + " +"
    return text[:REFERENCE_LENGTH]


def run(
    invoices: Iterable[Invoice], terms: Mapping[str, Terms], day: date, holidays: Collection[date] = ()
) -> list[Transfer]:
    """Return the transfers of a run, by supplier.

    A supplier who owes us more than we owe gets no transfer, and neither does one to whom less than a pound is due.

    Raises:
        ValueError: The day is no Thursday.
    """
    if day.weekday() != THURSDAY:
        raise ValueError(f"{day:%A}: the run is on Thursday")
    chosen: dict[str, list[Invoice]] = defaultdict(list)
    for invoice in invoices:
        if payable(invoice, terms[invoice.supplier], day, holidays):
            chosen[invoice.supplier].append(invoice)
    transfers = []
    for supplier, theirs in sorted(chosen.items()):
        discount = sum(early_discount(terms[supplier], invoice, day) for invoice in theirs)
        pence = sum(invoice.gross for invoice in theirs) - discount
        if pence >= LEAST_TRANSFER:
            numbers = (invoice.number for invoice in sorted(theirs, key=lambda each: (each.day, each.number)))
            transfers.append(Transfer(supplier, pence, discount, reference(numbers)))
    return transfers


def check_sum(transfers: Iterable[Transfer]) -> int:
    """Return the bank's check: pence times the number of the line, modulo 9973."""
    return sum(place * transfer.pence for place, transfer in enumerate(transfers, start=1)) % 9973
