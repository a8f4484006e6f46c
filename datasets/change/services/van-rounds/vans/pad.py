"""The pad: crates, kegs and tubs that went out and came back, deposits, and what is lost."""

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import date, timedelta

DEPOSITS = {"tub": 600, "keg": 3500, "crate": 0}
WORTH = {"tub": 900, "keg": 8000, "crate": 650}
REMINDED_AFTER = timedelta(days=21)
LOST_AFTER = timedelta(days=90)


@dataclass(frozen=True)
class Move:
    """So many things that stayed at a door, or below zero came back from it; dirty ones do not come back."""

    day: date
    door: str
    thing: str
    count: int

    def __post_init__(self) -> None:
        """Refuse what the pad has no column for."""
        if self.thing not in DEPOSITS:
            raise ValueError(f"no column for {self.thing}")
        if self.count == 0:
            raise ValueError(f"{self.door}: nothing moved")


def at_doors(moves: Iterable[Move]) -> dict[tuple[str, str], int]:
    """Return how many of each thing stand at each door.

    Raises:
        ValueError: More came back than was there.
    """
    counts: dict[tuple[str, str], int] = defaultdict(int)
    for move in sorted(moves, key=lambda each: (each.day, -each.count)):
        counts[move.door, move.thing] += move.count
        if counts[move.door, move.thing] < 0:
            raise ValueError(f"{move.door} gave back a {move.thing} too many on {move.day}")
    return {key: count for key, count in counts.items() if count}


def deposit_pence(moves: Iterable[Move], door: str) -> int:
    """Return the deposits that a door has with us."""
    return sum(DEPOSITS[thing] * count for (where, thing), count in at_doors(moves).items() if where == door)


def open_since(moves: Iterable[Move], door: str, thing: str) -> list[tuple[date, int]]:
    """Return since when the things at a door stand there; what went out first comes back first."""
    out: list[tuple[date, int]] = []
    for move in sorted(moves, key=lambda each: (each.day, -each.count)):
        if (move.door, move.thing) != (door, thing):
            continue
        if move.count > 0:
            out.append((move.day, move.count))
            continue
        back = -move.count
        while back and out:
            day, count = out.pop(0)
            if count > back:
                out.insert(0, (day, count - back))
            back = max(0, back - count)
    return out


def overdue(moves: list[Move], today: date) -> list[tuple[str, str, int]]:
    """Return door, thing and count of what stands somewhere for more than three weeks, by door."""
    found = []
    for door, thing in sorted(at_doors(moves)):
        late = sum(count for day, count in open_since(moves, door, thing) if today - day > REMINDED_AFTER)
        if late:
            found.append((door, thing, late))
    return found


def written_off(moves: list[Move], today: date) -> int:
    """Return the pence that lost things cost us: worth less deposit, after 90 days."""
    return sum(
        count * (WORTH[thing] - DEPOSITS[thing])
        for door, thing in at_doors(moves)
        for day, count in open_since(moves, door, thing)
        if today - day >= LOST_AFTER
    )
