"""The delivery note: what stays, what comes back, and who signed."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from vans.loading import Drop

WIDTH = 34
NEEDS_PURCHASE_NUMBER = frozenset({"W03"})


@dataclass(frozen=True)
class Change:
    """A torn or wrong bag that was left out: both sign."""

    bags: int
    why: str
    signed: tuple[str, ...]


def note_number(day_of_year: int, van: str, stop: int) -> str:
    """Return a note's number: K or R, day, stop, and a check letter."""
    if van not in ("Kittiwake", "Razorbill"):
        raise ValueError(f"no van {van!r}")
    body = f"{van[0]}{day_of_year:03}{stop:02}"
    check = sum(place * int(digit) for place, digit in enumerate(body[1:], start=2)) % 23
    return body + "ABCDEFGHJKLMNPQRSTUVWXYZ"[check]


def lines(drop: Drop, number: str, purchase: str = "", changes: Sequence[Change] = ()) -> list[str]:
    """Return the lines of a note.

    Raises:
        ValueError: The customer refuses a note without purchase number, a change lacks a signature, or more bags were
            left out than there were.
    """
    if drop.door in NEEDS_PURCHASE_NUMBER and not purchase:
        raise ValueError(f"{drop.door} wants a purchase number")
    for change in changes:
        if len(set(change.signed)) < 2:
            raise ValueError(f"{change.why}: both sign")
    left_out = sum(change.bags for change in changes)
    if left_out > drop.bags:
        raise ValueError(f"{left_out} of {drop.bags} bags left out")
    head = f"{drop.door} {purchase}".strip()
    found = [head.ljust(WIDTH - len(number)) + number]
    for name, count in (("bags 1 kg", drop.bags - left_out), ("tubs 5 kg", drop.tubs), ("kegs", drop.kegs)):
        if count:
            found.append(f"{name:<{WIDTH - 4}}{count:>4}")
    found.extend(f"left out {change.bags}: {change.why}" for change in changes)
    return found


def credit_pence(changes: Sequence[Change], pence_a_kilo: int, discount_percent: int = 0) -> int:
    """Return the credit for what was left out, half up."""
    bags = sum(change.bags for change in changes)
    return (bags * pence_a_kilo * (100 - discount_percent) * 2 + 100) // 200


def unsigned(notes: Mapping[str, str | None], photographs: frozenset[str] = frozenset()) -> list[str]:
    """Return the notes that have neither a signature nor a photograph."""
    return sorted(number for number, name in notes.items() if not (name or "").strip() and number not in photographs)
