"""Times a round: arrivals, waits, and what is late."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from vans.loading import Drop
from vans.windows import Window, clock

HANDLING = 5
PER_CARRY = 3
LONGEST_WAIT = 30
COLD_MINUTES = 90
BREAK_AFTER = 270
BREAK = 20


@dataclass(frozen=True)
class Stop:
    """One door of a round: when the van comes, waits until, and leaves."""

    door: str
    arrives: int
    begins: int
    leaves: int


@dataclass(frozen=True)
class Fault:
    """Something that is wrong with a round."""

    door: str
    why: str
    minutes: int


def at_the_door(drop: Drop) -> int:
    """Return the minutes at a door: five, and three for each way to it."""
    return HANDLING + PER_CARRY * drop.carries


def way(minutes: Mapping[tuple[str, str], int], one: str, other: str) -> int:
    """Return the minutes between two doors, which are the same in both directions unless both are known."""
    if one == other:
        return 0
    if (one, other) in minutes:
        return minutes[one, other]
    if (other, one) in minutes:
        return minutes[other, one]
    raise KeyError(f"{one} to {other}")


def timed(
    drops: Sequence[Drop],
    leaves: int,
    windows: Mapping[str, Window],
    minutes: Mapping[tuple[str, str], int],
    home: str = "C02",
) -> list[Stop]:
    """Return the stops of a round in the order of the drops.

    The driver's break of 20 minutes is taken at the first door after four and a half hours on the way, while the van
    waits if it waits there.
    """
    stops: list[Stop] = []
    now, here, rested = leaves, home, False
    for drop in drops:
        arrives = now + way(minutes, here, drop.door)
        begins = arrives + windows.get(drop.door, Window()).wait(arrives)
        if not rested and arrives - leaves >= BREAK_AFTER:
            begins, rested = max(begins, arrives + BREAK), True
        now = begins + at_the_door(drop)
        stops.append(Stop(drop.door, arrives, begins, now))
        here = drop.door
    return stops


def back(stops: Sequence[Stop], minutes: Mapping[tuple[str, str], int], home: str = "C02") -> int:
    """Return when the van is back at the Yard."""
    return stops[-1].leaves + way(minutes, stops[-1].door, home)


def faults(drops: Sequence[Drop], stops: Sequence[Stop], windows: Mapping[str, Window], leaves: int) -> list[Fault]:
    """Return what is wrong: doors that are shut, long waits, warm kegs."""
    found = []
    for drop, stop in zip(drops, stops, strict=True):
        late = windows.get(stop.door, Window()).late(stop.begins)
        if late:
            found.append(Fault(stop.door, "late", late))
        waited = stop.begins - stop.arrives
        if waited > LONGEST_WAIT:
            found.append(Fault(stop.door, "waits", waited))
        if drop.is_cold and stop.begins - leaves > COLD_MINUTES:
            found.append(Fault(stop.door, "warm", stop.begins - leaves - COLD_MINUTES))
    return found


def latest_start(
    drops: Sequence[Drop], windows: Mapping[str, Window], minutes: Mapping[tuple[str, str], int]
) -> int | None:
    """Return the latest minute at which a round may leave so that no door is shut; None if there is none."""
    for leaves in range(24 * 60 - 1, -1, -1):
        stops = timed(drops, leaves, windows, minutes)
        if not any(fault.why == "late" for fault in faults(drops, stops, windows, leaves)):
            return leaves
    return None


def board(stops: Sequence[Stop]) -> list[str]:
    """Return the lines for the cab."""
    lines = []
    for number, stop in enumerate(stops, start=1):
        wait = f" (waits {stop.begins - stop.arrives})" if stop.begins > stop.arrives else ""
        lines.append(f"{number:>2} {clock(stop.arrives)} {stop.door}{wait} -> {clock(stop.leaves)}")
    return lines
