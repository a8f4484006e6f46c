"""Wednesday's envelopes: which notes and coins, what the bank must change, who signed."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date, timedelta

from tips.clocking import sunday
from tips.money import written
from tips.pool import COINS, NOTES, worth

# No fifties: the cafés cannot change them.
GIVEN = ("£20", "£10", "£5", "£2", "£1", "50p", "20p", "10p", "5p", "2p", "1p")
PAID_ON = 2  # Wednesday
KEPT_WEEKS = 6
ROLL = 20  # coins of a kind that the bank hands out together


@dataclass(frozen=True)
class Envelope:
    """Somebody's cash of a week."""

    person: str
    week: date
    pence: int
    signed: date | None = None

    @property
    def is_due(self) -> date:
        """When it is handed out: on the Wednesday after the week."""
        return sunday(self.week) + timedelta(days=1 + PAID_ON)

    def waits(self, today: date) -> int:
        """Return for how many whole weeks it has been waiting."""
        if self.signed is not None or today < self.is_due:
            return 0
        return (today - self.is_due).days // 7


def pieces(pence: int) -> dict[str, int]:
    """Return the fewest notes and coins of a sum."""
    found = {}
    for name in GIVEN:
        number, pence = divmod(pence, worth(name))
        if number:
            found[name] = number
    return found


def box(envelopes: Iterable[Envelope]) -> dict[str, int]:
    """Return the notes and coins for all envelopes, the large ones first."""
    needed: dict[str, int] = {}
    for envelope in envelopes:
        for name, number in pieces(envelope.pence).items():
            needed[name] = needed.get(name, 0) + number
    return {name: needed[name] for name in GIVEN if name in needed}


def to_change(needed: Mapping[str, int], there: Mapping[str, int]) -> dict[str, int]:
    """Return what the bank must hand out: missing notes one by one, missing coins in whole rolls."""
    orders = {}
    for name, number in needed.items():
        missing = number - there.get(name, 0)
        if missing > 0:
            orders[name] = missing if name in NOTES else -(-missing // ROLL) * ROLL
    return orders


def brought(orders: Mapping[str, int]) -> int:
    """Return the pence that somebody takes to the bank for an order."""
    return sum(worth(name) * number for name, number in orders.items())


def weight(found: Mapping[str, int]) -> int:
    """Return about how heavy coins are, in grams: coppers four, silver six, pounds ten; notes are nothing."""
    grams = 0
    for name, number in found.items():
        if name in COINS:
            grams += number * (10 if COINS[name] >= 100 else 6 if COINS[name] >= 5 else 4)
    return grams


def sign(envelope: Envelope, person: str, day: date) -> Envelope:
    """Note that an envelope was handed out.

    Raises:
        ValueError: Somebody else signs, it was signed before, or it is too early.
    """
    if person != envelope.person:
        raise ValueError(f"{person} signs for {envelope.person}")
    if envelope.signed is not None:
        raise ValueError(f"{person} has had {written(envelope.pence)}")
    if day < envelope.is_due:
        raise ValueError(f"not before {envelope.is_due:%d %B}")
    return replace(envelope, signed=day)


def unclaimed(envelopes: Sequence[Envelope], today: date) -> list[str]:
    """Return who is written to, since an envelope has been waiting for six weeks; the oldest first."""
    late = [envelope for envelope in envelopes if envelope.waits(today) >= KEPT_WEEKS]
    return [envelope.person for envelope in sorted(late, key=lambda each: (each.week, each.person))]
