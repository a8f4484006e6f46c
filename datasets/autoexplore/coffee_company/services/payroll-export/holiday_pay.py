"""Holiday pay of hourly people: the mean hourly pay of the last twelve weeks in which they were paid.

A week without pay does not count and an earlier one takes its place, at most 104 weeks back. The mean
includes the night supplement, so somebody who opens the station every morning does not lose by going
on holiday. That was settled with Lucía Herrera on 19 September 2022; before, it was the bare rate.
"""

from collections.abc import Sequence

from rounding import half_up

WEEKS = 12
LOOK_BACK = 104
# Hours in a day of holiday when a contract names none: the mean of all café contracts of 2024.
USUAL_DAY_HOURS = 6.5


def counted_weeks(weeks: Sequence[tuple[int, float]]) -> list[tuple[int, float]]:
    """Return the weeks that make the mean.

    Args:
        weeks: Pay in pence and hours of each week, newest first; zeros where nothing was paid.

    Returns:
        At most twelve weeks with pay; fewer for somebody who started lately.
    """
    return [(pence, hours) for pence, hours in weeks[:LOOK_BACK] if pence > 0 and hours > 0][:WEEKS]


def mean_rate(weeks: Sequence[tuple[int, float]], contract_rate: int) -> int:
    """Return pence an hour, never below the contract's rate.

    The floor matters after a rise in April: eleven of the twelve weeks still have the old rate.
    """
    counted = counted_weeks(weeks)
    if not counted:
        return contract_rate
    pence = sum(p for p, _ in counted)
    hundredths = round(100 * sum(h for _, h in counted))
    return max(contract_rate, half_up(100 * pence, hundredths))


def holiday_pence(hours: float, weeks: Sequence[tuple[int, float]], contract_rate: int) -> int:
    """Return the pay for hours of holiday taken in the month.

    Raises:
        ValueError: If the hours are negative or not in quarters, which is a slip of the keyboard.
    """
    quarters = hours * 4
    if hours < 0 or quarters != int(quarters):
        raise ValueError(f"{hours} hours of holiday")
    return half_up(int(quarters) * mean_rate(weeks, contract_rate), 4)


def days_to_hours(days: float, contract_day_hours: float | None) -> float:
    """Turn days of holiday into hours, to the quarter above."""
    exact = days * (contract_day_hours or USUAL_DAY_HOURS)
    return -(-exact * 4 // 1) / 4
