"""Who signs. A limit is for one invoice with VAT, or for a year's total where the thing repeats."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from itertools import pairwise

# Level, and the highest amount in pence that it may sign; the board comes after the last.
LIMITS = (
    ("café manager", 25_000),
    ("area manager", 100_000),
    ("department lead", 250_000),
    ("finance director", 1_500_000),
)
BOARD = "board"
LEVELS = (*(level for level, _ in LIMITS), BOARD)
LONG_CONTRACT_MONTHS = 24


@dataclass(frozen=True)
class Bill:
    """What is to be signed.

    Attributes:
        pence: With VAT.
        department: Whose budget it is.
        repeats: How often a year it comes; 1 for a thing bought once.
        months: Length of the contract behind it, 0 without one.
        inside_contract: Whether it is a call-off from a contract that was signed before.
        customers_data: Whether it is software that sees customers' data.
        lease: Whether it is rent.
    """

    pence: int
    department: str
    repeats: int = 1
    months: int = 0
    inside_contract: bool = False
    customers_data: bool = False
    lease: bool = False


def level_for(pence: int) -> str:
    """Return the lowest level that may sign an amount; a limit itself is still inside."""
    for level, limit in LIMITS:
        if pence <= limit:
            return level
    return BOARD


def signatures(bill: Bill) -> list[str]:
    """Return who must sign, the lowest first; nobody for a call-off."""
    if bill.lease:
        return [BOARD]
    if bill.inside_contract:
        return []
    needed = {level_for(bill.pence * bill.repeats)}
    if bill.months > LONG_CONTRACT_MONTHS:
        needed |= {"department lead", "finance director"}
    names = sorted(needed, key=LEVELS.index)
    return [*names, "head of IT"] if bill.customers_data else names


def stand_in(level: str, away: Mapping[str, int], bill: Bill) -> str | None:
    """Return who signs for a level, by the days that people are away; None means that it waits.

    Two weeks or less: it waits. Longer: one level up, and for the finance director the operations director, but never
    for a bill of the operations director's own department.
    """
    if away.get(level, 0) == 0:
        return level
    if away[level] <= 14:
        return None
    if level == "finance director":
        return None if bill.department == "operations" else "operations director"
    place = LEVELS.index(level)
    return stand_in(LEVELS[place + 1], away, bill) if level != BOARD else None


def split_orders(bills: Collection[tuple[str, int, int]], limit: int, within: int = 7) -> list[str]:
    """Return the suppliers from whom a manager ordered around a limit, which is misconduct.

    Args:
        bills: Supplier, day of the year, and pence of each order.
        limit: The manager's limit.
        within: Orders so many days apart, or fewer, count as one.

    Returns:
        Suppliers with two orders that are each inside the limit and together above it.
    """
    found = set()
    ordered = sorted(bills, key=lambda bill: (bill[0], bill[1]))
    for (supplier, day, pence), (other, later, more) in pairwise(ordered):
        near = supplier == other and later - day <= within
        if near and max(pence, more) <= limit < pence + more:
            found.add(supplier)
    return sorted(found)
