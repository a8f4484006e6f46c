"""The battery over a round: hundredths of a percent, so that nothing is a float."""

from collections.abc import Sequence
from dataclasses import dataclass

FULL = 10_000
LEAVE_WITH = 7000
NEVER_BELOW = 1500
# Hundredths of a percent a mile, and what frost and a heavy load add, in percent.
PER_MILE = 95
FROST_PERCENT = 18
FROST_BELOW = 30  # tenths of a degree
HEAVY_PERCENT = 6
HEAVY_GRAMS = 400_000
# The pier's charger gives so much a minute.
PER_MINUTE = 60


@dataclass(frozen=True)
class Leg:
    """A way between two doors: miles in tenths, and what is still in the van."""

    tenth_miles: int
    grams: int


class NotCharged(ValueError):
    """A van that may not leave."""


def used(leg: Leg, tenth_degrees: int) -> int:
    """Return the charge that a leg takes, rounded up."""
    percent = 100
    if tenth_degrees < FROST_BELOW:
        percent += FROST_PERCENT
    if leg.grams > HEAVY_GRAMS:
        percent += HEAVY_PERCENT
    return -(-leg.tenth_miles * PER_MILE * percent // 1000)


def over(legs: Sequence[Leg], charge: int, tenth_degrees: int) -> list[int]:
    """Return the charge at the end of each leg.

    Raises:
        NotCharged: The van would leave with less than 70%.
    """
    if charge < LEAVE_WITH:
        raise NotCharged(f"{charge // 100}% of charge, 70 are needed")
    left = []
    for leg in legs:
        charge -= used(leg, tenth_degrees)
        left.append(charge)
    return left


def first_below(left: Sequence[int]) -> int | None:
    """Return the place of the first leg at whose end nobody drives on."""
    return next((place for place, charge in enumerate(left) if charge < NEVER_BELOW), None)


def minutes_at_pier(left: Sequence[int], stop: int) -> int:
    """Return the minutes to charge after a leg, so that the round ends with 15%; never more than the battery takes."""
    missing = max(0, NEVER_BELOW - left[-1])
    room = FULL - left[stop]
    return -(-min(missing, room) // PER_MINUTE)


def pier_pence(minutes: int) -> int:
    """Return what charging costs: a percent is half a unit at 62 pence, rounded up."""
    return -(-minutes * PER_MINUTE * 62 // 200)
