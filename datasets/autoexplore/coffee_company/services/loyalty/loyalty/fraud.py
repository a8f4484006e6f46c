"""Looks for stamps that no guest can have earned.

A finding blocks nothing and accuses nobody: it goes on the list that Oscar Lindgren reads on Mondays;
three findings for one employee within 28 days stand at its top. The thresholds come from the
case of autumn 2023, when one till gave 212 stamps to a single card in nine days.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta

# The same card again at the same till: a guest who forgot something is allowed one.
SAME_CARD_WITHIN = timedelta(minutes=6)
SAME_CARD_VISITS = 3
# No bus is faster: Quayside to Market Street takes eleven minutes on foot.
OTHER_CAFE_WITHIN = timedelta(minutes=9)
# Central Station and Quayside staff swap shifts; their own cards may appear at both.
NEIGHBOURS = frozenset({frozenset({"C01", "C04"})})
# Drinks a day. The record of an honest guest is 11, a taxi driver at the Infirmary.
DRINKS_A_DAY = 12


@dataclass(frozen=True)
class Visit:
    """One receipt with a card on it."""

    token: str
    cafe: str
    at: datetime
    drinks: int
    employee: str


@dataclass(frozen=True)
class Finding:
    """Something to look at, with the employee at the till and a sentence."""

    token: str
    employee: str
    at: datetime
    why: str


def findings(visits: Iterable[Visit]) -> Iterator[Finding]:
    """Go through the visits of a week, card by card in order of time."""
    cards: dict[str, list[Visit]] = defaultdict(list)
    for visit in visits:
        cards[visit.token].append(visit)
    for card in cards.values():
        card.sort(key=lambda v: v.at)
        yield from _repeats(card)
        yield from _too_fast(card)
        yield from _too_many(card)


def _repeats(card: list[Visit]) -> Iterator[Finding]:
    for i in range(SAME_CARD_VISITS - 1, len(card)):
        group = card[i - SAME_CARD_VISITS + 1 : i + 1]
        if len({v.cafe for v in group}) == 1 and group[-1].at - group[0].at <= SAME_CARD_WITHIN:
            last = group[-1]
            minutes = SAME_CARD_WITHIN.seconds // 60
            yield Finding(last.token, last.employee, last.at, f"{SAME_CARD_VISITS} visits in {minutes} minutes")


def _too_fast(card: list[Visit]) -> Iterator[Finding]:
    for before, after in zip(card, card[1:], strict=False):
        pair = frozenset({before.cafe, after.cafe})
        if len(pair) == 2 and pair not in NEIGHBOURS and after.at - before.at < OTHER_CAFE_WITHIN:
            yield Finding(after.token, after.employee, after.at, f"{before.cafe} and {after.cafe} at once")


def _too_many(card: list[Visit]) -> Iterator[Finding]:
    days: dict[object, int] = defaultdict(int)
    for visit in card:
        before = days[visit.at.date()]
        days[visit.at.date()] = before + visit.drinks
        if before <= DRINKS_A_DAY < before + visit.drinks:  # told once a day
            yield Finding(visit.token, visit.employee, visit.at, f"more than {DRINKS_A_DAY} drinks in a day")
