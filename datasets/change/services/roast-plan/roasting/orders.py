"""What was ordered, in grams of roasted coffee.

    W01  Tue  Foghorn 24 kg + 2 x 250 g
    C03  Wed  Ropewalk Filter 3.5 kg

A wholesale customer has W, a café C, the shop ON. What is behind `+` is packed apart, and roasted together.
"""

import re
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass

from roasting.coffees import COFFEES, GRAMS

DAYS = ("Mon", "Tue", "Wed", "Thu", "Fri")
# A wholesale order below this loses money.
LEAST_WHOLESALE = 6 * GRAMS
CARRIAGE_PAID = 24 * GRAMS
BAGS = frozenset({250, 1000})
SHOP_RESERVE_PERCENT = 5
_ORDER = re.compile(r"([CW]\d{2}|ON)\s+(\w{3})\s+([A-Z][A-Za-z ]*[a-z])\s+(\d.*)")
_PART = re.compile(r"(?:(\d+) x )?(\d+)(?:\.(\d))? (kg|g)")


class BadOrder(ValueError):
    """An order that goes back to who wrote it."""


@dataclass(frozen=True)
class Order:
    """So many grams of a coffee for somebody, to leave on a day."""

    customer: str
    day: str
    coffee: str
    grams: int

    @property
    def is_wholesale(self) -> bool:
        """Whether a customer with an invoice ordered it."""
        return self.customer.startswith("W")

    @property
    def carriage_paid(self) -> bool:
        """Whether we pay for the way."""
        return self.is_wholesale and self.grams >= CARRIAGE_PAID


def parse_weight(text: str) -> int:
    """Return the grams of `24 kg + 2 x 250 g`.

    Raises:
        BadOrder: A part is no weight, or of a bag that we do not pack.
    """
    grams = 0
    for part in text.split("+"):
        found = _PART.fullmatch(part.strip())
        if not found:
            raise BadOrder(f"{part.strip()!r} is no weight")
        count, whole, tenth, unit = found.groups()
        each = int(whole) * GRAMS + int(tenth or 0) * GRAMS // 10 if unit == "kg" else int(whole)
        if count and each not in BAGS:
            raise BadOrder(f"no bags of {each} g")
        grams += each * int(count or 1)
    return grams


def parse_order(line: str) -> Order:
    """Read a line.

    Raises:
        BadOrder: It cannot be read, or asks for a coffee, a day or an amount that there is not.
    """
    found = _ORDER.fullmatch(line.strip())
    if not found:
        raise BadOrder(f"{line.strip()!r}: CUSTOMER DAY COFFEE WEIGHT")
    customer, day, coffee, weight = found.groups()
    if day not in DAYS:
        raise BadOrder(f"{day}: nothing leaves on that day")
    if coffee not in COFFEES:
        raise BadOrder(f"no coffee {coffee!r}")
    order = Order(customer, day, coffee, parse_weight(weight))
    if order.is_wholesale and order.grams < LEAST_WHOLESALE:
        raise BadOrder(f"{customer}: {order.grams} g, at least {LEAST_WHOLESALE}")
    return order


def totals(orders: Iterable[Order], last_day: str = "Fri") -> dict[str, int]:
    """Return the grams of each coffee that leave until a day of the week; the shop gets a reserve on top."""
    sums: dict[str, int] = defaultdict(int)
    for order in orders:
        if DAYS.index(order.day) <= DAYS.index(last_day):
            reserve = order.grams * SHOP_RESERVE_PERCENT // 100 if order.customer == "ON" else 0
            sums[order.coffee] += order.grams + reserve
    return dict(sums)


def to_roast(wanted: dict[str, int], in_tubs: dict[str, int]) -> dict[str, int]:
    """Return what must be roasted: what is wanted and does not stand in the tubs."""
    missing = {coffee: grams - in_tubs.get(coffee, 0) for coffee, grams in wanted.items()}
    return {coffee: grams for coffee, grams in missing.items() if grams > 0}
