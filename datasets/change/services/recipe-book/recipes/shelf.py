"""How long a thing keeps. Day 1 is the day of opening or making; the dot bears the last day."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta

from recipes.book import Recipe

FROZEN = timedelta(weeks=8)
THAWED = timedelta(hours=24)
MAY_BE_FROZEN = frozenset({"FD-204", "FD-208", "FD-212"})
OUT_BY = time(18, 0)
BEST_BEFORE_GRACE = timedelta(days=30)


@dataclass(frozen=True)
class Dot:
    """What stands on the container."""

    sku: str
    last: date
    initials: str

    def __str__(self) -> str:
        return f"{self.sku} {self.last:%a %d.%m.} {self.initials}"


def last_day(made: date, days: int, makers: date | None = None) -> date:
    """Return the last day: that of the maker if it is earlier."""
    ours = made + timedelta(days=days - 1)
    return ours if makers is None else min(ours, makers)


def dot(recipe: Recipe, made: date, initials: str, makers: date | None = None) -> Dot:
    """Return the dot of what was made; without initials it would be no dot."""
    letters = initials.strip().upper()
    if not 2 <= len(letters) <= 3 or not letters.isalpha():
        raise ValueError(f"initials {initials!r}")
    return Dot(recipe.sku, last_day(made, recipe.keeps_days, makers), letters)


def may_be_sold(last: date, now: datetime) -> bool:
    """Tell whether a thing may be sold: on its last day until six in the evening."""
    return now.date() < last or (now.date() == last and now.time() < OUT_BY)


def freeze(sku: str, made: date, frozen: date, frozen_before: bool = False) -> date:
    """Return the last day in the freezer: only on the day made, only once, only what stands it."""
    if sku not in MAY_BE_FROZEN:
        raise ValueError(f"{sku} is never frozen")
    if frozen_before or frozen != made:
        raise ValueError(f"{sku} is frozen on the day made, once")
    return frozen + FROZEN


def thawed_until(out: datetime, last_frozen: date) -> datetime:
    """Return until when a thawed thing may be used: 24 hours."""
    if out.date() > last_frozen:
        raise ValueError(f"frozen until {last_frozen}")
    return out + THAWED


def usable(kind: str, printed: date, today: date, initials: bool = False) -> bool:
    """Tell whether sealed goods may be used: use-by means stop, best-before has 30 days with initials."""
    if kind == "use-by":
        return today <= printed
    if kind != "best-before":
        raise ValueError(f"no date of kind {kind!r}")
    return today <= printed or (initials and today - printed <= BEST_BEFORE_GRACE)


def turn(shelf: Mapping[str, date], today: date) -> list[str]:
    """Return the order for the front of the shelf on Friday: first out first; what is past its day is left out."""
    good = [(last, name) for name, last in shelf.items() if last >= today]
    return [name for _, name in sorted(good)]
