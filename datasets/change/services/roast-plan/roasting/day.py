"""The slots of a roaster's day: which batch follows which, and who may stand at the drum."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date

from roasting.batches import Batch
from roasting.coffees import COFFEES, Roaster

# Minutes of cleaning between two coffees; none between batches of the same.
CHANGE = 6
AFTER_DECAF = 45
# A pause that is longer cools the drum: an empty heat-up is due.
LONGEST_PAUSE = 12
HEAT_UP = 5
DUBOIS_ON_MARJORIE = 5


@dataclass(frozen=True)
class Slot:
    """A batch and when it begins and ends, in minutes of the day."""

    lot: str
    batch: Batch
    start: int
    end: int


class DayFull(ValueError):
    """More batches than the day has room for."""


def order_key(batch: Batch) -> tuple[int, str]:
    """Return where a coffee belongs in a day: blends, then single origins, then decaf; alike side by side."""
    coffee = COFFEES[batch.coffee]
    rank = 2 if coffee.decaf else 1 if coffee.is_single_origin else 0
    return rank, coffee.name


def arranged(batches: Sequence[Batch]) -> list[Batch]:
    """Return the batches in the order in which they are roasted, the largest of a coffee first.

    Raises:
        ValueError: The first would be a single origin.
    """
    ordered = sorted(batches, key=lambda batch: (*order_key(batch), -batch.grams))
    if ordered and order_key(ordered[0])[0] == 1:
        raise ValueError(f"{ordered[0].coffee} cannot be the first of a day")
    return ordered


def lot_code(day: date, roaster: Roaster, number: int) -> str:
    """Return a lot's code, such as 251203M07."""
    return f"{day:%y%m%d}{roaster.letter}{number:02}"


def pause_before(before: Batch | None, batch: Batch) -> int:
    """Return the minutes between two batches: cleaning, and heating up again after a long pause."""
    if before is None or before.coffee == batch.coffee:
        return 0
    minutes = AFTER_DECAF if COFFEES[before.coffee].decaf else CHANGE
    return minutes + HEAT_UP if minutes > LONGEST_PAUSE else minutes


def timed(day: date, roaster: Roaster, batches: Sequence[Batch], first: int | None = None) -> list[Slot]:
    """Give each batch its slot, in the order given.

    Args:
        day: The day.
        roaster: The drum.
        batches: What it roasts.
        first: When the first begins, if not at the usual time.

    Raises:
        DayFull: There are too many, or the last ends too late.
    """
    if len(batches) > roaster.most:
        raise DayFull(f"{len(batches)} batches, {roaster.name} does {roaster.most}")
    slots: list[Slot] = []
    now = roaster.opens if first is None else max(first, roaster.opens)
    before = None
    for number, batch in enumerate(batches, start=1):
        if not roaster.least_grams <= batch.grams <= roaster.full_grams:
            raise ValueError(f"{batch.grams} g in {roaster.name}")
        start = now + pause_before(before, batch)
        slots.append(Slot(lot_code(day, roaster, number), batch, start, start + roaster.slot))
        now, before = start + roaster.slot, batch
    if now > roaster.closes:
        raise DayFull(f"{roaster.name} would end {now - roaster.closes} minutes late")
    return slots


def spread(batches: Sequence[Batch], roaster: Roaster, days: int) -> list[list[Batch]]:
    """Spread batches over days, each day as full as it may be, alike together."""
    ordered = sorted(batches, key=order_key)
    spread_out: list[list[Batch]] = [[] for _ in range(days)]
    place = 0
    for batch in ordered:
        while place < days and len(spread_out[place]) >= roaster.most:
            place += 1
        if place == days:
            raise DayFull(f"{len(ordered)} batches in {days} days")
        spread_out[place].append(batch)
    return spread_out


def may_roast(person: str, roaster: Roaster, batches: Sequence[Batch], may: Mapping[str, frozenset[str]]) -> bool:
    """Tell whether a person may roast a day; Claire Dubois does at most five batches on Marjorie."""
    if roaster.name not in may.get(person, frozenset()):
        return False
    return person != "Claire Dubois" or roaster.name != "Marjorie" or len(batches) <= DUBOIS_ON_MARJORIE
