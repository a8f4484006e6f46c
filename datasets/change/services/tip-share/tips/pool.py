"""What is in a week's pool: the jar as two people count it, and the card tips."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date

from tips.money import POUND, difference, written

TOLERANCE = 3 * POUND
ASK_ABOVE = 50 * POUND
CARD_STEPS = (0, 5, 10)  # percent that the terminal offers

COINS = {"1p": 1, "2p": 2, "5p": 5, "10p": 10, "20p": 20, "50p": 50, "£1": 100, "£2": 200}
NOTES = {"£5": 500, "£10": 1000, "£20": 2000, "£50": 5000}


@dataclass(frozen=True)
class Count:
    """One person's count of the jar: how many of each coin and note."""

    person: str
    pieces: tuple[tuple[str, int], ...]

    @property
    def pence(self) -> int:
        """What it comes to; foreign coins and buttons are nothing."""
        return sum(worth(name) * number for name, number in self.pieces)

    @property
    def strange(self) -> int:
        """How many pieces go to the lifeboat box."""
        return sum(number for name, number in self.pieces if not worth(name))


@dataclass(frozen=True)
class CardTip:
    """A tip on a card: what the guest paid for, and what on top."""

    day: date
    bill: int
    tip: int
    asked: bool = False

    @property
    def must_ask(self) -> bool:
        """Whether it waits until somebody has asked whether it was meant."""
        return self.tip > ASK_ABOVE and not self.asked


class CountAgain(ValueError):
    """Two counts of a jar are too far apart, or both are one person's."""


def worth(name: str) -> int:
    """Return the pence of a coin or note, nothing if it is none of ours."""
    return COINS.get(name, NOTES.get(name, 0))


def booked(one: Count, other: Count) -> int:
    """Return what is booked of a jar that two people counted: the lower count.

    Raises:
        CountAgain: One person counted twice, or the counts differ by more than £3.
    """
    if one.person == other.person:
        raise CountAgain(f"{one.person} counted twice")
    apart = difference(one.pence, other.pence)
    if apart > TOLERANCE:
        raise CountAgain(f"{one.person} and {other.person} are {written(apart)} apart")
    return min(one.pence, other.pence)


def to_tell(jar: int, book: int) -> bool:
    """Tell whether the team hears of a difference between jar and book."""
    return difference(jar, book) > TOLERANCE


def offered(bill: int) -> list[int]:
    """Return the tips that the terminal offers for a bill, in pence, rounded up to ten."""
    return [-(-bill * step // 1000) * 10 for step in CARD_STEPS]


def looks_like_a_slip(tip: CardTip) -> bool:
    """Tell whether a tip is what the bill would be with its comma moved, or more than twice the bill."""
    moved = tip.tip in (tip.bill * 10, tip.bill * 100)
    return moved or tip.tip > 2 * tip.bill


def card_total(tips: Iterable[CardTip]) -> tuple[int, int]:
    """Return the card tips that are shared, and those that wait."""
    shared = waiting = 0
    for tip in tips:
        if tip.must_ask or (looks_like_a_slip(tip) and not tip.asked):
            waiting += tip.tip
        else:
            shared += tip.tip
    return shared, waiting


def week_total(jars: Mapping[date, int], cards: Sequence[CardTip]) -> int:
    """Return a week's pool: all jars, and the card tips that do not wait."""
    return sum(jars.values()) + card_total(cards)[0]


def best_day(jars: Mapping[date, int]) -> date | None:
    """Return the day with the fullest jar, the earlier of two alike; None without jars."""
    if not jars:
        return None
    return min(jars, key=lambda day: (-jars[day], day))
