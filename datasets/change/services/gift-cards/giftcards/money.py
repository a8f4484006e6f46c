"""Pounds in text, pence in numbers. Nothing here or elsewhere in the service is a float."""

import re
from collections.abc import Sequence

PENCE = 100
_POUNDS = re.compile(r"(-?)£?([0-9]{1,3}(?:,[0-9]{3})+|[0-9]+)(?:\.([0-9]{2}))?")


def parse_pounds(text: str) -> int:
    """Read an amount such as `£1,250.00`, `12` or `-0.50` and return pence.

    Raises:
        ValueError: It is no amount; `12.5` is none, because nobody knows whether a digit was lost.
    """
    found = _POUNDS.fullmatch(text.strip())
    if not found:
        raise ValueError(f"{text!r} is no amount in pounds")
    sign, pounds, pence = found.groups()
    amount = int(pounds.replace(",", "")) * PENCE + int(pence or 0)
    return -amount if sign else amount


def show_pounds(pence: int) -> str:
    """Return an amount as it is printed: `£1,250.00`, with the minus in front."""
    pounds, rest = divmod(abs(pence), PENCE)
    sign = "-" if pence < 0 else ""
    return f"{sign}£{pounds:,}.{rest:02}"


def half_up(numerator: int, denominator: int) -> int:
    """Divide and round half up, for amounts that are not negative."""
    return (2 * numerator + denominator) // (2 * denominator)


def shared(total: int, weights: Sequence[int]) -> list[int]:
    """Share an amount by weights so that the parts add up to it again.

    Each part is rounded down first; the pence that remain go one by one to the largest remainders, and among
    equals to the first.

    Raises:
        ValueError: The weights add up to nothing.
    """
    whole = sum(weights)
    if whole <= 0:
        raise ValueError("weights that add up to nothing")
    parts = [total * weight // whole for weight in weights]
    by_remainder = sorted(range(len(weights)), key=lambda i: (-(total * weights[i] % whole), i))
    for place in by_remainder[: total - sum(parts)]:
        parts[place] += 1
    return parts
