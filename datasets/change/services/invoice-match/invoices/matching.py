"""Compares order, deliveries and invoice. What differs is a finding; an invoice with findings waits for an answer."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import date
from enum import Enum

from invoices.reading import Invoice, Line, same_number

PRICE_PERCENT = 2
PRICE_PENCE = 50


class Why(Enum):
    """What can be wrong."""

    DUPLICATE = "billed before"
    OTHER_SUPPLIER = "order is another supplier's"
    EARLY = "dated before its order"
    NOT_ORDERED = "not ordered"
    NOT_ARRIVED = "billed more than arrived"
    DEARER = "dearer than ordered"
    BELOW_ZERO = "more credited than billed"


@dataclass(frozen=True)
class Finding:
    """One difference, what it is about, and what it costs us in pence without VAT."""

    why: Why
    sku: str
    pence: int = 0


@dataclass(frozen=True)
class Order:
    """What was ordered: price in pence for each SKU, and how many."""

    number: str
    supplier: str
    day: date
    prices: dict[str, int]
    quantities: dict[str, int]


@dataclass(frozen=True)
class Delivery:
    """What arrived of an order on a day, by SKU; damaged things are not counted."""

    order: str
    day: date
    quantities: dict[str, int]


def price_limit(ordered: int) -> int:
    """Return the highest price that needs no question: 2% more, and never above 50 pence more."""
    return ordered + min(ordered * PRICE_PERCENT // 100, PRICE_PENCE)


def arrived(order: str, deliveries: Iterable[Delivery]) -> Counter[str]:
    """Return what has arrived of an order."""
    count: Counter[str] = Counter()
    for delivery in deliveries:
        if delivery.order == order:
            count.update(delivery.quantities)
    return count


def billed(invoices: Iterable[Invoice], order: str) -> Counter[str]:
    """Return what was billed of an order, credits taken off."""
    count: Counter[str] = Counter()
    for invoice in invoices:
        if invoice.order == order:
            for line in invoice.lines:
                count[line.sku] += line.quantity
    return count


def match(
    invoice: Invoice, order: Order, deliveries: Sequence[Delivery], earlier: Sequence[Invoice] = ()
) -> list[Finding]:
    """Return the findings, those about the whole invoice first, then line by line.

    Args:
        invoice: The invoice, or a credit note.
        order: The order that it names.
        deliveries: What the stock service booked, of all orders.
        earlier: Invoices that were matched before.
    """
    found = []
    if any(_same(invoice, each) for each in earlier):
        found.append(Finding(Why.DUPLICATE, "", invoice.net))
    if invoice.supplier != order.supplier:
        found.append(Finding(Why.OTHER_SUPPLIER, "", invoice.net))
    if invoice.day < order.day:
        found.append(Finding(Why.EARLY, ""))
    before = billed(earlier, order.number)
    here = arrived(order.number, deliveries)
    for line in invoice.lines:
        found.extend(_of_line(line, order, here[line.sku] - before[line.sku], before[line.sku]))
        before[line.sku] += line.quantity  # the same SKU may stand on two lines
    return found


def _same(one: Invoice, other: Invoice) -> bool:
    return one.supplier == other.supplier and same_number(one.number) == same_number(other.number)


def _of_line(line: Line, order: Order, open_quantity: int, before: int) -> list[Finding]:
    if line.sku not in order.prices:
        return [Finding(Why.NOT_ORDERED, line.sku, line.net)]
    if line.quantity < 0:
        missing = -line.quantity - before
        return [Finding(Why.BELOW_ZERO, line.sku, missing * line.pence)] if missing > 0 else []
    found = []
    if line.quantity > open_quantity:
        too_many = line.quantity - max(open_quantity, 0)
        found.append(Finding(Why.NOT_ARRIVED, line.sku, too_many * line.pence))
    if line.pence > price_limit(order.prices[line.sku]):
        found.append(Finding(Why.DEARER, line.sku, line.quantity * (line.pence - order.prices[line.sku])))
    return found


def backlog(order: Order, deliveries: Sequence[Delivery]) -> dict[str, int]:
    """Return what has not arrived yet, by SKU; what came too often is no backlog of the others."""
    here = arrived(order.number, deliveries)
    open_quantities = {sku: quantity - here[sku] for sku, quantity in order.quantities.items()}
    return {sku: quantity for sku, quantity in open_quantities.items() if quantity > 0}


def question(invoice: Invoice, findings: Sequence[Finding]) -> str:
    """Return the letter to the supplier, the dearest finding first."""
    lines = [f"{invoice.number} of {invoice.day:%d.%m.%Y}, order {invoice.order}:"]
    for each in sorted(findings, key=lambda finding: -abs(finding.pence)):
        about = f"{each.sku}: " if each.sku else ""
        pounds, pence = divmod(abs(each.pence), 100)
        money = f", £{pounds:,}.{pence:02}" if each.pence else ""
        lines.append(f"- {about}{each.why.value}{money}")
    return "\n".join(lines)
