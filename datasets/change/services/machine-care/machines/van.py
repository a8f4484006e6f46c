"""Parts in Holt's van: what is there, what a visit takes, what is ordered."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import date, timedelta

FULL = {"seal": 12, "screen": 6, "pump": 2, "probe": 1, "board": 1, "valve": 2}
DAYS = {"seal": 2, "screen": 2, "pump": 5, "probe": 5, "board": 10, "valve": 3}
PRICES = {"seal": 480, "screen": 1150, "pump": 14_900, "probe": 6200, "board": 38_500, "valve": 2740}
PACK = {"seal": 6, "screen": 3}
FREE_FROM = 25_000  # pence: no charge for the post
POST = 690


@dataclass(frozen=True)
class Order:
    """What is ordered of a part, and when it comes."""

    part: str
    number: int
    comes: date

    @property
    def pence(self) -> int:
        """What it costs without the post."""
        return PRICES[self.part] * self.number


class Missing(ValueError):
    """A part is not in the van."""


def working_day(day: date, days: int) -> date:
    """Return the day some working days later; Saturdays and Sundays are none."""
    while days > 0:
        day += timedelta(days=1)
        if day.weekday() < 5:
            days -= 1
    return day


def taken(stock: Mapping[str, int], needed: Mapping[str, int]) -> dict[str, int]:
    """Return what is left in the van after parts are taken.

    Raises:
        Missing: It has not so many.
    """
    left = dict(stock)
    for part, number in needed.items():
        if left.get(part, 0) < number:
            raise Missing(f"{part}: {number} needed, {left.get(part, 0)} there")
        left[part] -= number
    return left


def lacking(stock: Mapping[str, int], needed: Mapping[str, int]) -> dict[str, int]:
    """Return what the van lacks for what is needed."""
    short = {part: number - stock.get(part, 0) for part, number in needed.items()}
    return {part: number for part, number in short.items() if number > 0}


def packed(part: str, number: int) -> int:
    """Return how many are ordered to have a number: seals and screens come in packs."""
    pack = PACK.get(part, 1)
    return -(-number // pack) * pack


def refill(stock: Mapping[str, int], today: date, needed: Mapping[str, int] | None = None) -> list[Order]:
    """Return what is ordered so that the van is full again after what is needed; the slowest part first.

    A part is ordered when less than half of a full van's would be left.
    """
    orders = []
    for part, full in FULL.items():
        left = stock.get(part, 0) - (needed or {}).get(part, 0)
        if left * 2 < full:
            orders.append(Order(part, packed(part, full - left), working_day(today, DAYS[part])))
    return sorted(orders, key=lambda order: (-DAYS[order.part], order.part))


def cost(orders: Iterable[Order]) -> int:
    """Return what orders cost, with the post unless they are large."""
    pence = sum(order.pence for order in orders)
    if not pence:
        return 0
    return pence if pence >= FREE_FROM else pence + POST


def order_by(visit: date, part: str) -> date:
    """Return the last day on which a part can be ordered to be there the day before a visit."""
    day = visit - timedelta(days=1)
    ordered = day
    while working_day(ordered, DAYS[part]) > day:
        ordered -= timedelta(days=1)
    return ordered


def value(stock: Mapping[str, int]) -> int:
    """Return what the parts in the van have cost, in pence."""
    return sum(PRICES[part] * number for part, number in stock.items())
