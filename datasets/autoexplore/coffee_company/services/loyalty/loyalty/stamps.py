"""The rules of the stamp card: nine stamps, twelve months, double days."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, datetime
from typing import NamedTuple
from zoneinfo import ZoneInfo

STAMPS_FOR_A_DRINK = 9
LIFE_MONTHS = 12
# More than this many drinks on one receipt is an office round: the rest give no stamps.
MOST_PER_RECEIPT = 6
LONGEST_RULE_DAYS = 45
HOME = ZoneInfo("Europe/London")


class Stamp(NamedTuple):
    """One unused stamp."""

    id: int
    given_at: datetime


@dataclass(frozen=True)
class DoubleDays:
    """A stretch of days, both ends included, on which some cafés give two stamps.

    Raises:
        ValueError: Without a café (until 3 November 2025 that meant all of them) or if it is too long.
    """

    name: str
    first: date
    last: date
    cafes: frozenset[str]

    def __post_init__(self) -> None:
        """Refuse what the form should have refused."""
        if not self.cafes:
            raise ValueError(f"{self.name}: name the cafés")
        if not 0 <= (self.last - self.first).days < LONGEST_RULE_DAYS:
            raise ValueError(f"{self.name}: a rule lasts 1 to {LONGEST_RULE_DAYS} days")


def earned(
    cafe: str, at: datetime, skus: Sequence[str], rules: Sequence[DoubleDays] = (), free_drinks: int = 0
) -> int:
    """Count the stamps of a receipt.

    Args:
        cafe: Code of the café.
        at: When the guest stood at the counter, with a zone.
        skus: One SKU for each unit sold.
        rules: The double days in force; two rules on one day still give two stamps, not three.
        free_drinks: Drinks on the receipt that were paid for with stamps.
    """
    drinks = sum(sku.startswith("DR-") for sku in skus) - free_drinks
    counted = max(0, min(drinks, MOST_PER_RECEIPT))
    day = at.astimezone(HOME).date()
    double = any(d.first <= day <= d.last and cafe in d.cafes for d in rules)
    return counted * (2 if double else 1)


def expiry(given_at: datetime) -> datetime:
    """Return the first moment at which a stamp no longer counts: midnight after its anniversary."""
    local = given_at.astimezone(HOME)
    years, month = divmod(local.month - 1 + LIFE_MONTHS, 12)
    # A stamp of 29 February lives until the end of 1 March, in the guest's favour.
    try:
        last = date(local.year + years, month + 1, local.day)
    except ValueError:
        last = date(local.year + years, month + 2, 1)
    after = date.fromordinal(last.toordinal() + 1)
    return datetime(after.year, after.month, after.day, tzinfo=HOME)


def live(unused: Sequence[Stamp], now: datetime) -> list[Stamp]:
    """Return the stamps that still count, oldest first."""
    return sorted((s for s in unused if now < expiry(s.given_at)), key=lambda s: (s.given_at, s.id))


def to_use(unused: Sequence[Stamp], now: datetime) -> list[Stamp] | None:
    """Return the nine stamps that pay for a drink, or nothing if there are too few."""
    counted = live(unused, now)
    return counted[:STAMPS_FOR_A_DRINK] if len(counted) >= STAMPS_FOR_A_DRINK else None


def taken_back(of_order: Sequence[Stamp], paid_pence: int, refunded_pence: int) -> list[Stamp]:
    """Return the unused stamps a refund removes: those of the order if all of it went back, else none."""
    return list(of_order) if refunded_pence >= paid_pence > 0 else []
