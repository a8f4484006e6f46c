"""What the Coffee Company wrote down about 2025: its books, its guests' words, its members and its fridges."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import date, timedelta

import numpy as np

from natlang_envs.autoexplore.dataset.coffee_draws import Draws, plain
from natlang_envs.autoexplore.dataset.coffee_reference import DAYS, FIRST_DAYS, YEAR, Registers
from natlang_envs.autoexplore.dataset.coffee_sales import Row

CHANNELS = ("cafes", "wholesale", "online", "courses")
_ACCOUNTS = {"cafes": 4000, "wholesale": 4100, "online": 4200, "courses": 4300}
_QUARTER_DAYS = (1, 4, 7, 10)
# Other suppliers: the days between invoices, and the usual amount in pence.
_INVOICES = {
    "SUP-07": (7, 265000),
    "SUP-08": (30, 310000),
    "SUP-09": (7, 480000),
    "SUP-10": (91, 890000),
    "SUP-11": (30, 540000),
    "SUP-12": (91, 420000),
    "SUP-13": (30, 260000),
    "SUP-14": (30, 345000),
    "SUP-15": (91, 128000),
    "SUP-16": (60, 215000),
}
_LETTERS = "ABCDEFGHJKLMNPQRSTUVWXYZ23456789"  # none that is mistaken for another

_GOOD = (
    "Best flat white in town",
    "Friendly from the door on",
    "Quick even with a queue",
    "The banana bread is worth a walk",
    "Knew my order on the second visit",
    "Lovely pour-over and time to explain it",
    "Warm and quiet corner",
)
_FAIR = (
    "Good coffee and a long wait",
    "Nice place but loud",
    "Fine",
    "Coffee great and croissant dry",
    "Hard to find a seat",
    "Decent but dear",
    "Good when it is not raining in",
)
_POOR = (
    "Lukewarm latte",
    "Order was forgotten",
    "Tables not wiped",
    "Card machine was down",
    "Out of oat drink again",
    "Closed ten minutes early",
    "Music far too loud",
)


def quarters(monthly: dict[str, list[int]]) -> dict[str, dict[str, int]]:
    """Return the takings of each quarter by channel, in pence, from those of the twelve months."""
    return {
        f"Q{quarter + 1}": {channel: sum(monthly[channel][3 * quarter : 3 * quarter + 3]) for channel in CHANNELS}
        for quarter in range(4)
    }


def ledger_rows(
    registers: Registers,
    monthly: dict[str, list[int]],
    wages: Sequence[int],
    green: Sequence[int],
    waste: Sequence[int],
) -> Iterator[Row]:
    """Yield what went to each account in each month, in pence; what comes in is positive."""
    rent = sum(cafe.rent for cafe in registers.cafes)
    for number, first in enumerate(FIRST_DAYS):
        spent = sum(campaign.spend for campaign in registers.campaigns if campaign.start.month == first.month)
        amounts = {_ACCOUNTS[channel]: monthly[channel][number] for channel in CHANNELS}
        amounts |= {5000: -green[number], 6000: -wages[number], 6300: -spent, 6800: -waste[number]}
        amounts[6100] = -rent // 4 if first.month in _QUARTER_DAYS else 0
        for account, amount in sorted(amounts.items()):
            if amount:
                yield f"{first:%Y-%m}", account, amount


def invoice_rows(deliveries: Sequence[Row]) -> Iterator[Row]:
    """Yield the suppliers' invoices by date; green coffee is invoiced half at shipment, half 30 days after arrival."""
    found: list[tuple[date, date, str, int]] = []
    for row in deliveries:
        arrived, supplier, amount = row[1], str(row[2]), int(str(row[7]))
        assert isinstance(arrived, date)
        found.append((arrived, arrived + timedelta(30), supplier, amount - amount // 2))
    for supplier, (apart, usual) in _INVOICES.items():
        draws = Draws(f"invoices {supplier}")
        for day in DAYS[draws.one(2, min(apart, 28)) :: apart]:
            due = day + timedelta(14 if supplier == "SUP-07" else 30)
            found.append((day, due, supplier, usual * draws.one(88, 113) // 100))
    late = plain(Draws("invoices late").below(100, len(found)))
    for number, (day, due, supplier, amount) in enumerate(sorted(found), 1):
        paid = due + timedelta(late[number - 1] % 9 if late[number - 1] < 12 else 0)
        yield f"SI-{number:04}", supplier, day, due, amount, paid if paid <= date(YEAR, 12, 31) else ""


def review_rows(registers: Registers) -> Iterator[Row]:
    """Yield the guests' reviews, by date."""
    draws = Draws("reviews")
    count = 540
    days = plain(np.sort(draws.below(len(DAYS), count)))
    sites, stars = plain(draws.below(len(registers.cafes), count)), plain(draws.pick((3, 5, 13, 34, 45), count))
    texts, sources = plain(draws.below(7, count)), plain(draws.pick((50, 30, 20), count))
    for number in range(count):
        star = stars[number] + 1
        text = (_GOOD if star > 3 else _FAIR if star == 3 else _POOR)[texts[number]]
        source = ("map", "website", "card on the table")[sources[number]]
        yield DAYS[days[number]], registers.cafes[sites[number]].code, star, source, text


def member_rows(registers: Registers) -> Iterator[Row]:
    """Yield the members of the loyalty programme at the end of the year, by the day they joined."""
    draws = Draws("members")
    count, first = 2640, date(2022, 5, 2)
    joined = plain(np.sort(draws.below((DAYS[-1] - first).days + 1, count)))
    sites = plain(draws.pick((15, 5, 13, 12, 16, 8, 7, 5, 12, 7), count))
    stamps, mail = plain(draws.below(9, count)), plain(draws.below(100, count))
    letters = plain(draws.below(len(_LETTERS), 12 * count))
    for number in range(count):
        token = "".join(_LETTERS[letter] for letter in letters[12 * number : 12 * number + 12])
        day = first + timedelta(joined[number])
        yield token, day, registers.cafes[sites[number]].code, stamps[number], "yes" if mail[number] < 58 else "no"


def fridge_rows(registers: Registers) -> Iterator[Row]:
    """Yield the temperatures of each café's fridge, milk fridge and freezer on each day of December."""
    for place in registers.cafes:
        for sensor, low, high, limit in (("F1", 18, 36, 50), ("F2", 20, 38, 50), ("Z1", -215, -178, -150)):
            draws = Draws(f"fridge {place.code} {sensor}")
            for day in DAYS[-31:]:
                coldest, warmest = sorted((draws.one(low, high), draws.one(low, high)))
                over = 0
                if draws.one(0, 99) < 4:  # a door left open, or a delivery put away
                    warmest, over = limit + draws.one(2, 24), draws.one(1, 40)
                yield day, place.code, sensor, _degrees(coldest), _degrees(warmest), over, _alarm(sensor, over)


def _alarm(sensor: str, minutes: int) -> str:
    return "yes" if minutes >= (30 if sensor.startswith("Z") else 15) else "no"


def _degrees(tenths: int) -> str:
    sign = "-" if tenths < 0 else ""
    return f"{sign}{abs(tenths) // 10}.{abs(tenths) % 10}"
