"""The journal: entries of two lines or more that add up to zero, never changed and only reversed."""

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import date

TILL = 1210
CARD_SETTLEMENTS = 1120
BANK = 1220
UNSPENT = 2200
SUSPENSE = 2990
TAKINGS = 4010
LAPSED = 4920
MARKETING = 7110

NAMES = {
    TILL: "Till floats and safes",
    CARD_SETTLEMENTS: "Card settlements on the way",
    BANK: "Bank, Northshire Mutual current",
    UNSPENT: "Gift cards unspent",
    SUSPENSE: "Suspense",
    TAKINGS: "Café takings",
    LAPSED: "Gift cards lapsed",
    MARKETING: "Marketing",
}
# Accounts from 2000 to below 5000 (debts, capital, income) usually stand on the credit side.
CREDIT_FROM, CREDIT_TO = 2000, 5000


class Unbalanced(ValueError):
    """An entry whose debits and credits differ."""


@dataclass(frozen=True)
class Line:
    """One line: pence above zero are a debit, below zero a credit."""

    account: int
    pence: int
    site: str = "HO"


@dataclass(frozen=True)
class Entry:
    """What is booked at one go.

    Raises:
        Unbalanced: The lines do not add up to zero.
        ValueError: An account is unknown, a line is empty, or there are fewer than two.
    """

    day: date
    text: str
    lines: tuple[Line, ...]
    reverses: int | None = None

    def __post_init__(self) -> None:
        """Refuse what may not be booked."""
        if len(self.lines) < 2:
            raise ValueError(f"{self.text}: an entry has two lines or more")
        for line in self.lines:
            if line.account not in NAMES:
                raise ValueError(f"{self.text}: no account {line.account}")
            if line.pence == 0:
                raise ValueError(f"{self.text}: a line of nothing on {line.account}")
        difference = sum(line.pence for line in self.lines)
        if difference:
            raise Unbalanced(f"{self.text}: {difference} pence too many")


class Journal:
    """The entries in the order in which they were booked, numbered from 1."""

    def __init__(self) -> None:
        """Begin an empty journal."""
        self.entries: list[Entry] = []
        self.closed_until: date | None = None

    def book(self, entry: Entry) -> int:
        """Add an entry and return its number; a closed month takes none."""
        if self.closed_until is not None and entry.day <= self.closed_until:
            raise ValueError(f"{entry.text}: the books are closed until {self.closed_until}")
        self.entries.append(entry)
        return len(self.entries)

    def reverse(self, number: int, day: date) -> int:
        """Book an entry's opposite, once."""
        if not 1 <= number <= len(self.entries):
            raise ValueError(f"no entry {number}")
        if any(each.reverses == number for each in self.entries):
            raise ValueError(f"entry {number} is reversed already")
        entry = self.entries[number - 1]
        lines = tuple(Line(each.account, -each.pence, each.site) for each in entry.lines)
        return self.book(Entry(day, f"reversal of {number}: {entry.text}", lines, number))

    def close(self, last: date) -> None:
        """Close the books up to a day; they are never opened again."""
        if self.closed_until is not None and last < self.closed_until:
            raise ValueError(f"the books are closed until {self.closed_until}")
        self.closed_until = last

    def balance(self, account: int, first: date | None = None, last: date | None = None) -> int:
        """Return an account's balance, or what moved on it between two days, both included."""
        return sum(
            line.pence
            for entry in self.entries
            for line in entry.lines
            if line.account == account and (first is None or first <= entry.day) and (last is None or entry.day <= last)
        )


def trial_balance(entries: Iterable[Entry]) -> list[tuple[int, str, int, int]]:
    """Return account, name, debit and credit of every account that does not stand at zero."""
    sums: dict[int, int] = defaultdict(int)
    for entry in entries:
        for line in entry.lines:
            sums[line.account] += line.pence
    return [
        (account, NAMES[account], max(pence, 0), max(-pence, 0)) for account, pence in sorted(sums.items()) if pence
    ]


def on_wrong_side(entries: Iterable[Entry]) -> list[int]:
    """Return the accounts that stand where they never should, for the check before WD5; suspense may do both."""
    wrong = []
    for account, _, debit, credit in trial_balance(entries):
        usually_credit = CREDIT_FROM <= account < CREDIT_TO
        if account != SUSPENSE and (debit if usually_credit else credit):
            wrong.append(account)
    return wrong
