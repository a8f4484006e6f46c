"""Cartridges by litres and months, and what a strip says."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import date

from machines.due import months_on

RING_FROM = 85  # percent
MOST_MONTHS = 12
SPENT_ABOVE, AGAIN_ABOVE, SOFT_BELOW = 90, 75, 50  # mg/l
LITRES = {"CW-150": 4800, "CW-300": 9500, "CW-500": 12_500}
HARD_FACTOR = 10  # percent of the litres that go for each step of hardness above three


@dataclass(frozen=True)
class Cartridge:
    """A cartridge at a café: its kind, when it was put in, the meter since, and the hardness of the place."""

    cafe: str
    kind: str
    since: date
    litres: int = 0
    hardness: int = 3

    @property
    def room(self) -> int:
        """The litres that it lasts here."""
        less = max(0, self.hardness - 3) * HARD_FACTOR
        return LITRES[self.kind] * (100 - less) // 100

    @property
    def used(self) -> int:
        """Percent of its litres."""
        return self.litres * 100 // self.room

    @property
    def old_on(self) -> date:
        """The day on which it is twelve months old."""
        return months_on(self.since, MOST_MONTHS)

    def is_due(self, today: date) -> bool:
        """Tell whether it is changed: at its litres or after twelve months."""
        return self.litres >= self.room or today >= self.old_on

    def rings(self, today: date) -> bool:
        """Tell whether somebody rings: it is not due yet, but soon."""
        return self.used >= RING_FROM and not self.is_due(today)


def strip(value: int) -> str:
    """Return what a strip means, in mg/l."""
    if value > SPENT_ABOVE:
        return "ring Holt"
    if value > AGAIN_ABOVE:
        return "test again tomorrow"
    if value < SOFT_BELOW:
        return "by-pass open by one mark"
    return "right"


def days_left(cartridge: Cartridge, today: date) -> int:
    """Return the days that a cartridge lasts at the pace so far, and never more than its months allow."""
    by_months = max(0, (cartridge.old_on - today).days)
    days = (today - cartridge.since).days
    if days <= 0 or cartridge.litres <= 0:
        return by_months
    by_litres = max(0, cartridge.room - cartridge.litres) * days // cartridge.litres
    return min(by_months, by_litres)


def next_changes(cartridges: Iterable[Cartridge], today: date) -> list[tuple[str, int]]:
    """Return cafés and days until a change, the soonest first."""
    return sorted(((each.cafe, days_left(each, today)) for each in cartridges), key=lambda pair: (pair[1], pair[0]))
