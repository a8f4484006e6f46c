"""Hours over contract, banked and taken as free time within twelve weeks, the oldest first."""

from dataclasses import dataclass, field
from datetime import date, timedelta

from swaps.clock import HOUR, show_length

MOST = 22 * HOUR
LIFE = timedelta(weeks=12)


@dataclass
class Bank:
    """One person's banked minutes: day and what is left of it."""

    deposits: list[tuple[date, int]] = field(default_factory=list)

    def balance(self, today: date) -> int:
        """Return what may be taken today."""
        return sum(minutes for day, minutes in self.deposits if today - day <= LIFE)

    def put(self, day: date, minutes: int) -> int:
        """Bank minutes up to 22 hours in all; return those that are paid because there is no room."""
        if minutes < 0:
            raise ValueError(f"{minutes} minutes")
        banked = min(minutes, max(0, MOST - self.balance(day)))
        if banked:
            self.deposits.append((day, banked))
            self.deposits.sort()
        return minutes - banked

    def take(self, day: date, minutes: int) -> None:
        """Take free time.

        Raises:
            ValueError: There is not so much.
        """
        if minutes > self.balance(day):
            raise ValueError(f"{show_length(minutes)} of {show_length(self.balance(day))}")
        left = []
        for banked, amount in self.deposits:
            used = min(amount, minutes) if day - banked <= LIFE else 0
            minutes -= used
            if amount > used:
                left.append((banked, amount - used))
        self.deposits = left

    def expire(self, today: date) -> int:
        """Drop what is older than twelve weeks; return the minutes, which are paid."""
        old = sum(minutes for day, minutes in self.deposits if today - day > LIFE)
        self.deposits = [(day, minutes) for day, minutes in self.deposits if today - day <= LIFE]
        return old
