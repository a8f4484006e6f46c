"""Pence, how they are written, and shares that add up."""

import re
from collections.abc import Mapping, Sequence

POUND = 100
_WRITTEN = re.compile(r"(-?)£(\d{1,3}(?:,\d{3})*|\d+)(?:\.(\d\d))?")


class NotMoney(ValueError):
    """A text is no sum of money."""


def pence(text: str) -> int:
    """Read a sum such as `£1,204.50` or `-£3`.

    Raises:
        NotMoney: It is written otherwise.
    """
    found = _WRITTEN.fullmatch(text.strip())
    if found is None:
        raise NotMoney(f"no sum: {text.strip()!r}")
    sign, pounds, rest = found.groups()
    value = int(pounds.replace(",", "")) * POUND + int(rest or 0)
    return -value if sign else value


def written(value: int) -> str:
    """Write a sum with its pence, thousands apart."""
    pounds, rest = divmod(abs(value), POUND)
    sign = "-" if value < 0 else ""
    return f"{sign}£{pounds:,}.{rest:02}"


def short(value: int) -> str:
    """Write a sum without pence where it has none."""
    return written(value).removesuffix(".00")


def parts(total: int, weights: Mapping[str, int]) -> dict[str, int]:
    """Share a sum by weights, in whole pence, so that nothing is left.

    Everyone has the part rounded down. The pence that are left go one each to the largest rests; of rests alike, to the
    larger weight, and then by name.

    Raises:
        ValueError: There is something to share, but nobody to have it.
    """
    whole = sum(weights.values())
    if whole <= 0:
        if total:
            raise ValueError(f"{written(total)} and nobody to share it")
        return dict.fromkeys(weights, 0)
    shares = {name: total * weight // whole for name, weight in weights.items()}
    left = total - sum(shares.values())
    rests = {name: total * weight % whole for name, weight in weights.items()}
    order = sorted(weights, key=lambda name: (-rests[name], -weights[name], name))
    for name in order[:left]:
        shares[name] += 1
    return shares


def per_hour(total: int, minutes: int) -> int:
    """Return the pence of an hour, rounded to the nearest, a half up."""
    if minutes <= 0:
        return 0
    return (total * 60 * 2 + minutes) // (minutes * 2)


def difference(one: int, other: int) -> int:
    """Return how far two sums are apart."""
    return abs(one - other)


def running(values: Sequence[int], first: int = 0) -> list[int]:
    """Return the sum after each value."""
    sums = []
    now = first
    for value in values:
        now += value
        sums.append(now)
    return sums
