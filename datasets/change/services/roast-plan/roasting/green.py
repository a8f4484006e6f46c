"""Bags in the green store: which is next, what is held, and how long it lasts."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import date

from roasting.coffees import DECAF

BAG_GRAMS = 60_000
# In tenths of a point of moisture, since the arrival.
JUMPS_ABOVE = 8
MONTHS = 11
DECAF_MONTHS = 7
REORDER_WEEKS = 6


@dataclass(frozen=True)
class Bag:
    """A bag; moisture in tenths of a percent, at arrival and at the last reading."""

    number: int
    coffee: str
    arrived: date
    grams: int = BAG_GRAMS
    moisture_then: int = 110
    moisture_now: int = 110
    held: bool = False

    @property
    def jumps(self) -> bool:
        """Whether it lost so much moisture that it is used before older ones."""
        return self.moisture_then - self.moisture_now > JUMPS_ABOVE


class NotEnough(ValueError):
    """The store does not have it."""


def months_between(first: date, last: date) -> int:
    """Return the whole months between two days."""
    months = (last.year - first.year) * 12 + last.month - first.month
    return months - (last.day < first.day)


def too_old(bag: Bag, today: date) -> bool:
    """Tell whether a bag has stayed too long: 11 months, decaf seven."""
    most = DECAF_MONTHS if bag.coffee == DECAF else MONTHS
    return months_between(bag.arrived, today) >= most


def queue(bags: Iterable[Bag], coffee: str) -> list[Bag]:
    """Return the bags of a coffee that may be used, in the order of use: dry ones, then by arrival, then by number."""
    usable = [bag for bag in bags if bag.coffee == coffee and not bag.held and bag.grams > 0]
    return sorted(usable, key=lambda bag: (not bag.jumps, bag.arrived, bag.number))


def take(bags: Sequence[Bag], coffee: str, grams: int) -> tuple[list[Bag], list[tuple[int, int]]]:
    """Take green coffee out of the store.

    Returns:
        All bags as they are afterwards, and number and grams of each that was taken from.

    Raises:
        NotEnough: The bags that may be used do not hold so much.
    """
    wanted = grams
    taken: dict[int, int] = {}
    for bag in queue(bags, coffee):
        if not wanted:
            break
        part = min(bag.grams, wanted)
        taken[bag.number] = part
        wanted -= part
    if wanted:
        raise NotEnough(f"{coffee}: {wanted} g missing of {grams}")
    after = [replace(bag, grams=bag.grams - taken.get(bag.number, 0)) for bag in bags]
    return after, list(taken.items())


def weeks_left(bags: Iterable[Bag], coffee: str, grams_a_week: int) -> int:
    """Return the whole weeks that a coffee lasts; held bags count, since most of them are released."""
    if grams_a_week <= 0:
        raise ValueError(f"{grams_a_week} g a week")
    return sum(bag.grams for bag in bags if bag.coffee == coffee) // grams_a_week


def to_call_off(bags: Sequence[Bag], use: dict[str, int], lead_weeks: dict[str, int]) -> list[str]:
    """Return the coffees to call off: what would last less than the way takes, and six weeks."""
    return sorted(
        coffee for coffee, grams in use.items() if weeks_left(bags, coffee, grams) < lead_weeks[coffee] + REORDER_WEEKS
    )
