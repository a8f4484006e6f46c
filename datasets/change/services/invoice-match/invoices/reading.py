"""Reads the invoice file: semicolons, one invoice a file, amounts in pence.

    invoice;SUP-09;BB-0871;2026-01-14;order PO-4410
    line;FD-201;240;122;0
    line;PK-330;12;1450;20
    total;46680;3480

A line has SKU, quantity, unit price and VAT percent; the total has net and VAT.
"""

from collections import defaultdict
from dataclasses import dataclass
from datetime import date

RATES = (0, 5, 20)
VAT_TOLERANCE = 2


class BadInvoice(ValueError):
    """A file that goes back to the supplier; the message is what we write to them."""


@dataclass(frozen=True)
class Line:
    """One line of an invoice; a credit note has quantities below zero."""

    sku: str
    quantity: int
    pence: int
    rate: int

    @property
    def net(self) -> int:
        """The line's amount without VAT."""
        return self.quantity * self.pence


@dataclass(frozen=True)
class Invoice:
    """An invoice as its supplier wrote it."""

    supplier: str
    number: str
    day: date
    order: str
    lines: tuple[Line, ...]
    net: int
    vat: int

    @property
    def gross(self) -> int:
        """What is to be paid."""
        return self.net + self.vat

    @property
    def is_credit(self) -> bool:
        """Whether it gives money back."""
        return self.gross < 0


def half_up(numerator: int, denominator: int) -> int:
    """Divide and round half away from nothing, so that a credit takes back just what its invoice asked."""
    rounded = (2 * abs(numerator) + denominator) // (2 * denominator)
    return -rounded if numerator < 0 else rounded


def vat_of(lines: tuple[Line, ...]) -> int:
    """Return the VAT: for each rate on the sum of its lines."""
    sums: dict[int, int] = defaultdict(int)
    for line in lines:
        sums[line.rate] += line.net
    return sum(half_up(net * rate, 100) for rate, net in sums.items())


def same_number(number: str) -> str:
    """Return what is alike in all spellings of an invoice's number."""
    groups = number.upper().replace("-", " ").replace("/", " ").split()
    return "".join(group.lstrip("0") or "0" for group in groups)


def _whole(text: str, what: str, row: int) -> int:
    try:
        return int(text)
    except ValueError:
        raise BadInvoice(f"line {row}: {what} {text!r} is no whole number") from None


def _head(fields: list[str]) -> tuple[str, str, date, str]:
    if len(fields) != 5 or fields[0] != "invoice":
        raise BadInvoice("line 1: invoice;SUPPLIER;NUMBER;DATE;order NUMBER")
    _, supplier, number, day, order = fields
    if not same_number(number):
        raise BadInvoice("line 1: an invoice has a number")
    if not order.startswith("order "):
        raise BadInvoice(f"line 1: {order!r} names no order")
    try:
        return supplier, number.strip(), date.fromisoformat(day), order.removeprefix("order ").strip()
    except ValueError:
        raise BadInvoice(f"line 1: {day!r} is no date") from None


def _line(fields: list[str], row: int) -> Line:
    if len(fields) != 5 or fields[0] != "line":
        raise BadInvoice(f"line {row}: line;SKU;QUANTITY;PENCE;VAT")
    quantity, pence, rate = (
        _whole(text, what, row) for text, what in zip(fields[2:], ("quantity", "price", "VAT rate"), strict=True)
    )
    if quantity == 0 or pence < 0:
        raise BadInvoice(f"line {row}: {quantity} at {pence} pence")
    if rate not in RATES:
        raise BadInvoice(f"line {row}: no VAT rate of {rate}%")
    return Line(fields[1].strip(), quantity, pence, rate)


def read(text: str) -> Invoice:
    """Read a file.

    Raises:
        BadInvoice: A line cannot be read, or the totals are not those of the lines.
    """
    rows = [row.split(";") for row in text.strip().splitlines() if row.strip()]
    if len(rows) < 3:
        raise BadInvoice("an invoice has a head, a line and a total")
    supplier, number, day, order = _head(rows[0])
    lines = tuple(_line(fields, row) for row, fields in enumerate(rows[1:-1], start=2))
    last = rows[-1]
    if len(last) != 3 or last[0] != "total":
        raise BadInvoice(f"line {len(rows)}: total;NET;VAT")
    net, vat = (_whole(text, "total", len(rows)) for text in last[1:])
    added = sum(line.net for line in lines)
    if net != added:
        raise BadInvoice(f"the lines add up to {added} pence, not {net}")
    if abs(vat - vat_of(lines)) > VAT_TOLERANCE:
        raise BadInvoice(f"VAT on these lines is {vat_of(lines)} pence, not {vat}")
    return Invoice(supplier, number, day, order, lines, net, vat)
