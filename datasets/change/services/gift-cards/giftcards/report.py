"""The figures for WD5, and the statement that a guest may ask for."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, timedelta

from giftcards import codes
from giftcards.cards import Card, State
from giftcards.journal import UNSPENT, Journal
from giftcards.money import show_pounds

# Upper ends of the age bands, in days since the last use.
BANDS = (91, 183, 365)
WIDTH = 46


@dataclass(frozen=True)
class Month:
    """The debt in gift cards over a month: opening + added − taken = closing."""

    opening: int
    added: int
    taken: int
    closing: int


def month_ends(year: int, month: int) -> tuple[date, date]:
    """Return the first and the last day of a month."""
    following = date(year + month // 12, month % 12 + 1, 1)
    return date(year, month, 1), following - timedelta(days=1)


def of_month(journal: Journal, year: int, month: int) -> Month:
    """Return a month's figures, all of them above zero though the account is a credit."""
    first, last = month_ends(year, month)
    inside = [line.pence for entry in journal.entries if first <= entry.day <= last for line in entry.lines
              if line.account == UNSPENT]  # fmt: skip
    opening = -journal.balance(UNSPENT, last=first - timedelta(days=1))
    added = -sum(pence for pence in inside if pence < 0)
    taken = sum(pence for pence in inside if pence > 0)
    return Month(opening, added, taken, opening + added - taken)


def by_age(cards: Sequence[Card], today: date) -> list[int]:
    """Return what is unspent in each age band; the last is everything older than a year."""
    sums = [0] * (len(BANDS) + 1)
    for card in cards:
        if card.state is State.LIVE and card.used is not None:
            days = (today - card.used).days
            sums[sum(days > band for band in BANDS)] += card.pence
    return sums


def differs(cards: Sequence[Card], journal: Journal) -> int:
    """Return by how many pence the cards and account 2200 differ; anything but zero stops the month-end."""
    return sum(card.pence for card in cards) + journal.balance(UNSPENT)


def statement(card: Card) -> str:
    """Return a card's acts, one a line with the balance after it, the amounts under each other."""
    lines = [f"Card {codes.masked(card.number)}"]
    balance = 0
    for day, act, pence in card.acts:
        balance += pence
        left = f"{day:%d.%m.%Y}  {act}"
        amounts = f"{show_pounds(pence):>10}  {show_pounds(balance):>10}"
        lines.append(left.ljust(WIDTH - len(amounts)) + amounts)
    if card.moved_to is not None:
        lines.append(f"moved to {codes.masked(card.moved_to)}")
    return "\n".join(lines)
