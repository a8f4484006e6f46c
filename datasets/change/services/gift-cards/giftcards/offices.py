"""Firms that buy cards for their people: twenty and more of one value, with a discount that marketing bears."""

from dataclasses import dataclass

from giftcards import codes
from giftcards.cards import LEAST, MOST
from giftcards.money import half_up, shared, show_pounds

FEWEST = 20
SERIES = "15"
# From so many cards, hundredths of a percent of the value.
DISCOUNTS = ((200, 750), (100, 500), (50, 300), (20, 0))
CARRIAGE_PENCE = 450
CARRIAGE_FREE_FROM = 100_000


@dataclass(frozen=True)
class Quote:
    """What a firm pays."""

    value: int
    discount: int
    carriage: int

    @property
    def to_pay(self) -> int:
        """The sum on the invoice."""
        return self.value - self.discount + self.carriage


def discount_rate(cards: int) -> int:
    """Return the discount in hundredths of a percent."""
    for least, rate in DISCOUNTS:
        if cards >= least:
            return rate
    raise ValueError(f"{cards} cards: an office order begins at {FEWEST}")


def quote(cards: int, pence: int, collected: bool = False) -> Quote:
    """Return the price of an order; what is collected at the Yard, or is worth £1,000, bears no carriage."""
    if not LEAST <= pence <= MOST:
        raise ValueError(f"{show_pounds(pence)}: a card is sold with {show_pounds(LEAST)} to {show_pounds(MOST)}")
    value = cards * pence
    discount = half_up(value * discount_rate(cards), 10_000)
    carriage = 0 if collected or value >= CARRIAGE_FREE_FROM else CARRIAGE_PENCE
    return Quote(value, discount, carriage)


def numbers(first: int, cards: int) -> list[str]:
    """Return the numbers of an order's cards, which follow each other."""
    return [codes.number(SERIES, count) for count in range(first, first + cards)]


def by_department(order: Quote, people: dict[str, int]) -> dict[str, int]:
    """Share the invoice among a firm's departments by the number of their people."""
    parts = shared(order.to_pay, list(people.values()))
    return dict(zip(people, parts, strict=True))
