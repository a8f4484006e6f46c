"""Readings of pressure and heat: what is right, what is watched, and what is out of use."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date

# In tenths of a bar.
RIGHT_BAR, BAR_MARGIN = 90, 3
LOWEST_BAR, HIGHEST_BAR = 84, 96
# In tenths of a degree.
RIGHT_HEAT, HEAT_MARGIN = 930, 4
BASKET_LEAST = 246  # tenths of a gram
TREND = 3  # readings that go one way are told

RIGHT, WATCH, OUT = "right", "watch", "out of use"


@dataclass(frozen=True)
class Reading:
    """What a gauge showed: tenths of a bar and, where it was measured, tenths of a degree."""

    cafe: str
    day: date
    bar: int
    heat: int | None = None


def tenths(text: str) -> int:
    """Read a number with at most one place behind the point, such as `9.1` or `93`.

    Raises:
        ValueError: It is written otherwise.
    """
    whole, point, rest = text.strip().partition(".")
    if not whole.isdecimal() or (point and not (rest.isdecimal() and len(rest) == 1)):
        raise ValueError(f"no reading: {text!r}")
    return int(whole) * 10 + int(rest or 0)


def parse_reading(line: str) -> Reading:
    """Read a line such as `C04 2026-03-01 9.1 bar 93.2 C`; the heat may be missing."""
    words = line.split()
    if len(words) not in (4, 6) or words[3] != "bar" or (len(words) == 6 and words[5] != "C"):
        raise ValueError(f"no reading: {line!r}")
    heat = tenths(words[4]) if len(words) == 6 else None
    return Reading(words[0], date.fromisoformat(words[1]), tenths(words[2]), heat)


def state(reading: Reading) -> str:
    """Return whether a machine is right, is watched, or is out of use."""
    if reading.bar < LOWEST_BAR or reading.bar > HIGHEST_BAR:
        return OUT
    if abs(reading.bar - RIGHT_BAR) > BAR_MARGIN:
        return WATCH
    if reading.heat is not None and abs(reading.heat - RIGHT_HEAT) > HEAT_MARGIN:
        return WATCH
    return RIGHT


def trend(readings: Sequence[Reading]) -> int:
    """Return 1 if the last three pressures rise, -1 if they fall, else 0."""
    bars = [reading.bar for reading in sorted(readings, key=lambda each: each.day)][-TREND:]
    if len(bars) < TREND:
        return 0
    steps = [after - before for before, after in zip(bars, bars[1:])]
    if all(step > 0 for step in steps):
        return 1
    return -1 if all(step < 0 for step in steps) else 0


def latest(readings: Sequence[Reading]) -> dict[str, Reading]:
    """Return each café's last reading."""
    found: dict[str, Reading] = {}
    for reading in readings:
        if reading.cafe not in found or reading.day > found[reading.cafe].day:
            found[reading.cafe] = reading
    return found


def worn(baskets: Sequence[int]) -> int:
    """Return how many baskets are worn, by their weights in tenths of a gram."""
    return sum(1 for weight in baskets if weight < BASKET_LEAST)


def told(reading: Reading, before: Sequence[Reading] = ()) -> str:
    """Return a reading in a line, with an arrow where pressure goes one way."""
    arrow = {1: " ^", -1: " v", 0: ""}[trend([*before, reading])]
    heat = "" if reading.heat is None else f", {reading.heat / 10:.1f} C"
    return f"{reading.cafe} {reading.bar / 10:.1f} bar{arrow}{heat}: {state(reading)}"
