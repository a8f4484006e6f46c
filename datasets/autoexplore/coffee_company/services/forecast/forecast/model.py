"""The forecast: a weighted mean of the same weekday over eight weeks."""

from __future__ import annotations

import argparse
import csv
import sys
from collections import defaultdict
from collections.abc import Mapping
from datetime import date, timedelta
from pathlib import Path

from forecast import holidays, weather

WEEKS = 8
HALF_LIFE_WEEKS = 3
# With fewer weeks the figure is noise; the area manager types one instead.
FEWEST_WEEKS = 3
DAYS_AHEAD = 3


def weight(weeks_back: int) -> float:
    """Return the weight of a week: last week counts 1, three weeks earlier counts a half."""
    return 0.5 ** ((weeks_back - 1) / HALF_LIFE_WEEKS)


def expected(sold: Mapping[date, float], cafe: str, day: date, rain_mm: float | None = None) -> float | None:
    """Return the expected units of one product in one café.

    Args:
        sold: Units by day. An open day on which nothing was sold must be there with a zero.
        cafe: Code of the café.
        day: Day to forecast.
        rain_mm: Rain expected on that day, or None where the weather is not known.

    Returns:
        Units, or None if the café is closed or fewer than three weeks are known.
    """
    if holidays.closed(cafe, day):
        return None
    total = weights = 0.0
    weeks = 0
    for back in range(1, WEEKS + 1):
        past = day - timedelta(weeks=back)
        # A special day tells nothing about an ordinary one, in either direction.
        if past not in sold or holidays.closed(cafe, past) or holidays.factor(past) != 1.0:
            continue
        total += weight(back) * sold[past]
        weights += weight(back)
        weeks += 1
    if weeks < FEWEST_WEEKS:
        return None
    return total / weights * holidays.factor(day) * weather.factor(cafe, rain_mm)


def read_sales(path: Path) -> dict[tuple[str, str], dict[date, float]]:
    """Read a file with the columns date, cafe, sku and units."""
    sold: dict[tuple[str, str], dict[date, float]] = defaultdict(dict)
    with path.open(newline="") as file:
        for row in csv.DictReader(file):
            day = date.fromisoformat(row["date"])
            series = sold[row["cafe"], row["sku"]]
            series[day] = series.get(day, 0.0) + float(row["units"])
    return sold


def main() -> int:
    """Write the figures of the days after --date to standard output."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sales", type=Path, required=True)
    parser.add_argument("--date", type=date.fromisoformat, required=True)
    parser.add_argument("--rain", type=Path, default=Path("/srv/forecast/rain.csv"))
    args = parser.parse_args()
    rain = weather.read(args.rain, args.date) if args.rain.exists() else {}
    out = csv.writer(sys.stdout)
    days = [args.date + timedelta(days=n) for n in range(DAYS_AHEAD)]
    out.writerow(["cafe", "sku", *days])
    for (cafe, sku), sold in sorted(read_sales(args.sales).items()):
        figures = [expected(sold, cafe, day, rain.get(day)) for day in days]
        out.writerow([cafe, sku, *("" if f is None or f < 0.5 else int(f + 0.5) for f in figures)])
    return 0


if __name__ == "__main__":
    sys.exit(main())
