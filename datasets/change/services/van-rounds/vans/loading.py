"""Crates and kilos of a van, and what stands in front of what."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass

MOST_GRAMS = 650_000
CRATE_GRAMS = 1800
CRATES = 48
TUB_GRAMS = 5000
BAGS_IN_A_CRATE = 12
STAIRS_GRAMS = 30_000  # two sacks of green, or what one person carries up


@dataclass(frozen=True)
class Drop:
    """What one door gets.

    Attributes:
        door: Code of the café or customer.
        bags: Kilo bags.
        tubs: Tubs of five kilos.
        kegs: Kegs of cold brew, 22 kg each, which are cold things.
        other_grams: Everything else.
        stairs: Whether it goes up stairs.
    """

    door: str
    bags: int = 0
    tubs: int = 0
    kegs: int = 0
    other_grams: int = 0
    stairs: bool = False

    @property
    def crates(self) -> int:
        """Crates for the bags; a door never shares one."""
        return -(-self.bags // BAGS_IN_A_CRATE)

    @property
    def grams(self) -> int:
        """All of it with its crates and tubs."""
        return (
            self.bags * 1000
            + self.crates * CRATE_GRAMS
            + self.tubs * (TUB_GRAMS + 400)
            + self.kegs * 22_000
            + self.other_grams
        )

    @property
    def is_cold(self) -> bool:
        """Whether there is something cold in it."""
        return self.kegs > 0

    @property
    def carries(self) -> int:
        """How often somebody goes from the van to the door: by weight on stairs, else a trolley of four crates."""
        if self.stairs:
            return -(-self.grams // STAIRS_GRAMS)
        return max(1, -(-(self.crates + self.tubs + self.kegs) // 4))


def allowed(drops: Sequence[Drop], stopped: Collection[str]) -> list[Drop]:
    """Return the drops without those of stop-supply customers."""
    return [drop for drop in drops if drop.door not in stopped]


def too_much(drops: Sequence[Drop]) -> list[str]:
    """Return what a van cannot take: too heavy, too many crates, or a door twice."""
    found = []
    grams = sum(drop.grams for drop in drops)
    if grams > MOST_GRAMS:
        found.append(f"{(grams - MOST_GRAMS + 999) // 1000} kg too heavy")
    crates = sum(drop.crates + drop.tubs for drop in drops)
    if crates > CRATES:
        found.append(f"{crates - CRATES} crates too many")
    doors = [drop.door for drop in drops]
    found.extend(f"{door} twice" for door in sorted(set(doors)) if doors.count(door) > 1)
    return found


def load_order(drops: Sequence[Drop]) -> list[str]:
    """Return in which order the doors' things go into the van: the last door first; at one door tubs below bags."""
    order = []
    for drop in reversed(drops):
        parts = (("tubs", drop.tubs), ("kegs", drop.kegs), ("bags", drop.bags), ("rest", drop.other_grams))
        order.extend(f"{drop.door} {name}" for name, count in parts if count)
    return order


def shared(drops: Sequence[Drop], limit: int = MOST_GRAMS) -> tuple[list[Drop], list[Drop]]:
    """Split the drops of a heavy day in two without changing their order: as many as possible go first."""
    grams = 0
    for place, drop in enumerate(drops):
        grams += drop.grams
        if grams > limit:
            return list(drops[:place]), list(drops[place:])
    return list(drops), []
