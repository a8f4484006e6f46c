"""24 months without use, after which what is left on a card becomes income; two letters go out before that."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import date, timedelta

from giftcards import codes
from giftcards.cards import Card, State
from giftcards.journal import LAPSED, UNSPENT, Entry, Journal, Line

MONTHS = 24
LETTERS = (90, 14)  # days before the last day
WORTH_A_LETTER = 200  # less than this does not pay the stamp


@dataclass(frozen=True)
class Letter:
    """A letter that is due: who has an address gets one."""

    number: str
    last_day: date
    pence: int


def last_day(used: date) -> date:
    """Return the last day on which a card counts: the same day 24 months on, or the month's last."""
    years, month = divmod(used.month - 1 + MONTHS, 12)
    year, month = used.year + years, month + 1
    day = used.day
    while True:
        try:
            return date(year, month, day)
        except ValueError:
            day -= 1


def due(card: Card, today: date) -> bool:
    """Tell whether a card has lapsed."""
    return card.state is State.LIVE and card.used is not None and today > last_day(card.used)


def lapse(cards: Iterable[Card], journal: Journal, today: date) -> int:
    """Take what is on the lapsed cards to income, one entry for all of them; return the pence."""
    lapsed = [card for card in cards if due(card, today)]
    total = sum(card.pence for card in lapsed)
    if not total:
        return 0
    journal.book(Entry(today, f"{len(lapsed)} cards lapsed", (Line(UNSPENT, total), Line(LAPSED, -total))))
    for card in lapsed:
        used = card.used
        card.note(today, "lapsed", -card.pence)
        card.used, card.state = used, State.LAPSED
    return total


def revive(card: Card, journal: Journal, today: date) -> int:
    """Give a guest back what lapsed, out of kindness, within half a year; return the pence.

    Raises:
        ValueError: The card has not lapsed, or longer ago than 183 days.
    """
    lapsed = [(day, -pence) for day, act, pence in card.acts if act == "lapsed"]
    if card.state is not State.LAPSED or not lapsed:
        raise ValueError(f"{codes.masked(card.number)} has not lapsed")
    day, pence = lapsed[-1]
    if today - day > timedelta(days=183):
        raise ValueError(f"{codes.masked(card.number)} lapsed on {day}")
    journal.book(Entry(today, f"revived {codes.masked(card.number)}", (Line(LAPSED, pence), Line(UNSPENT, -pence))))
    card.note(today, "revived", pence)
    card.state = State.LIVE
    return pence


def letters(cards: Iterable[Card], today: date) -> list[Letter]:
    """Return the letters to send today, the largest amounts first."""
    found = []
    for card in cards:
        if card.state is State.LIVE and card.used is not None and card.pence >= WORTH_A_LETTER:
            last = last_day(card.used)
            if (last - today).days in LETTERS:
                found.append(Letter(card.number, last, card.pence))
    return sorted(found, key=lambda letter: (-letter.pence, letter.number))
