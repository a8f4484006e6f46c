"""Rounds shifts to quarters of an hour and finds the hours that bear the night supplement.

Times come with their zone. Lengths are taken in UTC, because on the night on which the clocks change
the difference of two local times is an hour wrong; whether a minute is a night minute is a question
of local time, because that is what the rota says.
"""

from dataclasses import dataclass
from datetime import UTC, datetime, time, timedelta
from zoneinfo import ZoneInfo

HOME = ZoneInfo("Europe/London")
QUARTER = timedelta(minutes=15)
NIGHT_ENDS = time(6, 30)
NIGHT_BEGINS = time(20, 0)
NIGHT_PENCE_AN_HOUR = 110
# Nobody works longer; a longer shift is two with the end of the first missing.
LONGEST = timedelta(hours=13)


@dataclass(frozen=True)
class Paid:
    """What a shift is worth."""

    quarters: int
    night_quarters: int
    base_pence: int
    night_pence: int


def nearest_quarter(moment: datetime) -> datetime:
    """Round to the nearest 15 minutes; 7 minutes 30 seconds goes up, in whichever direction that pays.

    Both ends go by the same rule, so somebody who is always four minutes early gains nothing and
    loses nothing.
    """
    if moment.tzinfo is None:
        raise ValueError(f"{moment} has no zone")
    utc = moment.astimezone(UTC)
    floor = utc.replace(minute=utc.minute - utc.minute % 15, second=0, microsecond=0)
    return floor + QUARTER if utc - floor >= QUARTER / 2 else floor


def is_night(start_of_quarter: datetime) -> bool:
    """Tell whether a quarter of an hour bears the supplement; the one from 06:30 does not."""
    local = start_of_quarter.astimezone(HOME).time()
    return local < NIGHT_ENDS or local >= NIGHT_BEGINS


def quarters_between(start: datetime, end: datetime) -> list[datetime]:
    """Return the beginnings of the paid quarters, in UTC."""
    first, last = nearest_quarter(start), nearest_quarter(end)
    if last <= first:
        return []
    if last - first > LONGEST:
        raise ValueError(f"shift from {start:%d %B %H:%M} lasts {last - first}")
    return [first + i * QUARTER for i in range((last - first) // QUARTER)]


def half_up(numerator: int, denominator: int) -> int:
    """Divide whole numbers and round half up; pay never goes through a float."""
    return (2 * numerator + denominator) // (2 * denominator)


def pay_of(start: datetime, end: datetime, rate_pence: int) -> Paid:
    """Work out one shift.

    Args:
        start: Clocked start, with a zone.
        end: Clocked end, with a zone.
        rate_pence: Hourly rate in pence.

    Raises:
        ValueError: Without a zone, or if the shift is longer than 13 hours.
    """
    quarters = quarters_between(start, end)
    night = sum(is_night(q) for q in quarters)
    return Paid(
        quarters=len(quarters),
        night_quarters=night,
        base_pence=half_up(len(quarters) * rate_pence, 4),
        night_pence=half_up(night * NIGHT_PENCE_AN_HOUR, 4),
    )
