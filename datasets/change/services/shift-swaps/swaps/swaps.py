"""A swap: asked by one, agreed by the other, not refused by a manager in time, and done.

ASKED -> AGREED -> APPROVED -> DONE, or from ASKED to WITHDRAWN, or from AGREED to REFUSED
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum

from swaps.clock import HOUR, Moment
from swaps.rules import Breach, breaches
from swaps.shifts import Shift

NOTICE = 48 * HOUR
ANSWER_UNTIL = 20 * HOUR
TALK_AFTER = 4
GRADES = ("barista", "senior barista", "shift lead")


class State(Enum):
    """Where a swap is."""

    ASKED = "asked"
    AGREED = "agreed"
    APPROVED = "approved"
    DONE = "done"
    REFUSED = "refused"
    WITHDRAWN = "withdrawn"


class NotAllowed(ValueError):
    """A swap that the handbook forbids."""


@dataclass
class Swap:
    """Two shifts whose people change places; `answers` has what each café's manager said."""

    mine: Shift
    yours: Shift
    asked: Moment
    state: State = State.ASKED
    agreed: Moment | None = None
    answers: dict[str, str | None] = field(default_factory=dict)

    @property
    def sites(self) -> list[str]:
        """The cafés whose managers have a say."""
        return sorted({self.mine.site, self.yours.site})

    @property
    def deadline(self) -> Moment | None:
        """Until when the managers may refuse: 20:00 of the day of the agreement, or the next if that has passed."""
        if self.agreed is None:
            return None
        evening = Moment(self.agreed.day, ANSWER_UNTIL)
        return evening if self.agreed <= evening else evening.plus(24 * HOUR)


def same_grade(one: str, other: str) -> bool:
    """Tell whether two people are of one grade; an unknown one is of none."""
    for grade in (one, other):
        if grade not in GRADES:
            raise NotAllowed(f"no grade {grade!r}")
    return one == other


def ask(
    mine: Shift, yours: Shift, now: Moment, grades: Mapping[str, str], keepers: frozenset[str] = frozenset()
) -> Swap:
    """Begin a swap.

    Args:
        mine: The shift of the person who asks.
        yours: The shift of the person who is asked.
        now: The moment of asking.
        grades: Each person's grade.
        keepers: Who may hold keys.

    Raises:
        NotAllowed: It is the same person, another grade, too late, or keys would go to somebody without them.
    """
    if mine.employee == yours.employee:
        raise NotAllowed("a swap needs two people")
    if not same_grade(grades[mine.employee], grades[yours.employee]):
        raise NotAllowed(f"{grades[mine.employee]} and {grades[yours.employee]}")
    for shift, other in ((mine, yours), (yours, mine)):
        if shift.keeper and other.employee not in keepers:
            raise NotAllowed(f"{other.employee} holds no keys")
    first = min(mine.begins, yours.begins)
    if first.minus(now) < NOTICE:
        raise NotAllowed(f"{first.minus(now) // HOUR} hours before; 48 are needed")
    return Swap(mine, yours, now)


def agree(swap: Swap, now: Moment) -> None:
    """Let the other person say yes, which is subject to the same 48 hours."""
    _need(swap, State.ASKED)
    if min(swap.mine.begins, swap.yours.begins).minus(now) < NOTICE:
        swap.state = State.WITHDRAWN
        raise NotAllowed("agreed too late")
    swap.agreed, swap.state = now, State.AGREED


def withdraw(swap: Swap) -> None:
    """Let the person who asked change their mind before the other has agreed."""
    _need(swap, State.ASKED)
    swap.state = State.WITHDRAWN


def answer(swap: Swap, site: str, now: Moment, why_not: str | None = None) -> State:
    """Let a manager say yes, or no with a reason; an answer after the deadline changes nothing."""
    settle(swap, now)
    if swap.state is not State.AGREED:
        return swap.state
    if site not in swap.sites:
        raise NotAllowed(f"{site} has no say")
    if why_not is not None and not why_not.strip():
        raise NotAllowed("a refusal says why")
    swap.answers[site] = why_not
    if why_not is not None:
        swap.state = State.REFUSED
    elif all(each in swap.answers for each in swap.sites):
        swap.state = State.APPROVED
    return swap.state


def settle(swap: Swap, now: Moment) -> State:
    """Take silence for a yes once the deadline has passed."""
    if swap.state is State.AGREED and swap.deadline is not None and now > swap.deadline:
        swap.state = State.APPROVED
    return swap.state


def carry_out(swap: Swap, rota: Sequence[Shift]) -> tuple[list[Shift], list[Breach]]:
    """Return the rota after an approved swap, and what it breaks; a swap that breaks a rule is not done.

    Raises:
        NotAllowed: It is not approved, or the rota has changed since.
    """
    _need(swap, State.APPROVED)
    if swap.mine not in rota or swap.yours not in rota:
        raise NotAllowed("the rota has changed since")
    exchange = {
        swap.mine: swap.mine.given_to(swap.yours.employee),
        swap.yours: swap.yours.given_to(swap.mine.employee),
    }
    after = [exchange.get(shift, shift) for shift in rota]
    found: list[Breach] = []
    for employee in (swap.mine.employee, swap.yours.employee):
        before = breaches([shift for shift in rota if shift.employee == employee])
        now = breaches([shift for shift in after if shift.employee == employee])
        found.extend(breach for breach in now if breach not in before)
    if found:
        return list(rota), found
    swap.state = State.DONE
    return after, []


def needs_talk(swaps: Sequence[Swap], employee: str) -> bool:
    """Tell whether somebody swapped more than four times in a rota, on either side."""
    done = [swap for swap in swaps if swap.state is State.DONE]
    return sum(employee in (swap.mine.employee, swap.yours.employee) for swap in done) > TALK_AFTER


def _need(swap: Swap, state: State) -> None:
    if swap.state is not state:
        raise NotAllowed(f"the swap is {swap.state.value}")
