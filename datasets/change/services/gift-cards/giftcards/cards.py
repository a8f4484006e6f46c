"""What may happen to a card. Each act books its entry first, so that a refused one changes nothing."""

from dataclasses import dataclass, field
from datetime import date
from enum import Enum

from giftcards import codes
from giftcards.journal import BANK, CARD_SETTLEMENTS, MARKETING, SUSPENSE, TAKINGS, TILL, UNSPENT, Entry, Journal, Line
from giftcards.money import show_pounds

LEAST, MOST = 500, 15_000
MOST_ON_A_CARD = 25_000
PAID_INTO = {"cash": TILL, "card": CARD_SETTLEMENTS, "transfer": BANK, "goodwill": MARKETING}
# What a café gives away to make up for something: more needs the area manager, and the form he signs.
MOST_GOODWILL = 2_000


class State(Enum):
    """Where a card is in its life."""

    BLANK = "blank"
    LIVE = "live"
    SPENT = "spent"
    LAPSED = "lapsed"
    BLOCKED = "blocked"


class Refused(ValueError):
    """The act is not allowed for this card as it is."""


@dataclass
class Card:
    """A card, what is on it, and when it was used last."""

    number: str
    state: State = State.BLANK
    pence: int = 0
    used: date | None = None
    moved_to: str | None = None
    acts: list[tuple[date, str, int]] = field(default_factory=list)

    def note(self, day: date, act: str, pence: int) -> None:
        """Write an act down; what it added is above zero."""
        self.pence += pence
        self.used = day
        self.acts.append((day, act, pence))


def _need(card: Card, *states: State) -> None:
    if card.state not in states:
        raise Refused(f"{codes.masked(card.number)} is {card.state.value}")


def load(card: Card, journal: Journal, day: date, pence: int, paid: str, site: str) -> None:
    """Sell a blank card or top up one that is in use; a spent one lives again."""
    _need(card, State.BLANK, State.LIVE, State.SPENT)
    if paid not in PAID_INTO:
        raise Refused(f"paid by {paid}: take {', '.join(PAID_INTO)}")
    if not LEAST <= pence <= MOST:
        raise Refused(f"{show_pounds(pence)}: load {show_pounds(LEAST)} to {show_pounds(MOST)}")
    if card.pence + pence > MOST_ON_A_CARD:
        raise Refused(f"a card holds at most {show_pounds(MOST_ON_A_CARD)}")
    if paid == "goodwill" and pence > MOST_GOODWILL:
        raise Refused(f"goodwill above {show_pounds(MOST_GOODWILL)} is signed by the area manager")
    lines = (Line(PAID_INTO[paid], pence, site), Line(UNSPENT, -pence, site))
    journal.book(Entry(day, f"sold {codes.masked(card.number)}", lines))
    card.note(day, "sold" if card.state is State.BLANK else "topped up", pence)
    card.state = State.LIVE


def spend(card: Card, journal: Journal, day: date, bill: int, site: str) -> int:
    """Pay a bill as far as the card reaches; return what is left to pay by other means."""
    _need(card, State.LIVE)
    if bill <= 0:
        raise Refused("a bill of nothing")
    pence = min(bill, card.pence)
    journal.book(
        Entry(day, f"spent {codes.masked(card.number)}", (Line(UNSPENT, pence, site), Line(TAKINGS, -pence, site)))
    )
    card.note(day, "spent", -pence)
    if card.pence == 0:
        card.state = State.SPENT
    return bill - pence


def refund(card: Card, journal: Journal, day: date, pence: int, site: str) -> None:
    """Put money back on the card it came from: at most what was spent with it and not yet refunded."""
    _need(card, State.LIVE, State.SPENT, State.LAPSED)
    spent = -sum(moved for _, act, moved in card.acts if act in ("spent", "refunded"))
    if not 0 < pence <= spent:
        raise Refused(f"{show_pounds(pence)} of {show_pounds(spent)} that were spent")
    journal.book(
        Entry(day, f"refund {codes.masked(card.number)}", (Line(TAKINGS, pence, site), Line(UNSPENT, -pence, site)))
    )
    card.note(day, "refunded", pence)
    card.state = State.LIVE


def replace(lost: Card, new: Card, journal: Journal, day: date) -> None:
    """Block a lost card and move what is on it to a blank one, which also inherits the date of the last use."""
    _need(lost, State.LIVE)
    _need(new, State.BLANK)
    pence, used = lost.pence, lost.used
    out = Entry(day, f"lost {codes.masked(lost.number)}", (Line(UNSPENT, pence), Line(SUSPENSE, -pence)))
    back = Entry(day, f"in place of {codes.masked(lost.number)}", (Line(SUSPENSE, pence), Line(UNSPENT, -pence)))
    journal.book(out)
    journal.book(back)
    lost.note(day, "moved away", -pence)
    new.note(day, "moved here", pence)
    lost.state, new.state = State.BLOCKED, State.LIVE
    lost.moved_to, new.used = new.number, used
