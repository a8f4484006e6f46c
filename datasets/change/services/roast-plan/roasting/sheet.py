"""The plan as it hangs in the hall: a line for each batch, and what it needs from the store."""

from collections import defaultdict
from collections.abc import Iterable, Sequence

from roasting.batches import roasted_from
from roasting.coffees import COFFEES, GRAMS
from roasting.day import Slot


def clock(minute: int) -> str:
    """Return a time of the day."""
    return f"{minute // 60:02}:{minute % 60:02}"


def kilos(grams: int) -> str:
    """Return a weight in kilos with one decimal, half up."""
    tenths = (2 * grams + 100) // 200
    return f"{tenths // 10}.{tenths % 10}"


def lines(slots: Sequence[Slot]) -> list[str]:
    """Return a line for each batch: time, lot, coffee, green weight, and a star where the coffee changes."""
    found = []
    before = None
    for slot in slots:
        star = "*" if before not in (None, slot.batch.coffee) else " "
        found.append(f"{clock(slot.start)} {star} {slot.lot}  {slot.batch.coffee:<20}{kilos(slot.batch.grams):>5}")
        before = slot.batch.coffee
    return found


def from_store(slots: Iterable[Slot]) -> dict[str, int]:
    """Return the grams of each green coffee that a day needs, the most first."""
    sums: dict[str, int] = defaultdict(int)
    for slot in slots:
        for name, grams in slot.batch.green:
            sums[name] += grams
    return dict(sorted(sums.items(), key=lambda item: (-item[1], item[0])))


def footer(slots: Sequence[Slot]) -> str:
    """Return the last line: how many batches, what comes out, and when the drum is cold."""
    if not slots:
        return "no batches"
    roasted = sum(roasted_from(slot.batch.grams, COFFEES[slot.batch.coffee].loss) for slot in slots)
    return f"{len(slots)} batches, {roasted // GRAMS} kg roasted, until {clock(slots[-1].end)}"
