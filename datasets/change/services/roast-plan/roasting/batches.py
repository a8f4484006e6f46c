"""From roasted weight to green weight, and from green weight to drums that are full enough."""

from dataclasses import dataclass

from roasting.coffees import THOUSAND, Coffee, Roaster


@dataclass(frozen=True)
class Batch:
    """One load of a drum: which coffee it is for, and the green coffee in grams."""

    coffee: str
    green: tuple[tuple[str, int], ...]

    @property
    def grams(self) -> int:
        """The whole load."""
        return sum(grams for _, grams in self.green)


def green_for(roasted: int, loss: int) -> int:
    """Return the green coffee that leaves so much roasted, rounded up."""
    return -(-roasted * THOUSAND // (THOUSAND - loss))


def roasted_from(green: int, loss: int) -> int:
    """Return what is left of green coffee, rounded down."""
    return green * (THOUSAND - loss) // THOUSAND


def loads(green: int, roaster: Roaster, promised: bool = False) -> list[int]:
    """Split green coffee into even loads.

    Args:
        green: Grams.
        roaster: The drum.
        promised: Whether all of it must be roasted, if need be with a drum that is fuller than what was asked for.

    Returns:
        The loads, the larger ones first. What does not fill 60% of a drum is left out, or made up if it is promised.
    """
    if green <= 0:
        return []
    count = -(-green // roaster.full_grams)
    if green < count * roaster.least_grams:
        if promised:
            green = count * roaster.least_grams
        else:
            count -= 1
            green = min(green, count * roaster.full_grams)
    if count == 0:
        return []
    least, more = divmod(green, count)
    return [least + 1] * more + [least] * (count - more)


def mixed(parts: tuple[tuple[str, int], ...], grams: int) -> tuple[tuple[str, int], ...]:
    """Share a load among the parts of a blend; the first part takes what rounding leaves."""
    others = [(name, grams * share // THOUSAND) for name, share in parts[1:]]
    first = grams - sum(part for _, part in others)
    return ((parts[0][0], first), *others)


def batches(coffee: Coffee, roasted: int, roaster: Roaster, promised: bool = False) -> list[Batch]:
    """Return the batches for so much of a coffee; one that is blended after roasting has some for each part."""
    if coffee.blended_green:
        found = loads(green_for(roasted, coffee.loss), roaster, promised)
        return [Batch(coffee.name, mixed(coffee.parts, grams)) for grams in found]
    made = []
    for (name, _), (_, share) in zip(coffee.parts, mixed(coffee.parts, roasted), strict=True):
        found = loads(green_for(share, coffee.loss), roaster, promised)
        made.extend(Batch(coffee.name, ((name, grams),)) for grams in found)
    return made


def left_out(coffee: Coffee, roasted: int, planned: list[Batch]) -> int:
    """Return the roasted grams that the planned batches do not give; below zero, they give more."""
    return roasted - sum(roasted_from(batch.grams, coffee.loss) for batch in planned)
