"""Amounts in tenths of a gram, millilitre or piece; what recipes write and what scales show."""

import re
from dataclasses import dataclass

TENTHS = 10
UNITS = {"g": ("g", 1), "kg": ("g", 1000), "ml": ("ml", 1), "cl": ("ml", 10), "l": ("ml", 1000), "": ("piece", 1)}
# Below so many grams, a scale shows steps of so many tenths.
STEPS = ((10, 5), (100, 10), (1000, 50))
LARGEST_STEP = 100
_AMOUNT = re.compile(r"(\d{1,3}(?:,\d{3})+|\d+)(?:\.(\d))?\s*(kg|g|ml|cl|l|)")


class BadAmount(ValueError):
    """Text that is no amount of ours."""


@dataclass(frozen=True, order=True)
class Amount:
    """So many tenths of a unit: `g`, `ml` or `piece`."""

    tenths: int
    unit: str

    def __add__(self, other: "Amount") -> "Amount":
        if self.unit != other.unit:
            raise BadAmount(f"{self.unit} and {other.unit} do not add")
        return Amount(self.tenths + other.tenths, self.unit)

    def times(self, numerator: int, denominator: int) -> "Amount":
        """Return a multiple, to the nearest tenth, half up."""
        return Amount((2 * self.tenths * numerator + denominator) // (2 * denominator), self.unit)

    def __str__(self) -> str:
        whole, tenth = divmod(self.tenths, TENTHS)
        unit = "" if self.unit == "piece" else f" {self.unit}"
        return f"{whole:,}.{tenth}{unit}" if tenth else f"{whole:,}{unit}"


def parse_amount(text: str) -> Amount:
    """Read an amount such as `1,480 g`, `2.5kg`, `30 cl` or `4`.

    Raises:
        BadAmount: It is none.
    """
    found = _AMOUNT.fullmatch(text.strip())
    if not found:
        raise BadAmount(f"{text!r} is no amount")
    whole, tenth, written = found.groups()
    unit, factor = UNITS[written]
    return Amount((int(whole.replace(",", "")) * TENTHS + int(tenth or 0)) * factor, unit)


def step_of(tenths: int) -> int:
    """Return the step of the scale at an amount, in tenths of a gram."""
    for below, step in STEPS:
        if tenths < below * TENTHS:
            return step
    return LARGEST_STEP


def on_scale(amount: Amount) -> Amount:
    """Return what can be weighed: the nearest step, half up, and never nothing of something.

    Pieces and millilitres are rounded to whole ones.
    """
    if amount.tenths == 0:
        return amount
    step = step_of(amount.tenths) if amount.unit == "g" else TENTHS
    steps = (2 * amount.tenths + step) // (2 * step)
    return Amount(max(steps, 1) * step, amount.unit)
