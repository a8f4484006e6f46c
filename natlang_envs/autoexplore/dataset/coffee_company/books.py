"""What the Coffee Company wrote down about 2025: its books, its guests' words, its members and its fridges."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import date, timedelta

import numpy as np

from natlang_envs.autoexplore.dataset.coffee_company.draws import Draws, plain
from natlang_envs.autoexplore.dataset.coffee_company.reference import DAYS, FIRST_DAYS, YEAR, Registers
from natlang_envs.autoexplore.dataset.coffee_company.sales import Row

CHANNELS = ("cafes", "wholesale", "online", "courses")
# Accounts of the ledger, see finance/chart-of-accounts.md: those of takings by what was sold.
COUNTER = {"drink": 4010, "food": 4020, "beans": 4030, "merchandise": 4030}
ONLINE = {"beans": 4200, "merchandise": 4200, "subscription": 4210}
WHOLESALE, COURSES, GREEN, WASTE, WAGES = 4100, 4300, 1010, 5200, 6010
_RENT, _MARKETING = 7010, 7110
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
_MEMBERS = 5200  # who joined at other times and places than these
_DOUBLE = ("C05", "C08")
_FAIRS = ((date(2024, 9, 9), 402), (date(2025, 9, 8), 1046))  # four weeks from the first day of term
# Tokens are made as services/loyalty does: eleven characters, the first no A, and a check letter.
_LETTERS = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
_CHECK_LETTERS = "ABCDEFGHJKMNPQRSTVWXYZ"
_WEIGHTS = (1, 3, 5, 7, 9, 13, 15, 17, 19, 21, 1)

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


def ledger_rows(registers: Registers, booked: dict[int, list[int]]) -> Iterator[Row]:
    """Yield what went to each account in each month, in pence; what comes in is positive.

    Args:
        registers: For rents and campaigns.
        booked: The other accounts, with the amounts of the twelve months.
    """
    rent = sum(cafe.rent for cafe in registers.cafes)
    for number, first in enumerate(FIRST_DAYS):
        amounts = {account: months[number] for account, months in booked.items()}
        amounts[_MARKETING] = -sum(c.spend for c in registers.campaigns if c.start.month == first.month)
        amounts[_RENT] = -rent // 4 if first.month in _QUARTER_DAYS else 0
        for account, amount in sorted(amounts.items()):
            if amount:
                yield f"{first:%Y-%m}", f"{account:04}", amount


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
    first = date(2018, 9, 3)
    sites = plain(draws.pick((17, 5, 14, 13, 9, 9, 8, 4, 14, 7), _MEMBERS))
    days = plain(draws.below((DAYS[-1] - first).days + 1, _MEMBERS))
    joined: list[tuple[date, str]] = []
    for site, day in zip(sites, days, strict=True):
        code = registers.cafes[site].code
        when = first + timedelta(day)
        joined.append((when, "C01" if code in _DOUBLE and any(_in_term(when, start) for start, _ in _FAIRS) else code))
    for start, count in _FAIRS:
        for day, lot in zip(plain(draws.below(28, count)), plain(draws.below(100, count)), strict=True):
            joined.append((start + timedelta(day), _DOUBLE[lot < 28]))
    count = len(joined)
    stamps, mail = plain(draws.below(9, count)), plain(draws.below(100, count))
    bodies = plain(draws.below(len(_LETTERS), len(_WEIGHTS) * count))
    for number, (day, code) in enumerate(sorted(joined)):
        token = _token(bodies[len(_WEIGHTS) * number : len(_WEIGHTS) * (number + 1)])
        yield token, day, code, stamps[number], "yes" if mail[number] < 58 else "no"


def _token(body: list[int]) -> str:
    if _LETTERS[body[0]] == "A":
        body[0] += 1
    check = sum(weight * place for weight, place in zip(_WEIGHTS, body, strict=True)) % len(_CHECK_LETTERS)
    return "".join(_LETTERS[place] for place in body) + _CHECK_LETTERS[check]


def _in_term(day: date, start: date) -> bool:
    return 0 <= (day - start).days < 28


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
